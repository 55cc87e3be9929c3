"""Real trainings by Marian, of seconds: the same bytes for the same seed, killed or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
import sacrebleu

from replitune.backends.interface import Backend, DecodeJob, ReplicaJob, TrainJob
from replitune.backends.marian.program import missing, run
from replitune.backends.registry import get_backend
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.corpus.testset import write_testset
from replitune.errors import ReplicaError, ReplituneError
from replitune.replicas import Replica
from replitune.tuning.nbest_files import read_nbest

pytestmark = pytest.mark.nmt
pytest.importorskip("pymarian", reason="pymarian is not installed")

SMALL = {
    "dim-emb": 16,
    "enc-depth": 1,
    "dec-depth": 1,
    "transformer-dim-ffn": 16,
    "mini-batch-words": 200,
    "learn-rate": 0.01,
    "lr-warmup": "10u",
    "disp-freq": "5u",
    "workspace": 64,
}


def settings(**own: Any) -> dict[str, Any]:
    return {
        "options": SMALL,
        "vocabulary": {"size": 150},
        "training": {"length": "30u", "every": "15u"},
        "decoding": {"beam": 3, "workspace": 64},
        **own,
    }


@dataclass
class Bench:
    """Texts, and a vocabulary made from them."""

    folder: Path
    train: tuple[Path, Path] = field(init=False)

    def __post_init__(self) -> None:
        self.train = self.folder / "train.source", self.folder / "train.target"
        for path, lines in zip(self.train, synthetic_train(1, 150), strict=True):
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.dev = synthetic_testset(1, "dev", 8)
        write_testset(self.dev, self.folder / "dev.jsonl")
        self.model = self.folder / "model"
        self.system().train(TrainJob(seed=1, train=self.train, out=self.model))

    def system(self, **own: Any) -> Backend:
        return get_backend("s", settings(**own), "marian")

    def make(self, name: str, number: int = 1, **own: Any) -> Path:
        """One replica, in a folder of this name."""
        out = self.folder / name
        self.system(**own).train_replica(
            ReplicaJob(
                seed=1,
                threads=own.get("resources", {}).get("threads", 1),
                model=self.model,
                train=self.train,
                dev=self.dev,
                out=out,
                replica=Replica(f"seed-{number:03d}"),
                work=self.folder / f"{name}.work",
            )
        )
        return out

    def decode(self, tuned: Path, lines: list[str], model: Path | None = None, **own: Any) -> Any:
        nbest = {k: own.pop(k) for k in ("nbest", "nbest_out") if k in own}
        (self.folder / "text").write_text("".join(f"{line}\n" for line in lines))
        job = DecodeJob(
            seed=1,
            model=model or self.model,
            tuned=tuned,
            replica=Replica("seed-001"),
            name="t",
            text=self.folder / "text",
            **nbest,
        )
        return self.system(**own).decode(job)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("marian"))


@pytest.fixture(scope="module")
def trained(bench: Bench) -> Path:
    return bench.make("trained")


def test_dev_scores_are_the_metric_of_what_is_decoded(bench: Bench, trained: Path):
    account = json.loads((trained / "model.json").read_text())
    decoded = bench.decode(trained, bench.dev.source)
    oracle = sacrebleu.corpus_bleu(decoded, [bench.dev.references[0]]).score
    assert account["dev_score"] == pytest.approx(oracle, abs=1e-9)
    history = pq.read_table(trained / "history.parquet").to_pydict()
    assert history["update"] == [15, 30]
    assert max(history["dev_score"]) == account["dev_score"]
    assert all(1 < cost < 10 for cost in history["cost"])
    assert not (bench.folder / "trained.work").exists(), "the checkpoint is gone"
    assert account["deterministic"] is True


def test_another_seed_gives_another_model(bench: Bench, trained: Path):
    other = bench.make("other", number=2)
    assert (other / "model.npz").read_bytes() != (trained / "model.npz").read_bytes()


def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(bench: Bench, trained: Path):
    out, work = bench.folder / "killed", bench.folder / "killed.work"
    system = bench.system()
    command = [
        sys.executable,
        "-m",
        "replitune",
        "tune",
        "--backend",
        "marian",
        "--system",
        "s",
        "--settings",
        json.dumps(dict(system.stage_settings("train_replica"))),
        "--source-text",
        str(bench.train[0]),
        "--target-text",
        str(bench.train[1]),
        "--testset",
        str(bench.folder / "dev.jsonl"),
        "--model",
        str(bench.model),
        "--replica",
        "seed-001",
        "--seed",
        "1",
        "--work",
        str(work),
        "--out",
        str(out),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (work / "running" / "config.yml").exists() or not (work / "round-0001").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    while any(str(work) in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < deadline, "Marian outlives its parent"
        time.sleep(0.02)
    assert not out.exists()
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "going on after round 1" in ended.stdout
    for name in ("model.npz", "model.json"):
        assert (out / name).read_bytes() == (trained / name).read_bytes(), name


def test_a_checkpoint_of_other_settings_is_left(bench: Bench, trained: Path):
    work = bench.folder / "again.work"
    (work / "round-0001").mkdir(parents=True)
    (work / "state.json").write_text('{"fingerprint": "of something else", "content": {}}')
    assert (bench.make("again") / "model.npz").read_bytes() == (trained / "model.npz").read_bytes()


def test_training_stops_when_dev_gets_no_better(bench: Bench):
    own = {"length": "60u", "every": "5u", "patience": 1, "min_gain": 200}
    out = bench.make("patient", training=own)
    assert pq.read_table(out / "history.parquet")["iteration"].to_pylist() == [1, 2]


def test_a_training_that_diverges_fails_with_the_reason(bench: Bench):
    with pytest.raises(ReplicaError, match=r"diverged at update \d+[\s\S]*learn-rate"):
        bench.make("diverged", options={**SMALL, "learn-rate": 1000.0})


def test_a_vocabulary_that_does_not_match_is_refused(bench: Bench, trained: Path):
    other = bench.folder / "other-model"
    bench.system(vocabulary={"size": 160}).train(TrainJob(seed=1, train=bench.train, out=other))
    with pytest.raises(ReplicaError, match="another vocabulary"):
        bench.decode(trained, ["a"], model=other)


def test_marians_own_complaint_is_passed_on(bench: Bench):
    with pytest.raises(ReplituneError, match="marian train failed") as caught:
        bench.make("wrong", options={**SMALL, "transformer-heads": 5})
    assert "Aborted from" not in caught.value.found


def test_separate_vocabularies_and_a_part_of_the_text(bench: Bench):
    own = {"vocabulary": {"size": [150, 140], "shared": False}, "subset": "odd"}
    model = bench.folder / "separate-model"
    bench.system(**own).train(TrainJob(seed=1, train=bench.train, out=model))
    assert len((model / "train.source.txt").read_text().splitlines()) == 75
    out = bench.folder / "separate"
    bench.system(
        **own,
        architecture="rnn",
        options={"dim-emb": 16, "dim-rnn": 16, "mini-batch-words": 200, "workspace": 64},
        training={"length": "1e", "every": "1e"},
    ).train_replica(
        ReplicaJob(
            seed=1, model=model, train=bench.train, dev=bench.dev, out=out, replica=Replica("seed-001")
        )
    )
    assert pq.read_table(out / "history.parquet")["epoch"].to_pylist() == [1]
    assert len(bench.decode(out, bench.dev.source, model=model)) == 8


def test_blank_lines_stay_blank_and_long_ones_are_not_left_out(bench: Bench, trained: Path):
    lines = [*bench.dev.source[:2], "", " ".join(bench.dev.source), *bench.dev.source[2:4]]
    found = bench.decode(trained, lines)
    assert found[2] == ""
    assert len(found) == 6
    alone = bench.decode(trained, [""])
    assert alone == [""]


def test_the_best_of_the_nbest_is_the_translation(bench: Bench, trained: Path):
    lines = [*bench.dev.source, ""]
    out = bench.folder / "nbest.txt"
    found = bench.decode(trained, lines, nbest=3, nbest_out=out)
    assert found == bench.decode(trained, lines)
    lists = read_nbest([out], len(lines))
    first = [
        next(t for t, s in zip(lists.texts, lists.segments, strict=True) if s == i)
        for i in range(len(lines))
    ]
    assert first == found
    rows = [line.split(" ||| ") for line in out.read_text().splitlines()]
    for i in range(len(bench.dev.source)):
        scores = [float(row[3]) for row in rows if row[0] == str(i)]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
    with pytest.raises(ReplituneError, match="more translations"):
        bench.decode(trained, lines, nbest=4, nbest_out=out)


def test_decoding_is_what_marian_does_by_hand(bench: Bench, trained: Path):
    text, out = bench.folder / "by-hand.source", bench.folder / "by-hand.txt"
    text.write_text("".join(f"{line}\n" for line in bench.dev.source))
    vocabulary = str(bench.model / "vocabulary.spm")
    arguments = [
        "decode",
        "-m",
        str(trained / "model.npz"),
        "-v",
        vocabulary,
        vocabulary,
        "-b",
        "3",
        "-n",
        "0.6",
        "-i",
        str(text),
        "-o",
        str(out),
        "--cpu-threads",
        "1",
    ]
    subprocess.run([sys.executable, "-m", "pymarian", *arguments], check=True, capture_output=True)
    assert out.read_text().splitlines() == bench.decode(trained, bench.dev.source)


def test_more_threads_only_where_the_same_bytes_are_not_asked_for(
    bench: Bench, capfd: pytest.CaptureFixture[str]
):
    own: dict[str, Any] = {"training": {"length": "10u", "every": "10u"}, "resources": {"threads": 2}}
    complaints: list[str] = []
    bench.system(**own).check({}, lambda path, message, **more: complaints.append(message))
    assert len(complaints) == 1
    assert "cannot be repeated" in complaints[0]
    out = bench.make("asynchronous", deterministic=False, **own)
    assert json.loads((out / "model.json").read_text())["deterministic"] is False
    assert "cannot be repeated" in "".join(capfd.readouterr())


def test_a_marian_on_the_path_is_used_when_asked_for(
    bench: Bench, trained: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = bench.folder / "bin"
    folder.mkdir()
    program = folder / "marian"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pymarian "$@"\n')
    program.chmod(0o755)
    assert missing("no-such-marian")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert not missing("marian")
    out = bench.make("binary", binary="marian")
    assert (out / "model.npz").read_bytes() == (trained / "model.npz").read_bytes()
    assert json.loads((out / "model.json").read_text())["marian"].startswith("marian v1.")


def test_a_wrong_command_of_marian_is_an_error():
    with pytest.raises(ReplituneError, match="no-such-command"):
        run("pymarian", ["no-such-command"])
