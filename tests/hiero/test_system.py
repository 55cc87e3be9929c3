"""Training, tuning and decoding of a whole system on small text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from replitune.backends.interface import DecodeJob, ReplicaJob
from replitune.backends.registry import get_backend
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.errors import ReplituneError
from replitune.hiero.backend import Hiero
from replitune.hiero.decoder import HieroSystem
from replitune.hiero.scores import hiero_kind
from replitune.hiero.settings import HieroSettings
from replitune.phrase.train import train_system
from replitune.replicas import Replica
from replitune.running.files import write_lines
from replitune.tuners import get_tuner
from replitune.tuning.settings import LoopSettings
from replitune.tuning.weights import read_weights

SETTINGS = HieroSettings(alignment="fast_align", lm_order=3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    backend = get_backend("h", {"training": {"lm_order": 3}}, "hiero")
    assert isinstance(backend, Hiero)
    out = tmp_path_factory.mktemp("hiero") / "model"
    backend.train_on(*synthetic_train(3, 300), out)
    return out


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_model_folder_is_whole_and_says_what_it_is(tmp_path: Path):
    said: list[str] = []
    source, target = synthetic_train(1, 80)
    out = train_system(hiero_kind(SETTINGS), source, target, SETTINGS, tmp_path / "m", progress=said.append)
    summary = json.loads((out / "model.json").read_text())
    assert summary["backend"] == "hiero"
    assert summary["features"] == {
        "LM0": 1,
        "WordPenalty0": 1,
        "RulePenalty0": 1,
        "Glue0": 1,
        "TranslationModel0": 4,
    }
    assert summary["counts"]["rules"] <= summary["counts"]["distinct"]
    assert any("rules extracted (loose)" in line for line in said)
    again = train_system(hiero_kind(SETTINGS), source, target, SETTINGS, tmp_path / "again", threads=2)
    assert content(again) == content(out)


@pytest.mark.parametrize("more", [{"source_segmentation": "compounds"}, {"target_segmentation": "bpe"}])
def test_words_are_split_and_joined_as_in_the_phrase_based_system(tmp_path: Path, more):
    source, target = synthetic_train(1, 80)
    settings = HieroSettings(alignment="fast_align", lm_order=2, bpe_merges=20, **more)
    system = HieroSystem(train_system(hiero_kind(settings), source, target, settings, tmp_path / "m"))
    found = system.nbest(source[:5], system.layout.sensible(), 3)
    texts = system.joined(found.texts())
    assert not any("@@" in text for text in texts)
    assert system.translate(source[:5], system.layout.sensible()) == [
        texts[np.flatnonzero(found.segment == i)[0]] for i in range(5)
    ]


@pytest.mark.parametrize("algorithm", ["mert", "mert-lattice", "mert-forest", "mira", "pro"])
def test_tuners_raise_the_dev_score_and_tuned_weights_decode(model, tmp_path, algorithm):
    backend = get_backend("h", {"search": {"pop_limit": 20}}, "hiero")
    dev = synthetic_testset(3, "dev", 25)
    job = ReplicaJob(
        seed=1,
        model=model,
        dev=dev,
        out=tmp_path / "w.json",
        replica=Replica(f"{algorithm}-001"),
        nbest=20,
        loop=LoopSettings(iterations=4, patience=4, init="random"),
        tuner=get_tuner(algorithm),
        history=tmp_path / "history.parquet",
    )
    backend.tune(job)
    log = pq.read_table(tmp_path / "history.parquet")["dev_score"].to_pylist()
    assert max(log) > log[0]
    assert list(read_weights(job.out)) == [
        "LM0",
        "WordPenalty0",
        "RulePenalty0",
        "Glue0",
        "TranslationModel0",
    ]
    text, nbest = tmp_path / "text", tmp_path / "nbest"
    write_lines(text, dev.source or [])
    lines = backend.decode(
        DecodeJob(
            seed=1,
            model=model,
            replica=job.replica,
            name="t",
            tuned=job.out,
            text=text,
            nbest=3,
            nbest_out=nbest,
        )
    )
    first = [line.split(" ||| ") for line in nbest.read_text().splitlines()]
    assert lines == [next(row[1] for row in first if row[0] == str(i)) for i in range(dev.segments)]


def test_a_phrase_based_model_is_refused(tmp_path: Path):
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ReplituneError, match="not a model of a hierarchical system"):
        HieroSystem(tmp_path)


def test_a_model_with_a_file_missing_is_refused(model: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    for name, data in content(model).items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(data)
    (copy / "trie_keys.npy").unlink()
    with pytest.raises(ReplituneError, match="incomplete or damaged"):
        HieroSystem(copy)


def test_a_feature_group_that_the_model_has_no_scores_for_is_refused(tmp_path: Path):
    source, target = synthetic_train(1, 60)
    settings = HieroSettings(alignment="fast_align", lm_order=2, features=("tm", "penalties"))
    out = train_system(hiero_kind(settings), source, target, settings, tmp_path / "m")
    with pytest.raises(ReplituneError, match="no scores for a feature group"):
        HieroSystem(out, ["tm", "glue"])
