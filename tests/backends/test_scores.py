"""Systems of which there are scores, and no texts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from replitune.backends.registry import get_backend
from replitune.corpus.reader import read_testset
from replitune.errors import ReplituneError
from replitune.metrics.registry import get_metric
from replitune.replicas import Replica

ROWS = [
    (system, run, f"q{i}", "abc"[i // 2], run + i / 10 + (system == "B"), i)
    for system in "AB"
    for run in (1, 2)
    for i in (3, 0, 2, 1)
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = ["system,run,segment,doc,acc,len"]
    lines += [",".join(map(str, row)) for row in ROWS]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def system(table: Path, name: str = "B", **more: object):
    settings = {"files": {"t": table.name}, "columns": {"score": "acc"}, **more}
    return get_backend(name, settings, "scores")


def test_the_test_set_is_the_segments_of_the_table_with_their_documents(tmp_path: Path):
    path = tmp_path / "t.csv"
    path.write_text("system,segment,doc,score\nA,q10,y,1\nA,q9,x,1\nA,q1,x,1\n")
    testset = read_testset(path, format="scores")
    assert testset.references == (["q1", "q9", "q10"],)
    assert testset.documents == ["x", "x", "y"]
    path.write_text("system,task,segment,score\nA,s,1,1\nA,t,2,1\nA,t,1,1\n")
    assert read_testset(f"{path}#t", format="scores").references == (["1", "2"],)
    with pytest.raises(ReplituneError, match="2 test sets in one table"):
        read_testset(path, format="scores")
    path.write_text("system,run,score\nA,1,1\n")
    with pytest.raises(ReplituneError, match="no column for the segment"):
        read_testset(path, format="scores")


def test_scores_are_lines_that_the_metric_reads(table: Path):
    backend = system(table, replicas={"seeds": 2})
    assert list(backend.files("t", table.parent)) == [Replica("seed-001"), Replica("seed-002")]
    lines = backend.collect("t", table.parent, 4)[Replica("seed-002")]
    assert json.loads(lines[3]) == {"id": "q3", "scores": {"acc": 3.3}}
    metric = get_metric("given:id=acc")
    found = metric.statistics(lines, [[f"q{i}" for i in range(4)]])
    np.testing.assert_allclose(found, [[3.0, 1], [3.1, 1], [3.2, 1], [3.3, 1]])
    with pytest.raises(ReplituneError, match="not those of this segment"):
        metric.statistics(lines, [["q0", "q1", "q3", "q2"]])
    with pytest.raises(ReplituneError, match="no scores of bleu"):
        get_metric("given:id=bleu").statistics(lines, [[f"q{i}" for i in range(4)]])
    with pytest.raises(ReplituneError, match="not a line of scores"):
        metric.statistics(["a house"], [["q0"]])


def test_each_file_is_a_run_where_tables_tell_none(tmp_path: Path):
    for run in (1, 2):
        text = "".join(f"{run}.{i}\n" for i in range(3))
        (tmp_path / f"a.{run}.score").write_text(text)
    backend = system(tmp_path / "a.*.score", "a", columns={})
    found = backend.collect("t", tmp_path, 3)
    assert [json.loads(lines[2])["scores"] for lines in found.values()] == [{"score": 1.2}, {"score": 2.2}]
    assert list(found) == [Replica("run-001"), Replica("run-002")]


@pytest.mark.parametrize(
    ("name", "settings", "segments", "message"),
    [
        ("C", {"replicas": {"seeds": 2}}, 4, "no system is called 'C'"),
        ("C", {"replicas": {"seeds": 2}, "called": "B"}, 5, "other scores than declared"),
        ("B", {"replicas": {"seeds": 3}}, 4, "other scores than declared"),
        ("B", {}, 4, "2 runs of 4 segments"),
    ],
)
def test_what_is_declared_must_be_there(
    table: Path, name: str, settings: dict, segments: int, message: str
):
    with pytest.raises(ReplituneError, match=message):
        system(table, name, **settings).collect("t", table.parent, segments)
