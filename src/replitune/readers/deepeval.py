"""Test runs of DeepEval: ``test_run_*.json`` of its results folder, ``.deepeval/.latest_test_run.json``,
and its `EvaluationResult` as JSON. A test case has a score by each metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.readers.interface import Beginning, Reader, ScoreRows
from replitune.readers.records import Records, json_of, of_kind
from replitune.readers.settings import ColumnNames
from replitune.readers.table import number_of

CASES = ("testCases", "conversationalTestCases", "test_results")
SCORES = ("metricsData", "metrics_data")
SIGNS = (*SCORES, "testRunData", "actualOutput", "actual_output")
"""One of these comes near the beginning; long texts may come before the first score."""


class DeepEval(Reader):
    """A test case is a segment, known by its name; a file has one system, which it does not name."""

    @staticmethod
    def recognises(beginning: Beginning) -> bool:
        return any(beginning.has_keys("{", case, sign) for case in CASES for sign in SIGNS)

    @staticmethod
    def read(path: Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
        content = of_kind(dict, json_of(path, "a test run of DeepEval"), path, 1, "file")
        content = of_kind(dict, content.get("testRunData") or content, path, 1, "testRunData")
        cases = [case for key in CASES for case in of_kind(list, content.get(key), path, 1, key)]
        trials: dict[str, dict[str, list[tuple[int, float | None]]]] = {}
        for number, item in enumerate(cases, start=1):
            case = of_kind(dict, item, path, number, "test case")
            key = next((key for key in SCORES if key in case), SCORES[0])
            for given in of_kind(list, case.get(key), path, number, key):
                metric = of_kind(dict, given, path, number, key)
                own = trials.setdefault(str(metric.get("name")), {})
                score = None if metric.get("error") else number_of(metric.get("score"))
                own.setdefault(str(case.get("name")), []).append((number, score))
        if not trials:
            raise ReplituneError(
                "no scores of metrics in this test run", file=path, found=f"{len(cases)} cases"
            )
        rows = Records(path)
        said = {rows.add_trials(own, metric=metric) for metric, own in trials.items()}
        notes = [f"test cases of DeepEval by their names; {text}" for text in sorted(said)]
        called = {"segment": "name", "metric": "name"}
        return rows.rows(called, notes, evaluation=str(path.absolute()))
