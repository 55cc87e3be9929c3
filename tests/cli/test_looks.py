"""`replitune compare --looks` and `replitune next`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import replitune
from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.plan import peeking
from replitune.experiment.reading import resolve

SEGMENTS = 40


def table(path: Path, *, shift: float, runs: tuple[int, int] = (8, 8)) -> Path:
    rng = np.random.default_rng(3)
    rows = ["system,run,segment,score"]
    for name, n, more in (("A", runs[0], 0.0), ("B", runs[1], shift)):
        for run in range(n):
            scores = rng.normal(size=SEGMENTS) + more + rng.normal() * 0.3
            rows += [f"{name},{run + 1},{i},{x:.6f}" for i, x in enumerate(scores)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_compare_says_that_fewer_runs_would_have_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    scores = table(tmp_path / "s.csv", shift=5)
    assert main(["compare", "--scores", str(scores), "--looks", "3", "5"]) == 0
    said = capsys.readouterr()
    assert "6 of 16 runs would have been enough: 3 of 8 of A, 3 of 8 of B" in said.out
    assert "settled" in said.out
    assert "before the first look" in said.err


def test_the_command_and_the_api_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    scores = table(tmp_path / "s.csv", shift=0.2)
    report = replitune.scores(str(scores), methods=["crossed"])
    record = report.looks([3, 5])
    assert main(["compare", "--scores", str(scores), "--looks", "3", "5"]) == 0
    said = capsys.readouterr().out
    used, most = record.runs
    assert most == 16
    assert f"{used} of 16" in said or "all 16 runs were needed" in said
    assert record.looks[0].systems["A"].replicas == ["run-001", "run-002", "run-003"]


REFUSED = [
    (["--looks", "2", "5"], "the first look is at 2"),
    (["--looks", "5", "3"], "looks do not rise"),
    (["--looks", "3", "--methods", "clark"], "looks use `crossed`"),
    (["--looks", "3", "--methods", "crossed:scope=segments"], "scope: segments"),
    (["--looks", "3", "--methods", "crossed:noise_ratio=3"], "noise_ratio: 3"),
    (["--looks", "3", "--correction", "bh"], "no correction `bh`"),
    (["--looks", "3", "--design", "samples"], "samples have no run effect"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_looks_cannot_follow_is_refused_before_anything_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
):
    scores = table(tmp_path / "s.csv", shift=0)
    assert main(["compare", "--scores", str(scores), *options]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert not said.out


def stored(tmp_path: Path, **options: object) -> Path:
    report = replitune.scores(str(table(tmp_path / "s.csv", **options)), methods=["crossed"])
    report.write_store(tmp_path / "stats")
    return tmp_path / "stats"


def test_next_says_who_needs_how_many_runs_and_what_they_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    stats = stored(tmp_path, shift=0.5, runs=(4, 3))
    assert main(["next", str(stats), "--most", "20", "--cpu-per-run", "60"]) == 0
    said = capsys.readouterr()
    assert "more runs of B" in said.out
    assert "B: 2 more runs (it has 3), about 2.0 min of CPU" in said.out
    assert "A: 1 more run (it has 4)" in said.out, "they get more together"
    assert "in all 3 runs" in said.out
    assert "note: p keeps its level" in said.err


def test_next_wants_three_runs_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stats = stored(tmp_path, shift=0.5, runs=(2, 3))
    assert main(["next", str(stats)]) == 0
    said = capsys.readouterr().out
    assert "A: 1 more run (it has 2)" in said
    assert "B:" not in said


def test_next_says_that_nothing_is_left_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stats = stored(tmp_path, shift=5, runs=(3, 3))
    assert main(["next", str(stats)]) == 0
    assert "B - A: settled, nothing to do" in capsys.readouterr().out


def test_one_metric_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stats = stored(tmp_path, shift=5, runs=(3, 3))
    assert main(["next", str(stats), "--metric", "bleu"]) == 2
    assert "one metric has to decide" in capsys.readouterr().err


def test_replicas_that_are_added_after_a_look_are_warned_of(tmp_path: Path):
    settings = resolve(
        {
            "experiment": "x",
            "corpus": {"kind": "synthetic", "tests": {"t": 10}},
            "systems": {"a": {"backend": "corruption", "errors": 0.2}},
            "replicas": {"seeds": 5},
        }
    )
    experiment = Experiment(settings, tmp_path)
    assert peeking(experiment) == []
    (tmp_path / "x").mkdir()
    files = {f"decodes/t/a/seed-00{k}.txt": "" for k in (1, 2, 3)}
    (tmp_path / "x" / "manifest.json").write_text(json.dumps({"files": files}))
    (said,) = peeking(experiment)
    assert "a (3 to 5)" in said
    assert "no longer hold their level" in said
