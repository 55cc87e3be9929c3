"""The experiments after the papers ask for what the papers did."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from replitune.corpus.prepare import prepare_testset
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import load, resolve
from replitune.experiment.sizes import Sizes
from replitune.experiment.yaml_file import read_yaml
from replitune.metrics.registry import get_metric
from replitune.significance.registry import INTERVALS, TESTS
from support import ROOT

FOLDER = ROOT / "config" / "experiments"
PAPERS = ("calibration", "clark2011", "fu2016", "graham2016", "graham2016-crowd", "neubig")
SCALED = [
    (name, scale) for name in PAPERS for scale in (None, *read_yaml(FOLDER / f"{name}.yaml")[0]["scales"])
]


@pytest.mark.parametrize(("name", "scale"), SCALED)
def test_tests_intervals_and_studies_exist_at_every_scale(name: str, scale: str | None):
    experiment = Experiment(load(FOLDER / f"{name}.yaml", scale=scale))
    asked = experiment.settings.studies
    studied = (asked.power, asked.replication, asked.calibrate, asked.meta)
    for entry in (
        *experiment.settings.tests.methods,
        *(entry for study in studied for entry in getattr(study, "methods", ())),
    ):
        assert entry.name in TESTS
    assert all(entry.name in INTERVALS for entry in experiment.settings.tests.intervals)
    assert experiment.name == (name if scale is None else f"{name}-{scale}")


def test_every_paper_has_a_small_scale_and_the_large_ones_one_between():
    assert {(name, "small") for name in PAPERS} <= set(SCALED)
    assert {("clark2011", "third"), ("fu2016", "half")} <= set(SCALED)


def test_clark_has_the_papers_replicas_and_a_hierarchical_system_tuned_on_forests():
    experiment = Experiment(load(FOLDER / "clark2011.yaml"))
    assert experiment.backends["hiero"].name == "hiero"
    assert [experiment.replica_counts(name) for name in experiment.systems] == [
        {"mert": 300},
        {"mert-forest": 300},
        {"mert": 50},
        {"mert": 50},
    ]


def test_fu_has_seven_systems_and_sixty_replicas_of_each():
    experiment = Experiment(load(FOLDER / "fu2016.yaml"))
    halves = {name: system.subset for name, system in experiment.settings.systems.items()}
    assert halves == {
        "TOTAL": "all",
        "R1": "rand1",
        "R2": "rand2",
        "TOP": "top",
        "BOTTOM": "bottom",
        "ODD": "odd",
        "EVEN": "even",
    }
    assert {len(experiment.replicas(name)) for name in halves} == {60}
    small = Experiment(load(FOLDER / "fu2016.yaml", scale="small"))
    assert len(small.systems) == 3
    assert small.replica_counts("R1") == {"mert": 2, "mira": 2, "pro": 2}


def test_graham_has_two_language_pairs_of_28_pairs_and_three_references():
    experiment = Experiment(load(FOLDER / "graham2016.yaml"))
    assert {name: len(experiment.decoding(name)) for name in experiment.tests} == {
        "en-de": 8,
        "en-de-3refs": 8,
        "zh-en": 8,
    }
    assert len(experiment.settings.corpus.tests["en-de-3refs"].reference_files) == 3
    assert experiment.judged == experiment.tests
    meteor = Experiment(load(FOLDER / "graham2016.yaml", scale="meteor"))
    assert meteor.tests == ["zh-en"]
    assert meteor.systems == meteor.decoding("zh-en")


def test_scores_of_comet_are_read_where_the_line_for_them_is_uncommented(tmp_path: Path):
    text = (FOLDER / "graham2016.yaml").read_text("utf-8")
    (line,) = re.findall(r"^  # (- \{name: external, .*\})$", text, flags=re.MULTILINE)
    (tmp_path / "x.yaml").write_text(text.replace(f"  # {line}", f"  {line}"), "utf-8")
    experiment = Experiment(load(tmp_path / "x.yaml", corpora=str(tmp_path)))
    job = experiment.stage("score", testset="zh-en", metric="comet", system="SMU")
    (file,) = map(Path, job.scores)
    assert file == tmp_path / "wmt21-mqm" / "scores" / "zh-en.SMU.comet.txt"
    file.parent.mkdir(parents=True)
    file.write_text("0.81\n\n0.79\n")
    options = experiment.metric("comet").options
    scores = tmp_path / options["file"].replace("{testset}", "zh-en")
    metric = get_metric({"name": "external", **options, "id": "comet", "file": str(scores)})
    statistics, _ = metric.system_statistics("SMU", ["run-001"], 3)
    np.testing.assert_array_equal(statistics[0], [[0.81, 1], [0, 0], [0.79, 1]])


@pytest.mark.realdata
def test_the_joined_test_set_of_fu_has_3071_segments(tmp_path: Path):
    data = Path(os.environ.get("REPLITUNE_DATA", ""))
    if not (data / "multi30k").is_dir():
        pytest.skip("no folder multi30k in REPLITUNE_DATA")
    experiment = Experiment(load(FOLDER / "fu2016.yaml", corpora=str(data)))
    assert len(experiment.corpus_files("flickr")) == 6
    corpus = experiment.settings.corpus
    testset = prepare_testset(corpus, "flickr", tmp_path, seed=1, base=data)
    assert testset.segments == 3071
    assert testset.parts is not None
    assert [testset.parts.count(f"flickr{year}") for year in (2016, 2017, 2018)] == [1000, 1000, 1071]
    assert testset.documents is None


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "scale"), [("calibration", None), ("clark2011", None), ("fu2016", None), ("graham2016", None)]
)
def test_no_job_of_the_papers_took_more_memory_than_is_asked_for_nor_less_than_half(
    name: str, scale: str | None
):
    """By what the jobs recorded that docs/results is of."""
    data = Path(os.environ.get("REPLITUNE_DATA", ""))
    if not (data / "multi30k").is_dir():
        pytest.skip("no folder multi30k in REPLITUNE_DATA")
    experiment = Experiment(load(FOLDER / f"{name}.yaml", scale=scale, corpora=str(data)))
    with gzip.open(ROOT / "docs" / "results" / name / "manifest.json.gz", "rt") as file:
        jobs = json.load(file)["jobs"]
    sizes = Sizes(experiment)
    # models and their tables are others since then: tests/phrase/test_memory.py
    of_models = {"train", "tune", "decode", "derive"}
    recorded = [job for job in jobs_of(experiment) if job.name in jobs and job.stage not in of_models]
    assert {"corpus", "score", "test", "report"} <= {job.stage for job in recorded}
    for job in recorded:
        asked = experiment.stage(job.stage, **job.names).memory_mb(sizes)
        took = jobs[job.name]["peak_rss_mb"]
        if job.stage == "kernels":  # most were compiled before
            assert took <= asked
            continue
        assert took <= asked <= 2 * took, job.name


def test_fu_at_the_papers_size_is_the_same_but_for_the_text():
    given, paper = (Experiment(load(FOLDER / f"{name}.yaml")) for name in ("fu2016", "fu2016-paper"))
    for of in ("systems", "replicas", "tuning", "metrics", "seed"):
        assert getattr(paper.settings, of) == getattr(given.settings, of)
    methods = [{entry.mapping["name"] for entry in one.settings.tests.methods} for one in (given, paper)]
    assert methods[0] > methods[1] >= {"riezler", "clark", "fu-ar", "fu-bootstrap"}


def test_a_corpus_folder_that_lacks_a_file(tmp_path: Path):
    experiment = Experiment(load(FOLDER / "fu2016.yaml", corpora=str(tmp_path)))
    with pytest.raises(ReplituneError, match=r"test_2016_flickr.*fr\.gz: no such file"):
        prepare_testset(experiment.settings.corpus, "flickr", tmp_path, seed=1, base=tmp_path)


JOINED = {"parts": {"a": {"references": "a.en", "source": "a.de"}, "b": {"references": ["b.en"]}}}


@pytest.mark.parametrize(
    ("testset", "message"),
    [
        ({**JOINED, "source": "x"}, "`parts` and nothing else"),
        ({"parts": {"a": JOINED}}, "`parts` and nothing else"),
        ({"parts": {"a": {"source": "x"}}}, "a test set without references"),
        ({"source": "x"}, "a test set without references"),
        ({"parts": {}}, "at least 1"),
        (JOINED, "needs the source of b"),
    ],
)
def test_a_joined_test_set_that_is_described_wrongly(testset: dict, message: str):
    text = {"source": "x", "target": "y"}
    settings = {
        "experiment": "x",
        "corpus": {
            "kind": "files",
            "train": text,
            "dev": {"references": "d", "source": "s"},
            "tests": {"t": testset},
        },
        "systems": {"a": {"backend": "phrase"}},
        "replicas": {"mert": 1},
    }
    with pytest.raises(ReplituneError) as raised:
        resolve(settings)
    assert message in str(raised.value)
