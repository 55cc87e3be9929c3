"""`tests: human:` of an experiment: people's judgements beside the tests of metrics."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import yaml

import replitune
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import load
from replitune.report import contents
from support import changed, run_file

SMALLEST = Path(__file__).parents[2] / ".test"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The smallest experiment, with judgements of one run of each system."""
    shutil.copytree(SMALLEST / "data", tmp_path / "data")
    draw = random.Random(1)
    rows = [
        f"{system}\t{i}\trun-002\t{draw.gauss(k, 1)}"
        for i in sorted(draw.sample(range(40), 24))
        for k, system in enumerate(("baseline", "better"))
    ]
    (tmp_path / "data" / "human.tsv").write_text("\n".join(["system\tsegment\trun\tscore", *rows]) + "\n")
    experiment = yaml.safe_load((SMALLEST / "config" / "config.yaml").read_text())
    experiment = changed(
        experiment,
        tests__samples=9,
        tests__intervals=[],
        tests__methods=["crossed"],
        tests__human={"judgements": "data/human.tsv"},
        studies={"power": False},
    )
    path = tmp_path / "experiment.yaml"
    path.write_text(yaml.safe_dump(experiment))
    return path


def test_judgements_stand_beside_the_metrics(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(file.parent)
    run_file(file)
    report = replitune.read("results/given")
    people = next(cell for cell in report.results if cell.metric == "human")
    (test,) = people.tests
    assert (test.method, test.details["judged"], test.n_a) == ("human", 24, 3)
    assert {"control-variates", "one-judged-run"} <= {note.code for note in test.notes}
    again = replitune.compare(
        "data/reference.txt",
        {name: [f"data/{name}.{k}.txt" for k in (1, 2, 3)] for name in ("baseline", "better")},
        ["bleu"],
        documents="data/documents.txt",
        human="data/human.tsv",
        controls=["bleu"],
        first_segment=0,
        intervals=[],
        threads=1,
    )
    (own,) = again.results[1].tests
    assert (test.delta, test.se, test.p) == (own.delta, own.se, own.p)
    assert "human" in report.table("overview").csv()
    assert set(contents.tables(report.material)) >= {"overview", "pairs"}
    manifest = Path("results/given/manifest.json").read_text()
    assert '"data/human.tsv"' in manifest


def test_without_judgements_the_stages_are_told_what_they_were(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(file.parent)
    plain = yaml.safe_load(file.read_text())
    del plain["tests"]["human"]
    file.write_text(yaml.safe_dump(plain))
    experiment = Experiment(load(file))
    assert "human" not in experiment.stage("test", testset="made-up", metric="bleu").json
    assert "people" not in experiment.stage("report").json


@pytest.mark.parametrize(
    ("human", "said"),
    [
        ({"judgements": "data/human.tsv", "metrics": ["comet"]}, "comet"),
        ({"judgements": {"dev": "data/human.tsv"}}, "dev"),
        ({"metrics": ["bleu"]}, "judgements"),
    ],
)
def test_mistakes_are_found_before_anything_runs(file: Path, human: dict, said: str):
    file.write_text(yaml.safe_dump(changed(yaml.safe_load(file.read_text()), tests__human=human)))
    with pytest.raises(ReplituneError, match=said):
        load(file)


def test_a_metric_of_that_name_is_refused(file: Path):
    named = changed(yaml.safe_load(file.read_text()), metrics=[{"name": "bleu", "id": "human"}])
    file.write_text(yaml.safe_dump(named))
    with pytest.raises(ReplituneError, match="a metric is called human"):
        load(file)
