"""Names of files of segment scores in an experiment."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.plan import check_data
from replitune.experiment.reading import resolve
from replitune.metrics.registry import METRICS, get_metric
from replitune.metrics.score_files import check_scores


def experiment(metric: Any, tests: tuple[str, ...] = ("t1", "t2")) -> Experiment:
    return Experiment(
        resolve(
            {
                "experiment": "x",
                "corpora": "data",
                "corpus": {"kind": "synthetic", "tests": dict.fromkeys(tests, 3)},
                "systems": {"a": {"backend": "corruption"}},
                "replicas": {"seeds": 2},
                "metrics": ["bleu", metric],
            }
        )
    )


def test_each_test_set_has_its_file():
    found = experiment({"name": "external", "id": "comet", "file": "comet.{testset}.tsv"})
    job = found.stage("score", testset="t2", metric="comet", system="a")
    assert job.metric == {"name": "external", "id": "comet", "file": "data/comet.t2.tsv"}
    assert found.score_files("comet", "t1", "a") == [Path("data/comet.t1.tsv")]
    assert found.score_files("bleu", "t1", "a") == []
    assert (found.scored("comet", "t1"), found.scored("comet", "dev")) == (True, False)
    assert found.scored("bleu", "dev")


def test_dev_has_scores_where_it_is_named():
    files = {"t1": "one.tsv", "t2": "two.tsv", "dev": "dev.tsv"}
    found = experiment({"name": "external", "id": "h", "options": {"file": files}})
    assert found.scored("h", "dev")
    job = found.stage("score", testset="dev", metric="h", system="a")
    assert job.scores == ["data/dev.tsv"]


def test_each_output_may_have_its_file():
    entry = {"name": "external", "id": "c", "file": "c/{testset}.{system}.{number}.{replica}.txt"}
    found = experiment(entry)
    assert found.score_files("c", "t1", "a") == [
        Path("data/c/t1.a.1.seed-001.txt"),
        Path("data/c/t1.a.2.seed-002.txt"),
    ]


def test_one_test_set_needs_no_place_for_its_name():
    found = experiment("external:file=s.tsv", ("t",))
    job = found.stage("score", testset="t", metric="external", system="a")
    assert job.scores == ["data/s.tsv"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ({"name": "external", "file": "s.tsv"}, "write {testset} in its name"),
        ("external:file=s.tsv", "write {testset} in its name"),
        ({"name": "external", "file": {"t1": "s.tsv"}}, "no scores for test set t2"),
        ({"name": "external", "file": {"t1": "a", "t2": "b", "t3": "c"}}, "unknown test set 't3'"),
        ({"name": "external", "file": "a,{testset}"}, "without a comma"),
        ({"name": "external", "id": "x"}, "needs the option file"),
    ],
)
def test_what_is_wrong_is_said(metric: Any, message: str):
    with pytest.raises(ReplituneError, match=re.escape(message)):
        experiment(metric)


def test_all_that_is_wrong_with_the_names_of_files_is_noted():
    noted = []
    entry = METRICS.entry({"name": "external", "file": {"t1": "a", "t4": "b"}})
    check_scores(entry, ["t1", "t2", "t3"], lambda path, message, **_: noted.append(message))
    assert noted == [
        "metric external: unknown test set 't4'",
        "metric external: no scores for test set t2",
        "metric external: no scores for test set t3",
    ]


def test_scores_are_read_line_by_line(tmp_path: Path):
    (tmp_path / "a.1.txt").write_text("0.5\n\n-1e-1\n")
    (tmp_path / "a.2.txt").write_text("1\n2\n3\n")
    metric = get_metric(f"external:file={tmp_path}/{{system}}.{{number}}.txt,id=comet")
    statistics, missing = metric.system_statistics("a", ["run-001", "run-002"], 3)
    np.testing.assert_array_equal(statistics[0], [[0.5, 1], [0, 0], [-0.1, 1]])
    np.testing.assert_array_equal(statistics[1], [[1, 1], [2, 1], [3, 1]])
    assert missing == 1
    with pytest.raises(ReplituneError, match="wrong number of scores for a run-001"):
        metric.system_statistics("a", ["run-001"], 4)
    (tmp_path / "a.1.txt").write_text("0.5\nbad\n1\n")
    with pytest.raises(ReplituneError, match="not a finite number"):
        metric.system_statistics("a", ["run-001"], 3)


@pytest.mark.parametrize("indent", [None, 4])
def test_comets_json_of_each_output_is_read(tmp_path: Path, indent: int | None):
    """Of one output or of all, on one line or on many; what does not fit is refused."""
    scores = {run: [0.5 + run / 10 + n / 100 for n in range(3)] for run in (1, 2)}
    segments = {
        run: [{"src": "a", "mt": "b", "ref": "c", "COMET": score} for score in own]
        for run, own in scores.items()
    }
    for run, own in segments.items():
        (tmp_path / f"new.{run}.json").write_text(json.dumps({f"out/x{run}.txt": own}, indent=indent))
    every = {f"out/new.run{run}.txt": own for run, own in segments.items()}
    (tmp_path / "all.json").write_text(json.dumps(every, indent=indent))
    for file in ("{system}.{number}.json", "all.json"):
        metric = get_metric({"name": "external", "id": "comet", "file": f"{tmp_path}/{file}"})
        statistics, missing = metric.system_statistics("new", ["run-001", "run-002"], 3)
        assert (statistics[..., 0].tolist(), missing) == ([*scores.values()], 0)
    metric = get_metric(
        {"name": "external", "id": "comet", "file": f"{tmp_path}/{{system}}.{{number}}.json"}
    )
    for wrong in (2, 4):
        with pytest.raises(ReplituneError, match="wrong number of scores for new run-001"):
            metric.system_statistics("new", ["run-001"], wrong)
    (tmp_path / "new.1.json").write_text(json.dumps(every))
    with pytest.raises(ReplituneError, match="scores of several runs"):
        metric.system_statistics("new", ["run-001"], 3)


def test_what_jobs_would_refuse_in_scores_is_found_before_they_start(tmp_path: Path):
    """Scores of a system that is not there, of too many segments, and of other segments."""
    (tmp_path / "ref.txt").write_text("one two three\nfour five six\n")
    for run in (1, 2):
        (tmp_path / f"a.{run}.txt").write_text(f"one two {run}\nfour five {run}\n")
    rows = [{"src": "x", "mt": "y", "COMET": 0.5 + n / 10} for n in range(3)]
    given = {
        "experiment": "x",
        "corpora": str(tmp_path),
        "corpus": {"kind": "files", "tests": {"t": {"references": ["ref.txt"]}}},
        "systems": {"a": {"backend": "outputs", "files": {"t": "a.?.txt"}}},
        "metrics": ["bleu", {"name": "external", "id": "comet", "file": "c.json"}],
    }

    def mistakes(segments: int, *names: str) -> list[str]:
        content = {f"{name}.run{run}.txt": rows[:segments] for name in names for run in (1, 2)}
        (tmp_path / "c.json").write_text(json.dumps(content))
        return [error.message for error in check_data(Experiment(resolve(given)))]

    assert mistakes(2, "a", "b") == []
    assert mistakes(2, "b") == ["no scores for system a"]
    assert mistakes(3, "a") == ["system a, run run-001: more segments than the test set has"]
    given["systems"] = {"a": {"backend": "scores", "files": {"t": "c.json"}, "replicas": {"seeds": 2}}}
    given["metrics"] = ["given"]
    refused = "t: a: the scores are not those of this segment of the test set"
    assert mistakes(2, "a", "b") == [refused]
    given["corpus"]["tests"]["t"] = {"references": ["c.json"], "format": "scores"}
    assert mistakes(2, "a", "b") == []
