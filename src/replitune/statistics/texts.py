"""Checks of texts: whether outputs can be translations of a test set at all, however bad, and the classic
mistakes in preparing files. Everything is checked on all lines of all runs before it is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import ne
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from replitune.statistics.findings import Finding, span
from replitune.statistics.outputs import Outputs

SAMPLE = 100
"""How many segments are looked at first, evenly spaced; up to twice as many. A doubt is checked on all."""
FEWEST = 30
"""Smaller test sets are not examined for doubts: a few segments can look like anything."""
FREQUENT = 100
"""Most frequent words of the references, by which their language is known."""
LANGUAGE = 0.6
"""Least use of these words, as a share of the references' use: outputs of WMT22 have .84 and more, their
sources .49 and less."""
NEARER = 0.1
"""An output seems to be on the wrong line if its overlap with another segment's reference exceeds that
with its own by more than this."""
SHIFTED = 0.15
"""Share of such segments that is too large: outputs of WMT22 have .025 at most, a half-shifted file .39."""
CHANCE = 3
"""How many times as many they must be as segments that resemble one far away in this way."""
OWN = 1.5
"""How many times as much outputs must overlap with their own references as with others."""

MARKS = {
    "escapes": ("&apos;", "&quot;", "&amp;"),
    "hyphens": ("@-@",),
    "joiners": ("@@ ",),
    "word-marks": ("\u2581",),
}
"""What tokenisers leave in a text."""
REFERENCES = "-references"
"""How codes of findings end where the references are odd."""
FEWEST_MARKED = {"": 3, REFERENCES: 10}
"""Fewest lines with marks of a tokeniser; systems seldom write what is rare in references."""
RARE = 0.05
"""Marks that both sides have are told if the other side has them in at most so large a part of the share of
lines."""

_STOPS = ".,?!;:"
_ENOUGH = 10  # fewest punctuation marks on either side to judge by
_MOST, _LEAST = 0.8, 0.2
_LONG = 12  # characters; two people seldom translate longer lines alike
_ALIKE = 0.3  # share of equal lines: references of WMT22 have .07 at most, runs of one system .7
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+")


class Language:
    """What the language of some lines looks like: their most frequent words."""

    def __init__(self, lines: Iterable[str]) -> None:
        words = Counter(chain.from_iterable(map(_words, lines)))
        self._frequent = {word for word, _ in words.most_common(FREQUENT)}
        self._use = self._share(words.elements())

    def likeness(self, lines: Iterable[str]) -> float:
        """How much these lines use the frequent words: about 1 in the same language, near 0 in another."""
        return self._share(chain.from_iterable(map(_words, lines))) / (self._use or 1.0)

    def has(self, lines: Iterable[str]) -> bool:
        """Whether these lines can be of the language."""
        return self.likeness(lines) >= LANGUAGE

    def _share(self, words: Iterable[str]) -> float:
        known = [word in self._frequent for word in words]
        return sum(known) / max(1, len(known))


class TextChecks:
    """Checks of outputs against a test set; `refs` are R streams of N lines."""

    def __init__(self, refs: Sequence[Sequence[str]], source: Sequence[str] | None = None) -> None:
        self.refs, self.lines = refs, len(refs[0])
        self.texts = {"copied-references": [list(stream) for stream in refs]}
        if source is not None:
            self.texts["copied-source"] = [list(source)]
        self._sample = range(1, self.lines - 1, max(1, self.lines // SAMPLE))
        self._known: dict[int, set[str]] = {}

    @cached_property
    def _language(self) -> Language:
        return Language(self.refs[0])

    @cached_property
    def _prepared(self) -> _Prepared:
        return _Prepared.of([line for stream in self.refs for line in stream])

    def _grams(self, segment: int) -> set[str]:
        if segment not in self._known:
            self._known[segment] = set().union(*(_grams(stream[segment]) for stream in self.refs))
        return self._known[segment]

    def findings(self, system: str, replicas: Sequence[str], outputs: Outputs) -> list[Finding]:
        """All that is wrong with a system whose runs have these ids."""
        if not len(outputs) or not self.lines:
            return []
        found: dict[tuple[str, str], dict[str, Finding]] = {}
        for run, id in enumerate(replicas):
            for one in self._of_run(system, outputs, run):
                found.setdefault((one.code, one.marks), {})[id] = one
        return [
            msgspec.structs.replace(
                next(iter(of_runs.values())),
                runs=() if len(of_runs) == len(replicas) else tuple(of_runs),
                here=span(one.here for one in of_runs.values()),
                there=span(one.there for one in of_runs.values()),
            )
            for of_runs in found.values()
        ] + self._references(system)

    def _of_run(self, system: str, outputs: Outputs, run: int) -> Iterator[Finding]:
        lines = outputs[run]
        if code := self._doubt(lines):
            yield Finding(code, system)
        ours, theirs = _Prepared.of(lines), self._prepared
        for where, here, there in ("", ours, theirs), (REFERENCES, theirs, ours):
            if here.separated is not None and there.separated is not None:
                shares = (here.separated,) * 2, (there.separated,) * 2
                if here.separated >= _MOST and there.separated <= _LEAST:
                    yield Finding(f"tokenised{where}", system, here=shares[0], there=shares[1])
                if min(shares)[0] >= _MOST and where:
                    yield Finding("tokenised-twice", system, here=shares[0])
            if here.cased <= 0.01 and there.cased >= 0.3:
                yield Finding(f"lower-cased{where}", system, there=(there.cased,) * 2)
            for kind in MARKS:
                (number, share, mark), (others, rest, _) = here.marked[kind], there.marked[kind]
                if number >= FEWEST_MARKED[where] and rest <= RARE * share:
                    counts: dict[str, Any] = {"here": (number,) * 2, "there": (others,) * 2}
                    yield Finding(
                        f"marks{where}", system, lines=self.lines, mark=mark, marks=kind, **counts
                    )
        yield from self._missing(system, lines)

    def _missing(self, system: str, lines: Sequence[str]) -> Iterator[Finding]:
        """Outputs that are not there."""
        if not lines[-1].strip() and self.refs[0][-1].strip():
            yield Finding("cut", system)
        empty = sum(not line and bool(ref.strip()) for line, ref in zip(lines, self.refs[0], strict=True))
        if empty > 0.01 * self.lines:
            yield Finding("empty", system, here=(empty, empty), lines=self.lines)

    def _references(self, system: str) -> list[Finding]:
        """What is wrong with the references alone: two that share too many of their longer lines."""
        if len(self.refs) < 2:
            return []
        long = [pair for pair in zip(*self.refs[:2], strict=True) if min(map(len, pair)) > _LONG]
        alike = sum(one == other for one, other in long)
        if alike <= _ALIKE * len(long):
            return []
        return [Finding("references-alike", system, here=(alike, alike), lines=len(long))]

    # ---- doubts

    def _doubt(self, lines: Sequence[str]) -> str | None:
        """The code of the first doubt that applies; it must hold on all lines, too."""
        for name, streams in self.texts.items():
            if lines in streams:
                return name
        if self.lines < FEWEST or not self._doubt_on(self._sample, lines):
            return None
        return self._doubt_on(range(1, self.lines - 1), lines)

    def _doubt_on(self, segments: range, lines: Sequence[str]) -> str | None:
        chosen = {i: lines[i] for i in segments}
        if sum(not line.strip() for line in chosen.values()) > len(chosen) / 2:
            return "blank"
        if not self._language.has(chosen.values()):
            return "other-language"
        alike = {i: _grams(line) for i, line in chosen.items()}
        own, before, after, far = (
            [_overlap(alike[i], self._grams(at)) for i, at in ((i, near(i)) for i in chosen)]
            for near in (lambda i: i, lambda i: i - 1, lambda i: i + 1, self._far)
        )
        by_chance = _nearer(far, own)
        if max(_nearer(before, own), _nearer(after, own)) >= max(SHIFTED, CHANCE * by_chance):
            return "shifted"
        return "other-text" if sum(own) <= OWN * sum(far) else None  # also where nothing is alike

    def _far(self, i: int) -> int:
        return (i + self.lines // 2) % self.lines


_OUTPUT = re.compile(r"hyp|output|pred|(?<![a-z])(?:out|mt|run|sys)")
_REFERENCE = re.compile(r"(?<![a-z])(?:ref|gold|target)")


def exchanged(references: Iterable[Path], outputs: Iterable[Path]) -> list[str]:
    """One sentence if files of references are called like outputs, and the other way round."""
    called = [file for file in references if _OUTPUT.search(file.name.lower())]
    others = [file for file in outputs if _REFERENCE.search(file.name.lower())]
    if called and others:
        return [f"the reference is {called[0]} and an output {others[0]}: are they exchanged?"]
    return []


class _Prepared(NamedTuple):
    """How a text was prepared."""

    separated: float | None
    """Of the punctuation marks at the end of a word, the share preceded by a space; None if few."""
    cased: float
    """Share of the lines that have capitals."""
    marked: Mapping[str, _Marked]
    """The marks of tokenisers, by their kind."""

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Prepared:
        text = "\n".join((*lines, ""))
        spaced = text.replace("\n", " ")
        ending = sum(spaced.count(f"{stop} ") for stop in _STOPS)
        separated = sum(spaced.count(f" {stop} ") for stop in _STOPS)
        return cls(
            separated / ending if ending >= _ENOUGH else None,
            sum(map(ne, lines, text.lower().split("\n"))) / len(lines),
            {kind: _Marked.of(marks, lines, text) for kind, marks in MARKS.items()},
        )


class _Marked(NamedTuple):
    """Lines with marks of a tokeniser."""

    lines: int
    share: float
    mark: str
    """One of the marks."""

    @classmethod
    def of(cls, marks: Sequence[str], lines: Sequence[str], text: str) -> _Marked:
        if not (there := [mark for mark in marks if mark in text]):
            return cls(0, 0.0, "")
        number = sum(any(mark in line for mark in there) for line in lines)
        return cls(number, number / len(lines), there[0].strip())


# ---- words that do not match


UNMATCHED = "most frequent unmatched words"
UNMATCHED_IN = 300
"""Segments in which they are counted, evenly spaced."""


def unmatched(outputs: Outputs, refs: Sequence[Sequence[str]], words: int = 5) -> str | None:
    """The words that are most often unmatched in the first run, and those that are in no reference."""
    if not len(outputs) or not refs[0]:
        return None
    segments = range(0, len(refs[0]), max(1, -(-len(refs[0]) // UNMATCHED_IN)))
    hyps = [outputs.line(0, i) for i in segments]
    listed = [
        ", ".join(f"{word} ({count})" for word, count in counted[:words])
        for counted in unmatched_words(hyps, [[stream[i] for i in segments] for stream in refs])
    ]
    if not listed[0]:
        return None
    return f"{UNMATCHED} in {len(hyps)} segments: {listed[0]}" + (
        f"; in no reference at all: {listed[1]}" if listed[1] else ""
    )


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


def _nearer(other: Sequence[float], own: Sequence[float]) -> float:
    """The share of segments that are more like another reference than like their own."""
    return sum(there > here + NEARER for there, here in zip(other, own, strict=True)) / len(own)


def _without_spaces(text: str) -> bool:
    """Whether the script of a text has no spaces between words."""
    return not text.isascii() and sum(ord(character) > 0x2E80 for character in text) > len(text) / 2


def _words(text: str) -> list[str]:
    return list(text) if _without_spaces(text) else _WORD.findall(text.lower())


def _grams(text: str) -> set[str]:
    """The character 4-grams of a text, or 2-grams if it is short or has no spaces between words."""
    text = _SPACE.sub(" ", text.lower().strip())
    size = 2 if len(text) < 8 or _without_spaces(text) else 4
    return {text[i : i + size] for i in range(max(1, len(text) - size + 1))} if text else set()


def _overlap(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
