"""Word alignment by sil-thot: sensible, repeatable, and tidy when it goes wrong."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.phrase.align import DirectedAlignments, align
from replitune.phrase.encode import Encoded, encode, split_words
from replitune.phrase.settings import Aligner
from replitune.phrase.symmetrise import symmetrise

WORDS = {"das": "the", "haus": "house", "buch": "book", "ein": "a", "ist": "is", "klein": "small"}


def text(segments: int = 80) -> tuple[Encoded, Encoded]:
    """Word-for-word translations with the last two words swapped."""
    rng = np.random.default_rng(0)
    source = [rng.permutation(list(WORDS))[: rng.integers(2, 6)].tolist() for _ in range(segments)]
    target = [[WORDS[w] for w in [*s[:-2], s[-1], s[-2]]] for s in source]
    return encode(source), encode(target)


def equal(one: DirectedAlignments, two: DirectedAlignments) -> bool:
    return np.array_equal(one.to_source, two.to_source) and np.array_equal(one.to_target, two.to_target)


@pytest.mark.parametrize("kind", get_args(Aligner))
def test_finds_the_dictionary_and_repeats_itself(kind: str) -> None:
    source, target = text()
    said: list[str] = []
    first = align(source, target, kind, threads=2, progress=said.append)
    assert any(line.startswith("align source to target: step 1 of") for line in said)
    links = symmetrise(first, source, target)
    right = 0
    for i in range(len(source)):
        for k in range(links.start[i], links.start[i + 1]):
            f = source.vocab[source.words[source.start[i] + links.source[k]]]
            e = target.vocab[target.words[target.start[i] + links.target[k]]]
            right += WORDS[f] == e
    # of that many words this many links are right, and few are wrong
    assert right >= 0.75 * len(source.words)
    assert len(links.source) - right <= 0.25 * len(source.words)
    assert equal(first, align(source, target, kind, threads=1))


def test_a_failing_worker_is_reported() -> None:
    source, target = text(3)
    unequal = Encoded(target.vocab, target.words, target.start[:-1])
    with pytest.raises(ReplituneError, match="the word aligner failed") as error:
        align(source, unequal)
    assert "ValueError" in (error.value.found or "")


def test_words_end_at_ascii_white_space_only() -> None:
    assert split_words(" a\tb\u00a0c \u2028 d\r") == ["a", "b\u00a0c", "\u2028", "d"]
    assert split_words("") == []
