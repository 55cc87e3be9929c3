"""Word alignment, by ourselves and by sil-thot: sensible, repeatable, and tidy when it goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.phrase.align import DirectedAlignments, align
from replitune.phrase.encode import RESERVED, Encoded, encode, split_words
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


SIL_THOT = """
import json, sys
import thot.alignment as thot
pairs, iterations = json.load(sys.stdin)
ibm1 = thot.Ibm1AlignmentModel()
hmm = thot.HmmAlignmentModel(ibm1)
hmm.hmm_p0, hmm.lexical_smoothing_factor, hmm.hmm_alignment_smoothing_factor = 0.1, 0.1, 0.3
for source, target in pairs:
    hmm.add_sentence_pair(source, target, 1)
for model in (ibm1, hmm):
    model.start_training()
    for _ in range(iterations):
        model.train()
    model.end_training()
links = hmm.get_best_alignments(*map(list, zip(*pairs)))
json.dump([place - 1 for _, matrix in links for place in matrix.to_list()], sys.stdout)
"""


def by_sil_thot(pairs: list[tuple[list[str], list[str]]], iterations: int) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", SIL_THOT],
        input=json.dumps([pairs, iterations]),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("iterations", [1, 3])
def test_the_links_of_the_hidden_markov_model_are_sil_thots(iterations: int) -> None:
    rng = np.random.default_rng(iterations)

    def words(letter: str, length: int) -> list[str]:
        return [f"{letter}{int(k)}" for k in rng.zipf(1.4, length) % 70]

    lengths = [(1, 1), (1, 9), (9, 1), (200, 3), (3, 200), (60, 70)]
    lengths += [tuple(pair) for pair in rng.integers(1, 25, (250, 2)).tolist()]
    pairs = []
    for m, n in lengths:
        source = words("f", m)
        target = [f"e{word[1:]}" if rng.random() < 0.7 else words("e", 1)[0] for word in (source * n)[:n]]
        pairs.append((source, target))
    source, target = encode(f for f, _ in pairs), encode((e for _, e in pairs), RESERVED)
    ours = align(source, target, "hmm", iterations=iterations)
    assert ours.to_source.tolist() == by_sil_thot(pairs, iterations)
    assert ours.to_target.tolist() == by_sil_thot([(e, f) for f, e in pairs], iterations)


def test_a_failing_worker_is_reported() -> None:
    source, target = text(3)
    unequal = Encoded(target.vocab, target.words, target.start[:-1])
    with pytest.raises(ReplituneError, match="the word aligner failed") as error:
        align(source, unequal, "fast_align")
    assert "ValueError" in (error.value.found or "")


def test_words_end_at_ascii_white_space_only() -> None:
    assert split_words(" a\tb\u00a0c \u2028 d\r") == ["a", "b\u00a0c", "\u2028", "d"]
    assert split_words("") == []
