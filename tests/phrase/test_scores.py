"""Lexical and phrase scores of a corpus small enough to work by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from replitune.phrase.encode import RESERVED, Encoded, encode
from replitune.phrase.lexical import lexical_table
from replitune.phrase.pairs import LinkedPhrases
from replitune.phrase.scores import counts_of_counts, discounted, good_turing_factors, phrase_table
from replitune.phrase.symmetrise import Linked, Links
from replitune.phrase.table import PhraseTable

CORPUS = [
    ("das haus", "the house", "0-0 1-1"),
    ("das buch", "the book", "0-0 1-1"),
    ("ins haus", "into the house", "0-0 0-1 1-2"),
    ("haus da", "house", "0-0"),
    ("hier buch", "book", "1-0"),
    ("buch", "book please", "0-0"),
    ("ein buch", "a book", "0-0 1-1"),
]


def corpus(rows: list[tuple[str, str, str]]) -> tuple[Encoded, Encoded, Links]:
    points = [[tuple(map(int, link.split("-"))) for link in row[2].split()] for row in rows]
    links = Links(
        np.cumsum([0, *map(len, points)]),
        np.array([s for segment in points for s, _ in sorted(segment)], np.int16),
        np.array([t for segment in points for _, t in sorted(segment)], np.int16),
    )
    source = encode([row[0].split() for row in rows])
    return source, encode([row[1].split() for row in rows], RESERVED), links


def train(
    rows: list[tuple[str, str, str]], max_options: int = 100, good_turing: bool = False
) -> PhraseTable:
    linked = Linked(*corpus(rows))
    (pairs,) = LinkedPhrases(linked, 7).parts()
    counts = counts_of_counts(pairs.count) if good_turing else None
    lexical = lexical_table(linked.source, linked.target, linked.links)
    return phrase_table(linked, lexical, pairs, counts, max_options=max_options)


def options(table: PhraseTable) -> dict[str, dict[str, list[float]]]:
    """{source phrase: {target phrase: the four probabilities}}, options in the table's order."""
    result: dict[str, dict[str, list[float]]] = {}
    for s in range(len(table.option_start) - 1):
        words = table.source_words[table.source_start[s] : table.source_start[s + 1]]
        phrase = " ".join(table.source_vocab[w] for w in words)
        result[phrase] = {}
        for p in range(table.option_start[s], table.option_start[s + 1]):
            words = table.target_words[table.target_start[p] : table.target_start[p + 1]]
            translation = " ".join(table.target_vocab[w] for w in words)
            result[phrase][translation] = np.exp(table.scores[p].astype(float)).tolist()
    return result


def test_word_translation_probabilities() -> None:
    source, target, links = corpus(CORPUS)
    table = lexical_table(source, target, links)
    f_names, e_names = [*source.vocab, "NULL"], [*target.vocab, "NULL"]
    found = {}
    for f in range(len(f_names)):
        for k in range(table.row[f], table.row[f + 1]):
            pair = f_names[f], e_names[table.target[k]]
            found[pair] = [table.e_given_f[k], table.f_given_e[k]]
    # links: das-the 2, ins-into 1, ins-the 1, haus-house 3, buch-book 4, ein-a 1;
    # da and hier with NULL, NULL with please
    assert found == {
        ("das", "the"): [2 / 2, 2 / 3],
        ("ins", "the"): [1 / 2, 1 / 3],
        ("ins", "into"): [1 / 2, 1],
        ("haus", "house"): [1, 1],
        ("buch", "book"): [1, 1],
        ("ein", "a"): [1, 1],
        ("da", "NULL"): [1, 1 / 2],
        ("hier", "NULL"): [1, 1 / 2],
        ("NULL", "please"): [1, 1],
    }


def test_phrase_scores() -> None:
    found = options(train(CORPUS))
    # p(f|e), lex(f|e), p(e|f), lex(e|f)
    assert found["das"] == {"the": pytest.approx([1, 2 / 3, 1, 1])}
    # one source word linked to two target words: lex(f|e) is the mean of w(ins|into) = 1 and
    # w(ins|the) = 1/3, lex(e|f) the product of w(into|ins) = w(the|ins) = 1/2
    assert found["ins"] == {"into the": pytest.approx([1, 2 / 3, 1, 1 / 4])}
    # haus is extracted 3 times with "house"; "house" 3 times with haus, once with "haus da"
    assert found["haus"] == {"house": pytest.approx([3 / 4, 1, 1, 1])}
    # the unaligned da is explained by NULL: lex(f|e) = w(haus|house) w(da|NULL)
    assert found["haus da"] == {"house": pytest.approx([1 / 4, 1 / 2, 1, 1])}
    # buch: 4 times "book", once "book please", whose please is explained by NULL;
    # "book": 4 times buch, once "hier buch"
    assert found["buch"] == {
        "book": pytest.approx([4 / 5, 1, 4 / 5, 1]),
        "book please": pytest.approx([1, 1, 1 / 5, 1]),
    }
    assert list(found["buch"]) == ["book", "book please"], "best p(e|f) first"
    assert found["hier buch"] == {"book": pytest.approx([1 / 5, 1 / 2, 1, 1])}
    assert found["ins haus"] == {"into the house": pytest.approx([1, 2 / 3, 1, 1 / 4])}
    assert set(found) == {
        *("das", "haus", "das haus", "buch", "das buch", "ins", "ins haus"),
        *("haus da", "hier buch", "ein", "ein buch"),
    }


def test_source_phrases_are_sorted_by_word_ids() -> None:
    table = train(CORPUS)
    phrases = [
        tuple(table.source_words[begin:end].tolist())
        for begin, end in itertools.pairwise(table.source_start)
    ]
    assert phrases == sorted(set(phrases))
    assert table.target_vocab[:3] == ["<unk>", "<s>", "</s>"]


def test_lexical_weights_use_the_most_frequent_links() -> None:
    # (x y, a b) twice straight and once crossed; the words also apart, so that it matters
    rows = [("x y", "a b", "0-0 1-1")] * 2 + [("x y", "a b", "0-1 1-0"), ("x", "b", "0-0")]
    # w(a|x) = 2/4, w(b|x) = 2/4, w(b|y) = 2/3, w(a|y) = 1/3; w(x|a) = 2/3, w(y|b) = 2/4
    found = options(train(rows))["x y"]["a b"]
    assert found == pytest.approx([1, 2 / 3 * 2 / 4, 1, 2 / 4 * 2 / 3])
    crossed = [("x y", "a b", "0-1 1-0")] * 2 + [("x y", "a b", "0-0 1-1"), ("x", "b", "0-0")]
    # now w(b|x) = 3/4, w(a|y) = 2/3; w(x|b) = 3/4, w(y|a) = 2/3
    found = options(train(crossed))["x y"]["a b"]
    assert found == pytest.approx([1, 3 / 4 * 2 / 3, 1, 3 / 4 * 2 / 3])


def test_pruning_keeps_the_best_options() -> None:
    rows = [("x", f"t{k}", "0-0") for k in range(6) for _ in range(10 - k)]
    assert list(options(train(rows, max_options=3))["x"]) == ["t0", "t1", "t2"]
    everything = options(train(rows, max_options=0))["x"]
    assert list(everything) == [f"t{k}" for k in range(6)]
    # pruning does not renormalise
    assert options(train(rows, max_options=3))["x"]["t2"][2] == pytest.approx(8 / 45)


def test_good_turing_by_hand() -> None:
    # counts of counts: n1 = 6, n2 = 2, n3 = 1, n4 = 1, none up to 9
    count = np.array([1] * 6 + [2] * 2 + [3, 4, 12])
    d1 = 2 * 2.1 / 6.1
    d2 = 3 / 2 * 1.1 / 2.1
    d3 = 4 / 3 * 1.1 / 1.1  # above 1
    factors = good_turing_factors(counts_of_counts(count))
    # 5/4 * 0.1/1.1 would fall below the factor of 3, which is 1
    assert factors[1:5].tolist() == pytest.approx([d1, d2, min(d3, 1), 1])
    assert discounted(count, counts_of_counts(count)).tolist() == pytest.approx(
        [d1] * 6 + [2 * d2] * 2 + [3, 4, 12]
    )


def test_good_turing_changes_relative_frequencies_only() -> None:
    plain, smooth = train(CORPUS), train(CORPUS, good_turing=True)
    (distinct,) = LinkedPhrases(Linked(*corpus(CORPUS)), 7).parts()
    factors = good_turing_factors(counts_of_counts(distinct.count))
    before, after = options(plain), options(smooth)
    assert after["haus da"]["house"][0] == pytest.approx(before["haus da"]["house"][0] * factors[1])
    assert after["haus"]["house"][2] == pytest.approx(before["haus"]["house"][2] * factors[3])
    assert np.array_equal(plain.scores[:, [1, 3]], smooth.scores[:, [1, 3]])
    assert factors[1] < 1


def test_scores_are_finite_logarithms() -> None:
    table = train(CORPUS)
    assert np.isfinite(table.scores).all()
    assert np.isfinite(table.reordering).all()
    assert (table.scores <= 0).all()
    assert math.isclose(float(table.scores.max()), 0)
