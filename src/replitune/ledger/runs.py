"""``.run.json``: the last run of an experiment, written by Snakemake when its first job starts.

It says which experiment the results belong to and which jobs were planned, so that `replitune run`,
`watch` and `clean` need no experiment file later, on any machine.

Kept light, because the Snakefile imports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.experiment.settings import ExperimentSettings
from replitune.ledger.records import remove_remains
from replitune.running.files import atomic_open, bytes_of
from replitune.running.processes import Process
from replitune.settings import plain

NAME = ".run.json"


class Run(msgspec.Struct, frozen=True):
    """A run of Snakemake."""

    experiment: dict[str, Any]
    """Its settings, in the scale that is run."""
    outputs_given: dict[str, dict[str, list[str]]]
    """Ids of replicas that are on disk, by system and test set."""
    planned: frozenset[str]
    """Names of the jobs that were planned when it started."""
    parallel: int
    """Jobs or cores at once."""
    process: Process


def write_run(experiment: Experiment, logs: Iterable[str], parallel: int) -> None:
    """Record the run of this process, which is Snakemake; `logs` are the log files of its jobs."""
    below, given = f"{experiment.folder}/logs/", experiment.outputs
    run = Run(
        experiment=plain(experiment.settings, sparse=True),
        outputs_given={
            system: {testset: [replica.id for replica in files] for testset, files in by_testset.items()}
            for system, by_testset in given.items()
        },
        planned=frozenset(
            log.removeprefix(below).removesuffix(".log") for log in logs if log.startswith(below)
        ),
        parallel=parallel,
        process=Process.this(),
    )
    with atomic_open(experiment.folder / NAME, "wb") as handle:
        handle.write(msgspec.json.encode(run, order="deterministic"))
    remove_remains(experiment.folder / NAME)


def ended_well(folder: Path) -> bool:
    """Whether the last run came to its end: the manifest, which is made last, is newer."""
    try:
        return (folder / "manifest.json").stat().st_mtime_ns >= (folder / NAME).stat().st_mtime_ns
    except OSError:
        return False


def read_run(folder: Path) -> Run | None:
    """The last run; None if there is no record of it, or one of another version."""
    try:
        return msgspec.json.decode(bytes_of(folder / NAME), type=Run)
    except (OSError, ValueError):
        return None


def experiment_of_run(run: Run, folder: Path) -> Experiment:
    """The experiment whose results are in `folder`."""
    settings = without_scales(run.experiment)
    return Experiment(settings, folder.parent, outputs=run.outputs_given).in_folder(folder)


def without_scales(given: Mapping[str, Any]) -> ExperimentSettings:
    """Settings to which the scale has already been applied."""
    return resolve({**given, "scale": None, "scales": {}})


def require_results(folder: Path) -> None:
    if not folder.is_dir():
        raise ReplituneError("no such folder", file=folder, expected="results/<experiment>")


def newest(results: Path) -> Path:
    """The folder of the experiment in `results` that ran last."""

    def changed(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except OSError:
            return 0.0

    marks = [*results.glob(f"*/{NAME}"), *results.glob("*/manifest.json")]
    if not marks:
        raise ReplituneError(
            "no results here",
            file=results,
            expected="results/<experiment>",
            fix="name the folder, or go where `replitune run` was started",
        )
    return max(marks, key=changed).parent
