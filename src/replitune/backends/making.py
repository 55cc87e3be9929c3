"""Makes one replica of a system, and its translations. If failures are allowed, a replica that cannot
be made leaves a record of the reason."""

from __future__ import annotations

import sys
from pathlib import Path

from replitune.backends.interface import Backend, DecodeJob, ReplicaJob
from replitune.errors import ReplicaError
from replitune.running.failures import IN_FOLDER, Failure, read_failure, write_failure
from replitune.running.files import write_lines


def make_replica(backend: Backend, job: ReplicaJob, *, allow_failure: bool) -> None:
    """Tune or train one replica. If that fails, and failures are allowed, write a record of it."""
    seeded = "train_replica" in backend.stages
    try:
        if seeded:
            backend.train_replica(job)
        else:
            backend.tune(job)
    except ReplicaError as error:
        stage = "training" if seeded else "tuning"
        failure = _failure(error, stage, backend.system, job.replica.id, allowed=allow_failure)
        write_failure(job.out / IN_FOLDER if seeded else job.out, failure)
        if job.history is not None:
            from replitune.tuning.history import write_history

            write_history(job.history, ())


def write_translations(backend: Backend, job: DecodeJob, out: Path, *, allow_failure: bool) -> None:
    """Write the translations of one replica. If that fails, and failures are allowed, write a record."""
    before = read_failure(job.tuned) if job.tuned is not None else None
    if before is not None:
        if not allow_failure:
            raise before.error(str(job.tuned))
        write_failure(out, before)
        return
    try:
        write_lines(out, _lines(backend, job))
    except ReplicaError as error:
        failure = _failure(
            error, f"decode {job.name}", backend.system, job.replica.id, allowed=allow_failure
        )
        write_failure(out, failure)


def _lines(backend: Backend, job: DecodeJob) -> list[str]:
    """The translations, whose number is checked."""
    lines = backend.decode(job)
    expected = job.prepared.segments if job.testset is not None else len(job.source)
    if len(lines) != expected:
        raise ReplicaError(
            f"{backend.system} {job.replica.id} gave a wrong number of translations of {job.name}",
            found=f"{len(lines)} lines",
            expected=f"{expected}, one for each segment",
        )
    return lines


def _failure(error: ReplicaError, stage: str, system: str, replica: str, *, allowed: bool) -> Failure:
    """The record of a replica that could not be made; if failures are not allowed, raise the error."""
    if not allowed:
        raise error
    print(f"warning: going on without {system} {replica}", file=sys.stderr)
    print(f"replitune: {error}", file=sys.stderr)
    return Failure(stage, system, replica, " ".join(str(error).split()))
