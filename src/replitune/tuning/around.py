"""The stage `tune`: the outer loop around the decoder of a system."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from replitune.errors import ReplituneError
from replitune.running.progress import say
from replitune.streams import stream
from replitune.tuning.combination import get_objective
from replitune.tuning.history import write_history
from replitune.tuning.loop import LoopResult, run_loop
from replitune.tuning.objective import Objective
from replitune.tuning.weights import WeightsFile, write_weights

if TYPE_CHECKING:
    from replitune.backends.interface import Backend, ReplicaJob


def tune_around(backend: Backend, job: ReplicaJob) -> None:
    """Tune what `backend.tunable` gives; writes `job.out` and `job.history`."""
    # All checks come before anything that takes long.
    if job.tuner is None:
        raise ReplituneError("no tuner is named", expected=", ".join(backend.prefixes))
    if job.tuner.needs_lattices and job.algorithm not in backend.prefixes:
        raise ReplituneError(f"the decoder of backend {backend.name} gives no lattices")
    if job.tuner.needs_lattices and job.loop and job.loop.resample_dev:
        raise ReplituneError(f"{job.algorithm} does not tune on a resampled dev set")
    objective = Objective(get_objective(job.metric))
    system = backend.tunable(job)
    tuner = job.tuner.for_features(system.layout)
    named = () if job.paired else (backend.system,)

    def finish(result: LoopResult) -> None:
        if job.history is not None:
            write_history(job.history, result.history)
        write_weights(
            job.out,
            WeightsFile(
                system.layout.to_weights(result.weights),
                dev_score=result.dev_score,
                metric=objective.metric.id,
                algorithm=job.algorithm,
                seed=job.seed,
                iteration=result.iteration,
            ),
        )

    run_loop(
        system.decode,
        tuner,
        objective,
        system.start,
        system.segments,
        partial(stream, job.seed, "tune", *named, job.algorithm, job.replica.index),
        job.loop,
        folder=job.work,
        inputs={**system.inputs, "dev": job.dev_sha256, "nbest": job.nbest},
        finish=finish,
        log=say,
        threads=job.threads,
    )
