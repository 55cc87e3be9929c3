"""The synthetic pair has what experiments need: each property is measured on its text."""

import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from replitune.corpus import grammar
from replitune.corpus.lexicon import TOPICS, make_lexicon
from replitune.corpus.synthetic import synthetic_testset, synthetic_train, synthetic_units

SEED = 2011


@pytest.fixture(scope="module")
def lexicon():
    return make_lexicon(SEED)


@pytest.fixture(scope="module")
def train():
    return synthetic_train(SEED, 10_000)


@pytest.fixture(scope="module")
def test1():
    return synthetic_testset(SEED, "test1", 600)


@pytest.fixture(scope="module")
def units():
    return [(s, t) for _, s, t in synthetic_units(SEED, "train", 3000)]


# --- streams ---------------------------------------------------------------------------------


def test_a_longer_training_corpus_begins_with_the_shorter_one(train):
    for size in (1, 7, 100, 999):
        source, target = synthetic_train(SEED, size)
        assert source == train[0][:size]
        assert target == train[1][:size]


def test_the_size_of_a_test_set_changes_no_other():
    a = synthetic_testset(SEED, "a", 30)
    assert synthetic_testset(SEED, "a", 40).source[:30] == a.source
    assert synthetic_testset(SEED, "b", 10).source != a.source[:10]


def test_seeds_make_other_languages():
    first, second = (set(" ".join(synthetic_train(s, 200)[0]).split()) for s in (0, 1))
    assert len(first & second) < 0.1 * len(first)


def test_two_processes_write_the_same_text():
    code = (
        "from replitune.corpus.synthetic import *\n"
        "from replitune.running.files import sha256_lines\n"
        "source, target = synthetic_train(5, 100)\n"
        "print(sha256_lines([*source, *target, *synthetic_testset(5, 'dev', 20).source]))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(k), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for k in (1, 2)
    }
    assert len(digests) == 1


# --- form ------------------------------------------------------------------------------------


def test_sentences_have_4_to_25_words_a_side(train):
    for side in train:
        lengths = [len(line.split()) for line in side]
        assert min(lengths) >= 4
        assert max(lengths) <= 25
        assert 9 < np.mean(lengths) < 13
        assert all(line == " ".join(line.split()) for line in side)


def test_documents_have_8_to_15_segments_and_the_last_is_cut(test1):
    sizes = list(Counter(test1.documents).values())
    assert test1.segments == 600
    assert all(8 <= size <= 15 for size in sizes[:-1])
    assert 1 <= sizes[-1] <= 15
    assert test1.documents[0] == "test1-0001"
    assert len(set(sizes)) > 4


def test_ten_thousand_pairs_in_two_cpu_seconds():
    make_lexicon.cache_clear()
    start = time.process_time()
    synthetic_train(SEED + 1, 10_000)
    assert time.process_time() - start < 2


# --- vocabulary ------------------------------------------------------------------------------


def test_unknown_words_become_fewer_with_training_size(train, test1):
    tokens = [word for line in test1.source for word in line.split()]
    rates = []
    for size in (500, 1000, 2000, 4000, 10_000):
        known = {word for line in train[0][:size] for word in line.split()}
        rates.append(np.mean([word not in known for word in tokens]))
    assert np.all(np.diff(rates) < 0)
    assert rates[0] > 0.1
    assert 0.03 < rates[3] < 0.08
    assert rates[4] > 0.01  # never all of it: compounds and names


def test_words_follow_zipfs_law(train):
    """Frequency against rank, both logarithmic: a line of slope about -1 beyond the articles."""
    for side in train:
        counts = sorted(Counter(" ".join(side).split()).values(), reverse=True)
        ranks = np.arange(20, 1000)
        slope = np.polyfit(np.log(ranks), np.log(np.array(counts)[ranks - 1]), 1)[0]
        assert -1.5 < slope < -0.8
        assert np.mean(np.array(counts) == 1) > 0.15  # many words occur once


def test_test_segments_are_rarely_in_the_training_data(train, test1):
    known = set(train[0])
    assert sum(line in known for line in test1.source) < 0.02 * test1.segments
    assert len(set(train[0])) > 0.98 * len(train[0])


def test_unknown_compounds_are_made_of_known_nouns(train, test1, lexicon):
    """So splitting them pays: most unknown words are compounds, both parts of which were seen."""
    known = {word for line in train[0][:4000] for word in line.split()}
    unknown = {w for line in test1.source for w in line.split()} - known
    first = {n.source[0] + n.linker for n in lexicon.nouns if n.source[0] in known}
    second = {form for n in lexicon.nouns for form in n.source if form in known}
    splits = [
        any(word[:i] in first and word[i:] in second for i in range(1, len(word))) for word in unknown
    ]
    assert np.mean(splits) > 0.25
    everything = Counter(w for line in test1.source for w in line.split())
    nouns = {form for n in lexicon.nouns for form in n.source}
    compounds = {n.source[0] + n.linker for n in lexicon.nouns}
    made = [
        w
        for w in everything
        if w not in nouns and any(w[:i] in compounds and w[i:] in nouns for i in range(1, len(w)))
    ]
    assert sum(everything[w] for w in made) > 0.01 * everything.total()


# --- translation -----------------------------------------------------------------------------


def links(units):
    """(source word, target word) of one-to-one links."""
    for source, target in units:
        if source and target:
            for unit in source:
                if unit[1] and " " not in unit[1]:
                    yield unit


def entropy(counts):
    p = np.array(list(counts.values())) / counts.total()
    return float(-(p * np.log2(p)).sum())


def test_words_have_several_translations(units):
    table = defaultdict(Counter)
    for source, target in links(units):
        table[source][target] += 1
    total = sum(counts.total() for counts in table.values())
    average = sum(entropy(counts) * counts.total() for counts in table.values()) / total
    assert 0.3 < average < 2.0
    frequent = [counts for counts in table.values() if counts.total() >= 20]
    assert np.mean([len(counts) > 1 for counts in frequent]) > 0.5


def test_the_object_beside_a_verb_tells_its_sense(units, lexicon):
    """Entropy of the translation of a verb-final verb falls when the noun before it is known."""
    stems = {v.stem + e for v in lexicon.verbs for e in ("t", "en") if len(v.senses) > 1}
    stems |= {v.participle for v in lexicon.verbs if len(v.senses) > 1}
    semantic = {form: n.semantic for n in lexicon.nouns for form in n.source}
    alone, informed = defaultdict(Counter), defaultdict(Counter)
    for source, _ in units:
        for before, unit in pairwise(source):
            if unit[0] in stems and before[0] in semantic:
                alone[unit[0]][unit[1]] += 1
                informed[unit[0], semantic[before[0]]][unit[1]] += 1

    def conditional(table):
        total = sum(counts.total() for counts in table.values())
        return sum(entropy(counts) * counts.total() for counts in table.values()) / total

    assert conditional(alone) > 0.8
    assert conditional(informed) < 0.7 * conditional(alone)


def test_the_topic_of_a_document_tells_a_nouns_sense(lexicon):
    noun = next(n for n in lexicon.nouns if len(set(n.sense_of_topic)) > 1)
    assert len(noun.sense_of_topic) == TOPICS
    senses = [{word for pair in sense for word in pair} for sense in noun.senses]
    assert not senses[0] & senses[1]


def test_documents_have_topics(lexicon):
    """Two halves of a document share more nouns than halves of different documents do."""
    nouns = {form for n in lexicon.nouns for form in n.source}
    documents = defaultdict(list)
    for number, source, _ in synthetic_units(SEED, "topics", 1500):
        documents[number].append({u[0] for u in source} & nouns)
    halves = [
        (set().union(*d[: len(d) // 2]), set().union(*d[len(d) // 2 :]))
        for d in documents.values()
        if len(d) > 7
    ]

    def shared(a, b):
        return len(a & b) / max(min(len(a), len(b)), 1)

    same = np.mean([shared(a, b) for a, b in halves])
    other = np.mean([shared(a, b) for (a, _), (_, b) in pairwise(halves)])
    assert same > 1.5 * other


def test_articles_adjectives_and_verbs_agree(units, lexicon):
    """Target adjectives take the gender and number of the noun beside them."""
    nouns = {}
    for n in lexicon.nouns:
        for sense in n.senses:
            for pair in sense:
                for plural in (False, True):
                    nouns[pair[plural]] = ("o", "os", "a", "as")[2 * n.target_gender + plural]
    after = {word: True for a in lexicon.adjectives if not a.before for word in a.targets}
    seen = Counter()
    for _, target in units:
        for noun, adjective in pairwise(target):
            stem = next(
                (
                    adjective[1][: -len(e)]
                    for e in ("os", "as", "o", "a")
                    if adjective[1].endswith(e) and adjective[1][: -len(e)] in after
                ),
                None,
            )
            if stem is not None and noun[1] in nouns:
                assert adjective[1] == stem + nouns[noun[1]]
                seen[nouns[noun[1]]] += 1
    assert set(seen) == {"o", "os", "a", "as"}
    assert min(seen.values()) > 20


def test_german_merges_articles_that_the_target_keeps_apart(units, lexicon):
    """One source article has several translations: the noun decides, and the model must see it."""
    table = defaultdict(Counter)
    for source, target in links(units):
        table[source][target] += 1
    feminine = lexicon.function["definite"][1]
    assert len(table[feminine]) == 4
    assert entropy(table[feminine]) > 1.5


# --- order -----------------------------------------------------------------------------------


def jumps(units):
    """Distances |start - (end of the previous + 1)| over source words, in target order."""
    for source, target in units:
        start, position = {}, 0
        for unit in source:
            start[id(unit)] = position
            position += 1 if unit[0] else 0
        previous = -1
        for unit in target:
            if unit[0]:
                yield abs(start[id(unit)] - (previous + 1))
                previous = start[id(unit)]


def test_reordering_is_local_and_long_and_within_distance_six(units):
    counts = Counter(jumps(units))
    share = {d: n / counts.total() for d, n in counts.items()}
    assert max(counts) == 6
    assert 0.45 < share[0] < 0.75
    assert share[1] + share[2] > 0.15  # adjectives, adverbs, inversion
    assert share[3] + share[4] + share[5] + share[6] > 0.04  # verbs


def test_some_adjectives_swap_and_some_do_not(units, lexicon):
    """The word decides, so lexicalised reordering can learn it."""
    order = {e: a.before for a in lexicon.adjectives for e in [a.stem + "e", a.stem + "en"]}
    nouns = {form for n in lexicon.nouns for form in n.source}
    seen = Counter()
    for source, target in units:
        place = {id(unit): j for j, unit in enumerate(target)}
        for adjective, noun in pairwise(source):
            if adjective[0] in order and noun[0] in nouns:
                before = place[id(adjective)] < place[id(noun)]
                assert before == order[adjective[0]]
                seen[before] += 1
    assert min(seen.values()) > 0.2 * seen.total()


def test_rules_and_choices_are_distributions():
    for table in ([p for p, _ in grammar.RULES], grammar.PREPOSITIONS, grammar.CONJUNCTIONS):
        assert table[-1] == 1.0
        assert all(a < b for a, b in pairwise(table))
    assert all(hasattr(grammar.Document, name) for _, name in grammar.RULES)
