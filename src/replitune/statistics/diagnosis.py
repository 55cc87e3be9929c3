"""Warnings for the classic mistakes in files of outputs.

They examine a sample of the segments of one replica, so that they cost next to nothing; only the
checks for blank lines and copies examine every replica.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import ne
from pathlib import Path

from replitune.statistics.outputs import Outputs

SAMPLE = 300
"""Segments examined, evenly spaced."""

_STOPS = ".,?!;:"
_ENOUGH = 10  # fewest punctuation marks on either side to judge by
_MOST, _LEAST = 0.8, 0.2
_OUTPUT = re.compile(r"hyp|output|pred|(?<![a-z])(?:out|mt|run|sys)")
_REFERENCE = re.compile(r"(?<![a-z])(?:ref|gold|target)")
_LONG = 12  # characters; two people seldom translate longer lines alike
_ALIKE = 0.3  # share of equal lines: references of WMT22 have .07 at most, runs of one system .7
_MARKS = {
    "&apos;": "the escapes of the Moses tokeniser",
    "&quot;": "the escapes of the Moses tokeniser",
    "&amp;": "the escapes of the Moses tokeniser",
    "@-@": "the hyphens of the Moses tokeniser",
    "@@ ": "subword joiners",
    "\u2581": "SentencePiece's word marks",
}


UNMATCHED = "most frequent unmatched words"


def diagnose(name: str, outputs: Outputs, refs: Sequence[Sequence[str]], *, words: int = 5) -> list[str]:
    """One sentence for each thing that looks wrong with system `name`.

    `refs` are R streams of N references. The last sentence lists the `words` words that are
    most often unmatched; with 0 it is left out.
    """
    if not len(outputs) or not refs[0]:
        return []
    step = max(1, -(-len(refs[0]) // SAMPLE))
    segments = range(0, len(refs[0]), step)
    hyps = [outputs.line(0, i) for i in segments]
    sampled = [[stream[i] for i in segments] for stream in refs]
    first = sampled[0]
    sentences = [
        _tokenised(hyps, first),
        *_marks(hyps, first),
        _case(hyps, first),
        *_blank(outputs, refs[0]),
        *_copies(outputs),
        _unmatched(hyps, sampled, words),
    ]
    return [f"{name}: {sentence}" for sentence in sentences if sentence]


def _tokenised(hyps: Sequence[str], refs: Sequence[str]) -> str | None:
    of_hyps, of_refs = _separated(hyps), _separated(refs)
    if of_hyps is None or of_refs is None:
        return None
    sides = ("outputs", of_hyps), ("references", of_refs)
    advice = {"outputs": "detokenise the outputs", "references": "use references that are not tokenised"}
    for (name, share), (other, least) in (sides, sides[::-1]):
        if share >= _MOST and least <= _LEAST:
            return (
                f"the {name} look tokenised and the {other} do not "
                f"({share:.0%} and {least:.0%} of punctuation stands alone): {advice[name]}"
            )
    return None


def tokenised_twice(refs: Sequence[str], signatures: Mapping[str, str]) -> list[str]:
    """One sentence if texts look tokenised and metrics tokenise them again. `signatures`: of the
    metrics, by their ids."""
    again = [id for id, signature in signatures.items() if "tok:13a" in signature.split("|")]
    step = max(1, -(-len(refs) // SAMPLE))
    share = _separated(refs[::step])
    if not again or share is None or share < _MOST:
        return []
    names = ", ".join(again)
    return [
        f"The texts look tokenised ({share:.0%} of the references' punctuation stands alone), "
        f"and {names} tokenises them again (13a): {again[0]}:tokenize=none takes them as they are"
    ]


def exchanged(streams: Sequence[Sequence[str]], refs: object, outputs: Sequence[object]) -> list[str]:
    """One sentence if references look like outputs: by the names of files, where outputs also look
    like references, or because two references share too many of their longer lines."""
    named = [refs] if isinstance(refs, str | Path) else refs
    files = [file for file in named if isinstance(file, Path)] if isinstance(named, list | tuple) else []
    called = [file for file in files if _OUTPUT.search(Path(file).name.lower())]
    paths = [Path(run) for run in outputs if isinstance(run, str | Path)]
    others = [file for file in paths if _REFERENCE.search(file.name.lower())]
    if called and others:
        return [f"The reference is {called[0]} and an output {others[0]}: are they exchanged?"]
    if len(streams) < 2:
        return []
    long = [pair for pair in zip(*streams[:2], strict=True) if min(map(len, pair)) > _LONG]
    alike = sum(one == other for one, other in long)
    if alike <= _ALIKE * len(long):
        return []
    return [f"{alike} of {len(long)} lines of two references are the same: are they outputs?"]


def _separated(lines: Sequence[str]) -> float | None:
    """Of the punctuation marks at the end of a word, the share preceded by a space; None if few."""
    text = "\n".join((*lines, ""))
    ending = separated = 0
    for stop in _STOPS:
        if stop in text:
            ending += text.count(f"{stop} ") + text.count(f"{stop}\n")
            separated += text.count(f" {stop} ") + text.count(f" {stop}\n")
    return separated / ending if ending >= _ENOUGH else None


def _marks(hyps: Sequence[str], refs: Sequence[str]) -> list[str]:
    sides = {"outputs": "\n".join(hyps), "references": "\n".join(refs)}
    examples: dict[tuple[str, str], str] = {}
    for mark, what in _MARKS.items():
        counts = {side: text.count(mark) for side, text in sides.items()}
        for side, other in (("outputs", "references"), ("references", "outputs")):
            if counts[side] >= 3 and not counts[other]:
                examples.setdefault((side, what), mark.strip())
    return [
        f"the {side} contain {what} ({mark}), and the other side has none: undo them"
        for (side, what), mark in examples.items()
    ]


def _case(hyps: Sequence[str], refs: Sequence[str]) -> str | None:
    upper = {
        side: sum(map(ne, lines, map(str.lower, lines))) / len(lines)
        for side, lines in (("outputs", hyps), ("references", refs))
    }
    for low, mixed in (("outputs", "references"), ("references", "outputs")):
        if upper[low] <= 0.01 and upper[mixed] >= 0.3:
            return (
                f"the {low} are lower-cased and the {mixed} are not "
                f"({upper[mixed]:.0%} of their lines have capitals): "
                f"restore the case, or score with lowercase=true"
            )
    return None


def _blank(outputs: Outputs, refs: Sequence[str]) -> list[str]:
    sentences = []
    cut = [r for r in range(len(outputs)) if not outputs.line(r, -1).strip()]
    if cut and refs[-1].strip():
        sentences.append(
            f"blank lines at the end of {_replicas(cut)}, where the references have text: "
            f"was decoding cut off?"
        )
    empty = outputs.empty()
    if empty.any():
        empty &= [bool(ref.strip()) for ref in refs]
        counts = empty.sum(axis=1)
        many = [r for r in range(len(outputs)) if counts[r] > 0.01 * len(refs)]
        if many:
            sentences.append(f"up to {counts.max()} of {len(refs)} outputs are empty in {_replicas(many)}")
    return sentences


def _replicas(numbers: Sequence[int]) -> str:
    """Replicas, numbered from 0, as people are told of them: numbered from 1."""
    shown = ", ".join(str(r + 1) for r in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
    return f"run {shown}" if len(numbers) == 1 else f"{len(numbers)} runs ({shown})"


def is_note(sentence: str) -> bool:
    """Whether a sentence of `diagnose` is information, not a warning."""
    return UNMATCHED in sentence


def unmatched_words(
    hyps: Sequence[str], refs: Sequence[Sequence[str]]
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Words (by white space) that are in a hypothesis and in none of its references, with the
    number of those hypotheses, the most frequent first; and those of them that are in no
    reference of any segment: untranslated words, or another tokenisation."""
    matches = [set(line.split()) for line in refs[0]]
    for stream in refs[1:]:
        for seen, line in zip(matches, stream, strict=True):
            seen.update(line.split())
    missing = (set(h.split()) - seen for h, seen in zip(hyps, matches, strict=True))
    counts = Counter(chain.from_iterable(missing))
    # Ties in alphabetical order, because sets have no order.
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    vocabulary = set().union(*matches)
    return ordered, [item for item in ordered if item[0] not in vocabulary]


def _unmatched(hyps: Sequence[str], refs: Sequence[Sequence[str]], words: int) -> str | None:
    if not words:
        return None
    listed = [
        ", ".join(f"{word} ({count})" for word, count in counted[:words])
        for counted in unmatched_words(hyps, refs)
    ]
    if not listed[0]:
        return None
    return f"{UNMATCHED} in {len(hyps)} segments: {listed[0]}" + (
        f"; in no reference at all: {listed[1]}" if listed[1] else ""
    )


def _copies(outputs: Outputs) -> list[str]:
    groups: dict[str, list[int]] = {}
    for r, digest in enumerate(outputs.sha256):
        groups.setdefault(digest, []).append(r)
    return [
        f"the outputs of {_replicas(replicas)} are identical: is one file given twice?"
        for replicas in groups.values()
        if len(replicas) > 1
    ]


def find_copies(sha256: Mapping[str, Sequence[str]]) -> list[str]:
    """One sentence for each pair of systems that share outputs; `sha256` is system -> hash of the
    lines of each replica. The references may be given as one more system."""
    owner: dict[str, tuple[str, int]] = {}
    shared: dict[tuple[str, str], list[str]] = {}
    for system, hashes in sha256.items():
        for r, digest in enumerate(hashes, start=1):
            other, number = owner.setdefault(digest, (system, r))
            if other != system:
                shared.setdefault((other, system), []).append(f"{number} = {r}")
    return [
        f"{a} and {b} have identical outputs (run {', '.join(equal[:5])}"
        f"{', ...' if len(equal) > 5 else ''}): is one file given twice?"
        for (a, b), equal in shared.items()
    ]
