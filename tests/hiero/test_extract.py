"""Extraction against the definitions, in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.hiero.extract import extract_rules
from replitune.hiero.grammar import Grammar
from replitune.hiero.scores import make_grammar
from replitune.hiero.settings import HieroSettings
from replitune.phrase.encode import RESERVED, encode
from replitune.phrase.symmetrise import Links
from replitune.settings import read

Pair = tuple[list[str], list[str], set[tuple[int, int]]]


def random_corpus(seed: int, segments: int = 8) -> list[Pair]:
    rng = np.random.default_rng(seed)
    corpus = []
    for _ in range(segments):
        n, m = rng.integers(1, 8, 2).tolist()
        links = {(s, t) for s in range(n) for t in range(m) if rng.random() < 1.2 / max(n, m)}
        corpus.append(
            ([f"f{i}" for i in rng.integers(0, 4, n)], [f"e{i}" for i in rng.integers(0, 4, m)], links)
        )
    return corpus


def encoded(corpus: list[Pair]):
    links = [sorted(pair[2]) for pair in corpus]
    flat = np.array([link for each in links for link in each], np.int16).reshape(-1, 2)
    return (
        encode([pair[0] for pair in corpus]),
        encode([pair[1] for pair in corpus], RESERVED),
        Links(np.cumsum([0, *map(len, links)]), flat[:, 0].copy(), flat[:, 1].copy()),
    )


def rules_of(pair: Pair, settings: HieroSettings) -> Counter:
    """Counts of (source side, target side, links between words)."""
    source, target, links = pair
    n, m, span = len(source), len(target), settings.max_span

    def phrase(a: int, b: int, c: int, d: int) -> bool:
        inside = {(s, t) for s, t in links if a <= s <= b and c <= t <= d}
        crossing = {(s, t) for s, t in links if (a <= s <= b) != (c <= t <= d)}
        if not inside or crossing or max(b - a, d - c) >= span:
            return False
        edges = {a, b} <= {s for s, _ in inside} and {c, d} <= {t for _, t in inside}
        return edges or settings.extraction == "loose"

    phrases = [
        (a, b, c, d)
        for a in range(n)
        for b in range(a, n)
        for c in range(m)
        for d in range(c, m)
        if phrase(a, b, c, d)
    ]
    found: Counter = Counter()
    for outer in phrases:
        a, b, c, d = outer
        inner = [
            p
            for p in phrases
            if a <= p[0] and p[1] <= b and c <= p[2] and p[3] <= d and p[1] - p[0] + 1 >= settings.min_gap
        ]
        made = []
        for k in range(3):
            for gaps in combinations(sorted(inner), k):
                if k == 2:
                    (_, b1, c1, d1), (a2, _, c2, d2) = gaps
                    if a2 <= b1 + 1 or not (d1 < c2 or d2 < c1):
                        continue
                words_s = [s for s in range(a, b + 1) if not any(p[0] <= s <= p[1] for p in gaps)]
                words_t = [t for t in range(c, d + 1) if not any(p[2] <= t <= p[3] for p in gaps)]
                left = frozenset(
                    (words_s.index(s), words_t.index(t)) for s, t in links if s in words_s and t in words_t
                )
                if not left or len(words_s) + k > settings.max_symbols:
                    continue
                side_s = {p[0]: f"X{i}" for i, p in enumerate(gaps, 1)}
                side_s |= {s: source[s] for s in words_s}
                side_t = {p[2]: f"X{i}" for i, p in enumerate(gaps, 1)}
                side_t |= {t: target[t] for t in words_t}
                spelt = (
                    " ".join(side_s[i] for i in sorted(side_s)),
                    " ".join(side_t[i] for i in sorted(side_t)),
                )
                made.append((*spelt, left))
        for rule in made:
            found[rule] += 1 / len(made) if settings.fractional_counts else 1
    return found


def target_side(grammar: Grammar, rule: int) -> list[str]:
    """The words and gaps of a rule."""
    symbols = grammar.target_symbols[grammar.target_start[rule] : grammar.target_start[rule + 1]]
    return [f"X{-s}" if s < 0 else grammar.target_vocab[s] for s in symbols.tolist()]


def content(grammar: Grammar) -> dict[tuple[str, str], np.ndarray]:
    out = {}
    for node in range(len(grammar.source_parent)):
        for rule in range(grammar.option_start[node], grammar.option_start[node + 1]):
            key = " ".join(grammar.source_side(node)), " ".join(target_side(grammar, rule))
            assert key not in out
            out[key] = np.asarray(grammar.scores[rule])
    return out


@pytest.mark.parametrize("extraction", ["loose", "tight"])
@pytest.mark.parametrize("fractional", [True, False])
@pytest.mark.parametrize(
    "limits", [{}, {"max_span": 4, "max_symbols": 3}, {"min_gap": 1, "max_symbols": 4}]
)
def test_rules_and_relative_frequencies_are_those_of_the_definition(extraction, fractional, limits):
    settings = HieroSettings(extraction=extraction, fractional_counts=fractional, max_options=0, **limits)
    for seed in range(12):
        corpus = random_corpus(seed)
        counts: dict[tuple[str, str], float] = defaultdict(float)
        for pair in corpus:
            for (source, target, _), count in rules_of(pair, settings).items():
                counts[source, target] += count
        by_source, by_target = Counter(), Counter()
        for (source, target), count in counts.items():
            by_source[source] += count
            by_target[target] += count
        texts = encoded(corpus)
        grammar = make_grammar(*texts, extract_rules(*texts, settings), settings)
        found = content(grammar)
        assert set(found) == set(counts)
        for (source, target), count in counts.items():
            scores = found[source, target]
            assert scores[0] == pytest.approx(np.log(count / by_target[target]), abs=1e-5)
            assert scores[2] == pytest.approx(np.log(count / by_source[source]), abs=1e-5)


def test_lexical_weights_use_the_links_between_the_words_of_a_rule():
    corpus: list[Pair] = [
        (
            ["das", "haus", "ist", "sehr", "klein"],
            ["the", "house", "is", "small"],
            {(0, 0), (1, 1), (2, 2), (4, 3)},
        ),
        (["das", "buch"], ["that", "book"], {(0, 0), (1, 1)}),
    ]
    settings = HieroSettings()
    texts = encoded(corpus)
    found = content(make_grammar(*texts, extract_rules(*texts, settings), settings))
    # das: the 1/2, that 1/2; the others are certain
    assert np.exp(found["das X1", "the X1"])[[1, 3]] == pytest.approx([1, 0.5])
    # `sehr` has no link, and NULL is linked to nothing else
    assert np.exp(found["X1 ist sehr klein", "X1 is small"][1]) == pytest.approx(1.0)
    assert ("das X1 sehr klein", "the X1 small") in found


def test_options_are_cut_to_the_best_of_each_source_side():
    corpus = random_corpus(3, 40)
    texts = encoded(corpus)
    everything, cut = HieroSettings(max_options=0), HieroSettings(max_options=2)
    all_rules = make_grammar(*texts, extract_rules(*texts, everything), everything)
    kept = make_grammar(*texts, extract_rules(*texts, cut), cut)
    sizes = np.diff(all_rules.option_start)
    np.testing.assert_array_equal(np.diff(kept.option_start), np.minimum(sizes, 2))
    for node in np.flatnonzero(sizes).tolist():
        scores = all_rules.scores[all_rules.option_start[node] : all_rules.option_start[node + 1]]
        assert (np.diff(scores[:, 2]) <= 0).all()


def test_good_turing_lowers_counts():
    corpus = random_corpus(5, 60)
    texts = encoded(corpus)
    plain, discounted = HieroSettings(max_options=0), HieroSettings(max_options=0, good_turing=True)
    found = extract_rules(*texts, plain)
    with_counts = content(make_grammar(*texts, found, plain))
    lowered = content(make_grammar(*texts, found, discounted))
    assert all((lowered[rule][[0, 2]] <= with_counts[rule][[0, 2]]).all() for rule in lowered)
    assert any((lowered[rule][[0, 2]] < with_counts[rule][[0, 2]]).all() for rule in lowered)


def test_a_grammar_is_read_as_it_was_written(tmp_path):
    texts = encoded(random_corpus(1))
    settings = HieroSettings()
    grammar = make_grammar(*texts, extract_rules(*texts, settings), settings)
    grammar.save(tmp_path)
    again = Grammar.load(tmp_path)
    assert content(again).keys() == content(grammar).keys()
    np.testing.assert_array_equal(again.scores, grammar.scores)
    (tmp_path / "scores.npy").write_bytes(b"")
    with pytest.raises(ReplituneError, match="incomplete or damaged"):
        Grammar.load(tmp_path)


def test_links_of_a_rule_must_fit_a_mask():
    with pytest.raises(ReplituneError, match="too large together"):
        read(HieroSettings, {"max_span": 16, "max_symbols": 5})
