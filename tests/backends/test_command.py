from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replitune.backends.interface import Backend, DecodeJob, ReplicaJob, TrainJob, replica_seed
from replitune.backends.registry import get_backend
from replitune.corpus.testset import TestSet
from replitune.errors import ReplicaError, ReplituneError
from replitune.replicas import Replica
from replitune.running.files import write_lines
from replitune.tuners import get_tuner
from replitune.tuning.weights import read_weights
from support import Ran


def command(settings: dict[str, Any]) -> Backend:
    return get_backend("s", settings, "command")


NBEST = """
import sys
source, nbest, weights, size = sys.argv[1:]
w = {}
for line in open(weights):
    name, _, rest = line.partition("= ")
    w[name] = [float(x) for x in rest.split()]
with open(nbest, "w") as out:
    for i, line in enumerate(open(source)):
        words = line.split()
        found = []
        for k in range(len(words)):
            text = words[k:] + words[:k]
            score = -w["Shift"][0] * k + w["Keep"][0] * (k == 0) + w["Keep"][1] * (k == 1)
            found.append((score, " ".join(text), k))
        for score, text, k in sorted(found, key=lambda x: -x[0])[: int(size)]:
            print(i, "|||", text, "||| Shift=", -k, "Keep=", int(k == 0), int(k == 1), "|||",
                  score, file=out)
"""
SOURCE = ["a b c d e f", "g h i j k", "l m n o p q r", "s t u v w x y z"]


def dev() -> TestSet:
    return TestSet(references=(list(SOURCE),), source=list(SOURCE))


def decode_job(folder: Path, **more: Any) -> DecodeJob:
    write_lines(folder / "in.txt", SOURCE)
    return DecodeJob(seed=3, replica=Replica("seed-002"), name="t", text=folder / "in.txt", **more)


def test_train_tune_and_decode_see_what_they_are_promised(tmp_path: Path):
    """In folders with spaces and quotes in their names."""
    folder = tmp_path / 'it\'s a "folder" $HOME'
    folder.mkdir()
    system = command(
        {
            "train": "paste {source} {target} > {output}/pairs; echo {seed} {threads} > {output}/n",
            "tune": "cp {model}/pairs {output}; echo {seed} > {output}/seed; ls {work};"
            " cat {dev_source} {dev_references} > {output}/dev",
            "decode": "sed s/^/{number}:/ {source} > {output}; test -e {trained}/seed",
        }
    )
    assert system.stages == {
        "train": ["train"],
        "train_replica": ["dev", "model"],
        "decode": ["model", "tuned", "source"],
    }
    write_lines(folder / "src", ["x", "y"])
    write_lines(folder / "tgt", ["X", "Y"])
    train = folder / "src", folder / "tgt"
    model, trained = folder / "models" / "s", folder / "tuning" / "s"
    system.train(TrainJob(seed=3, threads=2, train=train, out=model))
    assert (model / "pairs").read_text() == "x\tX\ny\tY\n"
    job = {"seed": 3, "dev": dev(), "model": model, "work": folder / "work"}
    for number in (1, 2):
        replica = Replica(f"seed-{number:03d}")
        system.train_replica(ReplicaJob(**job, out=trained / replica.id, replica=replica))
    seeds = [(trained / f"seed-{n:03d}" / "seed").read_text() for n in (1, 2)]
    assert seeds[0] != seeds[1]
    assert int(seeds[1]) == replica_seed("s", Replica("seed-002"), 3)
    assert (trained / "seed-001" / "dev").read_text().split("\n")[:-1] == SOURCE * 2
    assert not (folder / "work").exists()
    lines = system.decode(decode_job(folder, model=model, tuned=trained / "seed-002"))
    assert lines == [f"2:{line}" for line in SOURCE]


def test_what_a_decode_prints_is_its_translation(tmp_path: Path):
    job = decode_job(tmp_path)
    assert command({"decode": "tr a-z A-Z < {source}"}).decode(job) == [line.upper() for line in SOURCE]


def test_our_tuners_find_the_weights_that_enumeration_finds(tmp_path: Path):
    """Only rotation 0 is the reference: whatever the start, tuned weights must choose it."""
    script = tmp_path / "nbest.py"
    script.write_text(NBEST)
    system = command(
        {
            "decode": f"{sys.executable} {script} {{source}} /dev/stdout {{weights}} 1"
            " | sed 's/^[0-9]* ||| //; s/ ||| .*//'",
            "nbest": f"{sys.executable} {script} {{source}} {{nbest}} {{weights}} {{size}}",
            "weights": {"Shift": -1.0, "Keep": [0.0, 0.5]},
        }
    )
    out = tmp_path / "weights.json"
    for algorithm, tuner in (("mert", {"restarts": 4}), ("pro", {})):
        system.tune(
            ReplicaJob(
                seed=3,
                dev=dev(),
                out=out,
                replica=Replica(f"{algorithm}-001"),
                nbest=20,
                tuner=get_tuner(algorithm, tuner),
                history=tmp_path / "history.parquet",
                work=tmp_path / "w",
            )
        )
        assert json.loads(out.read_text())["dev_score"] == pytest.approx(100)
        assert list(read_weights(out)) == ["Shift", "Keep"]
        assert system.decode(decode_job(tmp_path, tuned=out)) == SOURCE
    start = tmp_path / "start.json"
    start.write_text(json.dumps({"weights": {"Shift": -1.0, "Keep": [0.0, 0.5]}}))
    nbest = tmp_path / "nbest.txt"
    system.decode(decode_job(tmp_path, tuned=start, nbest=2, nbest_out=nbest))
    assert nbest.read_text().startswith("0 ||| f a b c d e ||| Shift= -5")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decode": "cat {source} > /dev/null; echo no > {output}; exit 4"}, "exit code 4"),
        ({"decode": "true {output}"}, "wrote no file"),
        ({"decode": "printf '\\377\\n' > {output}"}, "invalid UTF-8"),
    ],
)
def test_a_decode_that_fails_says_why(settings: dict, message: str, tmp_path: Path):
    with pytest.raises(ReplicaError, match=message):
        command(settings).decode(decode_job(tmp_path))


@pytest.mark.parametrize(
    ("nbest", "message"),
    [
        ("true {nbest}", "wrote no n-best file"),
        ("echo '0 ||| a ||| X= 1 ||| 0' > {nbest}", "no hypotheses for 3 of 4"),
        ("seq 0 3 | sed 's/$/ ||| a ||| X= nan ||| 0/' > {nbest}", "not a finite number"),
        ("seq 0 3 | sed 's/$/ ||| a ||| X= 1 2 ||| 0/' > {nbest}", "other features"),
    ],
)
def test_bad_nbest_lists_are_named(nbest: str, message: str, tmp_path: Path):
    system = command({"decode": "true", "nbest": nbest, "weights": {"X": 1.0}})
    with pytest.raises(ReplituneError, match=message):
        system.tune(
            ReplicaJob(
                seed=1,
                dev=dev(),
                out=tmp_path / "w.json",
                replica=Replica("pro-001"),
                tuner=get_tuner("pro"),
            )
        )
    assert not (tmp_path / "w.json").exists()


def test_a_killed_training_goes_on_in_its_own_folder_and_another_one_starts_over(tmp_path: Path):
    template = "echo x >> {work}/steps; [ $(wc -l < {work}/steps) = 2 ]; cp {work}/steps {output}"

    def job(seed: int) -> ReplicaJob:
        return ReplicaJob(
            seed=seed, out=tmp_path / "out", replica=Replica("seed-001"), work=tmp_path / "work"
        )

    system = command({"tune": template, "decode": "true"})
    with pytest.raises(ReplicaError):
        system.train_replica(job(1))
    assert not (tmp_path / "out").exists()
    with pytest.raises(ReplicaError):
        system.train_replica(job(2))  # not the remains of seed 1
    system.train_replica(job(2))
    assert (tmp_path / "out" / "steps").read_text() == "x\nx\n"
    assert not (tmp_path / "work").exists()


def test_programs_and_files_are_looked_for(tmp_path: Path):
    (tmp_path / "config.yml").touch()
    files = [str(tmp_path / "config.yml"), str(tmp_path / "other.yml")]
    settings = {"decode": "x", "programs": ["bash", "no-such-decoder"], "files": files}
    found = [str(error) for error in command(settings).missing()]
    assert len(found) == 2
    assert "no-such-decoder is not on the PATH" in found[0]
    assert "other.yml: no such file" in found[1]


def experiment(tmp_path: Path, **system: Any) -> Path:
    path = tmp_path / "x.yaml"
    path.write_text(
        json.dumps(
            {
                "experiment": "x",
                "corpus": {"kind": "synthetic"},
                "systems": {"s": {"backend": "command", **system}},
                "replicas": {"mert": 2, "seeds": 3},
            }
        )
    )
    return path


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ({"decode": "cat {sorce}"}, "did you mean {source}"),
        ({"decode": "cat {weights}"}, "decode has no place {weights}"),
        ({"decode": "cat {model}"}, "decode has no place {model}"),
        ({"decode": "cat '{source}'"}, "inside quotes"),
        ({"decode": "x", "weights": {"A": 1}}, "no n-best lists"),
        ({"decode": "x", "tune": "x", "weights": {"A": 1}, "nbest": "x"}, "tuned twice"),
        ({"decode": "x", "programs": ["no-such-decoder"]}, "no-such-decoder"),
        ({"train": "x"}, "`decode` is missing"),
        ({"decode": "x", "replicas": {"mert": 2}}, "runs of other kinds"),
    ],
)
def test_mistakes_in_an_experiment(
    system: dict, message: str, tmp_path: Path, replitune: Callable[..., Ran]
):
    ran = replitune("check", experiment(tmp_path, **system))
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_system_takes_the_replicas_that_it_can_make(tmp_path: Path, replitune: Callable[..., Ran]):
    ran = replitune("check", experiment(tmp_path, decode="x"))
    assert "s (3 runs)" in ran.out
    tuned = {"decode": "x", "nbest": "x", "weights": {"A": 1}}
    ran = replitune("check", experiment(tmp_path, **tuned))
    assert "s (2 runs)" in ran.out


def test_a_wrong_number_of_lines_is_no_decode(tmp_path: Path, replitune: Callable[..., Ran]):
    write_lines(tmp_path / "in.txt", SOURCE)
    words = ["decode", "--backend", "command", "--settings", '{"decode": "head -2 {source}"}']
    words += ["--source", tmp_path / "in.txt", "--out", tmp_path / "out.txt"]
    ran = replitune(*words)
    assert ran.code == 2
    assert "2 lines" in ran.err
    assert not (tmp_path / "out.txt").exists()
    ran = replitune(*words, "--allow-failure")
    assert ran.code == 0
    record = json.loads((tmp_path / "out.txt").read_text())["failed"]
    assert record["replica"] == "seed-001"
    assert "wrong number of translations" in record["reason"]
    ran = replitune(
        "score",
        "--refs",
        tmp_path / "in.txt",
        "--hyps",
        f"s={tmp_path}/out.txt",
        "--out",
        tmp_path / "store",
    )
    assert ran.code == 2
    assert "allow_missing_replicas" in ran.err


def test_a_missing_program_is_no_missing_replica(tmp_path: Path, replitune: Callable[..., Ran]):
    write_lines(tmp_path / "in.txt", SOURCE)
    settings = json.dumps({"decode": "no-such-decoder < {source}"})
    ran = replitune(
        "decode",
        "--backend",
        "command",
        "--settings",
        settings,
        "--source",
        tmp_path / "in.txt",
        "--out",
        tmp_path / "out.txt",
        "--allow-failure",
    )
    assert ran.code == 2
    assert not os.path.exists(tmp_path / "out.txt")
