"""Texts that were mixed up, told from bad translations; and the classic mistakes in files of outputs."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from replitune.metrics.registry import get_metric
from replitune.results.texts import notes_of
from replitune.running.files import read_lines, sha256_lines
from replitune.statistics.findings import Finding, copies, matter_to
from replitune.statistics.outputs import Outputs
from replitune.statistics.texts import TextChecks, unmatched, unmatched_words
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


def findings(checks: TextChecks, *runs: list[str]) -> list[Finding]:
    return checks.findings("sys", [f"run-{n + 1:03d}" for n in range(len(runs))], outputs_of([*runs]))


def doubts(checks: TextChecks, *runs: list[str]) -> list[str]:
    return [one.code for one in findings(checks, *runs) if one.is_doubt]


def mistakes(checks: TextChecks, *runs: list[str]) -> list[Finding]:
    return [one for one in findings(checks, *runs) if not one.is_doubt]


def words(found: list[Finding], metric: str = "bleu") -> list[str]:
    """What is said about findings by one metric."""
    minded = matter_to(get_metric(metric), metric, found)
    return [note.text for note in notes_of([("BLEU", one) for one in minded], {"": ["BLEU"]})]


def codes(*runs: list[str]) -> list[str]:
    return doubts(TextChecks([REFERENCE], SOURCE), *runs)


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
        (SOURCE, "copied-source"),
        (REFERENCE, "copied-references"),
        (["a man"] * 400, "other-text"),
        (GOOD[:100] + [""] * 300, "blank"),
    ],
)
def test_mixed_up(lines, code):
    assert codes(lines) == [code]


def test_runs_are_named():
    shifted = GOOD[1:] + GOOD[:1]
    (doubt,) = findings(TextChecks([REFERENCE]), GOOD, shifted, shifted)
    assert (doubt.code, doubt.system, doubt.runs) == ("shifted", "sys", ("run-002", "run-003"))
    (said,) = words([doubt])
    assert said.startswith(
        "the outputs of sys (run-002 and run-003) resemble the references of neighbouring"
    )


def test_few_segments_can_look_like_anything():
    assert doubts(TextChecks([REFERENCE[:20]]), made_up(20, 3)) == []


def test_a_script_without_spaces():
    lines = ["".join(chr(0x4E00 + ord(c) % 97 * 7) for c in line) for line in REFERENCE]
    chinese = TextChecks([lines])
    assert doubts(chinese, [line[:-2] for line in lines]) == []
    assert doubts(chinese, REFERENCE) == ["other-language"]


@pytest.mark.skipif("REPLITUNE_DATA" not in os.environ, reason="REPLITUNE_DATA is not set")
def test_real_neural_outputs_of_a_low_resource_pair():
    folder = Path(os.environ["REPLITUNE_DATA"], "flores-seeds", "ne-en")

    def lines(name: str) -> list[str]:
        return gzip.decompress((folder / name).read_bytes()).decode().splitlines()

    checks = TextChecks([lines("reference.en.gz")], lines("source.ne.gz"))
    outputs = lines("baseline.seed-12.gz")
    assert doubts(checks, outputs) == []
    assert doubts(checks, outputs[1:] + outputs[:1]) == ["shifted"]


TEXT = [f"The {noun} saw {n} birds, and it slept." for n, noun in enumerate(["cat", "dog", "ox"] * 20)]


def tokenise(line):
    return line.replace(",", " ,").replace(".", " .")


def warnings(hyps, refs, metric="bleu:tokenize=none"):
    return words(mistakes(TextChecks([refs]), hyps), metric)


def test_good_outputs_have_no_warning():
    assert warnings(TEXT, TEXT) == []
    assert warnings([tokenise(line) for line in TEXT], [tokenise(line) for line in TEXT]) == []


def test_tokenised_outputs_or_references():
    (said,) = warnings([tokenise(line) for line in TEXT], TEXT)
    assert said.startswith("the outputs of sys look tokenised and the references do not (100% and 0%")
    (said,) = warnings(TEXT, [tokenise(line) for line in TEXT])
    assert said.startswith("the references look tokenised and the outputs of sys do not (100% and 0%")


def test_little_punctuation_is_no_evidence():
    assert warnings([tokenise(line) for line in TEXT[:4]], TEXT[:4]) == []


def test_lower_case_on_one_side():
    lower = [line.lower() for line in TEXT]
    (said,) = warnings(lower, TEXT)
    assert "the outputs of sys are lower-cased and the references are not (100% of" in said
    (said,) = warnings(TEXT, lower)
    assert "the references are lower-cased and the outputs of sys are not (100% of" in said
    assert warnings(lower, lower) == []


@pytest.mark.parametrize("mark", ["&apos;s", "well @-@ known", "wo@@ rd", "\u2581word"])
def test_marks_of_tokenisers_on_one_side(mark):
    marked = [f"{line[:-1]} {mark}." for line in TEXT]
    (said,) = warnings(marked, TEXT)
    assert "the outputs of sys contain" in said
    (said,) = warnings(TEXT, marked)
    assert "the references contain" in said
    assert warnings(marked, marked) == []


def test_marks_on_the_other_side_are_counted_not_denied():
    """The other side has them, too, but far fewer."""
    refs = [*TEXT[:-1], TEXT[-1].replace("The", "&apos;The")]
    (said,) = warnings([f"{line} it &apos;s" for line in TEXT], refs)
    assert "(such as &apos;, in 60 lines; the references in 1): undo them" in said
    as_many = [line.replace("The", "&apos;The") if i % 10 == 0 else line for i, line in enumerate(TEXT)]
    assert warnings([f"{line} it &apos;s" for line in TEXT], as_many) == []


def test_lines_that_a_sample_would_not_see():
    """Defects of one run, and in a few of many lines, are found on all lines of all runs."""
    many = made_up(3000, 5)
    marked = [
        f"{line} &apos;s" if i in (7, 1501, 2999) else line for i, line in enumerate(spoilt(many, 0.2, 6))
    ]
    (found,) = findings(TextChecks([many]), spoilt(many, 0.2, 7), marked)
    assert (found.code, found.runs, found.here) == ("marks", ("run-002",), (3, 3))


@pytest.mark.parametrize("metric", ["bleu:lowercase=true", "chrf:lowercase=true", "ter", "nist", "length"])
def test_who_ignores_case_is_told_nothing_about_it(metric):
    assert [
        text for text in warnings([line.lower() for line in TEXT], TEXT, metric) if "case" in text
    ] == []


def test_the_advice_is_one_that_can_be_followed():
    found = mistakes(TextChecks([TEXT]), [line.lower() for line in TEXT])
    (bleu,) = words(found, "bleu:tokenize=none")
    assert bleu.endswith("restore the case, or score with bleu:tokenize=none,lowercase=true")
    (ter,) = words(found, "ter:case_sensitive=true")
    assert ter.endswith("restore the case")


def test_chrf_without_words_does_not_see_spaces():
    found = mistakes(TextChecks([TEXT]), [tokenise(line) for line in TEXT])
    assert words(found, "chrf") == []
    assert len(words(found, "chrf++")) == 1


def test_texts_that_are_tokenised_twice():
    tokenised = [tokenise(line) for line in TEXT]
    (said,) = words(mistakes(TextChecks([tokenised]), [f"{line} x" for line in tokenised]), "bleu")
    assert said == (
        "the texts look tokenised (100% of the references' punctuation stands alone), and BLEU tokenises "
        "them again (13a): bleu:tokenize=none takes them as they are"
    )
    assert words(mistakes(TextChecks([TEXT]), [f"{line} x" for line in TEXT]), "bleu") == []


def test_one_sentence_for_all_systems_and_metrics():
    """One kind of finding is said once, with its systems and the metrics that mind."""
    lower = outputs_of([[f"{line.lower()} {i}" for i, line in enumerate(TEXT)]])
    checks = TextChecks([TEXT])
    every = [one for name in "abc" for one in checks.findings(name, ["run-001"], lower)]
    found = [one for one in every if not one.is_doubt]
    of_metrics = [
        (name, one)
        for name, word in (("BLEU", "bleu"), ("chrF", "chrf"), ("TER", "ter"))
        for one in matter_to(get_metric(word), word, found)
    ]
    (told,) = notes_of(of_metrics, {"": ["BLEU", "chrF", "TER"]})
    assert told.text == (
        "the outputs of a, b and c are lower-cased and the references are not (100% of their lines have "
        "capitals): restore the case, or score with bleu:lowercase=true and chrf:lowercase=true; this "
        "matters to BLEU and chrF"
    )
    assert told.systems == ("a", "b", "c")


def test_blank_lines_at_the_end_of_any_replica():
    cut = [*TEXT[:-2], "", " "]
    other = [line + " x" for line in TEXT]
    found = mistakes(TextChecks([TEXT]), TEXT, cut, other)
    assert [(one.code, one.runs) for one in found] == [("cut", ("run-002",)), ("empty", ("run-002",))]
    assert words(found) == [
        "the last lines of the outputs of sys (run-002) are blank, where the references have text: was "
        "decoding cut off?",
        "empty lines: 1 of 60 outputs of sys (run-002)",
    ]
    assert not mistakes(TextChecks([cut]), cut)


def test_many_empty_outputs():
    holes = [line if i % 10 else "" for i, line in enumerate(TEXT)]
    more = [*holes[:-1], "x"]
    (found,) = mistakes(TextChecks([TEXT]), TEXT, holes, more)
    assert words([found]) == ["empty lines: 6 of 60 outputs of sys (run-002 and run-003)"]
    assert not mistakes(TextChecks([holes]), holes)


def test_references_that_are_outputs():
    (found,) = mistakes(TextChecks([TEXT, TEXT]), [line + " x" for line in TEXT])
    assert words([found]) == ["60 of 60 lines of two references are the same: are they outputs?"]


def test_unmatched_words_by_hand():
    hyps = ["a b b", "b c", "d a", "schnee a"]
    refs = [["a", "c", "x d", "a"], ["", "", "a b", ""]]
    listed, nowhere = unmatched_words(hyps, refs)
    assert listed == [("b", 2), ("schnee", 1)]
    assert nowhere == [("schnee", 1)]
    assert unmatched(outputs_of([hyps]), refs, words=1) == (
        "most frequent unmatched words in 4 segments: b (2); in no reference at all: schnee (1)"
    )


def test_unmatched_words_are_sampled_over_the_whole_length():
    refs = ["a b"] * 3000
    said = unmatched(outputs_of([["a b"] * 1500 + ["a c"] * 1500]), [refs])
    assert said == (
        "most frequent unmatched words in 300 segments: c (150); in no reference at all: c (150)"
    )


def test_nothing_to_look_at_is_no_mistake():
    assert TextChecks([["a"]]).findings("sys", [], Outputs(1)) == []
    assert TextChecks([[]]).findings("sys", ["run-001"], outputs_of([[]])) == []


def runs(*hashes: str) -> dict[str, str]:
    return {f"run-{n + 1:03d}": digest for n, digest in enumerate(hashes)}


def test_identical_replicas_of_a_system_are_named():
    (found,) = copies({"sys": runs("x", "y", "x")})
    assert words([found]) == [
        "the outputs of sys (run-001 and run-003) are identical: is one file given twice?"
    ]
    assert copies({"sys": runs("x", "x")}) == [], "the tests say that all are the same"


def test_identical_outputs_of_two_systems_are_named():
    found = copies({"A": runs("x", "y", "y"), "B": runs("z", "x"), "C": runs("y")})
    assert words([one for one in found if one.code == "copied"]) == [
        "A and B have identical outputs (run-001 = run-002): is one file given twice?",
        "A and C have identical outputs (run-002 = run-001): is one file given twice?",
    ]


@pytest.mark.realdata
def test_the_byte_copies_in_the_multeval_example_are_found():
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA names no folder")
    files = sorted((Path(folder) / "multeval-example").glob("hyps.*.gz"))
    hashes: dict[str, dict[str, str]] = {}
    for file in files:
        system, run = file.name.split(".")[4:6]
        hashes.setdefault(system, {})[run] = sha256_lines(read_lines(file))
    assert words(copies(hashes)) == [
        "baseline and sys2 have identical outputs (opt0, opt1 and opt2): is one file given twice?"
    ]
