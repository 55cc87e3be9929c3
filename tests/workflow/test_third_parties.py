"""The package of docs/extend.md, which brings one of each kind, through to the report: nothing here is
changed for it, not even imported by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from replitune.results.result import Result
from support import ROOT

pytestmark = pytest.mark.workflow

PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
MODULES = dict(re.findall(r"```python\n# my_package/(\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
PYPROJECT = tomllib.loads("".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)))
"""The package that the page on extending has, word for word."""

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
    info = site / "my_package-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "my_package").mkdir()
    for name, code in {"__init__.py": "", **MODULES}.items():
        (site / "my_package" / name).write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    groups = PYPROJECT["project"]["entry-points"]
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in own.items())
            for group, own in groups.items()
        )
    )
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


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replitune", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


COMPARE = ("compare", "--refs", "r", "--baseline", "r", "--system", "a=r", "--metrics", "first-word")


def test_the_page_has_one_of_each_kind():
    groups = {name.rpartition(".")[2] for name in PYPROJECT["project"]["entry-points"]}
    assert groups == {"metrics", "tests", "tuners", "backends", "readers", "tables", "figures"}
    assert len(MODULES) == len(groups)


def test_a_package_that_cannot_be_loaded_is_one_message_and_doctor_names_it(
    installed: Path, tmp_path: Path
):
    for name in ("metric", "tuner"):
        (installed / "my_package" / f"{name}.py").write_text("import no_such_module")
    (tmp_path / "r").write_text("a\n")
    for command, code in ((COMPARE, 2), (("doctor",), 0)):
        done = ran(tmp_path, *command)
        assert done.returncode == code, done.stderr
        said = done.stdout + done.stderr
        assert "the metric first-word of another package cannot be loaded" in said
        assert "ModuleNotFoundError: No module named 'no_such_module'" in said
        assert "Traceback" not in said
    assert "the tuner nudge of another package cannot be loaded" in said


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("    def score(", "    def scored(", ("lacks methods", "FirstWord without score")),
        (
            "        sums = np.as",
            "        sums = no_such_name.as",
            ("the metric first-word of another package failed", "NameError", "metric.py:"),
        ),
    ],
    ids=["incomplete", "wrong"],
)
def test_what_fails_in_a_package_is_one_message(
    installed: Path, tmp_path: Path, old: str, new: str, parts: tuple[str, ...]
):
    path = installed / "my_package" / "metric.py"
    path.write_text(MODULES["metric.py"].replace(old, new))
    (tmp_path / "r").write_text("a b\nc d\ne f\n")
    done = ran(tmp_path, *COMPARE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_a_reader_of_another_package_reads_its_files(installed: Path, tmp_path: Path):
    lines = [
        f"{s}/{r} q{q}: {(q * r + len(s)) % 5}" for s in ("a", "bb") for r in (1, 2, 3) for q in range(9)
    ]
    (tmp_path / "x.judge").write_text("\n".join(["@judge 1", *lines]) + "\n")
    done = ran(tmp_path, "compare", "--scores", "x.judge", "--samples", "99", "--methods", "crossed")
    assert done.returncode == 0, done.stderr
    assert "points on testset (9 segments" in done.stdout
    assert "a judge's points" in done.stderr
    (tmp_path / "x.judge").write_text("@judge 1\nnothing\n")
    done = ran(tmp_path, "compare", "--scores", "x.judge")
    assert (done.returncode, "x.judge:2: no line of a judge" in done.stderr) == (2, True)


def test_things_of_another_package_reach_the_report(snakemake, installed: Path):
    snakemake.write(EXPERIMENT)
    code = "from pathlib import Path; from support import run_file; run_file(Path('x.yaml').absolute())"
    done = in_a_process_of_its_own(code, snakemake.folder)
    assert done.returncode == 0, done.stderr
    results = snakemake.folder / "results" / "others"
    tests = Result.read(results / "tests" / "t", "first-word").tests
    assert {test.method for test in tests} == {"crossed", "coin"}
    assert [test.p for test in tests if test.method == "coin"] == [0.25]
    assert (results / "tuning" / "smt" / "nudge-002" / "weights.json").exists()
    assert (results / "decodes" / "t" / "echo" / "seed-002.txt").exists()
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "first-word" in page
    assert "First Word" in page
    assert "coin: a coin (Anonymous, 2026)" in page
    caption = "The lowest and the highest score of a run of each system."
    assert f'id="caption-extremes">{caption}</p>' in page
    assert (results / "tables" / "extremes.md").read_text(encoding="utf-8").startswith(caption)
    rows = (results / "tables" / "extremes.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "metric,system,lowest,highest"
    assert len(rows) == 1 + 2 * 2
    assert (results / "figures" / "t.bleu.bars.svg").exists()
    assert "Mean First Word of each system on t." in page


def test_mistakes_in_their_settings_are_found_as_in_ours(snakemake, installed: Path):
    experiment = {**EXPERIMENT, "metrics": ["first-word:lowercase=maybe"]}
    experiment["tuning"] = {"nudge": {"stepp": 1}}
    experiment["tests"] = {"methods": ["coin:heads=2"]}
    experiment["systems"] = {"echo": {"backend": "echo", "cutt": 1}}
    snakemake.write(experiment)
    done = replace(snakemake, cold=True)("--dry-run")  # with the package on its path
    assert done.returncode == 1
    for hint in ("did you mean `step`", "true or false", "at most 1", "did you mean `cut`"):
        assert hint in done.stderr
