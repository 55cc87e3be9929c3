"""Files among the results of an experiment that it does not need: made for something it no longer
has, or left half-written by runs that were killed.

A file is listed only if replitune wrote it and nobody has changed it since: a result is known by its
sha256 in ``.made``, logs by the record beside them, a half-written copy by its name, a checkpoint by
its state. Everything else stays. No symbolic link is followed, and nothing outside the folder is
touched: a file is removed by walking down from the folder and refusing links on the way.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.experiment.jobs import Belongings, belongings
from replitune.ledger.manifest import NAME as MANIFEST
from replitune.ledger.manifest import require_experiment
from replitune.ledger.records import FOLDERS, PAGE, maker
from replitune.ledger.runs import NAME as RUN
from replitune.ledger.runs import ended_well, read_run
from replitune.running.files import HALF_MADE, bytes_of, sha256_file
from replitune.running.locks import any_at_work

ABOUT = (".made/", "logs/", "benchmarks/")
WORK = re.compile(r"tuning/([^/]+)/\.work/([^/]+)/(.+)")
FIRST = re.compile(r"tuning/([^/]+)/\.work/first-(?:lists|graphs)\.npz")


@dataclass
class Leftovers:
    """Sizes of files by name, relative to the folder."""

    folder: Path
    gone: dict[str, int] = field(default_factory=dict)
    """Made for what is no longer in the experiment."""
    half_made: dict[str, int] = field(default_factory=dict)
    """Left by runs that were killed."""
    kept: dict[str, str] = field(default_factory=dict)
    """Not part of the experiment, and why they are kept."""
    there: list[str] = field(default_factory=list)
    """All files."""

    @property
    def size(self) -> int:
        return sum(self.gone.values()) + sum(self.half_made.values())


def leftovers(folder: Path) -> Leftovers:
    """Everything that can be removed; half-written files only while no job is running."""
    experiment = require_experiment(folder)
    own, sizes, left = belongings(experiment), _sizes(folder), Leftovers(folder)
    left.there = list(sizes)
    at_work = why_at_work(folder) is not None
    for name in _results(folder, own, sizes, left):
        left.gone[name] = sizes[name]
    for name in (*_indices(folder, own, sizes, left.gone), *_messages(folder, own, sizes)):
        left.gone[name] = sizes[name]
    for name, size in sizes.items():
        if any(HALF_MADE.fullmatch(part) for part in name.split("/")):
            left.gone.pop(name, None)
            if not at_work:
                left.half_made[name] = size
    left.gone |= {name: sizes[name] for name in _checkpoints(folder, own, sizes)}
    if not (folder / RUN).exists():  # newer files may belong to a run that left no .run.json
        last = (folder / MANIFEST).stat().st_mtime_ns
        left.gone = {n: s for n, s in left.gone.items() if _time(folder / n) <= last}
    return left


def why_at_work(folder: Path) -> str | None:
    """Why a run may still be going on; None if there is no sign of one."""
    if any_at_work(folder):
        return "a job is at work in this folder"
    run = read_run(folder)
    if run is None or run.process.is_running is False or ended_well(folder):
        return None
    if run.process.is_running:
        return "Snakemake is at work in this folder"
    return f"its last run was started on {run.process.host}, and did not finish"


def remove(left: Leftovers) -> tuple[int, int]:
    """Remove what is left over; returns the numbers of files and bytes freed."""
    if (why := why_at_work(left.folder)) is not None:
        raise ReplituneError(
            why,
            file=left.folder,
            fix="wait for it, or end it; if the run was started on another machine, use `clean` "
            "there, or run to the end",
        )
    files = freed = 0
    removed = []
    for name, size in {**left.gone, **left.half_made}.items():
        if _below(left.folder, name, os.unlink):
            files, freed = files + 1, freed + size
            removed.append(name)
    _remove_empty(left.folder, removed)
    return files, freed


def rows(sizes: dict[str, int], there: Iterable[str]) -> list[tuple[str, int, int]]:
    """(what, files, bytes): results, by file or by folder, and one row for their records and logs."""
    about = {name: size for name, size in sizes.items() if name.startswith(ABOUT)}
    results = {name: size for name, size in sizes.items() if name not in about}
    table = grouped(results, there)
    if about:
        table.append(("records, logs and benchmarks of these", len(about), sum(about.values())))
    return table


def grouped(sizes: dict[str, int], there: Iterable[str]) -> list[tuple[str, int, int]]:
    """(name, files, bytes); a folder whose files all go is one row."""
    every = Counter(above for name in there for above in _folders(name))
    going = Counter(above for name in sizes for above in _folders(name))
    totals: dict[str, tuple[int, int]] = {}
    for name, size in sizes.items():
        whole = next((a for a in _folders(name) if every[a] == going[a]), None)
        row = name if whole is None else f"{whole}/"
        files, total = totals.get(row, (0, 0))
        totals[row] = files + 1, total + size
    return [(name, *totals[name]) for name in sorted(totals)]


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


# ---- listing


def _sizes(folder: Path) -> dict[str, int]:
    """Every regular file, and links inside half-written folders; linked folders are not entered."""
    sizes = {}
    for place, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for file in sorted([*files, *(f for f in folders if os.path.islink(f"{place}/{f}"))]):
            path = os.path.join(place, file)
            name = os.path.relpath(path, folder)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            half = any(HALF_MADE.fullmatch(part) for part in name.split("/")[:-1])
            if stat.S_ISREG(status.st_mode) or (half and stat.S_ISLNK(status.st_mode)):
                sizes[name] = status.st_size
    return sizes


def _results(folder: Path, own: Belongings, sizes: dict[str, int], left: Leftovers) -> Iterator[str]:
    """Results that are not part of the experiment and have not changed since replitune made them."""
    for name in sizes:
        parts = name.split("/")
        if parts[0] not in (*FOLDERS, PAGE) or any(part.startswith(".") for part in parts):
            continue
        if own.has(name):
            continue
        made = maker(folder, name)
        try:
            if made is None:
                left.kept[name] = "not known to be made by replitune"
            elif sha256_file(folder / name) != made.sha256:
                left.kept[name] = "changed since it was made"
            else:
                yield name
        except OSError:
            continue


def _indices(folder: Path, own: Belongings, sizes: dict[str, int], gone: dict[str, int]) -> list[str]:
    """Files of ``.made`` for results that are removed now or already gone."""
    names = []
    for name in sizes:
        result = name.removeprefix(".made/").removesuffix(".json")
        if name != f".made/{result}.json" or result in own.outputs:
            continue
        if (result in gone or result not in sizes) and maker(folder, result) is not None:
            names.append(name)
    return names


def _messages(folder: Path, own: Belongings, sizes: dict[str, int]) -> list[str]:
    """Logs and benchmarks of jobs that are not part of the experiment, where a record shows that
    they were jobs."""
    names = []
    for name in sizes:
        job = name.removeprefix("logs/").removesuffix(".json")
        if name != f"logs/{job}.json" or job in own.jobs or not _is_record(folder / name):
            continue
        others = (f"logs/{job}.log", f"benchmarks/{job}.tsv")
        names += [name, *(other for other in others if other in sizes)]
    return names


def _is_record(path: Path) -> bool:
    try:
        record = json.loads(bytes_of(path))
        return bool(record["command"][0] == "replitune") and "outputs" in record
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return False


def _checkpoints(folder: Path, own: Belongings, sizes: dict[str, int]) -> list[str]:
    """Checkpoints of replicas, and files shared by replicas, that are not part of the experiment."""
    tuned = {job.split("/")[1] for job in own.jobs if job.startswith("tune/")}
    names = []
    for name in sizes:
        if (match := FIRST.fullmatch(name)) is not None and match[1] not in tuned:
            names.append(name)
        match = WORK.fullmatch(name)
        if match is None or f"tune/{match[1]}/{match[2]}" in own.jobs:
            continue
        if _is_checkpoint(folder / name.removesuffix(match[3])):
            names.append(name)
    return names


def _is_checkpoint(folder: Path) -> bool:
    try:
        return "fingerprint" in json.loads(bytes_of(folder / "state.json"))
    except (OSError, ValueError, TypeError):
        return [path.name for path in folder.iterdir()] == ["lock"]


def _time(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


# ---- removing

STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def _remove_empty(folder: Path, names: Iterable[str]) -> None:
    """Remove the folders of these files that are now empty."""
    places = {above for name in names for above in _folders(name)}
    for place in sorted(places, key=len, reverse=True):
        _below(folder, place, os.rmdir)


def _below(folder: Path, name: str, do: Callable[..., None]) -> bool:
    """Call `do` on the file or folder with this name, reached from `folder` without following links."""
    *folders, last = name.split("/")
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            below = os.open(part, STEP, dir_fd=here)
            os.close(here)
            here = below
        do(last, dir_fd=here)
    except OSError:
        return False  # gone, or not empty
    finally:
        os.close(here)
    return True
