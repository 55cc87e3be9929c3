"""One result: what is written is what is read, and notes say by code what they are."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.results.comparing import compare
from replitune.results.document import builtins, read_document
from replitune.results.result import Result
from replitune.significance.base import DETAILS, OF_PEOPLE
from replitune.significance.registry import TESTS
from replitune.significance.settings import TestSettings
from replitune.statistics.segments import SegmentStatistics
from significance.exchange_models import Counts, counts, system
from support import ROOT, validate

N = 30


@pytest.fixture(scope="module")
def result() -> Result:
    """Two systems of three replicas, and one of a single replica that is `missing` the others."""
    groups, ids = ("mert", "mert", "pro"), ("mert-001", "mert-002", "pro-001")
    systems = {
        "a": system("a", counts(3, N, seed=1), groups, ids),
        "b": system("b", counts(3, N, seed=2, gain=0.1), groups, ids),
        "c": system("c", counts(1, N, seed=3)),
    }
    store = SegmentStatistics("t", Counts(), "sig", systems, np.arange(N, dtype=np.int32), None)
    methods = TESTS.entries(["crossed", "koehn", "fu-ar:strata=none", "clark:strata=none"])
    settings = TestSettings(methods=tuple(methods), samples=60)
    compared = compare([store], settings, testset="t", seed=1)
    return replace(compared.metrics["counts"], missing={"c": {"run-002": "it fell"}})


def test_what_is_written_is_read(result: Result, tmp_path: Path):
    result.write(tmp_path)
    found = Result.read(tmp_path, "counts")
    for name in ("testset", "metric", "word", "signature", "alpha", "missing", "overlaps", "name"):
        assert getattr(found, name) == getattr(result, name), name
    assert found.systems == result.systems
    assert list(found.systems) == list(result.systems)
    assert found.tests == result.tests
    assert found.histograms.keys() == result.histograms.keys()
    for key, (edges, bins) in found.histograms.items():
        np.testing.assert_array_equal(edges, result.histograms[key][0])
        np.testing.assert_array_equal(bins, result.histograms[key][1])
    assert found.document == read_document(tmp_path / "counts.json")
    found.write(tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again",
        "counts.json",
        "counts.null.parquet",
    ]
    for path in sorted(tmp_path.glob("counts.*")):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_details_of_a_test_of_another_package_stay(result: Result, tmp_path: Path):
    """Whatever they are called: also like a column of the files."""
    own = {"won": 0.5, "mine": 2.5, "p": 9.0, "mine_a": 1.0}
    test = replace(result.tests[0], details=own)
    brought = replace(result, tests=(test, *result.tests[1:]))
    brought.write(tmp_path)
    found = Result.read(tmp_path, "counts")
    assert found.tests[0].details == own
    assert found.tests[0].p == test.p
    assert found.tests[0].swapped().details == {"lost": 0.5, "mine": 2.5, "p": 9.0, "mine_b": 1.0}
    for one in (brought, found):
        said = builtins(one.document)["metrics"]["counts"]["pairs"][0]["methods"][test.method]
        assert (said["p"], said["details"]) == (test.p, own)
        (row, *_) = one.frames()["tests"].to_dict("records")
        assert (row["p"], row["won"], row["details.p"], row["details.mine"]) == (test.p, 0.5, 9.0, 2.5)


def test_what_is_written_is_as_documented(result: Result, tmp_path: Path):
    """Python's json reads it, and finds the numbers of the result to the last bit."""
    result.write(tmp_path)
    said = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    validate(said)
    cell = said["metrics"]["counts"]
    for test in result.tests:
        (pair,) = [pair for pair in cell["pairs"] if (pair["a"], pair["b"]) == (test.a, test.b)]
        row = pair["methods"][test.method]
        for name in ("delta", "p", "p_adjusted", "ci_low", "ci_high", "se", "df", "n_a", "n_b", "scope"):
            assert row[name] == getattr(test, name), name
        assert row["details"] == test.details
    assert cell["systems"]["a"]["scores"] == result.systems["a"].scores
    assert [answer["sentence"] for answer in said["answers"]] == [one.sentence for one in result.answers]


def test_what_is_not_a_number_is_not_written(result: Result, tmp_path: Path):
    first, *others = result.tests
    with pytest.raises(ValueError, match="not JSON compliant"):
        replace(result, tests=(replace(first, se=float("nan")), *others)).write(tmp_path)
    assert not (tmp_path / "counts.json").exists()


def test_results_of_an_earlier_version_are_refused_with_what_to_do(tmp_path: Path, result: Result):
    result.write(tmp_path)
    old = tmp_path / "counts.json"
    old.write_text(old.read_text().replace('"schema": 2', '"schema": 1'))
    with pytest.raises(ReplituneError, match=r"(?s)not results of this version.*run the workflow again"):
        Result.read(tmp_path, "counts")
    old.unlink()
    (tmp_path / "counts.parquet").write_bytes(b"PAR1")
    with pytest.raises(ReplituneError, match=r"(?s)results of an earlier version.*replitune run"):
        Result.read(tmp_path, "counts")


def test_notes_are_rows_and_their_texts_are_the_column_note(result: Result):
    frames = result.frames()
    notes = frames["notes"].astype(object).where(frames["notes"].notna(), None).to_dict("records")
    codes = {(row["a"], row["b"], row["method"]): [] for row in notes if row["row"] == "test"}
    for row in notes:
        if row["row"] == "test":
            codes[row["a"], row["b"], row["method"]].append(row["code"])
    assert codes["a", "b", "fu-ar"] == ["paired", "out-of-reach"]
    assert codes["a", "c", "fu-ar"] == ["not-paired"]
    assert codes["a", "c", "crossed"] == ["one-replica"]
    said = {(row["system"], row["statistic"]): row["code"] for row in notes}
    assert said["c", "s_test"] == "one-replica"
    assert said["a", "s_dev"] == "no-dev"
    assert said["a", "ci_fu"] == "few-replicas"
    tests = frames["tests"]
    (note,) = tests[(tests.a == "a") & (tests.b == "b") & (tests.method == "fu-ar")]["note"]
    assert note == "runs paired by id; cannot reach 0.05: its smallest p is 0.25"


def test_a_result_answers_what_a_table_asks(result: Result):
    assert result.ranked[0] == "b"
    assert result.pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    assert result.lead_method == "crossed"
    there, back = result.lead_test(("a", "b")), result.test(("b", "a"), "crossed")
    assert there is not None
    assert back is not None
    assert (back.b, back.delta, back.p) == (there.a, -there.delta, there.p)
    assert result.tuner_scores("a").keys() == {"mert", "pro"}
    assert result.tuner_scores("c") == {}
    assert result.overlap(("a", "b"), "clark") is not None
    assert result.overlap(("a", "c"), "fu") is None
    assert result.rankings()["koehn"].systems == tuple(result.ranked)


def test_pandas_waits_until_it_is_asked_for():
    code = "import sys, replitune.results.result, replitune.results.comparing; "
    ran = subprocess.run([sys.executable, "-c", code + "sys.exit('pandas' in sys.modules)"])
    assert ran.returncode == 0


def test_a_file_of_another_program_is_refused(tmp_path: Path, result: Result):
    result.write(tmp_path)
    (tmp_path / "counts.json").write_bytes(b"text")
    with pytest.raises(ReplituneError, match="not results of this version"):
        Result.read(tmp_path, "counts")


def test_whatever_a_test_reports_has_a_place_in_the_documented_json():
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    assert (
        DETAILS.keys() | OF_PEOPLE.keys()
        <= schema["$defs"]["Method"]["properties"]["details"]["properties"].keys()
    )
