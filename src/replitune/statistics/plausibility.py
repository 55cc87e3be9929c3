"""Whether outputs can be translations of this test set at all, however bad.

A poor output still resembles its own reference more than other segments' references, and its words
are words of the references' language. If that does not hold, texts were mixed up, and every
verdict about them would be worthless.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from replitune.statistics.outputs import Outputs

SAMPLE = 100
"""How many segments are examined, evenly spaced; up to twice as many."""
FEWEST = 30
"""Smaller test sets are not examined: a few segments can look like anything."""
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

TEXTS = {
    "shifted": "outputs resemble the references of neighbouring lines more than their own: a line may "
    "be lost or added",
    "other-language": "the words are not of the references' language, but perhaps of the source's",
    "other-text": "outputs resemble their own references no more than those of other segments: are "
    "they of another test set?",
    "references": "the outputs are the references",
    "source": "the outputs are the source text",
    "blank": "most lines are blank",
}

_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+")


class Doubt(NamedTuple):
    """A doubt whether outputs can be translations of these segments."""

    code: str
    system: str
    text: str


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


class Plausibility:
    """Whether outputs can be of a test set; `refs` are R streams of N lines."""

    def __init__(self, refs: Sequence[Sequence[str]], source: Sequence[str] | None = None) -> None:
        self.texts = {"references": [list(stream) for stream in refs]}
        if source is not None:
            self.texts["source"] = [list(source)]
        lines = len(refs[0])
        self._sample = range(1, lines - 1, max(1, lines // SAMPLE)) if lines >= FEWEST else range(0)
        self._language = Language(refs[0])
        near = {at for i in self._sample for at in (i - 1, i, i + 1, self._far(i))}
        self._grams = {i: set().union(*(_grams(stream[i]) for stream in refs)) for i in near}

    def doubts(self, system: str, outputs: Outputs) -> list[Doubt]:
        """One for each kind of doubt about the runs of a system."""
        runs_of: dict[str, list[int]] = {}
        for run in range(len(outputs)):
            if code := self._code(outputs, run):
                runs_of.setdefault(code, []).append(run + 1)
        return [
            Doubt(code, system, f"{system}, run {', '.join(map(str, runs))}: {TEXTS[code]}")
            for code, runs in runs_of.items()
        ]

    def _code(self, outputs: Outputs, run: int) -> str | None:
        """The code of the first doubt that applies."""
        for name, streams in self.texts.items():
            if outputs[run] in streams:
                return name
        if not self._sample:
            return None
        lines = {i: outputs.line(run, i) for i in self._sample}
        if sum(not line.strip() for line in lines.values()) > len(lines) / 2:
            return "blank"
        if not self._language.has(lines.values()):
            return "other-language"
        alike = {i: _grams(line) for i, line in lines.items()}
        own, before, after, far = (
            [_overlap(alike[i], self._grams[at]) for i, at in ((i, near(i)) for i in lines)]
            for near in (lambda i: i, lambda i: i - 1, lambda i: i + 1, self._far)
        )
        by_chance = _nearer(far, own)
        if max(_nearer(before, own), _nearer(after, own)) >= max(SHIFTED, CHANCE * by_chance):
            return "shifted"
        return "other-text" if sum(own) <= OWN * sum(far) else None  # also where nothing is alike

    def _far(self, i: int) -> int:
        lines = len(self.texts["references"][0])
        return (i + lines // 2) % lines


def _nearer(other: Sequence[float], own: Sequence[float]) -> float:
    """The share of segments that are more like another reference than like their own."""
    return sum(there > here + NEARER for there, here in zip(other, own, strict=True)) / len(own)


def _without_spaces(text: str) -> bool:
    """Whether the script of a text has no spaces between words."""
    return sum(ord(character) > 0x2E80 for character in text) > len(text) / 2


def _words(text: str) -> list[str]:
    return list(text) if _without_spaces(text) else _WORD.findall(text.lower())


def _grams(text: str) -> set[str]:
    """The character 4-grams of a text, or 2-grams if it is short or has no spaces between words."""
    text = _SPACE.sub(" ", text.lower().strip())
    size = 2 if len(text) < 8 or _without_spaces(text) else 4
    return {text[i : i + size] for i in range(max(1, len(text) - size + 1))} if text else set()


def _overlap(one: set[str], other: set[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
