"""Scoring systems by their distinct outputs."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.replicas import replica_ids
from replitune.running.files import sha256_lines, write_lines
from replitune.statistics.outputs import Outputs, read_outputs
from replitune.statistics.scoring import Scorer, references_sha256, score_outputs
from replitune.statistics.store import write_store
from support import outputs_of


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
    outputs = outputs_of(replicas)
    statistics, computed = score_outputs(metric, outputs, None)
    pairs = {(i, line) for lines in replicas for i, line in enumerate(lines)}
    assert sorted(metric.shown) == sorted(pairs)
    assert computed == len(pairs)
    expected = [[[i, len(line)] for i, line in enumerate(lines)] for lines in replicas]
    np.testing.assert_array_equal(statistics, expected)
    assert statistics.dtype == np.int32
    assert statistics.flags.c_contiguous
    assert list(outputs) == replicas
    assert outputs.line(0, -1) == replicas[0][-1]
    np.testing.assert_array_equal(outputs.empty(), [[not h for h in lines] for lines in replicas])


def test_bleu_of_a_system_is_bleu_of_each_replica():
    rng = np.random.default_rng(1)
    words = np.array(["the", "a", "cat", "dog", "sat", "on", "mat", ".", ",", "5"])
    refs = [[" ".join(rng.choice(words, 8)) for _ in range(20)] for _ in range(2)]
    pool = [[" ".join(rng.choice(words, 7)) for _ in range(3)] for _ in range(20)]
    replicas = [[lines[rng.integers(3)] for lines in pool] for _ in range(5)]
    metric = Bleu()
    statistics, _ = score_outputs(metric, outputs_of(replicas), metric.prepare(refs))
    for found, hyps in zip(statistics, replicas, strict=True):
        np.testing.assert_array_equal(found, metric.statistics(hyps, refs))


def test_rows_of_known_replicas_are_taken_over():
    replicas = [["a", "b b"], ["a", "c"], ["d", "c"]]
    marked = np.array([[7, 7], [8, 8]], dtype=np.int32)
    known = {sha256_lines(replicas[1]): marked}
    metric = Counting()
    statistics, computed = score_outputs(metric, outputs_of(replicas), None, known)
    np.testing.assert_array_equal(statistics[1], marked)
    np.testing.assert_array_equal(statistics[2], [[0, 1], [1, 1]])
    assert computed == 4
    assert sorted(metric.shown) == [(0, "a"), (0, "d"), (1, "b b"), (1, "c")]


def test_all_replicas_known_means_nothing_is_scored():
    outputs = outputs_of([["a", "b"], ["a", "b"]])
    metric = Counting()
    rows = np.ones((2, 2), dtype=np.int32)
    statistics, computed = score_outputs(metric, outputs, None, {outputs.sha256[0]: rows})
    assert (computed, metric.shown) == (0, [])
    np.testing.assert_array_equal(statistics, [rows, rows])


def test_rows_are_taken_over_only_when_scored_in_the_same_way(tmp_path):
    testset, lines = TestSet((["a b", "c"],)), [["a b", "d"]]
    run = replica_ids({"run": 1})
    first = Scorer("bleu", testset, "t")
    scored = first.score("A", run, outputs_of(lines))
    write_store(tmp_path / "A.parquet", [scored.system], first.metric, first.metadata([scored]))

    def taken_over(metric, testset):
        outputs = outputs_of(lines)
        return Scorer(metric, testset, "t").score("A", run, outputs, [tmp_path / "A.parquet"])

    again = taken_over("bleu", testset)
    assert (again.taken_over, again.computed) == (1, 0)
    np.testing.assert_array_equal(again.system.statistics, scored.system.statistics)
    assert taken_over("bleu:id=other", testset).taken_over == 1
    assert taken_over("bleu:tokenize=none", testset).taken_over == 0
    assert taken_over("bleu", TestSet((["a b", "e"],))).taken_over == 0
    assert taken_over("bleu", TestSet((["a b", "c"], ["a b", "c"]))).taken_over == 0
    (tmp_path / "A.parquet").write_bytes(b"PAR1")
    assert taken_over("bleu", testset).computed == 2


def test_references_are_told_apart_by_their_order():
    assert references_sha256([["a", "b"]]) == sha256_lines(["a", "b"])
    assert references_sha256([["a"], ["b"]]) != references_sha256([["b"], ["a"]])


def test_where_scores_lie_is_not_published(tmp_path):
    write_lines(tmp_path / "s.tsv", ["system\treplica\tsegment\tscore", "A\trun-001\t0\t0.5"])
    word = f"external:id=comet,file={tmp_path}/s.tsv"
    assert Scorer(word, TestSet((["a"],)), "t").published_word == "external:id=comet,file=s.tsv"


def test_blocks_and_progress_change_nothing(monkeypatch):
    monkeypatch.setattr("replitune.statistics.scoring._BLOCK", 3)
    outputs = outputs_of([[f"{i} {i % 3}" for i in range(8)], [str(i) for i in range(8)]])
    told = []
    statistics, _ = score_outputs(Counting(), outputs, None, progress=lambda *at: told.append(at))
    np.testing.assert_array_equal(statistics, score_outputs(Counting(), outputs, None)[0])
    assert told == [(3, 16), (6, 16), (9, 16), (12, 16), (15, 16), (16, 16)]


def test_plain_gz_and_crlf_files_are_the_same_replica(tmp_path):
    lines = ["a b", "", "c"]
    write_lines(tmp_path / "plain", lines)
    (tmp_path / "packed").write_bytes(gzip.compress(b"a b\n\nc\n"))
    (tmp_path / "crlf").write_bytes(b"a b\r\n\r\nc\r\n")
    (tmp_path / "no-last-lf").write_bytes(b"a b\n\nc")
    outputs = read_outputs([tmp_path / name for name in ("plain", "packed", "crlf", "no-last-lf")], 3)
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


@pytest.mark.parametrize(("content", "said"), [(b"a\0\nb\n", "NUL"), (b"a\n\xff\n", "invalid UTF-8")])
def test_bytes_that_are_not_text_are_refused_with_their_line(tmp_path, content, said):
    (tmp_path / "hyp.txt").write_bytes(content)
    with pytest.raises(ReplituneError, match=said):
        read_outputs([tmp_path / "hyp.txt"], 2)


def test_lines_given_in_memory_are_counted_too():
    with pytest.raises(ReplituneError, match="run 1 has another number of lines"):
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
    outputs, runs = outputs_of([["x", "y"], ["x", "z"]]), replica_ids({"run": 2})
    testset = TestSet((["a", "b"],))
    scored = Scorer({"name": "external", "file": str(tmp_path / "s.tsv")}, testset, "t").score(
        "A", runs, outputs
    )
    np.testing.assert_array_equal(scored.system.statistics, [[[0.5, 1], [0, 0]], [[0, 0], [0, 0]]])
    assert scored.unscored == 3
    with pytest.raises(ReplituneError, match="has no scores to read"):
        Scorer("mean", testset, "t").score("A", runs, outputs)
