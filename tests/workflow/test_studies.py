"""Studies of an experiment: each has a job, and a changed setting runs again what depends on it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support import changed, run_again

from .conftest import Snakemake, manifest

WORDS = ["the", "cat", "dog", "sat", "ran", "on", "a", "mat", "old", "bridge", "in", "rain"]
EXPERIMENT = {
    "experiment": "studied",
    "corpus": {"kind": "files", "tests": {"t": {"references": "ref.txt"}}},
    "systems": {name: {"backend": "outputs", "files": {"t": f"{name}.*.txt"}} for name in ("a", "b", "c")},
    "tests": {"samples": 99, "methods": ["crossed"]},
    "studies": {
        "power": {"replicas": [3]},
        "replication": {"sizes": [1, 3], "repeats": 5, "samples": 20},
        "calibrate": {"sizes": [1], "trials": 5, "samples": 20},
        "meta": {"human": "human scores.csv", "samples": 50, "ci_samples": 20},
    },
}


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    runner = Snakemake(tmp_path_factory.mktemp("studied"))
    rng = random.Random(3)
    lines = [rng.choices(WORDS, k=8) for _ in range(20)]
    (runner.folder / "ref.txt").write_text("".join(" ".join(line) + "\n" for line in lines))
    judged = ["system,segment,score"]
    for share, name in enumerate("abc", 1):
        for run in (1, 2, 3):
            text = "".join(
                " ".join(w if rng.random() > 0.1 * share else "x" for w in line) + "\n" for line in lines
            )
            (runner.folder / f"{name}.{run}.txt").write_text(text)
        judged += [f"{name},{i},{rng.gauss(-share, 1)}" for i in range(20)]
    (runner.folder / "human scores.csv").write_text("\n".join(judged) + "\n")
    return runner.in_process({**EXPERIMENT, "corpora": str(runner.folder)})


def planned(runner: Snakemake, **changes: object) -> dict[str, int]:
    experiment = {**EXPERIMENT, "corpora": str(runner.folder)}
    return run_again(experiment, changed(experiment, **changes))


def test_every_study_leaves_its_files(studied: Snakemake):
    results = studied.folder / "results" / "studied"
    for study in ("power", "replication", "calibrate"):
        assert (results / "studies" / study / "t" / "bleu.parquet").is_file()
        assert (results / "logs" / study / "t" / "bleu.log").read_text()
    assert (results / "studies" / "meta" / "t.parquet").is_file()
    said = manifest(results)
    assert {"studies/meta/t.parquet", "tables/agreement.tex", "figures/t.bleu.power.svg"} <= set(
        said["files"]
    )
    assert "power/t/bleu" in said["jobs"]
    page = (results / "report.html").read_text("utf-8")
    for figure in ("t.bleu.replication", "t.bleu.calibration", "t.bleu.detectable", "t.agreement"):
        assert f'id="figure-{figure}"' in page
    assert not list(Path(results).rglob("*.tmp"))


def test_a_changed_study_runs_again_alone(studied: Snakemake):
    last = {"report": 1, "manifest": 1}
    assert planned(studied) == {}
    again = planned(
        studied,
        studies__power__power=0.9,
        studies__replication__repeats=6,
        studies__meta__resample="systems",
    )
    assert again == {"power": 1, "replication": 1, "meta": 1, **last}
    assert planned(studied, studies__calibrate=False, studies__power=False) == last
    assert planned(studied, tests__margin={"bleu": 1.0}) == {"test": 1, "power": 1, **last}
    assert planned(studied, tests__alpha=0.01) == {"test": 1, "power": 1, "replication": 1, **last}
