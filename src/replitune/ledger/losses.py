"""Results that were lost or damaged since they were made, so that a run makes them again.

A power failure can leave files empty, or lose them or their records; people delete results.
Snakemake compares ages only, and notices none of this while the report is still there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import belongings, jobs_of
from replitune.experiment.stage import paths_of
from replitune.ledger.manifest import NAME as MANIFEST
from replitune.ledger.records import maker, records, result_files, sha256_in
from replitune.ledger.runs import ended_well
from replitune.running.files import bytes_of, open_regular, remove

EMPTY = hashlib.sha256().hexdigest()
PARQUET = b"PAR1"
"""How a Parquet file begins and ends."""


def find_losses(experiment: Experiment) -> dict[str, str]:
    """Outputs that have to be made again, as Snakemake names them, and why. Empty and unreadable
    files are removed."""
    folder = experiment.folder
    for path in [*(folder / "looks").glob("*.json"), folder / MANIFEST]:
        if path.exists() and not _is_readable(path):
            remove(path)
    known = records(folder.absolute())
    named = set(result_files(folder))
    for record in known.values():
        named |= {*(record.get("inputs") or ()), *(record.get("outputs") or ())}
    wrong = {name: why for name in sorted(named) if (why := _loss(folder, name, known))}
    lost: dict[str, str] = {}
    if wrong:
        own = belongings(experiment)  # slow
    for name, why in wrong.items():
        if (output := own.output_of(name)) is not None:
            if why in (BLANK, UNREADABLE):
                remove(folder / name)
            lost.setdefault(f"{folder}/{output}", why)
    if not ended_well(folder):
        lost = _with_other_settings(experiment.after_looks(), known) | lost
    return lost


NOT_COMPARED = ("look", "batch", "kernels")
"""The settings of the first two depend on earlier looks, and a look checks its plan itself. Kernels are
compiled by any job that lacks them; if they are made again, Snakemake 9 forgets what depends on them."""
GONE = "gone"
BLANK = "empty"
UNREADABLE = "unreadable"


def _loss(folder: Path, name: str, known: Mapping[str, Mapping[str, Any]]) -> str | None:
    """What is wrong with a result, without reading all of it."""
    path, made = folder / name, maker(folder, name)
    try:
        size = path.stat().st_size
    except OSError:
        return GONE
    if size == 0 and (made is None or made.sha256 != EMPTY):
        return BLANK
    if not _is_readable(path):
        return UNREADABLE
    if made is None or made.record not in known:
        return "without a record"
    if sha256_in(known[made.record], name) != made.sha256:
        return "its records contradict each other"
    return None


def _is_readable(path: Path) -> bool:
    """JSON is read in full, of Parquet only the two ends."""
    if path.suffix == ".json":
        with contextlib.suppress(ValueError):
            json.loads(bytes_of(path))
            return True
        return False
    if path.suffix == ".parquet":
        with open_regular(path) as handle:
            begin = handle.read(4)
            handle.seek(-min(4, path.stat().st_size), 2)
            return begin == handle.read() == PARQUET
    return True


def _with_other_settings(experiment: Experiment, known: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Outputs of jobs whose record has other settings. Snakemake compares settings, too, but what it
    noted about a run that did not end well may be lost."""
    lost: dict[str, str] = {}
    for job in jobs_of(experiment):
        command = known.get(job.name, {}).get("command", [])
        if job.stage in NOT_COMPARED or "--settings" not in command:
            continue
        with contextlib.suppress(ReplituneError):
            stage = experiment.stage(job.stage, **job.names)
            if command[command.index("--settings") + 1] != stage.json:
                lost[str(paths_of(stage.outputs)[0])] = "made with other settings"
    return lost
