"""The words of the synthetic language pair: forms, translations, topics, Zipf's law.

Two invented languages. The *source* is built like German: three genders, articles that merge
forms, adjectives before the noun, compounds in one word, verbs at the end of some clauses. The
*target* is built like a Romance language: two genders unrelated to the source's, most
adjectives after the noun, verbs after the subject, no compounds.

What makes a lemma hard to translate is fixed here, once per seed:

- `synonyms`: up to three target words that say the same, drawn at random by the translator;
- `senses`: two target words, between which the context decides: for a noun the topic of the
  document, for a verb the class of its object, for a preposition the class of its noun.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from replitune.arithmetic import power
from replitune.streams import stream

TOPICS = 10
CLASSES = 3
SIZES = {"noun": 700, "verb": 150, "adjective": 160, "adverb": 50, "name": 800}
ZIPF = {"noun": 1.1, "verb": 1.1, "adjective": 1.1, "adverb": 1.0, "name": 0.8}
ZIPF_SHIFT = 2.7
"""p(rank) ~ 1 / (rank + shift) ** exponent, Mandelbrot's form: no content word is as frequent
as an article."""
TOPICAL = {"noun": 0.75, "verb": 0.5, "adjective": 0.6, "adverb": 0.0, "name": 0.85}
"""Share of a category's lemmas that belong to one topic; the others are of general use."""
TOPIC_BOOST = 8.0
"""How much more frequent a lemma is in documents of its topic."""

SYNONYMS = 0.4
"""Share of lemmas with more than one translation of the same sense."""
AMBIGUOUS = {"noun": 0.2, "verb": 0.45}
"""Share of lemmas with two senses."""
ADJECTIVE_FIRST = 0.5
"""Share of adjectives that stand before the noun on the target side."""


@dataclass(frozen=True, slots=True)
class Noun:
    source: tuple[str, str]
    """Singular and plural."""
    linker: str
    """What joins it to the next part of a compound."""
    gender: int
    target_gender: int
    semantic: int
    """Class 0 ... CLASSES - 1, on which the translation of verbs and prepositions depends."""
    senses: tuple[tuple[tuple[str, str], ...], ...]
    """Per sense, the synonyms; each (singular, plural). One sense for most nouns."""
    sense_of_topic: tuple[int, ...]
    of_link: bool
    """Whether as the head of a compound it makes 'house of wood' (reversed), not 'wood house'."""


@dataclass(frozen=True, slots=True)
class Verb:
    stem: str
    participle: str
    senses: tuple[tuple[str, ...], ...]
    """Per sense, target stems (synonyms)."""
    sense_of_class: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Adjective:
    stem: str
    targets: tuple[str, ...]
    before: bool
    """Whether it stands before the noun on the target side, too."""


@dataclass(frozen=True, slots=True)
class Adverb:
    source: str
    targets: tuple[str, ...]
    early: float
    """Probability of the place right after the target subject; otherwise it comes last."""


@dataclass(frozen=True)
class Lexicon:
    """All words of one seed; a lemma is drawn with `cumulative[category][topic]`."""

    nouns: list[Noun]
    verbs: list[Verb]
    adjectives: list[Adjective]
    adverbs: list[Adverb]
    names: list[str]
    function: dict[str, list[str]]
    """Closed-class words of both languages, by the names that the grammar uses."""
    cumulative: dict[str, list[list[float]]]


Sounds = tuple[str, str, str]
"""Onsets, vowels and codas of syllables, space-separated; `-` is no sound."""

SOURCE_SOUNDS = (
    "b d f g h k l m n p r s t w z st sch br kr gl fr tr",
    "a e i o u ei au ie ä ö ü",
    "- - n l r s t ck nd rt ng ch",
)
TARGET_SOUNDS = (
    "b c d f g j l m n p r s t v qu ch pl gr cr tr",
    "a e i o u a e o ai ou",
    "- - - - n r l s",
)


class WordMaker:
    """Makes random pronounceable words, never the same twice."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.used: set[str] = set()

    def word(
        self,
        sounds: Sounds,
        syllables: tuple[int, int],
        endings: tuple[str, ...] = ("",),
        shortest: int = 2,
    ) -> str:
        """A stem; none of its forms stem + ending equals a form drawn before."""
        onsets, vowels, codas = (
            ["" if sound == "-" else sound for sound in part.split(" ")] for part in sounds
        )
        while True:
            count = int(self.rng.integers(syllables[0], syllables[1] + 1))
            draws = self.rng.random((count, 3)).tolist()
            stem = "".join(
                onsets[int(a * len(onsets))] + vowels[int(b * len(vowels))] + codas[int(c * len(codas))]
                for a, b, c in draws
            )
            forms = {stem + ending for ending in endings}
            if len(stem) >= shortest and not forms & self.used:
                self.used |= forms
                return stem


FUNCTION_WORDS = {
    # name: (side, how many)
    "definite": ("source", 4),  # masculine, feminine = plural, neuter, masculine object
    "indefinite": ("source", 3),  # masculine = neuter, feminine, masculine object
    "this": ("source", 3),  # masculine, feminine = plural, neuter
    "possessive": ("source", 2),  # my/our stem, her/their stem
    "pronoun": ("source", 4),  # he, she = they, it, we
    "auxiliary": ("source", 4),  # has, have, will, want (singular forms; plural by ending)
    "copula": ("source", 2),  # is, are
    "preposition": ("source", 8),
    "conjunction": ("source", 5),
    "and": ("source", 2),  # and, but
    "relative": ("source", 2),
    "not": ("source", 1),
    "t.definite": ("target", 4),  # gender x number
    "t.indefinite": ("target", 4),
    "t.this": ("target", 4),
    "t.possessive": ("target", 4),  # stem x number
    "t.pronoun": ("target", 6),  # he, she, it, they, we, they (feminine)
    "t.auxiliary": ("target", 8),  # auxiliary x number
    "t.copula": ("target", 2),
    "t.preposition": ("target", 12),
    "t.conjunction": ("target", 7),
    "t.and": ("target", 2),
    "t.relative": ("target", 2),
    "t.not": ("target", 1),
    "t.of": ("target", 1),
    "t.ask": ("target", 1),
}


@functools.lru_cache(maxsize=2)
def make_lexicon(seed: int) -> Lexicon:
    """The lexicon of `seed`; cached, because every text of a corpus needs it."""
    rng = stream(seed, "corpus", "synthetic", "lexicon")
    maker = WordMaker(rng)
    sounds = {"source": SOURCE_SOUNDS, "target": TARGET_SOUNDS}
    function = {
        name: [maker.word(sounds[side], (1, 1), ("", "e", "en", "s")) for _ in range(count)]
        for name, (side, count) in FUNCTION_WORDS.items()
    }
    nouns = [_noun(rng, maker) for _ in range(SIZES["noun"])]
    verbs = [_verb(rng, maker) for _ in range(SIZES["verb"])]
    adjectives = [_adjective(rng, maker) for _ in range(SIZES["adjective"])]
    adverbs = [_adverb(rng, maker) for _ in range(SIZES["adverb"])]
    names = [maker.word(TARGET_SOUNDS, (2, 3)) for _ in range(SIZES["name"])]
    cumulative = {category: _cumulative(rng, category) for category in SIZES}
    return Lexicon(nouns, verbs, adjectives, adverbs, names, function, cumulative)


def _noun(rng: np.random.Generator, maker: WordMaker) -> Noun:
    gender = int(rng.integers(3))
    plural = (("e", "er"), ("n", "en"), ("er", "s"))[gender][int(rng.integers(2))]
    source = maker.word(SOURCE_SOUNDS, (1, 3), ("", plural), shortest=4)
    ambiguous = rng.random() < AMBIGUOUS["noun"]
    senses = []
    for _ in range(2 if ambiguous else 1):
        words = [maker.word(TARGET_SOUNDS, (2, 3), ("", "s")) for _ in range(_synonym_count(rng, SYNONYMS))]
        senses.append(tuple((word, word + "s") for word in words))
    return Noun(
        source=(source, source + plural),
        linker=("", "", "s", "es")[int(rng.integers(4))],
        gender=gender,
        target_gender=int(rng.integers(2)),
        semantic=int(rng.integers(CLASSES)),
        senses=tuple(senses),
        sense_of_topic=tuple(rng.integers(len(senses), size=TOPICS).tolist()),
        of_link=bool(rng.random() < 0.5),
    )


def _verb(rng: np.random.Generator, maker: WordMaker) -> Verb:
    stem = maker.word(SOURCE_SOUNDS, (1, 2), ("t", "en"))
    senses = [
        tuple(maker.word(TARGET_SOUNDS, (1, 2), ("a", "ent", "é")) for _ in range(count))
        for count in [
            _synonym_count(rng, SYNONYMS) for _ in range(2 if rng.random() < AMBIGUOUS["verb"] else 1)
        ]
    ]
    sense_of_class = rng.permutation(np.arange(CLASSES) % len(senses)).tolist()
    return Verb(stem, "ge" + stem + "t", tuple(senses), tuple(sense_of_class))


def _adjective(rng: np.random.Generator, maker: WordMaker) -> Adjective:
    stem = maker.word(SOURCE_SOUNDS, (1, 2), ("", "e", "er", "es", "en"))
    targets = tuple(
        maker.word(TARGET_SOUNDS, (1, 2), ("o", "a", "os", "as"))
        for _ in range(_synonym_count(rng, SYNONYMS))
    )
    return Adjective(stem, targets, bool(rng.random() < ADJECTIVE_FIRST))


def _adverb(rng: np.random.Generator, maker: WordMaker) -> Adverb:
    source = maker.word(SOURCE_SOUNDS, (1, 2))
    targets = tuple(maker.word(TARGET_SOUNDS, (2, 2)) for _ in range(_synonym_count(rng, SYNONYMS)))
    return Adverb(source, targets, float(rng.choice([0.05, 0.95])))


def _synonym_count(rng: np.random.Generator, share: float) -> int:
    """1, or with probability `share` 2 or 3."""
    return int(rng.integers(2, 4)) if rng.random() < share else 1


def _cumulative(rng: np.random.Generator, category: str) -> list[list[float]]:
    """Per topic, the cumulative probabilities of the lemmas of a category."""
    size = SIZES[category]
    zipf = power(np.arange(size) + 1 + ZIPF_SHIFT, -ZIPF[category])
    topic = np.where(rng.random(size) < TOPICAL[category], rng.integers(TOPICS, size=size), -1)
    tables = []
    for t in range(TOPICS):
        weight = zipf * np.where(topic == t, TOPIC_BOOST, 1.0)
        table = (np.cumsum(weight) / weight.sum()).tolist()
        table[-1] = 1.0
        tables.append(table)
    return tables
