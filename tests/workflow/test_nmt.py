"""The tiny neural experiment, from training to the report: a phrase-based system, Marian, and
outputs of others in one experiment, with scores that something else computed beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from replitune.corpus.synthetic import synthetic_testset
from replitune.results.result import Result
from support import ROOT, run_file

from .conftest import Snakemake

pytestmark = pytest.mark.nmt
pytest.importorskip("pymarian", reason="pymarian is not installed")

SMALLER = {
    "dim-emb": 32,
    "transformer-dim-ffn": 32,
    "mini-batch-words": 100,
    "learn-rate": 0.01,
    "workspace": 64,
}


def write_inputs(folder: Path, seed: int, segments: int) -> None:
    """Outputs of two systems, and scores of every output on the test set."""
    reference = synthetic_testset(seed, "test1", segments).references[0]
    backwards = [" ".join(reversed(line.split())) for line in reference]
    shorter = [" ".join(line.split()[:-1]) for line in reference]
    rows = ["one\ttwo", *("\t".join(pair) for pair in zip(backwards, shorter, strict=True))]
    (folder / "others.tsv").write_text("".join(f"{row}\n" for row in rows))
    hyp = '<hyp system="{}"><p>{}</p></hyp>'
    segs = [
        "".join(f'<seg id="{i}">{line}</seg>' for i, line in enumerate(lines, 1))
        for lines in (reference, shorter)
    ]
    (folder / "wmt.xml").write_text(
        f'<dataset id="t"><doc id="d">{hyp.format("gold", segs[0])}'
        f"{hyp.format('cut', segs[1])}</doc></dataset>"
    )
    (folder / "scores").mkdir()
    for system, replicas in {
        "phrase": ("mert-001", "mert-002"),
        "transformer": ("seed-001", "seed-002"),
        "others": ("run-001", "run-002"),
        "gold": ("run-001",),
    }.items():
        for r, replica in enumerate(replicas):
            lines = [f"{0.5 + 0.01 * ((i + r) % 7)}\n" for i in range(segments)]
            (folder / "scores" / f"test1.{system}.{replica}.txt").write_text("".join(lines))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Snakemake:
    """The experiment that comes with the project, at its scale `tiny`, with more systems."""
    runner = Snakemake(tmp_path_factory.mktemp("nmt"))
    experiment = yaml.safe_load((ROOT / "config/experiments/nmt-synthetic.yaml").read_text())
    tiny = experiment["scales"]["tiny"]
    tiny["corpus"].update(train=400, dev=20)
    tiny["systems"]["transformer"]["options"].update(SMALLER)
    tiny["systems"]["transformer"]["training"] = {"length": "4e", "every": "2e"}
    tiny["metrics"] = [
        "bleu",
        {"name": "external", "id": "comet", "file": "scores/{testset}.{system}.{replica}.txt"},
    ]
    experiment["corpora"] = str(runner.folder)
    experiment["systems"]["others"] = {"backend": "outputs", "files": {"test1": "others.tsv#{one,two}"}}
    experiment["systems"]["gold"] = {"backend": "outputs", "files": {"test1": "wmt.xml#gold"}}
    write_inputs(runner.folder, experiment["seed"], tiny["corpus"]["tests"]["test1"])
    experiment["systems"].pop("separate")
    tiny["corpus"]["tests"] = {"test1": 60, "test2": None}
    tiny["systems"].pop("separate")
    return runner.in_process(experiment, scale="tiny")


def results(mixed: Snakemake) -> Path:
    return mixed.folder / "results" / "nmt-synthetic-tiny"


def test_every_system_is_in_every_test(mixed: Snakemake):
    for metric in ("bleu", "comet"):
        tests = Result.read(results(mixed) / "tests" / "test1", metric).tests
        assert len({(test.a, test.b) for test in tests}) == 6
    assert "gold" in (results(mixed) / "report.html").read_text()


def test_outputs_are_those_of_the_files(mixed: Snakemake):
    decodes = results(mixed) / "decodes" / "test1"
    reference = synthetic_testset(2011, "test1", 60).references[0]
    assert (decodes / "gold" / "run-001.txt").read_text().splitlines() == reference
    column = [row.split("\t")[1] for row in (mixed.folder / "others.tsv").read_text().splitlines()]
    assert (decodes / "others" / "run-002.txt").read_text().splitlines() == column[1:]


def test_scores_are_those_of_the_files(mixed: Snakemake):
    store = pq.read_table(results(mixed) / "stats" / "test1" / "comet" / "transformer.parquet")
    of_two = store.filter([r == "seed-002" for r in store["replica"].to_pylist()])
    expected = [0.5 + 0.01 * ((i + 1) % 7) for i in range(60)]
    assert of_two["score"].to_pylist() == pytest.approx(expected)
    assert not (results(mixed) / "stats" / "dev" / "comet").exists()


def test_the_same_seed_gives_the_same_bytes(mixed: Snakemake, tmp_path: Path):
    again = Snakemake(shutil.copytree(mixed.folder, tmp_path / "again"))
    model = results(again) / "tuning" / "transformer" / "seed-001" / "model.npz"
    decode = results(again) / "decodes" / "test1" / "transformer" / "seed-001.txt"
    other = decode.with_name("seed-002.txt").read_text()
    before = model.read_bytes(), decode.read_text()
    assert other != before[1]
    shutil.rmtree(model.parent)
    for name in ("tune/transformer/seed-001", "decode/transformer/seed-001"):
        (results(again) / "logs" / f"{name}.json").unlink()
    decode.unlink()
    run_file(again.folder / "x.yaml", scale="tiny")
    assert (model.read_bytes(), decode.read_text()) == before
    account = json.loads((model.parent / "model.json").read_text())
    assert (account["replica"], account["deterministic"]) == ("seed-001", True)


@pytest.mark.workflow
def test_changed_scores_are_read_again(mixed: Snakemake):
    file = mixed.folder / "scores" / "test1.gold.run-001.txt"
    file.write_text(file.read_text().replace("0.5\n", "0.9\n"))
    planned = mixed.planned("--config", "scale=tiny")
    assert planned["score"] == 1
    assert "train_replica" not in planned
