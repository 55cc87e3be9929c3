"""The whole conversation with Moses, through programs that speak its command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from replitune.backends.interface import DecodeJob, ReplicaJob
from replitune.backends.moses import Moses, shown_weights
from replitune.backends.registry import get_backend
from replitune.corpus.testset import TestSet
from replitune.errors import ReplicaError, ReplituneError
from replitune.phrase.decoder import PhraseSystem
from replitune.replicas import Replica
from replitune.running.files import write_lines
from replitune.tuners import get_tuner
from replitune.tuning.settings import LoopSettings
from replitune.tuning.weights import read_weights


def system(home: Path, **settings: Any) -> Moses:
    given = {"ini": str(home / "moses.ini"), "moses": str(home / "bin"), "tuner": "replitune"}
    found = get_backend("smt", {**given, **settings}, "moses")
    assert isinstance(found, Moses)
    return found


def job(dev: TestSet, folder: Path, replica: str, iterations: int = 2, **more: Any) -> ReplicaJob:
    return ReplicaJob(
        seed=7,
        dev=dev,
        out=folder / f"{replica}.json",
        replica=Replica(replica),
        tuner=get_tuner(replica[:-4]),
        nbest=20,
        history=folder / f"{replica}.parquet",
        loop=LoopSettings(iterations=iterations),
        work=folder / "work" / replica,
        **more,
    )


def test_our_tuners_around_moses_equal_our_tuners_around_the_decoder_itself(
    moses: Path, dev: TestSet, tmp_path: Path
):
    """The oracle is the decoder inside the program, called without any program."""
    smt = system(moses)
    smt.tune(job(dev, tmp_path, "pro-001"))
    phrase = get_backend("smt", {"search": {"stack": 20, "pop_limit": 20}}, "phrase")
    (tmp_path / "direct").mkdir()
    phrase.tune(job(dev, tmp_path / "direct", "pro-001", model=moses / "model"))
    ours = read_weights(tmp_path / "pro-001.json")
    direct = read_weights(tmp_path / "direct" / "pro-001.json")
    assert ours.keys() == direct.keys()
    for name, values in direct.items():
        # n-best files have features with few digits
        assert ours[name] == pytest.approx(values, abs=0.02), name
    history = pq.read_table(tmp_path / "pro-001.parquet").to_pydict()
    expected = pq.read_table(tmp_path / "direct" / "pro-001.parquet").to_pydict()
    assert history["dev_score"][0] == pytest.approx(expected["dev_score"][0])
    assert history["pool_size"][0] == expected["pool_size"][0]
    assert not list((tmp_path / "work").iterdir())


def test_decodes_are_those_of_the_decoder(moses: Path, dev: TestSet, tmp_path: Path):
    write_lines(tmp_path / "in.txt", dev.source or [])
    weights = read_weights(moses / "moses.ini")
    del weights["UnknownWordPenalty0"]
    weights["LM0"] = [0.123456789]
    tuned = tmp_path / "weights.json"
    tuned.write_text(json.dumps({"weights": weights}))
    decoding = DecodeJob(
        seed=7,
        replica=Replica("mert-001"),
        name="t",
        tuned=tuned,
        text=tmp_path / "in.txt",
        nbest=3,
        nbest_out=tmp_path / "nbest.txt",
    )
    lines = system(moses).decode(decoding)
    inside = PhraseSystem(moses / "model")
    assert lines == inside.translate(dev.source or [], inside.layout.to_vector(weights))
    assert (tmp_path / "nbest.txt").read_text().startswith(f"0 ||| {lines[0]} ||| ")


def test_mert_moses_has_a_seed_of_its_own_for_each_replica(moses: Path, dev: TestSet, tmp_path: Path):
    smt = system(moses, tuner="mert-moses")
    found = {}
    for replica in ("mert-001", "mert-002", "mira-001", "pro-001"):
        smt.tune(job(dev, tmp_path, replica, 2 if replica == "mert-001" else 1))
        found[replica] = (tmp_path / f"{replica}.json").read_text()
        assert not (tmp_path / "work" / replica).exists()
    weights = {replica: json.dumps(json.loads(text)["weights"]) for replica, text in found.items()}
    assert len(set(weights.values())) == 4
    smt.tune(job(dev, tmp_path, "mert-001"))
    assert (tmp_path / "mert-001.json").read_text() == found["mert-001"]
    said = json.loads(found["mert-001"])
    assert "UnknownWordPenalty0" not in said["weights"]
    assert said["dev_score"] is None, "no decoding used the last weights"
    history = pq.read_table(tmp_path / "mert-001.parquet").to_pydict()
    assert history["iteration"] == [0, 1]
    assert history["pool_score"] == [15.0, 25.0]
    assert 0 < history["dev_score"][0] <= 100
    assert history["pool_size"][1] == sum(history["new_hypotheses"])
    pro = pq.read_table(tmp_path / "pro-001.parquet").to_pydict()
    assert pro["pool_score"] == [None]


def test_what_moses_dislikes_is_said(moses: Path, dev: TestSet, tmp_path: Path):
    with pytest.raises(ReplicaError, match="Unknown parameter -stak"):
        system(moses, options=["-stak", 5]).tune(job(dev, tmp_path, "pro-001"))
    with pytest.raises(ReplituneError, match="without quotes"):
        system(moses, tuner="mert-moses", options=["-a b", "c"]).tune(job(dev, tmp_path, "mert-001"))


def test_missing_programs_are_named_together(moses: Path, tmp_path: Path):
    assert system(moses).missing() == []
    here = [str(e) for e in system(moses, moses=str(tmp_path), tuner="mert-moses").missing()]
    assert len(here) == 7
    assert all("statmt.org/moses" in text for text in here)
    trained = system(moses, moses=str(tmp_path), ini=None)
    assert [str(e).split()[2].rpartition("/")[2] for e in trained.missing()] == [
        "moses",
        "train-model.perl",
        "lmplz",
    ]
    (error,) = system(moses, ini=str(tmp_path / "no.ini")).missing()
    assert "no.ini: no such file" in str(error)


def test_weights_as_moses_shows_them(tmp_path: Path):
    shown = tmp_path / "shown.txt"
    shown.write_text("UnknownWordPenalty0 UNTUNEABLE\nWordPenalty0= -1\nTM0= 0.2 -3e-05\n")
    assert shown_weights(shown) == {"WordPenalty0": [-1.0], "TM0": [0.2, -3e-5]}
    shown.write_text("Defined parameters\n")
    with pytest.raises(ReplituneError, match="no feature"):
        shown_weights(shown)
