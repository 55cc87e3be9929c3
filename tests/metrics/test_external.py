"""Segment scores from files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.external import External, segment_scores
from replitune.metrics.registry import get_metric

ROWS = [
    {"system": "A", "replica": "run-001", "segment": 0, "score": 0.5, "document": "d"},
    {"system": "A", "replica": "run-001", "segment": 2, "score": -1.25, "document": "e"},
    {"system": "A", "replica": "run-002", "segment": 1, "score": None, "document": "d"},
    {"system": "A", "replica": "run-002", "segment": 2, "score": 4.0, "document": "e"},
]
EXPECTED = [[[0.5, 1], [0, 0], [-1.25, 1]], [[0, 0], [0, 0], [4.0, 1]]]


def write(path, rows):
    names = list(rows[0])
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist(rows)
        column = table.schema.get_field_index("system")
        pq.write_table(table.set_column(column, "system", table["system"].dictionary_encode()), path)
    else:
        lines = [json.dumps(row) for row in rows]
        if path.name[1:5] in (".tsv", ".csv"):
            cells = [["" if v is None else str(v) for v in row.values()] for row in rows]
            separator = "\t" if ".tsv" in path.name else ","
            lines = [separator.join(names), *map(separator.join, cells)]
        data = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


FORMATS = ["s.csv", "s.tsv", "s.tsv.gz", "s.jsonl", "s.jsonl.gz", "s.parquet"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_with_missing_segments_counted(tmp_path, name):
    metric = get_metric({"name": "external", "id": "comet", "file": str(write(tmp_path / name, ROWS))})
    statistics, missing = metric.system_statistics("A", ["run-001", "run-002"], 3)
    np.testing.assert_array_equal(statistics, EXPECTED)
    assert missing == 3
    assert metric.score(statistics.sum(axis=1)).tolist() == [-0.375, 4.0]
    assert not metric.needs_text


def test_the_last_column_and_the_order_of_rows_do_not_matter(tmp_path):
    rows = [{k: row[k] for k in ("score", "segment", "replica", "system")} for row in ROWS[::-1]]
    metric = External(str(write(tmp_path / "s.tsv", rows)))
    np.testing.assert_array_equal(metric.system_statistics("A", ["run-001", "run-002"], 3)[0], EXPECTED)


def test_replicas_may_be_numbers_when_that_is_unambiguous(tmp_path):
    rows = [{**row, "replica": int(row["replica"][-1])} for row in ROWS]
    metric = External(str(write(tmp_path / "s.parquet", rows)))
    np.testing.assert_array_equal(metric.system_statistics("A", ["run-001", "run-002"], 3)[0], EXPECTED)
    with pytest.raises(ReplituneError, match="no scores for run mert-001"):
        metric.system_statistics("A", ["mert-001", "mira-001"], 3)


def test_the_signature_follows_the_scores(tmp_path):
    first = External(str(write(tmp_path / "a.tsv", ROWS))).signature()
    assert first == External(str(write(tmp_path / "b.tsv", ROWS))).signature()
    assert first != External(str(write(tmp_path / "c.tsv", ROWS[:3]))).signature()
    assert first.startswith("aggregation:mean|scores:")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": float("inf")}, "not finite|of the wrong type for its column"),
        ({"score": "good"}, "of the wrong type for its column"),
        ({"segment": -1}, "not a whole number"),
        ({"segment": "x1"}, "not a whole number|of the wrong type for its column"),
        ({"document": "x"}, "segment 2 is in two documents"),
        ({"segment": 1, "document": "d"}, "a segment of a run occurs twice"),
    ],
)
def test_a_wrong_row_is_refused_with_its_place(tmp_path, name, change, said):
    rows = [*ROWS[:3], {**ROWS[3], **change}]
    if name == "s.parquet":  # one type a column
        cast = {key: type(value) for key, value in change.items()}
        rows = [{**row, **{key: kind(row[key] or 0) for key, kind in cast.items()}} for row in rows]
        said += "|scores are not numbers"
    path = write(tmp_path / name, rows)
    with pytest.raises(ReplituneError, match=said) as caught:
        segment_scores(path)
    assert caught.value.file == str(path)
    line = {"tsv": 5, "csv": 5}.get(name.split(".")[1], 4)
    assert caught.value.line in (line, None if name == "s.parquet" else line)


@pytest.mark.parametrize(
    ("system", "replicas", "n", "said"),
    [
        ("B", ["run-001"], 3, "no scores for system B"),
        ("A", ["run-003"], 3, "no scores for run run-003"),
        ("A", ["run-001"], 2, "segments 0 to 1"),
    ],
)
def test_what_is_not_in_the_file_is_named(tmp_path, system, replicas, n, said):
    metric = External(str(write(tmp_path / "s.tsv", ROWS)))
    with pytest.raises(ReplituneError, match=said):
        metric.system_statistics(system, replicas, n)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.tsv", "system\treplica\tscore\nA\t1\t0\n", "no column segment"),
        ("s.tsv", "", "not a file of scores"),
        ("s.tsv", "system\treplica\tsegment\tscore\nA\t1\t0\n", "too few"),
        ("s.jsonl", "{", "incomplete or damaged JSON"),
        ("s.jsonl", "[1]", "not a file of scores"),
        ("s.jsonl", '{"system": "A", "score": 1}', "no column segment"),
        ("s.tsv", "system\treplica\tsegment\nA\t1\t0\n", "which column is the score"),
        ("s.csv", 'system,replica,segment,score\n"A\n', "too few"),
        ("s.parquet", "PAR1", "not a readable Parquet"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ReplituneError, match=said):
        segment_scores(path)


@pytest.mark.parametrize("name", ["s.tsv", "s.parquet"])
def test_a_missing_file_is_refused_when_it_is_needed(tmp_path, name):
    metric = External(str(tmp_path / name))
    with pytest.raises(ReplituneError, match="no such file"):
        metric.signature()
