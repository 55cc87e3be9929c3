"""Scoring systems by their distinct outputs."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.metrics.registry import get_metric
from replitune.running.files import sha256_lines, write_lines
from replitune.statistics.scoring import (
    Outputs,
    read_outputs,
    references_sha256,
    score_from_file,
    score_system,
    scoring_identity,
)


class Counting(Metric):
    """Counts characters, and how many hypotheses it was shown."""

    name = "counting"
    statistic_names = ("segment", "characters")

    def __init__(self):
        super().__init__()
        self.shown = []

    def signature(self):
        return "counting"

    def segment_statistics(self, hyps, segments, prepared):
        self.shown += zip(segments.tolist(), hyps, strict=True)
        return np.array([[s, len(h)] for s, h in zip(segments, hyps, strict=True)]).reshape(-1, 2)

    def score(self, sums):
        return np.asarray(sums, dtype=float)[..., 1]


REPLICAS = st.integers(1, 4).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from(["", "a", "a b", "the cat"]), min_size=n, max_size=n),
        min_size=1,
        max_size=6,
    )
)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(REPLICAS)
def test_each_distinct_pair_is_scored_once_and_every_cell_is_right(replicas):
    metric = Counting()
    outputs = Outputs.of(replicas)
    scores = score_system(metric, outputs, None)
    pairs = {(i, line) for lines in replicas for i, line in enumerate(lines)}
    assert sorted(metric.shown) == sorted(pairs)
    assert scores.computed == len(pairs)
    assert outputs.distinct().share == len(pairs) / (len(replicas) * len(replicas[0]))
    expected = [[[i, len(line)] for i, line in enumerate(lines)] for lines in replicas]
    np.testing.assert_array_equal(scores.statistics, expected)
    assert scores.statistics.dtype == np.int32
    assert scores.statistics.flags.c_contiguous
    assert list(outputs) == replicas
    assert outputs[-1:] == replicas[-1:]
    assert outputs.line(0, -1) == replicas[0][-1]
    np.testing.assert_array_equal(outputs.empty(), [[not h for h in lines] for lines in replicas])


def test_bleu_of_a_system_is_bleu_of_each_replica():
    rng = np.random.default_rng(1)
    words = np.array(["the", "a", "cat", "dog", "sat", "on", "mat", ".", ",", "5"])
    refs = [[" ".join(rng.choice(words, 8)) for _ in range(20)] for _ in range(2)]
    pool = [[" ".join(rng.choice(words, 7)) for _ in range(3)] for _ in range(20)]
    replicas = [[lines[rng.integers(3)] for lines in pool] for _ in range(5)]
    metric = Bleu()
    scores = score_system(metric, Outputs.of(replicas), metric.prepare(refs))
    for found, hyps in zip(scores.statistics, replicas, strict=True):
        np.testing.assert_array_equal(found, metric.statistics(hyps, refs))


def test_rows_of_known_replicas_are_taken_over_and_only_under_the_same_identity():
    replicas = [["a", "b b"], ["a", "c"], ["d", "c"]]
    outputs = Outputs.of(replicas)
    marked = np.array([[7, 7], [8, 8]], dtype=np.int32)
    previous = {(sha256_lines(replicas[1]), "id"): marked}
    metric = Counting()
    scores = score_system(metric, outputs, None, previous=previous, identity="id")
    np.testing.assert_array_equal(scores.statistics[1], marked)
    np.testing.assert_array_equal(scores.statistics[2], [[0, 1], [1, 1]])
    assert (scores.taken_over, scores.computed) == (1, 4)
    assert sorted(metric.shown) == [(0, "a"), (0, "d"), (1, "b b"), (1, "c")]
    other = score_system(metric, outputs, None, previous=previous, identity="other")
    assert other.taken_over == 0
    np.testing.assert_array_equal(other.statistics[1], [[0, 1], [1, 1]])


def test_all_replicas_known_means_nothing_is_scored():
    outputs = Outputs.of([["a", "b"], ["a", "b"]])
    metric = Counting()
    rows = np.ones((2, 2), dtype=np.int32)
    known = {(outputs.sha256[0], ""): rows}
    scores = score_system(metric, outputs, None, previous=known)
    assert (scores.taken_over, scores.computed, metric.shown) == (2, 0, [])
    np.testing.assert_array_equal(scores.statistics, [rows, rows])


def test_identity_tells_options_references_and_versions_apart():
    refs, versions = [["a", "b"]], {"version": "1"}
    identities = {
        scoring_identity(Bleu(), refs, versions),
        scoring_identity(Bleu(lowercase=True), refs, versions),
        scoring_identity(Bleu(), [["a", "c"]], versions),
        scoring_identity(Bleu(), [["a", "b"], ["a", "b"]], versions),
        scoring_identity(Bleu(), refs, {"version": "2"}),
    }
    assert len(identities) == 5
    assert references_sha256(refs) == sha256_lines(refs[0])
    assert references_sha256([["a"], ["b"]]) != references_sha256([["b"], ["a"]])


def test_blocks_and_progress_change_nothing(monkeypatch):
    monkeypatch.setattr("replitune.statistics.scoring._BLOCK", 3)
    outputs = Outputs.of([[f"{i} {i % 3}" for i in range(8)], [str(i) for i in range(8)]])
    told = []
    scores = score_system(Counting(), outputs, None, progress=lambda *at: told.append(at))
    np.testing.assert_array_equal(
        scores.statistics, score_system(Counting(), outputs, None).statistics
    )
    assert told == [(3, 16), (6, 16), (9, 16), (12, 16), (15, 16), (16, 16)]


def test_plain_gz_and_crlf_files_are_the_same_replica(tmp_path):
    lines = ["a b", "", "c"]
    write_lines(tmp_path / "plain", lines)
    (tmp_path / "packed").write_bytes(gzip.compress(b"a b\n\nc\n"))
    (tmp_path / "crlf").write_bytes(b"a b\r\n\r\nc\r\n")
    (tmp_path / "no-last-lf").write_bytes(b"a b\n\nc")
    outputs = read_outputs(
        [tmp_path / name for name in ("plain", "packed", "crlf", "no-last-lf")], 3
    )
    assert list(outputs) == [lines] * 4
    assert outputs.sha256 == [sha256_lines(lines)] * 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a\n", "found: +1 lines\n.*expected: 2 lines, as in .*ref.txt\n.*decode the whole"),
        ("a\nb\nc\n", "found: +3 lines\n.*expected: 2 lines, as in .*ref.txt\n.*same test set"),
        ("a\nb\n\n \n", "found: +4 lines\n.*\n.*last 2 lines are blank: remove 2"),
        ("a\n\n\n", "last 2 lines are blank: remove 1"),
    ],
)
def test_other_line_counts_name_both_files_and_both_counts(tmp_path, content, said):
    (tmp_path / "hyp.txt").write_text(content)
    with pytest.raises(ReplituneError, match=said) as caught:
        read_outputs([tmp_path / "hyp.txt"], 2, tmp_path / "ref.txt")
    assert caught.value.file == str(tmp_path / "hyp.txt")


@pytest.mark.parametrize(
    ("content", "said"), [(b"a\0\nb\n", "NUL"), (b"a\n\xff\n", "invalid UTF-8")]
)
def test_bytes_that_are_not_text_are_refused_with_their_line(tmp_path, content, said):
    (tmp_path / "hyp.txt").write_bytes(content)
    with pytest.raises(ReplituneError, match=said):
        read_outputs([tmp_path / "hyp.txt"], 2)


def test_lines_given_in_memory_are_counted_too():
    with pytest.raises(ReplituneError, match="replica 1 has another number of lines"):
        Outputs(1).add(["a", "b"])


def test_memory_follows_distinct_lines_and_not_replicas(tmp_path):
    lines = [f"segment {i} " + "word " * 40 for i in range(300)]
    write_lines(tmp_path / "out", lines)
    tracemalloc.start()
    outputs = read_outputs([tmp_path / "out"] * 100, 300)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    one = sum(map(len, lines))
    assert len(outputs) == 100
    assert kept < 5 * one  # a hundred copies would be 100 times that


def test_scores_from_a_file_with_missing_segments_counted(tmp_path):
    rows = ["system\treplica\tsegment\tscore", "A\trun-001\t0\t0.5", "A\trun-002\t1\t"]
    write_lines(tmp_path / "s.tsv", rows)
    metric = get_metric({"name": "external", "file": str(tmp_path / "s.tsv")})
    scores = score_from_file(metric, "A", ["run-001", "run-002"], 2)
    np.testing.assert_array_equal(scores.statistics, [[[0.5, 1], [0, 0]], [[0, 0], [0, 0]]])
    assert scores.missing == 3
    with pytest.raises(ReplituneError, match="has no scores to read"):
        score_from_file(get_metric("mean"), "A", ["run-001"], 2)
