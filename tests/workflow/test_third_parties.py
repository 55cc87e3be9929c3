"""A metric, a test, a tuner and a backend of another package, through to the report: nothing here
is changed for them, not even imported by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support import ROOT

pytestmark = pytest.mark.workflow

PACKAGE = '''
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from replitune.backends.interface import Backend
from replitune.backends.settings import SystemSettings
from replitune.metrics.base import Metric
from replitune.settings import about
from replitune.significance.base import TestResult
from replitune.tuning.interface import Tuner, TuningResult


class FirstWord(Metric):
    """Share of segments whose first word is that of the reference."""

    name = "first-word"
    title = "First Word"
    statistic_names = ("same", "segments")

    def __init__(
        self,
        lowercase: Annotated[bool, about("Compare without case.")] = False,
        id: str | None = None,
    ) -> None:
        super().__init__(id)
        self.lowercase = lowercase

    def signature(self) -> str:
        return f"case:{'lc' if self.lowercase else 'mixed'}"

    def segment_statistics(self, hyps, segments, prepared):
        def first(line):
            word = (line.split() or [""])[0]
            return word.lower() if self.lowercase else word

        same = [first(h) == first(prepared[0][s]) for h, s in zip(hyps, segments, strict=True)]
        return np.array([[int(x), 1] for x in same], dtype=np.int32).reshape(len(hyps), 2)

    def score(self, sums):
        sums = np.asarray(sums, dtype=np.float64)
        return np.divide(
            100 * sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]),
            where=sums[..., 1] > 0,
        )


def coin(
    comparison,
    *,
    heads: Annotated[float, about("p, whatever the data.", gt=0, le=1)] = 0.5,
) -> TestResult:
    """A test that looks at nothing."""
    a, b = float(comparison.scores_a.mean()), float(comparison.scores_b.mean())
    return TestResult(
        method="coin", a=comparison.a.name, b=comparison.b.name, score_a=a, score_b=b,
        delta=b - a, p=heads, alternative="two-sided", unit="segment", aggregation="mean",
        n_a=comparison.a.n, n_b=comparison.b.n, segments=comparison.segments,
        documents=comparison.n_documents, generalises_to="nothing",
    )


coin.cited = "a coin (Anonymous, 2026)"


@dataclass(frozen=True)
class Nudge(Tuner):
    """Adds noise to the weights."""

    name = "nudge"

    step: Annotated[float, about("Size of the noise.", ge=0)] = 0.01

    def tune(self, pool, objective, start, rng, threads=1):
        weights = start + self.step * rng.standard_normal(len(start))
        return TuningResult(weights, objective.score(pool, weights))


class Echo(Backend):
    """Says the reference, without its last `cut` words."""

    name = "echo"

    class Settings(SystemSettings, frozen=True):
        """A system that has read the references."""

        cut: Annotated[int, about("Words that are left out.", ge=0)] = 1

    @property
    def stages(self):
        return {"decode": ()}

    def decode(self, job):
        cut = self.settings.cut + job.replica.index % 2
        lines = [line.split() for line in job.prepared.references[0]]
        return [" ".join(words[: max(1, len(words) - cut)]) for words in lines]
'''
ENTRY_POINTS = """[replitune.metrics]
first-word = thirdparty:FirstWord
[replitune.tests]
coin = thirdparty:coin
[replitune.tuners]
nudge = thirdparty:Nudge
[replitune.backends]
echo = thirdparty:Echo
"""
EXPERIMENT = {
    "experiment": "others",
    "corpus": {"kind": "synthetic", "train": 300, "dev": 12, "tests": {"t": 30}},
    "systems": {
        "smt": {"backend": "phrase", "features": ["tm", "lm"], "replicas": {"nudge": 2}},
        "echo": {"backend": "echo", "cut": 2, "replicas": {"seeds": 2}},
    },
    "tuning": {"iterations": 2, "nbest": 20, "nudge": {"step": 0.05}},
    "metrics": ["bleu", {"name": "first-word", "lowercase": True}],
    "tests": {"samples": 99, "methods": ["crossed", {"name": "coin", "heads": 0.25}]},
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as pip would leave it, in a folder of its own."""
    site = tmp_path / "site"
    info = site / "thirdparty-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "thirdparty.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=":")
    return site


def in_a_process_of_its_own(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Names of other packages are looked up once in a process."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}:{os.environ['PYTHONPATH']}"},
        capture_output=True,
        text=True,
    )


def test_a_package_that_cannot_be_loaded_is_one_message_and_doctor_names_it(
    installed: Path, tmp_path: Path
):
    (installed / "thirdparty.py").write_text("import no_such_module")
    words = ["compare", "--refs", "r", "--baseline", "r", "--system", "a=r", "--metrics", "first-word"]
    (tmp_path / "r").write_text("a\n")
    for command, code in ((words, 2), (["doctor"], 0)):
        ran = subprocess.run(
            [sys.executable, "-m", "replitune", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
        said = ran.stdout + ran.stderr
        assert "the metric first-word of another package cannot be loaded" in said
        assert "ModuleNotFoundError: No module named 'no_such_module'" in said
        assert "Traceback" not in said
    assert "the tuner nudge of another package cannot be loaded" in said


def test_things_of_another_package_reach_the_report(snakemake, installed: Path):
    snakemake.write(EXPERIMENT)
    code = "from pathlib import Path; from support import run_file; run_file(Path('x.yaml').absolute())"
    done = in_a_process_of_its_own(code, snakemake.folder)
    assert done.returncode == 0, done.stderr
    results = snakemake.folder / "results" / "others"
    rows = pq.read_table(results / "tests" / "t" / "first-word.parquet").to_pylist()
    assert {row["method"] for row in rows} == {"crossed", "coin"}
    assert [row["p"] for row in rows if row["method"] == "coin"] == [0.25]
    assert (results / "tuning" / "smt" / "nudge-002" / "weights.json").exists()
    assert (results / "decodes" / "t" / "echo" / "seed-002.txt").exists()
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "first-word" in page
    assert "First Word" in page
    assert "coin: a coin (Anonymous, 2026)" in page


def test_mistakes_in_their_settings_are_found_as_in_ours(snakemake, installed: Path):
    experiment = {**EXPERIMENT, "metrics": ["first-word:lowercase=maybe"]}
    experiment["tuning"] = {"nudge": {"stepp": 1}}
    experiment["tests"] = {"methods": ["coin:heads=2"]}
    experiment["systems"] = {"echo": {"backend": "echo", "cutt": 1}}
    snakemake.write(experiment)
    done = snakemake("--dry-run")
    assert done.returncode == 1
    for hint in ("did you mean `step`", "true or false", "at most 1", "did you mean `cut`"):
        assert hint in done.stderr
