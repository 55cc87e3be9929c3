"""One job of the workflow, as its rules call it.

  replitune job STAGE --settings JSON

The JSON is one of `replitune.experiment.stages`: what the job is told, with the names of what it
reads and writes. People have the other commands, which run the same code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.experiment.stages import STAGES, Files, Stage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", metavar="STAGE", choices=tuple(STAGES), help=", ".join(STAGES))
    parser.add_argument("--settings", required=True, metavar="JSON", help="what this job is told, as JSON")
    parser.add_argument(
        "--allow-failures",
        action="store_true",
        help="where a replica alone cannot be made, go on without it",
    )
    parser.add_argument("--record", metavar="FILE", help="write how this job ran, as JSON")


def told(options: argparse.Namespace) -> Stage:
    try:
        return msgspec.json.decode(options.settings, type=STAGES[options.stage])
    except msgspec.DecodeError as error:
        raise ReplituneError(
            f"--settings are not those of a job of stage {options.stage}",
            found=str(error),
            fix="run it by Snakemake; the other commands are for people",
        ) from None


def inputs(options: argparse.Namespace) -> list[Path]:
    return [path for path in paths_of(told(options).inputs) if path.exists()]


def outputs(options: argparse.Namespace) -> list[Path]:
    return paths_of(told(options).outputs)


def paths_of(files: Files) -> list[Path]:
    return [
        Path(path) for given in files.values() for path in ([given] if isinstance(given, str) else given)
    ]


def run(options: argparse.Namespace) -> None:
    for name, part in told(options).pieces.items():
        if options.pieces is None:
            JOBS[options.stage](part, options)
            continue
        settings = f"{part.json} {options.allow_failures}" if part.KEPT else None
        files = paths_of(part.inputs), paths_of(part.outputs)
        if options.pieces.is_made(name, settings, *files):
            print(f"{name or part.NAME}: nothing that it depends on has changed: taken over")
            continue
        with options.pieces.on(name):
            JOBS[options.stage](part, options)


def corpus(job: stages.Corpus, options: argparse.Namespace) -> None:
    from replitune.corpus.prepare import prepare_testset, prepare_train

    if job.part == "train":
        prepare_train(job.corpus, job.at.corpus, seed=job.seed, base=job.base)
    else:
        prepare_testset(job.corpus, job.part, job.at.corpus, seed=job.seed, base=job.base)


def account(job: stages.Account, options: argparse.Namespace) -> None:
    from replitune.corpus.prepare import write_inputs

    for warning in write_inputs(job.corpus, job.at.corpus, seed=job.seed):
        print(f"warning: {warning}", file=sys.stderr)


def train(job: stages.Train, options: argparse.Namespace) -> None:
    from replitune.backends.interface import TrainJob

    backend_of(job).train(
        TrainJob(
            seed=job.seed, threads=options.threads, out=Path(job.at.model(job.system)), **texts_of(job)
        )
    )


def tune(job: stages.Tune | stages.TrainReplica, options: argparse.Namespace) -> None:
    from replitune.backends.interface import ReplicaJob
    from replitune.cli.tune import make_replica
    from replitune.replicas import Replica
    from replitune.tuning.settings import tuning_of

    tunes = isinstance(job, stages.Tune)
    place = job.at.weights if tunes else job.at.replica
    make_replica(
        backend_of(job),
        ReplicaJob(
            seed=job.seed,
            threads=options.threads,
            out=Path(place(job.system, job.replica)),
            replica=Replica(job.replica),
            paired=job.paired,
            work=Path(job.at.work(job.system, job.replica)),
            common=Path(job.at.common(job.system)),
            history=Path(job.at.history(job.system, job.replica)) if tunes else None,
            **tuning_of(job.tuning, Replica(job.replica).prefix if tunes else None),
            **texts_of(job),
        ),
        allow_failure=options.allow_failures,
    )


def decode(job: stages.Decode, options: argparse.Namespace) -> None:
    from replitune.backends.interface import DecodeJob
    from replitune.cli.decode import translate
    from replitune.replicas import Replica

    texts = texts_of(job)
    texts.pop("dev", None)
    (testset,) = job.testsets
    tuned = job.inputs.get("tuned")
    translate(
        backend_of(job),
        DecodeJob(
            seed=job.seed,
            threads=options.threads,
            paired=job.paired,
            replica=Replica(job.replica),
            name=testset,
            tuned=Path(str(tuned)) if tuned else None,
            testset=Path(job.at.testset(testset)),
            **texts,
        ),
        Path(job.at.decode(testset, job.system, job.replica)),
        allow_failure=options.allow_failures,
    )


def collect(job: stages.Collect, options: argparse.Namespace) -> None:
    from replitune.backends.interface import Given
    from replitune.backends.registry import get_backend
    from replitune.corpus.testset import read_prepared
    from replitune.running.files import write_lines

    backend = get_backend(job.system, job.settings, job.backend)
    assert isinstance(backend, Given)
    segments = read_prepared(job.at.testset(job.testset)).segments
    # all files are read and checked before the first one is written
    for replica, lines in backend.collect(job.testset, Path(job.base), segments).items():
        write_lines(job.at.decode(job.testset, job.system, replica.id), lines)


def score(job: stages.Score, options: argparse.Namespace) -> None:
    """All replicas of a system, or those that a look has asked for."""
    from replitune.cli.score import score_outputs
    from replitune.corpus.testset import read_prepared
    from replitune.ledger.records import is_as_made
    from replitune.metrics.registry import METRICS
    from replitune.statistics.scoring import Scorer

    references = job.at.testset(job.testset)
    out = Path(str(job.outputs["store"]))
    files = dict(zip(job.members, job.decodes, strict=True))
    score_outputs(
        {job.system: files},
        [Scorer(METRICS.entry(job.metric), read_prepared(references), job.testset)],
        out,
        references,
        allow_missing=options.allow_failures,
        take_over=options.record is None or is_as_made(options.record, out),
        made=paths_of(job.scored),
        may_be_empty=isinstance(job, stages.Batch),
    )


def derive(job: stages.Derive, options: argparse.Namespace) -> None:
    """How the replica that the report shows came to its translations."""
    import json

    from replitune.backends.interface import DecodeJob
    from replitune.replicas import Replica
    from replitune.running.files import atomic_open
    from replitune.significance.arguments import select_replica
    from replitune.statistics.store import read_systems

    store = read_systems([job.at.store(job.testset, job.id, job.system)])
    system = store.systems[job.system]
    median = select_replica(system, store.metric.score(system.sums), "median")
    replica = Replica(system.replicas[median])
    texts = texts_of(job)
    texts.pop("dev", None)
    found = backend_of(job).derive(
        DecodeJob(
            seed=job.seed,
            threads=options.threads,
            replica=replica,
            name=job.testset,
            tuned=Path(job.at.weights(job.system, replica.id)),
            testset=Path(job.at.testset(job.testset)),
            **texts,
        )
    )
    with atomic_open(str(job.outputs["derivations"])) as handle:
        json.dump({"replica": replica.id, "derivations": found}, handle, ensure_ascii=False)


def look(job: stages.Look, options: argparse.Namespace) -> None:
    from replitune.results.looks import look_again

    look_again(
        job.plan,
        Path(job.at.look(job.number)),
        job.number,
        {name: [Path(path) for path in job.stores(name)] for name in job.testsets},
    )


def as_command(job: Stage, options: argparse.Namespace) -> None:
    """What a command of that name does."""
    import_module(f"replitune.cli.{job.NAME}").job(job, options)


def manifest(job: stages.Manifest, options: argparse.Namespace) -> None:
    from replitune.ledger.manifest import write_manifest

    write_manifest(Path(job.folder), job.experiment)


JOBS: dict[str, Callable[[Any, argparse.Namespace], None]] = {
    "corpus": corpus,
    "account": account,
    "kernels": as_command,
    "train": train,
    "tune": tune,
    "train_replica": tune,
    "decode": decode,
    "collect": collect,
    "batch": score,
    "look": look,
    "score": score,
    "derive": derive,
    "test": as_command,
    "power": as_command,
    "replication": as_command,
    "calibrate": as_command,
    "meta": as_command,
    "report": as_command,
    "manifest": manifest,
}


def backend_of(job: stages.SystemStage) -> Any:
    from replitune.backends.registry import get_backend

    return get_backend(job.system, job.settings, job.backend)


def texts_of(job: stages.SystemStage) -> dict[str, Any]:
    """The texts that a job reads, as its backend wants them."""
    from replitune.corpus.testset import read_prepared

    files = job.texts()
    found: dict[str, Any] = {}
    if "source" in files:
        found["train"] = Path(str(files["source"])), Path(str(files["target"]))
    if "dev" in files:
        found["dev"] = read_prepared(str(files["dev"]))
    if "model" in files:
        found["model"] = Path(str(files["model"]))
    return found
