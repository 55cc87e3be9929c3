"""Whom to judge next, and the sheet that comes back as judgements."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

import replitune as r
from replitune.cli.main import main
from replitune.errors import ReplituneError
from replitune.meta.planning import choose, wanted
from replitune.significance.base import TestResult

FAST = {"intervals": [], "threads": 1}


def test_probabilities_are_those_of_the_choice():
    sizes = np.concatenate([np.zeros(40), np.linspace(0.1, 5, 60)])
    counts = np.zeros(100)
    rng = np.random.default_rng(1)
    for _ in range(2_000):
        chosen, probability = choose(sizes, 30, rng)
        assert len(chosen) == len(set(chosen.tolist())) == 30
        counts[chosen] += 1
    assert probability.sum() == pytest.approx(30)
    assert probability.min() >= 0.5 * 0.3 - 0.05  # half of the judgements go to all alike
    assert probability[-1] > 2 * probability[0]
    np.testing.assert_allclose(counts / 2_000, probability, atol=0.05)


@pytest.mark.parametrize(("N", "n"), [(10, 10), (7, 1), (23, 22), (5, 3)])
def test_small_and_whole_samples(N: int, n: int):
    chosen, probability = choose(np.arange(N) ** 3.0, n, np.random.default_rng(2))
    assert len(chosen) == n
    assert probability.sum() == pytest.approx(n)
    assert probability.max() <= 1
    even, alike = choose(np.zeros(N), n, np.random.default_rng(2))
    assert len(even) == n
    assert alike.sum() == pytest.approx(n)


def row(low: float | None, high: float | None, judged: float) -> TestResult:
    return TestResult(
        *("human", "A", "B", 0.0, 0.0, 0.0, None, "two-sided", "segment", "mean", 1, 1, 500, 500, ""),
        ci_low=low,
        ci_high=high,
        details={"judged": judged},
    )


def test_as_many_as_the_margin_needs():
    # half as wide asks for four times as many
    assert wanted([row(-1.0, 1.0, 100.0), row(-0.4, 0.4, 100.0)], 0.5, 900) == 300
    assert wanted([row(-1.0, 1.0, 100.0)], 0.5, 250) == 250
    assert wanted([row(-1.0, 1.0, 100.0)], 2.0, 250) <= 0
    with pytest.raises(ReplituneError, match="too few judgements"):
        wanted([row(None, None, 5.0)], 0.5, 250)


# ---- from texts to a sheet, and back


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    draw = random.Random(3)
    refs = [" ".join(draw.choices("abcdefgh", k=9)) for _ in range(80)]
    (tmp_path / "ref").write_text("\n".join(refs) + "\n")
    (tmp_path / "source").write_text("\n".join(f'"s", {i}' for i in range(80)) + "\n")
    for name, wrong in (("A", 0.3), ("B", 0.1)):
        for run in (1, 2):
            lines = (" ".join(w if draw.random() > wrong else "x" for w in line.split()) for line in refs)
            (tmp_path / f"{name}.{run}").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMPARE = (
    "compare --refs ref --source source --system A=A.1 A.2 --system B=B.1 B.2 --metrics chrf --with chrf"
)
COMPARE_FAST = [*COMPARE.split(), "--intervals", "--samples", "9", "--threads", "1"]


def judge(path: Path, to: Path, noise: float = 1.0) -> None:
    """As many mistakes as are in an output, and some noise."""
    draw = random.Random(4)
    with open(path, encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    for one in rows:
        one["score"] = one["score"] or str(-one["output"].split().count("x") + draw.gauss(0, noise))
    with open(to, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_sheet_is_filled_and_read_again(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*COMPARE_FAST, "--judge-next", "sheet.csv", "--budget", "40"]) == 0
    assert "40 segments, 80 outputs to judge in sheet.csv" in capsys.readouterr().out
    with open("sheet.csv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len({row["segment"] for row in rows}) == 40
    assert {row["replica"] for row in rows} == {"run-001", "run-002"}
    assert {row["source"] == f'"s", {row["segment"]}' for row in rows} == {True}
    first = [row["system"] for row in rows[::2]]
    assert 8 < first.count("A") < 32  # in random order
    for row in rows:
        run = int(row["replica"][-1])
        text = (folder / f"{row['system']}.{run}").read_text().split("\n")
        assert text[int(row["segment"])] == row["output"]
    judge(folder / "sheet.csv", folder / "filled.csv")
    report = r.compare(
        "ref",
        {name: [f"{name}.1", f"{name}.2"] for name in "AB"},
        ["chrf"],
        human="filled.csv",
        controls=["chrf"],
        **FAST,
    )
    (test,) = report.results[1].tests
    assert (test.method, test.details["judged"]) == ("human", 40)
    assert test.scope == "both"
    mistakes = [
        np.mean([(folder / f"{name}.{run}").read_text().count("x") / 80 for run in (1, 2)]) for name in "AB"
    ]
    assert test.delta == pytest.approx(mistakes[0] - mistakes[1], abs=0.6)
    assert not {"selection-unknown", "selection-differs"} & {note.code for note in test.notes}
    frame = report.to_frame()
    assert frame.loc[frame["method"] == "human", "worth"].item() == test.details["worth"]


def test_judgements_made_at_random_come_along(folder: Path, capsys: pytest.CaptureFixture[str]):
    draw = random.Random(5)
    rows = [f"{name}\t{i}\t{draw.gauss(0, 1)}" for i in range(1, 31) for name in "AB"]
    Path("first.tsv").write_text("\n".join(["system\tsegment\tscore", *rows]) + "\n")
    ask = [*COMPARE_FAST, "--human", "first.tsv", "--first-segment", "1", "--judge-next", "sheet.csv"]
    assert main([*ask, "--budget", "20"]) == 0
    with open("sheet.csv", encoding="utf-8", newline="") as handle:
        made = list(csv.DictReader(handle))
    old = [row for row in made if row["score"]]
    assert (len(old), len(made)) == (60, 100)
    assert {int(row["segment"]) for row in old} == set(range(30))
    assert all(int(row["segment"]) >= 30 for row in made if not row["score"])
    probability = {row["segment"]: float(row["probability"]) for row in made}
    assert min(probability.values()) >= 30 / 80
    assert sum(1 / p for p in probability.values()) == pytest.approx(80, rel=0.15)
    judge(folder / "sheet.csv", folder / "filled.csv")
    capsys.readouterr()
    assert main([*COMPARE_FAST, "--human", "filled.csv", "--judge-next", "x.csv", "--budget", "5"]) == 2
    assert "chosen with probabilities cannot be added to" in capsys.readouterr().err
    assert main([*ask, "--margin", "human=0.001"]) == 0
    assert "50 segments, 100 outputs" in capsys.readouterr().out
    assert main([*ask, "--margin", "human=9"]) == 0
    assert "no more judgements are needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge-next", "s.csv"], "it is not known how many segments"),
        (["--judge-next", "s.csv", "--budget", "81"], "no such number of segments"),
        (["--human", "none.tsv"], "none.tsv"),
        ([], "--with needs judgements"),
        (["--human", "two.tsv"], "segment 1 has two probabilities"),
        (["--human", "bad.tsv"], "not a probability"),
        (["--human", "run.tsv"], "no run 'run-009'"),
        (
            ["--judge-next", "s.csv", "--budget", "5", "--methods", "human"],
            "needs people's judgements, but chrf is a metric",
        ),
        (["--human", "run.tsv", "--with", "bleu"], "no metric 'bleu' to sharpen"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str):
    head = "system\tsegment\tscore\tprobability\treplica\n"
    for name, cells in (("two", ("A 1 2 .5", "B 1 2 .6")), ("bad", ("A 1 2 0",)), ("run", ())):
        rows = [*cells] or ["A 1 2 .5", "B 1 2 .5"]
        run = "run-009" if name == "run" else "run-001"
        lines = ("\t".join([*row.split(), run]) for row in rows)
        Path(f"{name}.tsv").write_text(head + "\n".join(lines) + "\n")
    assert main([*COMPARE_FAST, *words]) == 2
    assert said in capsys.readouterr().err
