"""Warnings for the classic mistakes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from replitune.running.files import read_lines, sha256_lines
from replitune.statistics.diagnosis import SAMPLE, diagnose, find_copies, unmatched_words
from replitune.statistics.outputs import Outputs
from support import outputs_of

TEXT = [f"The {noun} saw {n} birds, and it slept." for n, noun in enumerate(["cat", "dog", "ox"] * 20)]


def tokenise(line):
    return line.replace(",", " ,").replace(".", " .")


def warnings(hyps, refs):
    return diagnose("sys", outputs_of([hyps]), [refs], words=0)


def test_good_outputs_have_no_warning():
    assert warnings(TEXT, TEXT) == []
    assert warnings([tokenise(line) for line in TEXT], [tokenise(line) for line in TEXT]) == []


def test_tokenised_outputs_or_references():
    (said,) = warnings([tokenise(line) for line in TEXT], TEXT)
    assert said.startswith("sys: the outputs look tokenised and the references do not")
    (said,) = warnings(TEXT, [tokenise(line) for line in TEXT])
    assert said.startswith("sys: the references look tokenised and the outputs do not")


def test_little_punctuation_is_no_evidence():
    assert warnings([tokenise(line) for line in TEXT[:4]], TEXT[:4]) == []


def test_lower_case_on_one_side():
    lower = [line.lower() for line in TEXT]
    (said,) = warnings(lower, TEXT)
    assert "the outputs are lower-cased and the references are not" in said
    (said,) = warnings(TEXT, lower)
    assert "the references are lower-cased and the outputs are not" in said
    assert warnings(lower, lower) == []


@pytest.mark.parametrize("mark", ["&apos;s", "well @-@ known", "wo@@ rd", "\u2581word"])
def test_marks_of_tokenisers_on_one_side(mark):
    marked = [f"{line[:-1]} {mark}." for line in TEXT]
    (said,) = warnings(marked, TEXT)
    assert "the outputs contain" in said
    (said,) = warnings(TEXT, marked)
    assert "the references contain" in said
    assert warnings(marked, marked) == []


def test_blank_lines_at_the_end_of_any_replica():
    cut = [*TEXT[:-2], "", " "]
    other = [line + " x" for line in TEXT]
    (said, *more) = diagnose("sys", outputs_of([TEXT, cut, other]), [TEXT], words=0)
    assert said.startswith("sys: blank lines at the end of run 2")
    assert more == ["sys: up to 1 of 60 outputs are empty in run 2"]
    assert diagnose("sys", outputs_of([cut]), [cut], words=0) == []


def test_many_empty_outputs():
    holes = [line if i % 10 else "" for i, line in enumerate(TEXT)]
    more = [*holes[:-1], "x"]
    (said,) = diagnose("sys", outputs_of([TEXT, holes, more]), [TEXT], words=0)
    assert said == "sys: up to 6 of 60 outputs are empty in 2 runs (2, 3)"
    assert diagnose("sys", outputs_of([holes]), [holes], words=0) == []


def test_unmatched_words_by_hand():
    hyps = ["a b b", "b c", "d a", "schnee a"]
    refs = [["a", "c", "x d", "a"], ["", "", "a b", ""]]
    unmatched, nowhere = unmatched_words(hyps, refs)
    assert unmatched == [("b", 2), ("schnee", 1)]
    assert nowhere == [("schnee", 1)]
    assert diagnose("sys", outputs_of([hyps]), refs, words=1) == [
        "sys: most frequent unmatched words in 4 segments: b (2); in no reference at all: schnee (1)"
    ]


def test_large_test_sets_are_sampled_over_their_whole_length():
    n = 10 * SAMPLE
    refs = ["a b"] * n
    (said,) = diagnose("sys", outputs_of([["a b"] * (n // 2) + ["a c"] * (n // 2)]), [refs])
    assert said == (
        f"sys: most frequent unmatched words in {SAMPLE} segments: c ({SAMPLE // 2}); "
        f"in no reference at all: c ({SAMPLE // 2})"
    )


def test_nothing_to_look_at_is_no_mistake():
    assert diagnose("sys", Outputs(1), [["a"]]) == []
    assert diagnose("sys", outputs_of([[]]), [[]]) == []


def test_identical_replicas_of_a_system_are_named():
    other = [line + " x" for line in TEXT]
    replicas = [TEXT, other, TEXT]
    assert diagnose("sys", outputs_of(replicas), [TEXT], words=0) == [
        "sys: the outputs of 2 runs (1, 3) are identical: is one file given twice?"
    ]


def test_identical_outputs_of_two_systems_are_named():
    hashes = {"A": ["x", "y", "y"], "B": ["z", "x"], "C": ["w"], "references": ["w"]}
    assert find_copies(hashes) == [
        "A and B have identical outputs (run 1 = 2): is one file given twice?",
        "C and references have identical outputs (run 1 = 1): is one file given twice?",
    ]
    many = [str(i) for i in range(7)]
    (said,) = find_copies({"A": many, "B": many})
    assert "5 = 5, ...)" in said


@pytest.mark.realdata
def test_the_byte_copies_in_the_multeval_example_are_found():
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA names no folder")
    files = sorted((Path(folder) / "multeval-example").glob("hyps.*.gz"))
    hashes: dict[str, list[str]] = {}
    for file in files:
        hashes.setdefault(file.name.split(".")[4], []).append(sha256_lines(read_lines(file)))
    assert find_copies(hashes) == [
        "baseline and sys2 have identical outputs (run 1 = 1, 2 = 2, 3 = 3): is one file given twice?"
    ]
