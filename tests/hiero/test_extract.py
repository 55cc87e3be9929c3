"""Extraction against the definitions, in plain Python."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from io import FileIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.hiero import extract
from replitune.hiero.model import Grammar
from replitune.hiero.scores import make_grammar
from replitune.hiero.settings import LONGEST_RULE, HieroSettings
from replitune.phrase.encode import RESERVED, encode, encode_known
from replitune.phrase.symmetrise import Linked, Links
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


def trained(corpus: list[Pair], settings: HieroSettings, folder: Path, text=None) -> Grammar:
    """The grammar of a corpus, for a text of words or for any."""
    linked = encoded(corpus)
    known = None
    if text is not None:
        known = encode_known(text, linked.source.vocab)
    folder.mkdir(exist_ok=True)
    make_grammar(linked, settings, known, folder)
    return Grammar.load(folder)


def encoded(corpus: list[Pair]) -> Linked:
    links = [sorted(pair[2]) for pair in corpus]
    flat = np.array([link for each in links for link in each], np.int16).reshape(-1, 2)
    return Linked(
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
def test_rules_and_relative_frequencies_are_those_of_the_definition(
    tmp_path, extraction, fractional, limits
):
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
        found = content(trained(corpus, settings, tmp_path))
        assert set(found) == set(counts)
        for (source, target), count in counts.items():
            scores = found[source, target]
            assert scores[0] == pytest.approx(np.log(count / by_target[target]), abs=1e-5)
            assert scores[2] == pytest.approx(np.log(count / by_source[source]), abs=1e-5)


def test_lexical_weights_use_the_links_between_the_words_of_a_rule(tmp_path):
    corpus: list[Pair] = [
        (
            ["das", "haus", "ist", "sehr", "klein"],
            ["the", "house", "is", "small"],
            {(0, 0), (1, 1), (2, 2), (4, 3)},
        ),
        (["das", "buch"], ["that", "book"], {(0, 0), (1, 1)}),
    ]
    settings = HieroSettings()
    found = content(trained(corpus, settings, tmp_path))
    # das: the 1/2, that 1/2; the others are certain
    assert np.exp(found["das X1", "the X1"])[[1, 3]] == pytest.approx([1, 0.5])
    # `sehr` has no link, and NULL is linked to nothing else
    assert np.exp(found["X1 ist sehr klein", "X1 is small"][1]) == pytest.approx(1.0)
    assert ("das X1 sehr klein", "the X1 small") in found


def test_options_are_cut_to_the_best_of_each_source_side(tmp_path):
    corpus = random_corpus(3, 40)
    everything, cut = HieroSettings(max_options=0), HieroSettings(max_options=2)
    all_rules = trained(corpus, everything, tmp_path / "all")
    kept = trained(corpus, cut, tmp_path / "cut")
    sizes = np.diff(all_rules.option_start)
    np.testing.assert_array_equal(np.diff(kept.option_start), np.minimum(sizes, 2))
    for node in np.flatnonzero(sizes).tolist():
        scores = all_rules.scores[all_rules.option_start[node] : all_rules.option_start[node + 1]]
        assert (np.diff(scores[:, 2]) <= 0).all()


def test_good_turing_lowers_counts(tmp_path):
    corpus = random_corpus(5, 60)
    plain, discounted = HieroSettings(max_options=0), HieroSettings(max_options=0, good_turing=True)
    with_counts = content(trained(corpus, plain, tmp_path / "plain"))
    lowered = content(trained(corpus, discounted, tmp_path / "discounted"))
    assert all((lowered[rule][[0, 2]] <= with_counts[rule][[0, 2]]).all() for rule in lowered)
    assert any((lowered[rule][[0, 2]] < with_counts[rule][[0, 2]]).all() for rule in lowered)


def match(side: list[str], line: list[str], most: int = 20) -> bool:
    """Whether a source side stands for some stretch of a line."""

    def behind(symbols: list[str], i: int) -> set[int]:
        if not symbols:
            return {i}
        if symbols[0] in ("X1", "X2"):
            ends = range(i + 1, len(line) + 1)
        else:
            ends = range(i + 1, i + 1 + (line[i : i + 1] == symbols[:1]))
        return {end for k in ends for end in behind(symbols[1:], k)}

    return any(end - i <= most for i in range(len(line)) for end in behind(side, i))


def options(grammar: Grammar) -> dict[str, list[tuple[str, bytes]]]:
    """Rules of each source side, in their order."""
    out = {}
    for node in range(len(grammar.source_parent)):
        rules = range(grammar.option_start[node], grammar.option_start[node + 1])
        if rules:
            spelt = [(" ".join(target_side(grammar, r)), grammar.scores[r].tobytes()) for r in rules]
            out[" ".join(grammar.source_side(node))] = spelt
    return out


@pytest.mark.parametrize(
    "more", [{}, {"max_options": 2}, {"good_turing": True}, {"fractional_counts": False, "min_gap": 1}]
)
def test_a_known_text_gets_the_rules_that_match_it_as_they_are_in_the_full_grammar(tmp_path, more):
    settings, there = HieroSettings(**more), 0
    for seed in range(6):
        corpus = random_corpus(seed, 30)
        rng = np.random.default_rng(seed)
        text = [[f"f{i}" for i in rng.integers(0, 6, rng.integers(0, 6))] for _ in range(5)]
        full = options(trained(corpus, settings, tmp_path / "full"))
        known = options(trained(corpus, settings, tmp_path / "known", text))
        assert all(full[side] == rules for side, rules in known.items())
        wanted = {side for side in full if any(match(side.split(), line) for line in text)}
        assert wanted <= set(known)
        there += len(full) > len(known)
    assert there == 6
    rules = trained(random_corpus(0), settings, tmp_path / "none", [["unknown"], []])
    assert options(rules) == {}


def test_rules_far_apart_in_a_text_match_up_to_the_longest_span_of_a_search(tmp_path):
    corpus: list[Pair] = [(["a", "b", "c", "d"], ["A", "B", "C", "D"], {(i, i) for i in range(4)})]
    settings = HieroSettings()
    for between, there in ((LONGEST_RULE - 2, True), (LONGEST_RULE - 1, False)):
        text = [["a", *["x"] * between, "d"]]
        assert ("a X1 d" in options(trained(corpus, settings, tmp_path, text))) is there


@pytest.mark.parametrize("known", [False, True])
def test_bytes_do_not_depend_on_what_is_in_memory_at_a_time(tmp_path, monkeypatch, known):
    corpus = random_corpus(4, 40)
    text = [pair[0] for pair in corpus[:3]] if known else None
    settings = HieroSettings(max_options=3)

    def content_of(name: str) -> dict[str, bytes]:
        trained(corpus, settings, tmp_path / name, text)
        return {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}

    whole = content_of("whole")
    for i, (block, part, group) in enumerate([(1, 1, 20), (7, 100, 1 << 20), (1 << 20, 30, 99)]):
        monkeypatch.setattr(extract, "BLOCK", block)
        monkeypatch.setattr(extract, "PART", part)
        monkeypatch.setattr(extract, "GROUP", group)
        monkeypatch.setattr("replitune.hiero.scores.BLOCK", block)
        assert content_of(str(i)) == whole


def test_records_have_no_file_that_could_be_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(extract, "PART", 20)
    with extract.extract_rules(encoded(random_corpus(2)), HieroSettings(), None, tmp_path) as rules:
        parts = list(rules.parts())
        assert sum(len(part) for _, _, part in parts) == rules.extracted > 20
        assert [low for low, _, _ in parts] == [0, *(high for _, high, _ in parts[:-1])]
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: FileIO("/dev/full", "r+"))
    with pytest.raises(OSError, match="No space left"):
        trained(random_corpus(2), HieroSettings(), tmp_path)


def test_a_grammar_is_read_as_it_was_written(tmp_path):
    grammar = trained(random_corpus(1), HieroSettings(), tmp_path / "trained")
    grammar.save(tmp_path)
    again = Grammar.load(tmp_path)
    assert content(again).keys() == content(grammar).keys()
    np.testing.assert_array_equal(again.scores, grammar.scores)
    (tmp_path / "scores.npy").write_bytes(b"")
    with pytest.raises(ReplituneError, match="incomplete or damaged"):
        Grammar.load(tmp_path)


def test_links_of_a_rule_must_fit_a_mask():
    with pytest.raises(ReplituneError, match="times max_span is too large"):
        read(HieroSettings, {"max_span": 16, "max_symbols": 5})
