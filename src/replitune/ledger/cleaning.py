"""What is below the results of an experiment, and not of it: made for what it no longer has, or
left half-made by runs that were killed.

A file is listed when replitune knows that it wrote it, and that it is as it was written: a result
by its sha256 in ``.made``, messages by the record beside them, a half-made copy by its name, a
checkpoint by its state. Everything else stays. No symbolic link is followed, and nothing outside of
the folder is touched: a file is removed by a walk from the folder that refuses links on the way.
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
from replitune.ledger.manifest import experiment_in
from replitune.ledger.records import FOLDERS, PAGE, maker
from replitune.ledger.runs import NAME as RUN
from replitune.ledger.runs import ended_well, read_run, require_results
from replitune.running.files import HALF_MADE, sha256_file
from replitune.running.locks import any_at_work

ABOUT = (".made/", "logs/", "benchmarks/")
WORK = re.compile(r"tuning/([^/]+)/\.work/([^/]+)/(.+)")
FIRST = re.compile(r"tuning/([^/]+)/\.work/first-(?:lists|graphs)\.npz")


@dataclass
class Leftovers:
    """Sizes of files by name, names start at the folder."""

    folder: Path
    gone: dict[str, int] = field(default_factory=dict)
    """Made for what is no longer in the experiment."""
    half_made: dict[str, int] = field(default_factory=dict)
    """Left by runs that were killed."""
    kept: dict[str, str] = field(default_factory=dict)
    """Not of the experiment, and why they stay."""
    there: list[str] = field(default_factory=list)
    """All files."""

    @property
    def size(self) -> int:
        return sum(self.gone.values()) + sum(self.half_made.values())


def leftovers(folder: Path) -> Leftovers:
    """What there is; while jobs are at work, without what is half-made."""
    require_results(folder)
    experiment = experiment_in(folder)
    if experiment is None:
        raise ReplituneError(
            "nothing says which experiment this is the folder of",
            file=folder,
            expected=f"{RUN} or {MANIFEST} in results/<experiment>",
            fix="run the workflow once more: it writes them",
        )
    own, sizes, found = belongings(experiment), _sizes(folder), Leftovers(folder)
    found.there = list(sizes)
    at_work = why_at_work(folder) is not None
    for name in _results(folder, own, sizes, found):
        found.gone[name] = sizes[name]
    for name in (*_indices(folder, own, sizes, found.gone), *_messages(folder, own, sizes)):
        found.gone[name] = sizes[name]
    for name, size in sizes.items():
        if any(HALF_MADE.fullmatch(part) for part in name.split("/")):
            found.gone.pop(name, None)
            if not at_work:
                found.half_made[name] = size
    found.gone |= {name: sizes[name] for name in _checkpoints(folder, own, sizes)}
    if not (folder / RUN).exists():  # whatever is newer may be of a run that left no word
        last = (folder / MANIFEST).stat().st_mtime_ns
        found.gone = {n: s for n, s in found.gone.items() if _time(folder / n) <= last}
    return found


def why_at_work(folder: Path) -> str | None:
    """What speaks for a run that goes on."""
    if any_at_work(folder):
        return "a job is at work in this folder"
    run = read_run(folder)
    if run is None or run.goes_on is False or ended_well(folder):
        return None
    if run.goes_on:
        return "Snakemake is at work in this folder"
    return f"its last run was started on {run.host}, and did not come to its end"


def remove(found: Leftovers) -> tuple[int, int]:
    """Files and bytes that are freed."""
    if (why := why_at_work(found.folder)) is not None:
        raise ReplituneError(
            why,
            file=found.folder,
            fix="wait for it, or end it; where a run was started on another machine, use `clean` "
            "there, or run to the end",
        )
    files = freed = 0
    removed = []
    for name, size in {**found.gone, **found.half_made}.items():
        if _unlink(found.folder, name):
            files, freed = files + 1, freed + size
            removed.append(name)
    _remove_empty(found.folder, removed)
    return files, freed


def rows(sizes: dict[str, int], there: Iterable[str]) -> list[tuple[str, int, int]]:
    """(what, files, bytes): results one by one or by folders, and what was written about them."""
    about = {name: size for name, size in sizes.items() if name.startswith(ABOUT)}
    results = {name: size for name, size in sizes.items() if name not in about}
    found = grouped(results, there)
    if about:
        found.append(("records, logs and benchmarks of these", len(about), sum(about.values())))
    return found


def grouped(sizes: dict[str, int], there: Iterable[str]) -> list[tuple[str, int, int]]:
    """(name, files, bytes); of a folder that goes with all that is in it, the folder."""
    every = Counter(above for name in there for above in _folders(name))
    going = Counter(above for name in sizes for above in _folders(name))
    found: dict[str, tuple[int, int]] = {}
    for name, size in sizes.items():
        whole = next((a for a in _folders(name) if every[a] == going[a]), None)
        row = name if whole is None else f"{whole}/"
        files, total = found.get(row, (0, 0))
        found[row] = files + 1, total + size
    return [(name, *found[name]) for name in sorted(found)]


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


# ---- what is there


def _sizes(folder: Path) -> dict[str, int]:
    """Every regular file, and, in half-made folders, links; folders that are links stay closed."""
    found = {}
    for place, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for file in sorted([*files, *(f for f in folders if os.path.islink(f"{place}/{f}"))]):
            path = os.path.join(place, file)
            name = os.path.relpath(path, folder)
            try:
                said = os.lstat(path)
            except OSError:
                continue
            half = any(HALF_MADE.fullmatch(part) for part in name.split("/")[:-1])
            if stat.S_ISREG(said.st_mode) or (half and stat.S_ISLNK(said.st_mode)):
                found[name] = said.st_size
    return found


def _results(folder: Path, own: Belongings, sizes: dict[str, int], found: Leftovers) -> Iterator[str]:
    """Results that are not the experiment's, and are as replitune made them."""
    for name in sizes:
        parts = name.split("/")
        if parts[0] not in (*FOLDERS, PAGE) or any(part.startswith(".") for part in parts):
            continue
        if own.has(name):
            continue
        made = maker(folder, name)
        try:
            if made is None:
                found.kept[name] = "not known to be made by replitune"
            elif sha256_file(folder / name) != made.sha256:
                found.kept[name] = "changed since it was made"
            else:
                yield name
        except OSError:
            continue


def _indices(folder: Path, own: Belongings, sizes: dict[str, int], gone: dict[str, int]) -> list[str]:
    """Records of results that go, or are gone."""
    found = []
    for name in sizes:
        result = name.removeprefix(".made/").removesuffix(".json")
        if name != f".made/{result}.json" or result in own.outputs:
            continue
        if (result in gone or result not in sizes) and maker(folder, result) is not None:
            found.append(name)
    return found


def _messages(folder: Path, own: Belongings, sizes: dict[str, int]) -> list[str]:
    """Logs and benchmarks of jobs that are not the experiment's, where a record says that they were
    jobs."""
    found = []
    for name in sizes:
        job = name.removeprefix("logs/").removesuffix(".json")
        if name != f"logs/{job}.json" or job in own.jobs or not _is_record(folder / name):
            continue
        others = (f"logs/{job}.log", f"benchmarks/{job}.tsv")
        found += [name, *(other for other in others if other in sizes)]
    return found


def _is_record(path: Path) -> bool:
    try:
        said = json.loads(path.read_text("utf-8"))
        return bool(said["command"][0] == "replitune") and "outputs" in said
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return False


def _checkpoints(folder: Path, own: Belongings, sizes: dict[str, int]) -> list[str]:
    """Of replicas, and what replicas of a system have in common, that are not the experiment's."""
    tuned = {job.split("/")[1] for job in own.jobs if job.startswith("tune/")}
    found = []
    for name in sizes:
        if (match := FIRST.fullmatch(name)) is not None and match[1] not in tuned:
            found.append(name)
        match = WORK.fullmatch(name)
        if match is None or f"tune/{match[1]}/{match[2]}" in own.jobs:
            continue
        if _is_checkpoint(folder / name.removesuffix(match[3])):
            found.append(name)
    return found


def _is_checkpoint(folder: Path) -> bool:
    try:
        return "fingerprint" in json.loads((folder / "state.json").read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        return [path.name for path in folder.iterdir()] == ["lock"]


def _time(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


# ---- away with it

STEP = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def _unlink(folder: Path, name: str) -> bool:
    return _below(folder, name, os.unlink)


def _remove_empty(folder: Path, names: Iterable[str]) -> None:
    """The folders in which these were, when nothing is left in them."""
    places = {above for name in names for above in _folders(name)}
    for place in sorted(places, key=len, reverse=True):
        _below(folder, place, os.rmdir)


def _below(folder: Path, name: str, do: Callable[..., None]) -> bool:
    """Do this to what has the name, by a way from `folder` on which no link is followed."""
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
