"""The synchronous grammar of the synthetic pair: a sentence and its translation at once.

A constituent is two lists of the same *units*, one in source order and one in target order; a
unit is (source words, target words), either of which may be empty. So each rule states its
reordering.

Long reorderings stay within what a distortion limit of 6 reaches: whatever a verb moves over
(the middle field) has at most five source words.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from replitune.corpus.lexicon import TOPICS, Lexicon, Noun, Verb

Unit = tuple[str, str]
Units = list[Unit]

SHORTEST, LONGEST = 4, 25
SMALL = 3
"""The most words of a noun phrase in a middle field."""

COMPOUND = 0.14
"""Probability that a noun is the head of a compound; those below are probabilities, too."""
ADJECTIVE = 0.55
PRONOUN = 0.25
ADVERB = 0.4
NAME = 0.07
PLURAL = 0.35
RECURRING = 0.12
"""Probability that a noun is one of the few that recur in the document."""
FREEDOM = (0.05, 0.25)
"""Range over documents of the probability that the translator takes another synonym."""

PREPOSITIONS = [0.30, 0.52, 0.67, 0.78, 0.86, 0.92, 0.97, 1.0]
CONJUNCTIONS = [0.40, 0.65, 0.82, 0.92, 1.0]
RULES = (
    # cumulative probabilities
    (0.36, "simple"),
    (0.49, "bracket"),
    (0.57, "inverted"),
    (0.73, "subordinate"),
    (0.81, "relative"),
    (0.90, "copular"),
    (0.96, "coordinated"),
    (1.00, "question"),
)


class Dice:
    """Uniform numbers of one generator, drawn in blocks so that a call costs little."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._left: list[float] = []

    def uniform(self) -> float:
        if not self._left:
            self._left = self._rng.random(2048).tolist()
        return self._left.pop()

    def chance(self, probability: float) -> bool:
        return self.uniform() < probability

    def below(self, n: int) -> int:
        return int(self.uniform() * n)

    def pick(self, cumulative: list[float]) -> int:
        return bisect_right(cumulative, self.uniform())


@dataclass(slots=True)
class Phrase:
    """A noun phrase, and the features that other words agree with."""

    source: Units
    target: Units
    gender: int
    """On the target side."""
    plural: bool
    semantic: int

    def __len__(self) -> int:
        return sum(1 for unit in self.source if unit[0])


class Document:
    """Sentences of one document: a topic, words that recur, and a translator's freedom."""

    def __init__(self, lexicon: Lexicon, dice: Dice) -> None:
        self.lexicon = lexicon
        self.dice = dice
        self.words = lexicon.function
        self.topic = dice.below(TOPICS)
        self.tables = {name: table[self.topic] for name, table in lexicon.cumulative.items()}
        low, high = FREEDOM
        self.freedom = low + (high - low) * dice.uniform()
        self.names = [dice.pick(self.tables["name"]) for _ in range(3)]
        self.recurring = [dice.pick(self.tables["noun"]) for _ in range(6)]

    def sentence(self) -> tuple[Units, Units]:
        """Units of a sentence in source order and in target order, 4 to 25 words a side."""
        while True:
            u = self.dice.uniform()
            name = next(name for limit, name in RULES if u < limit)
            source, target = getattr(self, name)()
            mark = ("?", "?") if name == "question" else (".", ".")
            source, target = [*source, mark], [*target, mark]
            if all(
                SHORTEST <= sum(len(unit[side].split()) for unit in units) <= LONGEST
                for side, units in ((0, source), (1, target))
            ):
                return source, target

    # --- words -------------------------------------------------------------------------------

    def synonym(self, count: int) -> int:
        """Which of `count` synonyms the translator takes: mostly the first."""
        if count == 1 or not self.dice.chance(self.freedom):
            return 0
        return 1 + self.dice.below(count - 1)

    def noun(self) -> Noun:
        nouns = self.lexicon.nouns
        if self.dice.chance(RECURRING):
            return nouns[self.recurring[self.dice.below(len(self.recurring))]]
        return nouns[self.dice.pick(self.tables["noun"])]

    def noun_target(self, noun: Noun, plural: bool) -> str:
        words = noun.senses[noun.sense_of_topic[self.topic]]
        return words[self.synonym(len(words))][plural]

    def noun_unit(self, noun: Noun, plural: bool) -> Unit:
        """The noun, one time in seven as the head of a compound."""
        target = self.noun_target(noun, plural)
        if not self.dice.chance(COMPOUND):
            return (noun.source[plural], target)
        part = self.noun()
        modifier = self.noun_target(part, False)
        source = part.source[0] + part.linker + noun.source[plural]
        if noun.of_link:
            return (source, f"{target} {self.words['t.of'][0]} {modifier}")
        return (source, f"{modifier} {target}")

    def verb(self) -> Verb:
        return self.lexicon.verbs[self.dice.pick(self.tables["verb"])]

    def verb_target(self, verb: Verb, semantic: int) -> str:
        """The stem; the class of the object decides the sense."""
        words = verb.senses[verb.sense_of_class[semantic]]
        return words[self.synonym(len(words))]

    def finite(self, verb: Verb, plural: bool, semantic: int) -> Unit:
        target = self.verb_target(verb, semantic)
        return (verb.stem + ("en" if plural else "t"), target + ("ent" if plural else "a"))

    def adverb(self) -> tuple[Unit, bool]:
        """An adverb, and whether it stands early in the translation."""
        adverb = self.lexicon.adverbs[self.dice.pick(self.tables["adverb"])]
        target = adverb.targets[self.synonym(len(adverb.targets))]
        return (adverb.source, target), self.dice.chance(adverb.early)

    # --- noun phrases ------------------------------------------------------------------------

    def noun_phrase(
        self, *, subject: bool = False, small: bool = False, pronoun: float = PRONOUN
    ) -> Phrase:
        """A pronoun or a name; or article, adjectives, noun, and perhaps a modifier."""
        if subject and self.dice.chance(pronoun):
            return self.pronoun()
        if self.dice.chance(NAME):
            return self.name()
        noun, plural = self.noun(), self.dice.chance(PLURAL)
        determiner, ending = self.determiner(noun, plural, subject)
        adjectives = 1 if self.dice.chance(ADJECTIVE) else 0
        if adjectives and not small and self.dice.chance(0.15):
            adjectives = 2
        head = self.noun_unit(noun, plural)
        source, before = list(determiner), list(determiner)
        after: Units = []
        for _ in range(adjectives):
            unit, in_front = self.adjective(noun, plural, ending)
            source.append(unit)
            if in_front:
                before.append(unit)
            else:
                after.insert(0, unit)
        source.append(head)
        phrase = Phrase(source, [*before, head, *after], noun.target_gender, plural, noun.semantic)
        if not small and self.dice.chance(0.14):
            modifier = self.prepositional(small=True)
            phrase.source += modifier[0]
            phrase.target += modifier[1]
        return phrase

    def pronoun(self) -> Phrase:
        """He, she, it, they, we: 'she' and 'they' are one source word; only the verb tells."""
        which = self.dice.below(6)
        source = (0, 1, 2, 1, 3, 1)[which]
        unit = (self.words["pronoun"][source], self.words["t.pronoun"][which])
        return Phrase([unit], [unit], int(which in (1, 5)), which >= 3, 0)

    def name(self) -> Phrase:
        """A name is written alike in both languages; some are rare."""
        index = (
            self.names[self.dice.below(len(self.names))]
            if self.dice.chance(0.7)
            else self.dice.pick(self.tables["name"])
        )
        name = self.lexicon.names[index]
        unit = (name, name)
        return Phrase([unit], [unit], index % 2, False, 0)

    def determiner(self, noun: Noun, plural: bool, subject: bool) -> tuple[Units, str]:
        """The determiner, and the ending of an adjective that follows it."""
        u = self.dice.uniform()
        masculine_object = noun.gender == 0 and not plural and not subject
        form = 2 * noun.target_gender + plural
        three = 1 if plural else noun.gender
        weak = "en" if plural or masculine_object else "e"
        strong = "en" if plural or masculine_object else ("er", "e", "es")[noun.gender]
        if u < 0.5:
            source = self.words["definite"][3 if masculine_object else three]
            return [(source, self.words["t.definite"][form])], weak
        if u < 0.78:
            target = self.words["t.indefinite"][form]
            if plural:  # no article in the source: the translation must insert one
                return [("", target)], "e"
            index = 2 if masculine_object else (1 if noun.gender == 1 else 0)
            return [(self.words["indefinite"][index], target)], strong
        if u < 0.88:
            return [(self.words["this"][three], self.words["t.this"][form])], weak
        owner = self.dice.below(2)
        stem = self.words["possessive"][owner]
        ending = "en" if masculine_object else ("e" if three == 1 else "")
        return [(stem + ending, self.words["t.possessive"][2 * owner + plural])], strong

    def adjective(self, noun: Noun, plural: bool, ending: str) -> tuple[Unit, bool]:
        """An adjective that agrees on both sides, and whether it precedes the target noun."""
        adjective = self.lexicon.adjectives[self.dice.pick(self.tables["adjective"])]
        target = adjective.targets[self.synonym(len(adjective.targets))]
        agreement = ("o", "os", "a", "as")[2 * noun.target_gender + plural]
        return (adjective.stem + ending, target + agreement), adjective.before

    def prepositional(self, small: bool = False) -> tuple[Units, Units]:
        """A preposition, translated by the class of the noun that it governs."""
        phrase = self.noun_phrase(small=small)
        which = self.dice.pick(PREPOSITIONS)
        target = which if phrase.semantic == 0 else (3 * which + 5 * phrase.semantic) % 12
        unit = (self.words["preposition"][which], self.words["t.preposition"][target])
        return [unit, *phrase.source], [unit, *phrase.target]

    # --- clauses -----------------------------------------------------------------------------

    def negation(self) -> Units:
        return [(self.words["not"][0], self.words["t.not"][0])] if self.dice.chance(0.1) else []

    def middle(self) -> tuple[Units, Units, Units, int]:
        """A middle field of at most five words, negation included.

        Returns its source units, its target units before the verb and after it, and the class of
        the object.
        """
        thing = self.noun_phrase(small=True)
        negation = self.negation()
        source, early, late = [*thing.source, *negation], list(negation), list(thing.target)
        if self.dice.chance(ADVERB):
            unit, in_front = self.adverb()
            source.insert(0, unit)
            if in_front:
                early.insert(0, unit)
            else:
                late.append(unit)
        elif len(thing) < SMALL and not negation and self.dice.chance(0.25):
            modifier = self.prepositional(small=True)
            if sum(1 for unit in source + modifier[0] if unit[0]) <= 5:
                source += modifier[0]
                late += modifier[1]
        return source, early, late, thing.semantic

    def simple(self) -> tuple[Units, Units]:
        """Subject, verb, object, in the same order on both sides."""
        subject, thing = self.noun_phrase(subject=True), self.noun_phrase()
        verb = self.finite(self.verb(), subject.plural, thing.semantic)
        source = [*subject.source, verb, *thing.source]
        target = [*subject.target, verb, *thing.target]
        if self.dice.chance(ADVERB):
            unit, in_front = self.adverb()
            source.insert(len(subject.source) + 1, unit)
            target.insert(len(subject.target) + (0 if in_front else 1), unit)
        if self.dice.chance(0.3):
            more = self.prepositional()
            source, target = source + more[0], target + more[1]
        return source, target

    def bracket(self) -> tuple[Units, Units]:
        """Auxiliary ... participle or infinitive at the end; together in the translation."""
        subject = self.noun_phrase(subject=True)
        field, early, late, semantic = self.middle()
        which = self.dice.below(4)
        auxiliary = (
            self.words["auxiliary"][which] + ("en" if subject.plural else ""),
            self.words["t.auxiliary"][2 * which + subject.plural],
        )
        lemma = self.verb()
        verb = (
            lemma.participle if which < 2 else lemma.stem + "en",
            self.verb_target(lemma, semantic) + "é",
        )
        return (
            [*subject.source, auxiliary, *field, verb],
            [*subject.target, auxiliary, *early, verb, *late],
        )

    def inverted(self) -> tuple[Units, Units]:
        """A fronted adverb or prepositional phrase, then verb, subject, object."""
        subject = self.noun_phrase(subject=True, small=True, pronoun=2 * PRONOUN)
        thing = self.noun_phrase()
        verb = self.finite(self.verb(), subject.plural, thing.semantic)
        if self.dice.chance(0.5):
            unit, _ = self.adverb()
            front = ([unit], [unit])
        else:
            front = self.prepositional(small=True)
        return (
            [*front[0], verb, *subject.source, *thing.source],
            [*front[1], ("", ","), *subject.target, verb, *thing.target],
        )

    def verb_final(self) -> tuple[Units, Units]:
        """Subject, middle field, verb: the order of subordinate clauses."""
        subject = self.noun_phrase(subject=True, small=True)
        field, early, late, semantic = self.middle()
        verb = self.finite(self.verb(), subject.plural, semantic)
        return [*subject.source, *field, verb], [*subject.target, *early, verb, *late]

    def subordinate(self) -> tuple[Units, Units]:
        """A main clause and a verb-final one; the translator may take another conjunction."""
        main = self.simple() if self.dice.chance(0.5) else self.bracket()
        clause = self.verb_final()
        which = self.dice.pick(CONJUNCTIONS)
        target = which + 2 if self.dice.chance(self.freedom) and which < 5 else which
        conjunction = (self.words["conjunction"][which], self.words["t.conjunction"][target])
        return ([*main[0], (",", ""), conjunction, *clause[0]], [*main[1], conjunction, *clause[1]])

    def relative(self) -> tuple[Units, Units]:
        """A relative clause on the object, verb-final in the source."""
        subject, thing = self.noun_phrase(subject=True), self.noun_phrase(small=True)
        verb = self.finite(self.verb(), subject.plural, thing.semantic)
        field, early, late, semantic = self.middle()
        inner = self.finite(self.verb(), thing.plural, semantic)
        pronoun = (self.words["relative"][thing.plural], self.words["t.relative"][0])
        return (
            [*subject.source, verb, *thing.source, (",", ""), pronoun, *field, inner],
            [*subject.target, verb, *thing.target, pronoun, *early, inner, *late],
        )

    def copular(self) -> tuple[Units, Units]:
        """Subject is adjective: the target adjective agrees with the subject."""
        subject = self.noun_phrase(subject=True)
        adjective = self.lexicon.adjectives[self.dice.pick(self.tables["adjective"])]
        target = adjective.targets[self.synonym(len(adjective.targets))]
        ending = ("o", "os", "a", "as")[2 * subject.gender + subject.plural]
        copula = (self.words["copula"][subject.plural], self.words["t.copula"][subject.plural])
        negation = self.negation()
        rest = [(adjective.stem, target + ending)]
        if self.dice.chance(0.4):
            more = self.prepositional(small=True)
            return (
                [*subject.source, copula, *negation, *more[0], *rest],
                [*subject.target, *negation, copula, *rest, *more[1]],
            )
        return ([*subject.source, copula, *negation, *rest], [*subject.target, *negation, copula, *rest])

    def coordinated(self) -> tuple[Units, Units]:
        """Two clauses side by side."""
        first, second = self.simple(), self.bracket()
        which = self.dice.below(2)
        unit = (self.words["and"][which], self.words["t.and"][which])
        return [*first[0], unit, *second[0]], [*first[1], unit, *second[1]]

    def question(self) -> tuple[Units, Units]:
        """Verb, subject, object; the translation asks with a word of its own."""
        subject = self.noun_phrase(subject=True, small=True, pronoun=2 * PRONOUN)
        thing = self.noun_phrase()
        verb = self.finite(self.verb(), subject.plural, thing.semantic)
        ask = ("", self.words["t.ask"][0])
        return ([verb, *subject.source, *thing.source], [ask, *subject.target, verb, *thing.target])


def words(units: Units, side: int) -> str:
    """The sentence on one side: 0 the source, 1 the target."""
    return " ".join([unit[side] for unit in units if unit[side]])
