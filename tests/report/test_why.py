"""Why a system is better: words, groups of segments, and what the page has of them."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from replitune.corpus.testset import TestSet
from replitune.metrics.base import MeanMetric
from replitune.report.groups import by_length, by_ratio, group_scores
from replitune.report.page_numbers import _means, by_segment, packed, segment_differences
from replitune.report.segment_browser import Output, Runs, Segments, page_data
from replitune.report.why import explain
from replitune.report.words import Moments, compare_words, half_width, words_of
from replitune.statistics.segments import SegmentStatistics
from report.report_models import SEGMENTS, finished_experiment, output, references, write_report
from significance.crossed_models import mean_statistics, system
from support import Ran, outputs_of


def right_by_hand(gram: str, runs: list[list[str]], streams: list[list[str]]) -> list[int]:
    """Clipped matches of an n-gram in every run."""
    words = tuple(gram.split())
    n = len(words)

    def times(line: str) -> int:
        tokens = line.split()
        return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))[words]

    return [
        sum(min(times(line), max(times(stream[i]) for stream in streams)) for i, line in enumerate(lines))
        for lines in runs
    ]


@pytest.mark.parametrize("block", [1 << 16, 7])
def test_words_are_counted_as_by_hand_in_every_run(block: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("replitune.report.words.BLOCK", block)
    streams = [references(), [f"{line} day" for line in references()]]
    runs = {name: [output(s, r) for r in range(3)] for s, name in enumerate(("a", "b"))}
    found = compare_words(streams, {name: outputs_of(lines).every() for name, lines in runs.items()})
    assert len(found.grams) > 100
    assert {len(gram.split()) for gram in found.grams} == {1, 2, 3}
    for name, lines in runs.items():
        for i in range(0, len(found.grams), 7):
            counts = right_by_hand(found.grams[i], lines, streams)
            assert found.right[name].mean[i] == pytest.approx(np.mean(counts))
            assert found.right[name].sd[i] == pytest.approx(np.std(counts, ddof=1))
    sizes = Counter()
    for first, second in zip(*streams, strict=True):
        sizes += Counter(first.split()) | Counter(second.split())
    assert sum(found.sizes) == sum(sizes.values())
    for name, lines in runs.items():
        matched = sum(np.mean(right_by_hand(word, lines, streams)) for word in sizes)
        share = np.dot(found.recall[name].mean, found.sizes) / sum(found.sizes)
        assert share == pytest.approx(100 * matched / sum(found.sizes))


def test_rare_words_are_those_of_the_training_text():
    train = ["the cat", "the dog", "the sea"]
    lines = outputs_of([["the cat ran"], ["the dog ran"]]).every()
    found = compare_words([["the cat ran"]], {"a": lines}, train)
    assert found.counted_in == "the training text"
    assert dict(zip(found.classes, found.sizes, strict=True)) == {"not there": 1, "1": 1, "2 to 4": 1}
    assert found.recall["a"].mean.tolist() == [100, 50, 100]


def test_a_script_without_spaces_has_characters_for_words():
    assert words_of("the cat") == ["the", "cat"]
    assert words_of("我們在公園裡看到了一隻貓在睡覺") == list("我們在公園裡看到了一隻貓在睡覺")


def test_every_segment_is_in_one_group_and_groups_are_scored_alone():
    lines = references()
    for by in (by_length([lines]), by_ratio(np.arange(1.0, len(lines) + 1), [lines])):
        assert len(by.codes) == len(lines)
        assert set(by.codes.tolist()) == set(range(len(by.names)))
        assert len(by.names) >= 4
    by = by_length([lines])
    values = np.random.default_rng(3).normal(size=(2, len(lines)))
    found = group_scores(MeanMetric(), {"a": system("a", mean_statistics(values))}, by)
    for g, name in enumerate(by.names):
        members = by.codes == g
        low, *high = map(int, re.findall(r"\d+", name))
        lengths = [len(line.split()) for line, m in zip(lines, members, strict=True) if m]
        assert (min(lengths), max(lengths)) == (low, (high or [low])[0])
        assert found.sizes[g] == members.sum()
        assert found.scores["a"][:, g] == pytest.approx(values[:, members].mean(axis=1))


def test_segments_without_a_score_are_missing():
    statistics = mean_statistics(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    statistics[0, 2] = 0
    store = SegmentStatistics(
        "t", MeanMetric(), "sig", {"a": system("a", statistics)}, np.arange(3, dtype=np.int32), None
    )
    why = explain("t", [("mean", store)])
    means = why.means["mean"]["a"]
    assert means[:2].tolist() == [2.0, 2.0]
    assert np.isnan(means[2])
    assert why.words is None


def unpacked(text: str, width: int) -> list[int]:
    """What the page reads: little-endian whole numbers."""
    raw = base64.b64decode(text)
    return [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]


def test_differences_of_all_pairs_are_on_one_scale():
    rng = np.random.default_rng(1)
    a = rng.normal(40, 20, 500)
    b = np.where(rng.random(500) < 0.5, a, rng.normal(45, 20, 500))
    a[0], b[1], a[2] = -200.0, 300.0, np.nan
    # what arithmetic makes of equal scores is equal
    c = np.nextafter(a, np.inf)
    found, codes = segment_differences({"a": a, "b": b, "c": c})
    assert (found["names"], found["most"]) == (["a", "b", "c"], 500.0)
    deltas = [b - a, c - a, c - b]
    told = by_segment([codes, codes])
    for k, values in enumerate(deltas):
        for metric in (0, 1):
            at = 4 * (3 * metric + k)
            own = np.array([unpacked(text[at : at + 4], 3)[0] for text in told])
            assert (own == 2**24 - 1).tolist() == np.isnan(values).tolist()
            there = np.isfinite(values)
            assert -500 + 1000 * own[there] / (2**24 - 2) == pytest.approx(values[there], abs=4e-5)
            assert (own == 2**23 - 1).tolist() == np.isclose(values, 0, atol=1e-9).tolist()
    there = np.isfinite(a)
    x, y = a[there], b[there]
    assert found["pairs"] == [
        [int((y < x).sum()), int((y == x).sum()), int((y > x).sum())],
        [0, 499, 0],
        [int((y > x).sum()), int((y == x).sum()), int((y < x).sum())],
    ]


def test_a_mean_of_a_fraction_is_equal_in_whatever_order_it_was_summed():
    """Halves of a code are rounded to one side, whatever the last bit says."""
    tenths = [0.1] * 10
    one, other = sum(tenths) / 4, 1.0 / 4
    assert one != other
    ends = [0.0, 1.0]
    found, _ = segment_differences({"a": np.array([*ends, one]), "b": np.array([*ends, other])})
    assert found["pairs"] == [[0, 3, 0]]
    same, _ = segment_differences({"a": np.ones(4), "b": np.ones(4)})
    assert same["pairs"] == [[0, 4, 0]]


def test_the_page_has_the_differences_of_groups_with_welchs_intervals():
    rng = np.random.default_rng(5)
    runs = {name: rng.normal(k, 1, (n, 6)) for k, (name, n) in enumerate((("a", 4), ("b", 7), ("c", 1)))}
    found = _means({name: Moments.over_runs(values) for name, values in runs.items()}, 0.05)
    code, most = 2 * found["most"] / (2**24 - 2), found["most"]
    for text, (a, b) in zip(found["pairs"], [("a", "b"), ("a", "c"), ("b", "c")], strict=True):
        codes = np.array(unpacked(text, 3)).reshape(3, 6)
        delta = runs[b].mean(axis=0) - runs[a].mean(axis=0)
        assert -most + code * codes[0] == pytest.approx(delta, abs=code)
        if b == "c":
            assert (codes[1:] == 2**24 - 1).all(), "one run has no interval"
            continue
        interval = stats.ttest_ind(runs[b], runs[a], equal_var=False).confidence_interval(0.95)
        assert -most + code * codes[1:] == pytest.approx(np.array([interval.low, interval.high]), abs=code)


def test_probabilities_are_packed_in_fewer_bytes():
    values = np.array([[0.0, 0.25, 1.0], [0.5, 0.8, 0.999]])
    for width in (1, 2, 3):
        codes = np.array(unpacked(packed(values, 0, 1, width), width))
        assert codes / (256**width - 2) == pytest.approx(values.ravel(), abs=0.51 / (256**width - 2))


def test_intervals_of_groups_and_words_are_welchs():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, (4, 6)), rng.normal(0.5, 3, (7, 6))
    a[:, 0], b[:, 0] = 1.0, 3.0  # nothing varies
    half = half_width(Moments.over_runs(a), Moments.over_runs(b), 0.1)
    assert half is not None
    assert half[0] == 0
    for k in range(1, 6):
        interval = stats.ttest_ind(b[:, k], a[:, k], equal_var=False).confidence_interval(0.9)
        assert half[k] == pytest.approx((interval.high - interval.low) / 2)
    assert half_width(Moments.over_runs(a[:1]), Moments.over_runs(b), 0.1) is None


def test_words_that_changed_are_told_by_how_much_and_how_surely():
    streams = [references()]
    runs = {name: [output(s, r) for r in range(3)] for s, name in enumerate(("a", "b"))}
    words = compare_words(streams, {name: outputs_of(lines).every() for name, lines in runs.items()})
    half = half_width(words.right["a"], words.right["b"], 0.05)
    assert half is not None
    delta = words.right["b"].mean - words.right["a"].mean
    gained, lost = words.most_changed("a", "b", half)
    assert (lost, gained) == words.most_changed("b", "a", half)
    for side, sign in ((gained, 1), (lost, -1)):
        gains = sign * delta
        told = (gains > 0) & (np.array(words.expected) >= 5)
        keys = sorted((bool(gains[i] <= half[i]), -gains[i]) for i in np.flatnonzero(told))
        assert [(bool(gains[i] <= half[i]), -gains[i]) for i in side] == keys[:12]


def test_of_the_segments_that_differ_most_the_page_has_all_runs():
    n, texts = 200, [["x y"] * 200, ["x z"] * 200, ["x y"] * 200]
    scores = np.tile(np.arange(n, dtype=float), (3, 1))
    runs = Runs(("run-001", "run-002", "run-003"), outputs_of(texts).every(), scores)
    outputs = [Output("a", "run-001", texts[0], np.zeros(n)), Output("b", "run-001", texts[0], scores[0])]
    part = Segments("t1", "BLEU", True, 2, [["x y z"] * n], None, None, outputs, {"b": runs})
    text = page_data([part], 12_000, {}, {"t1": ["abcd"] * n})
    (found,) = json.loads(text)
    assert len(text) < 12_500
    every = {int(i): row for i, row in found["details"].items()}
    assert 0 < len(every) < len(found["rows"]) < n
    assert min(every) == n - len(every), "those with the largest spread"
    assert every[n - 1] == [[None, None], [[["x y", n - 1, [0, 2]], ["x z", n - 1, [1]]], None]]


def test_derivations_are_in_the_page_where_a_system_tells_them():
    told = [[[0, 2, "ein X1", "a X1", [[1, 2, "Mann", "man", []]]]], []]
    outputs = [
        Output("a", "run-001", ["a man", ""], np.zeros(2), told),
        Output("b", "run-001", ["the man", ""], np.ones(2)),
    ]
    part = Segments("t1", "BLEU", True, 2, [["a man", "x"]], None, None, outputs)
    (found,) = json.loads(page_data([part], 10_000, {}, {}))
    assert found["details"] == {"0": [[None, told[0]], [None, None]], "1": [[None, []], [None, None]]}


def test_the_page_of_an_experiment_has_it_all(replitune: Callable[..., Ran], tmp_path: Path):
    names = {name: ["mert-001", "mert-002", "mira-001"] for name in ("a", "b")}
    settings = finished_experiment(replitune, tmp_path, names, parts=True)
    page = write_report(replitune, tmp_path, settings)
    numbers = json.loads(page.split('id="numbers">')[1].split("</script>")[0])
    why = numbers["why"]["t1"]
    assert set(why["groups"]) == {"document", "part", "length"}, "outputs are all as long"
    assert set(why["differences"]) == {"bleu", "ter-norm"}
    assert why["groups"]["part"]["sizes"] == [10, 14]
    part = why["groups"]["part"]["metrics"]["bleu"]
    assert [part["names"], *map(len, part["means"])] == [["a", "b"], 2, 2]
    assert len(unpacked(part["pairs"][0], 3)) == 3 * 2, "a difference and both ends of its interval"
    assert sum(why["groups"]["length"]["sizes"]) == SEGMENTS
    assert TestSet((references(),)).segments == SEGMENTS
