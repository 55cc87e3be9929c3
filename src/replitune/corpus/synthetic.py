"""The synthetic language pair: training data and test sets that need no download.

A seeded probabilistic synchronous grammar (`grammar`) over an invented lexicon (`lexicon`)
writes documents, a sentence and its translation at a time. What makes it a useful language for
experiments:

- words follow Zipf's law, so training data never covers the vocabulary, and more data covers
  more of it;
- the source builds compounds freely, so splitting them helps;
- adjectives move past nouns, and verbs past up to five words, so reordering has to be learnt;
- articles, adjectives and verbs agree, and words are ambiguous without their neighbour or the
  topic, so a language model and long phrases pay off;
- translators choose among synonyms, more freely in some documents than in others, so scores
  stay away from 100 and documents differ.

Every document has a random stream of its own, named by text and number: changing the size of one
text changes no other, and a longer training corpus begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator

from replitune.corpus.grammar import Dice, Document, Units, words
from replitune.corpus.lexicon import make_lexicon
from replitune.corpus.testset import TestSet
from replitune.streams import stream

DOCUMENT_SEGMENTS = (8, 15)


def synthetic_train(seed: int, size: int) -> tuple[list[str], list[str]]:
    """Source and target lines of the training corpus."""
    source, target = [], []
    for _, s, t in synthetic_units(seed, "train", size):
        source.append(words(s, 0))
        target.append(words(t, 1))
    return source, target


def synthetic_testset(seed: int, name: str, size: int) -> TestSet:
    """Test set `name`: source, one reference, documents."""
    source, target, documents = [], [], []
    for document, s, t in synthetic_units(seed, name, size):
        source.append(words(s, 0))
        target.append(words(t, 1))
        documents.append(f"{name}-{document + 1:04d}")
    return TestSet(references=(target,), source=source, documents=documents)


def synthetic_units(seed: int, text: str, size: int) -> Iterator[tuple[int, Units, Units]]:
    """`size` sentences of a text: document number, units in source and in target order."""
    lexicon = make_lexicon(seed)
    count = number = 0
    low, high = DOCUMENT_SEGMENTS
    while count < size:
        dice = Dice(stream(seed, "corpus", "synthetic", "part", text, number))
        length = low + dice.below(high - low + 1)
        document = Document(lexicon, dice)
        for _ in range(min(length, size - count)):
            yield number, *document.sentence()
        count += length
        number += 1
