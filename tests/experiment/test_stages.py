"""Every stage by its interface: what its jobs read, write and compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from replitune.cli.main import main
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import load, resolve
from replitune.experiment.stage import STAGES, paths_of
from replitune.metrics.registry import METRICS
from replitune.registry import Entry
from replitune.significance.registry import TESTS
from replitune.stages.kernels import steps_of_tests
from replitune.statistics.scoring import Scorer
from support import ROOT

EXPERIMENTS = ("config.yaml", "experiments/clark2011.yaml", "experiments/nmt-synthetic.yaml")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_job_reads_only_what_earlier_jobs_write(name: str):
    experiment = Experiment(load(ROOT / "config" / name, corpora="data"))
    written = set()
    for job in jobs_of(experiment):
        stage = experiment.stage(job.stage, **job.names)
        own = {path for path in paths_of(stage.inputs) if path.is_relative_to(experiment.folder)}
        assert own <= written, job
        outputs = paths_of(stage.outputs)
        assert outputs
        assert not written.intersection(outputs), job
        written.update(outputs)


def test_a_stage_says_what_it_is_called():
    for name in STAGES.names:
        assert name == STAGES[name].NAME
        assert STAGES[name].__doc__


def test_metrics_say_whether_they_have_something_to_compile(monkeypatch: pytest.MonkeyPatch):
    scored = []

    def score(scorer: Scorer, *args: object) -> None:
        scored.append(scorer.metric.id)

    monkeypatch.setattr(Scorer, "score", score)
    monkeypatch.setattr(Scorer, "statistics", lambda *args: None)
    monkeypatch.setattr("replitune.results.comparing.compare", lambda *args, **named: None)
    for _, step in steps_of_tests([Entry(name) for name in METRICS.names], [TESTS.entry("crossed")]):
        step()
    assert set(scored) == {"bleu", "bleu+1", "chrf", "chrf++", "length", "nist", "ribes", "ter"}


def test_tests_and_studies_may_have_the_same_test_with_other_options(tmp_path: Path):
    """It has no other name in them, since they have their own files."""
    experiment = Experiment(
        resolve(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic", "tests": {"t": 10}},
                "systems": {name: {"backend": "corruption"} for name in "ab"},
                "replicas": {"seeds": 3},
                "tests": {"methods": [{"name": "clark", "strata": "none"}]},
                "studies": {"replication": {"sizes": [1], "methods": ["clark"]}},
            }
        ),
        tmp_path,
    )
    stage = experiment.stage("kernels")
    assert stage.methods == [{"name": "clark", "strata": "none"}, {"name": "clark"}]
    assert main(["job", "kernels", "--settings", stage.json]) == 0
