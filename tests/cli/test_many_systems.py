"""What people type who have many systems, single outputs, or come from multeval."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import replitune as r
from replitune.cli.multeval import translate
from replitune.cli.options import metric_words
from replitune.report.specification import WIDTH
from support import Ran

WORDS = ("the", "a", "red", "old", "cat", "dog", "house", "sea", "runs", "sees", "in", ",", ".")


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, Path]:
    """A reference and nine systems, each with more wrong words than the one before."""
    draw = random.Random(3)
    ref = [" ".join(draw.choices(WORDS, k=12)) + " ." for _ in range(80)]
    paths = {"ref": tmp_path / "ref.txt"}
    paths["ref"].write_text("\n".join(ref) + "\n")
    for n in range(9):
        draw = random.Random(n)
        lines = [
            " ".join(w if draw.random() > 0.05 * n + 0.02 else draw.choice(WORDS) for w in line.split())
            for line in ref
        ]
        paths[f"system-{n}"] = tmp_path / f"{n}.txt"
        paths[f"system-{n}"].write_text("\n".join(lines) + "\n")
    return paths


def options(texts: dict[str, Path], *names: str) -> list[str]:
    return [word for n in names for word in ("--system", f"{n}={texts[n]}")]


def test_many_single_outputs_are_one_table_that_fits_a_screen(
    replitune: Callable[..., Ran], texts: dict[str, Path]
):
    names = [name for name in texts if name != "ref"]
    ran = replitune(
        "compare", "--refs", texts["ref"], *options(texts, *names), "--metrics", "chrf", "--samples", 99
    )
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= WIDTH
    rows = [line.split() for line in lines if line.startswith("  system-")]
    assert [row[0] for row in rows] == names
    assert "cluster" not in ran.out, "single outputs rank nothing"
    assert "–" not in "\n".join(lines[:12])  # no column without a number
    assert "36 differences" in ran.out
    assert ran.err.count("note:") == 1
    assert "new segments, from these runs" in ran.err
    assert ran.out.startswith("system-0 scored highest, ")
    assert "none of 36 pairs is decided" in ran.out
    assert ran.out.count("! One run of 9 systems") == 1


def test_pairs_scope_and_unit_are_options(
    replitune: Callable[..., Ran], texts: dict[str, Path], tmp_path: Path
):
    docs = tmp_path / "docs.txt"
    docs.write_text("".join(f"d{i // 2}\n" for i in range(80)))
    say = [
        "compare",
        "--refs",
        texts["ref"],
        *options(texts, "system-0", "system-1", "system-2"),
        "--metrics",
        "chrf",
        "--samples",
        99,
        "--docs",
        docs,
    ]
    ran = replitune(*say, "--pairs", "system-0:system-2", "--unit", "document")
    assert ran.code == 0, ran.err
    assert "system-0 over system-2" in ran.out
    assert "system-1 - system-0" not in ran.out
    assert "new documents" in ran.out
    every = replitune(*say, "--pairs", "all", "--scope", "segments", "--unit", "segment")
    assert "system-2 - system-1" in every.out
    assert "crossed: new segments" in every.out
    wrong = replitune(*say, "--scope", "all")
    assert wrong.code == 2
    assert "both" in wrong.err
    none = replitune(*say, "--scope", "runs", "--methods", "clark")
    assert none.code == 2
    assert "none of these tests has the option scope" in none.err


def test_the_baseline_has_a_name(replitune: Callable[..., Ran], texts: dict[str, Path]):
    ran = replitune(
        "compare",
        "--refs",
        texts["ref"],
        "--baseline",
        f"old={texts['system-3']}",
        *options(texts, "system-0", "system-1"),
        "--metrics",
        "chrf,ter:normalized=true",
        "--samples",
        99,
    )
    assert ran.code == 0, ran.err
    assert "system-0 over old" in ran.out
    assert "chrf on" in ran.out
    assert "ter on" in ran.out


def test_metrics_with_commas():
    assert metric_words(["bleu,chrf", "ter"]) == ["bleu", "chrf", "ter"]
    assert metric_words(["bleu:tokenize=none,lowercase=true,chrf:word_order=2"]) == [
        "bleu:tokenize=none,lowercase=true",
        "chrf:word_order=2",
    ]


def test_tokenised_texts_under_13a_get_one_warning(texts: dict[str, Path]):
    systems = {name: [path] for name, path in texts.items() if name in ("system-1", "system-2")}
    say = {"methods": ["crossed:scope=segments"], "intervals": [], "threads": 1}
    report = r.compare(texts["ref"], systems, ["bleu", "bleu:id=none,tokenize=none"], **say)
    (said,) = [text for text in report.warnings if "13a" in text]
    assert "bleu:tokenize=none" in said
    assert not any(
        "13a" in text for text in r.compare(texts["ref"], systems, ["bleu:tokenize=none"], **say).warnings
    )


def test_a_line_of_multeval_is_answered_with_ours(replitune: Callable[..., Ran]):
    theirs = [
        "eval",
        "--refs",
        "r0",
        "r1",
        "--hyps-baseline",
        "b0",
        "b1",
        "--hyps-sys1",
        "s0",
        "s1",
        "--meteor.language",
        "en",
        "--metrics",
        "bleu",
        "meteor",
        "--boot-samples",
        "1000",
        "--latex",
        "t.tex",
        "--fullLatexDoc",
    ]
    line, left_out = translate(theirs)
    assert line == (
        "replitune compare --refs r0 r1 --baseline b0 b1 --system sys1=s0 s1 --metrics "
        "bleu:tokenize=none meteor:language=en --latex t.tex --latex-style multeval --samples 1000"
    )
    assert left_out == ["--fullLatexDoc"]
    for first in ("eval", "compare"):
        ran = replitune(first, *theirs[1:])
        assert ran.code == 2
        assert f"type: {line}" in ran.err
