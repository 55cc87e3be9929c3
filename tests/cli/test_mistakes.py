"""What was typed or given by mistake and would end in a confident answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from replitune import api
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.results.decision import decide
from support import Ran, run_in_process

NOUNS = ["man", "woman", "dog", "street", "ball", "water", "shirt", "group", "child", "bicycle", "market"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up test set with two systems of two runs, and what may be taken for them."""
    rng = np.random.default_rng(4)
    folder = tmp_path_factory.mktemp("texts")

    def made_up() -> list[str]:
        return [
            " ".join(["the", *rng.choice(NOUNS, 7), "is", str(rng.integers(10**5))]) for _ in range(120)
        ]

    def spoilt(lines: list[str], share: float) -> list[str]:
        return [
            " ".join(w if rng.random() > share else rng.choice(NOUNS) for w in line.split())
            for line in lines
        ]

    ref = made_up()
    better = spoilt(ref, 0.2)
    files = {
        "ref": ref,
        "src": [line[::-1] for line in ref],
        "b.1": spoilt(ref, 0.4),
        "b.2": spoilt(ref, 0.4),
        "n.1": better,
        "n.2": spoilt(ref, 0.2),
        "shifted": better[1:] + better[:1],
        "other": made_up(),
        "copy": ref,
        "copy-src": [line[::-1] for line in ref],
        "n-copy": better,
        "out.1": better,
        "the-ref": ref,
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


FAST = ("--metrics", "bleu:tokenize=none", "--samples", 99, "--methods", "crossed", "--intervals")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("copy", "The outputs of n (run-003) are the references"),
        ("copy-src", "The outputs of n (run-003) are the source text"),
        ("shifted", "The outputs of n (run-003) resemble the references of neighbouring lines"),
        ("other", "The outputs of n (run-003) resemble their own references no more than those of other"),
    ],
)
def test_outputs_that_cannot_be_decide_nothing(
    replitune: Callable[..., Ran], texts: Path, run: str, said: str
):
    given = ("--refs", texts / "ref", "--source", texts / "src", "--baseline", texts / "b.1", texts / "b.2")
    system = ("--system", f"n={texts / 'n.1'}", texts / "n.2", texts / run)
    ran = replitune("compare", *given, *system, *FAST, "--fail-unless", "better")
    assert ran.code == 3
    assert " ".join(ran.out.split()).startswith(f"Nothing can be said yet. {said}")
    (pair,) = json.loads(ran.out.splitlines()[-1])["pairs"]
    assert (pair["ok"], [text[: len(said)] for text in pair["refused"]]) == (False, [said])


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("n.2", None),
        ("copy", "The outputs of n (run-002) are the references"),
        ("copy-src", "The outputs of n (run-002) are the source text"),
        ("shifted", "The outputs of n (run-002) resemble the references of neighbouring lines more"),
        ("other", "The outputs of n (run-002) resemble their own references no more than those of other"),
    ],
)
def test_experiments_see_in_texts_what_compare_sees(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, said: str | None
):
    monkeypatch.chdir(tmp_path)
    files = {"b": ["b.1", "b.2"], "n": ["n.1", run]}
    made = run_in_process(
        Experiment(
            resolve(
                {
                    "experiment": "x",
                    "corpora": str(texts),
                    "corpus": {"kind": "files", "tests": {"t": {"references": "ref", "source": "src"}}},
                    "systems": {
                        name: {"backend": "outputs", "files": {"t": f}} for name, f in files.items()
                    },
                    "metrics": ["bleu:tokenize=none", "chrf"],
                    "tests": {"samples": 99, "methods": ["crossed"], "intervals": []},
                    "studies": {"power": False},
                }
            )
        )
    )
    report = api.read(made.folder)
    decision = decide(report.results, "better", ["two-runs"])
    page = Path(made.at.page).read_text("utf-8")
    if said is None:
        assert decision.ok
        assert "Nothing can be said" not in f"{report.summary}{page}"
        return
    assert str(report.summary).startswith(f"Nothing can be said yet. {said}")
    assert report.summary.next == "mend the outputs of n (run-002)"
    assert {(one.state, one.p, one.next, one.holds) for one in report.answers()} == {
        ("cannot", None, report.summary.next, ())
    }
    assert f"Nothing can be said yet. {said}" in page
    assert (decision.ok, [text[: len(said)] for text in decision.pairs[0]["refused"]]) == (False, [said])


def test_one_file_is_not_several_runs(replitune: Callable[..., Ran], texts: Path):
    again = (texts / "n.1", texts / ".." / texts.name / "n.1")
    given = ("--refs", texts / "ref", "--baseline", texts / "b.1", texts / "b.2")
    ran = replitune("compare", *given, "--system", f"n={texts / 'n.1'}", *again, *FAST)
    assert ran.code == 2
    assert "n.1 is given as 3 runs of n" in ran.err


def test_copies_are_told_with_the_answer(replitune: Callable[..., Ran], texts: Path):
    given = ("--refs", texts / "ref", "--baseline", texts / "b.1", texts / "b.2")
    ran = replitune("compare", *given, "--system", f"n={texts / 'n.1'}", texts / "n-copy", *FAST)
    said = " ".join(ran.out.split())
    assert "but the runs of n are identical, like copies of one, so this is not decided" in said
    assert "! All 2 runs of n are identical in every segment." in said
    alone = replitune(
        *("compare", *given, "--system", f"n={texts / 'n.1'}", texts / "n-copy", *FAST),
        *("--scope", "segments", "--fail-unless", "better"),
    )
    assert "for these runs" in alone.out, "one text of a system that always says the same"
    assert "so this is not decided" not in alone.out


def test_references_and_outputs_exchanged(replitune: Callable[..., Ran], texts: Path):
    by_name = replitune(
        "compare",
        "--refs",
        texts / "out.1",
        "--baseline",
        texts / "the-ref",
        "--system",
        f"n={texts / 'n.2'}",
    )
    assert "are they exchanged?" in " ".join(by_name.out.split())
    by_lines = replitune(
        *("compare", "--refs", texts / "n.1", texts / "n-copy"),
        *("--baseline", texts / "b.1", "--system", f"n={texts / 'n.2'}", *FAST),
    )
    assert "120 of 120 lines of two references are the same: are they outputs?" in by_lines.out


def test_one_system_alone_has_its_scores(replitune: Callable[..., Ran], texts: Path):
    ran = replitune("compare", "--refs", texts / "ref", "--baseline", texts / "b.1", texts / "b.2", *FAST)
    assert ran.code == 0
    assert "on average over 2 runs" in ran.out
    assert "no other system to compare it with." in " ".join(ran.out.split())


def table(
    folder: Path, metric: str = "score", scale: float = 1.0, names: tuple[str, str] = ("a", "b")
) -> Path:
    rng = np.random.default_rng(1)
    rows = [
        (name, run, i, (rng.random() + 0.2 * shift) * (scale if shift else 1.0) / 1.2)
        for shift, name in enumerate(names)
        for run in range(3)
        for i in range(60)
    ]
    path = folder / "t.csv"
    pd.DataFrame(rows, columns=["system", "run", "item", metric]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("metric", ["TER", "wer", "loss", "perplexity", "error_rate", "latency"])
def test_of_errors_less_is_better(replitune: Callable[..., Ran], tmp_path: Path, metric: str):
    words = ("--baseline", "a", "--methods", "crossed", "--intervals", "--fail-unless", "better")
    ran = replitune("compare", "--scores", table(tmp_path, metric), *words)
    assert ran.code == 3
    assert "lower is better" in ran.out
    said = replitune("compare", "--scores", table(tmp_path, metric), *words, "--higher-is-better", metric)
    assert said.code == 0


@pytest.mark.parametrize(
    ("given", "words", "message"),
    [
        ({"metric": "mqm"}, ["--fail-unless", "better"], "whether higher or lower mqm is better"),
        ({"scale": 100.0}, [], "systems on different scales of score"),
        ({"names": ("a", "A")}, [], "two systems whose names differ only in capitals or spaces"),
        ({}, ["--fail-unless", "not-worse"], "--margin 0.005"),
        ({"metric": "bleu"}, ["--margin", "blue=1"], "a margin of blue, which is not compared"),
        ({}, ["--metrcs", "score"], "did you mean --metrics?"),
        ({}, ["--refs", "ref"], "--metrics bleu external:file="),
    ],
)
def test_is_refused(
    replitune: Callable[..., Ran], tmp_path: Path, given: dict, words: list[str], message: str
):
    fast = ("--baseline", "a", "--methods", "crossed", "--intervals")
    ran = replitune("compare", "--scores", table(tmp_path, **given), *fast, *words)
    assert ran.code == 2
    assert message in ran.err


def test_a_margin_that_lets_anything_pass(replitune: Callable[..., Ran], tmp_path: Path):
    fast = ("--baseline", "a", "--methods", "crossed", "--intervals", "--margin", "0.5")
    ran = replitune("compare", "--scores", table(tmp_path), *fast)
    assert "! The margin of 0.5 is wide" in ran.out
