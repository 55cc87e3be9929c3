"""Texts that were mixed up, told from bad translations."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from replitune.statistics.plausibility import Plausibility
from support import outputs_of

NOUNS = ["man", "woman", "dog", "street", "ball", "water", "shirt", "group", "child", "bicycle", "market"]
VERBS = ["walks", "stands", "sits", "plays", "runs", "looks", "holds", "eats", "rides", "jumps"]
PLACES = ["near", "under", "behind", "beside", "across", "over"]


def made_up(lines: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [
        f"the {draw.choice(NOUNS)} {draw.choice(VERBS)} {draw.choice(PLACES)} a {draw.choice(NOUNS)} and "
        f"the {draw.choice(NOUNS)} {draw.choice(VERBS)} with {draw.randrange(10**6)}"
        for _ in range(lines)
    ]


def spoilt(lines: list[str], share: float, seed: int) -> list[str]:
    """Bad translations: that share of the words is another word of the language."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(NOUNS) if draw.random() < share else word for word in line.split())
        for line in lines
    ]


REFERENCE = made_up(400, 1)
SOURCE = [line[::-1] for line in REFERENCE]


def codes(*runs: list[str]) -> list[str]:
    return [doubt.code for doubt in Plausibility([REFERENCE], SOURCE).doubts("sys", outputs_of([*runs]))]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_a_bad_translation_is_a_translation(share):
    assert codes(spoilt(REFERENCE, share, 2)) == []


GOOD = spoilt(REFERENCE, 0.3, 2)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (GOOD[1:] + GOOD[:1], "shifted"),
        (GOOD[:200] + GOOD[201:] + GOOD[:1], "shifted"),
        (GOOD[-1:] + GOOD[:-1], "shifted"),
        (made_up(400, 3), "other-text"),
        ([line[::-1] for line in GOOD], "other-language"),
        (SOURCE, "source"),
        (REFERENCE, "references"),
        (["a man"] * 400, "other-text"),
        (GOOD[:100] + [""] * 300, "blank"),
    ],
)
def test_mixed_up(lines, code):
    assert codes(lines) == [code]


def test_runs_are_named():
    plausible = Plausibility([REFERENCE])
    shifted = GOOD[1:] + GOOD[:1]
    (doubt,) = plausible.doubts("sys", outputs_of([GOOD, shifted, shifted]))
    assert doubt.system == "sys"
    assert doubt.text.startswith("sys, run 2, 3: outputs resemble the references of neighbouring lines")


def test_few_segments_can_look_like_anything():
    few = Plausibility([REFERENCE[:20]])
    assert few.doubts("sys", outputs_of([made_up(20, 3)])) == []


def test_a_script_without_spaces():
    lines = ["".join(chr(0x4E00 + ord(c) % 97 * 7) for c in line) for line in REFERENCE]
    chinese = Plausibility([lines])
    assert chinese.doubts("sys", outputs_of([[line[:-2] for line in lines]])) == []
    (doubt,) = chinese.doubts("sys", outputs_of([REFERENCE]))
    assert doubt.code == "other-language"


@pytest.mark.skipif("REPLITUNE_DATA" not in os.environ, reason="REPLITUNE_DATA is not set")
def test_real_neural_outputs_of_a_low_resource_pair():
    folder = Path(os.environ["REPLITUNE_DATA"], "flores-seeds", "ne-en")

    def lines(name: str) -> list[str]:
        return gzip.decompress((folder / name).read_bytes()).decode().splitlines()

    plausible = Plausibility([lines("reference.en.gz")], lines("source.ne.gz"))
    outputs = lines("baseline.seed-12.gz")
    assert plausible.doubts("baseline", outputs_of([outputs])) == []
    (doubt,) = plausible.doubts("baseline", outputs_of([outputs[1:] + outputs[:1]]))
    assert doubt.code == "shifted"
