"""The job that trains one replica, with its checkpoint and the folder that it writes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import replitune
from replitune.backends.interface import ReplicaJob, needed
from replitune.backends.marian.program import Installation, Translator, version
from replitune.backends.marian.settings import MarianSettings, training_options
from replitune.backends.marian.training import MODEL, SIDES, Best, Round, Training
from replitune.backends.marian.vocabulary import too_long, vocabulary_files
from replitune.running.checkpoint import fingerprint, opened
from replitune.running.files import new_folder, sha256_file, write_json
from replitune.running.progress import say
from replitune.settings import Settings, plain
from replitune.tuning.combination import get_objective
from replitune.tuning.history import write_history


def make_replica(system: str, settings: MarianSettings, program: Installation, job: ReplicaJob) -> None:
    """Train one replica into the folder `job.out`: model, model.json and history.parquet."""
    model, dev = needed(job.model, "model"), needed(job.dev, "testset")
    vocabularies = vocabulary_files(model)
    whole = needed(job.train, "source-text")
    part = model / SIDES[0], model / SIDES[1]
    sides = part if part[0].exists() else whole
    options = training_options(settings.architecture, settings.options, vocabularies[0] == vocabularies[1])
    metric = get_objective(job.metric)
    names = () if job.paired else (system,)
    stream = (*names, "seed", job.replica.index)
    if not options.get("max-length-crop"):
        left_out, pairs = too_long(sides, vocabularies, options["max-length"])
        if left_out:
            say(
                f"{left_out} of {pairs} pairs are longer than {options['max-length']} pieces: "
                "they are left out (option max-length)"
            )
    if program.threads > 1:
        say(f"note: {program.threads} threads: this training cannot be repeated to the same bytes")
    account = {
        "system": system,
        "replica": job.replica.id,
        "seed": job.seed,
        "metric": job.metric,
        "marian": version(program.binary),
        "threads": program.threads,
        "deterministic": program.threads == 1,
        "architecture": settings.architecture,
        "options": options,
        "training": _written(settings.training),
        "decoding": _written(settings.decoding),
        "vocabulary": [sha256_file(path) for path in vocabularies],
    }
    mark = fingerprint(
        {
            **account,
            "stream": stream,
            "train": [sha256_file(path) for path in sides],
            "dev": job.dev_sha256,
            "signature": metric.signature(),
        }
    )
    trainer = Training(
        sides,
        dev,
        metric,
        options,
        settings.training,
        Translator(vocabularies, settings.decoding, program),
        job.seed,
        stream,
    )
    with (
        tempfile.TemporaryDirectory(prefix="replitune-train-") as temporary,
        opened(job.work or Path(temporary) / "work", mark) as checkpoint,
    ):
        _keep(trainer.run(checkpoint), account, job.out)


def _written(settings: Settings) -> dict[str, Any]:
    """Settings with whole numbers as people write them: 3, not 3.0."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in plain(settings).items()
    }


def _keep(best: Best, account: Mapping[str, Any], out: Path) -> None:
    """Write the best model, its description, and the history of its training."""
    with new_folder(out) as folder:
        shutil.copy(best.model, folder / MODEL)
        write_history(folder / "history.parquet", best.history, Round)
        description = {
            **account,
            "dev_score": best.dev_score,
            "iteration": best.iteration,
            "update": best.history[best.iteration - 1].update,
            "version": replitune.__version__,
        }
        write_json(folder / "model.json", description)
