"""Last digits are told apart from values that have changed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replitune.ledger.verifying import compare_runs, compare_tables, is_close

ROW = {"a": "base", "p": 0.0421, "n": 3, "note": "p .042", "details": '{"won": 0.5}', "many": [0.1, 0.2]}


def write(path: Path, **changed: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([ROW | changed]), path)
    return path


@pytest.mark.parametrize(
    ("changed", "differ", "close"),
    [
        ({"p": 0.0421 * (1 + 1e-12)}, 0, 1),
        ({"p": 0.0421 * (1 + 1e-12), "many": [0.1, 0.2 + 1e-15]}, 0, 2),
        ({"p": 0.0421 * (1 + 1e-7)}, 1, 0),
        ({"n": 4, "p": 0.0421 * (1 + 1e-12)}, 1, 1),
        ({"note": "p .043"}, 1, 0),
        ({"p": None}, 1, 0),
    ],
)
def test_values_that_differ_in_last_digits(tmp_path, changed, differ, close):
    found = compare_tables(write(tmp_path / "a.parquet"), write(tmp_path / "b.parquet", **changed))
    assert (len(found[0]), found[1]) == (differ, close)


def test_two_runs_may_differ_in_last_digits(tmp_path):
    for name, p in (("here", 0.25), ("there", 0.25 + 1e-13)):
        write(tmp_path / name / "tests" / "t" / "bleu.parquet", p=p)
        (tmp_path / name / "looks").mkdir()
        (tmp_path / name / "looks" / "1.json").write_text(json.dumps({"pairs": [{"p": p, "n": 3}]}))
    found = compare_runs(tmp_path / "here", tmp_path / "there")
    assert sorted(found.findings) == [("numerical", "looks/1.json"), ("numerical", "tests/t/bleu.parquet")]
    assert found.differences == 0
    assert "all as recorded" in found.lines()[-1]
    write(tmp_path / "there" / "tests" / "t" / "bleu.parquet", p=0.2501)
    assert compare_runs(tmp_path / "here", tmp_path / "there").differences == 1


def test_a_count_has_no_last_digits():
    assert not is_close(10**12, 10**12 + 1)
    assert is_close({"x": [1.0, None, "t"]}, {"x": [1.0 + 1e-13, None, "t"]})
    assert not is_close({"x": 1.0}, {"y": 1.0})
