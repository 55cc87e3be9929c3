"""Watches the logs and records of jobs without reading anything twice that has not changed.

A folder in which no file was made or removed keeps its time, so it is not listed again. A time is
trusted once two listings at that time were equal, because clocks of file systems are coarse. Only the
logs of jobs without a record still grow, so only their times are read again. A file that vanishes
between two steps counts as missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class _Folder:
    changed: int
    """Its modification time when it was listed."""
    times: dict[str, int] = field(default_factory=dict)
    """Modification times of its files."""
    below: list[str] = field(default_factory=list)
    sure: bool = False

    def same_as(self, other: _Folder) -> bool:
        return (self.changed, self.below, self.times.keys()) == (
            other.changed,
            other.below,
            other.times.keys(),
        ) and all(t == other.times[n] for n, t in self.times.items() if n.endswith(".json"))


class JobFiles:
    """The files below ``logs`` by the names of jobs, with times in nanoseconds."""

    def __init__(self, logs: Path) -> None:
        self.folder = logs
        self.logs: dict[str, int] = {}
        self.records: dict[str, int] = {}
        self._folders: dict[str, _Folder] = {}

    def look(self) -> None:
        """Update the names and times of files."""
        before, self._folders = self._folders, {}
        todo = [""]
        while todo:
            name = todo.pop()
            listed = _listed(self.folder / name, before.get(name))
            if listed is not None:
                self._folders[name] = listed
                todo += [f"{name}{below}/" for below in listed.below]
        self.logs, self.records = self._by_suffix(".log"), self._by_suffix(".json")
        for name in self.logs.keys() - self.records.keys():
            try:
                self.logs[name] = self.log(name).stat().st_mtime_ns
            except OSError:
                del self.logs[name]

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def record(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _by_suffix(self, suffix: str) -> dict[str, int]:
        return {
            f"{folder}{name.removesuffix(suffix)}": time
            for folder, listed in sorted(self._folders.items())
            for name, time in listed.times.items()
            if name.endswith(suffix) and folder  # Snakemake's own log is in no folder
        }


def _listed(path: Path, before: _Folder | None) -> _Folder | None:
    try:
        changed = os.stat(path).st_mtime_ns
        if before is not None and before.changed == changed and before.sure:
            return before
        listing = _Folder(changed)
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    listing.below.append(entry.name)
                elif entry.name.endswith((".json", ".log")) and not entry.name.startswith("."):
                    try:
                        listing.times[entry.name] = entry.stat().st_mtime_ns
                    except OSError:  # it was removed in the meantime
                        continue
    except OSError:
        return None
    listing.below.sort()
    listing.sure = before is not None and before.same_as(listing)
    return listing
