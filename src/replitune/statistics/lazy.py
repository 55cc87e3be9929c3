"""Systems of a store that is larger than the memory: those used last are kept, others are read
again when needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.statistics.systems import SystemStatistics

KEPT_BYTES = 1 << 30
"""Size of the statistics that a store keeps in memory; one file is always kept."""

Loader = Callable[[Path], Mapping[str, SystemStatistics]]


class StoredSystems(Mapping[str, SystemStatistics]):
    """{system: statistics} in the order of the names."""

    def __init__(self, load: Loader, kept_bytes: int | None = None) -> None:
        self._load = load
        self._kept_bytes = KEPT_BYTES if kept_bytes is None else kept_bytes
        self._places: dict[str, Path] = {}
        self._files: OrderedDict[Path, Mapping[str, SystemStatistics]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, path: Path, systems: Mapping[str, SystemStatistics]) -> None:
        """Add the systems of one more file."""
        for name in systems:
            if name in self._places:
                raise ReplituneError(
                    f"system {name} is in more than one file",
                    file=path,
                    expected="one file per system",
                    fix="remove one of the files",
                )
            self._places[name] = path
        self._places = dict(sorted(self._places.items()))
        self._keep(path, systems)

    def __getitem__(self, name: str) -> SystemStatistics:
        path = self._places[name]
        with self._lock:
            systems = self._files.get(path)
            if systems is None:
                systems = self._load(path)
                self._keep(path, systems)
            self._files.move_to_end(path)
            return systems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def _keep(self, path: Path, systems: Mapping[str, SystemStatistics]) -> None:
        self._files[path] = systems
        self._bytes += _size(systems)
        while self._bytes > self._kept_bytes and len(self._files) > 1:
            _, dropped = self._files.popitem(last=False)
            self._bytes -= _size(dropped)


class ChosenSystems(Mapping[str, SystemStatistics]):
    """Some systems of a mapping, in the order of `names`; read when needed."""

    def __init__(self, systems: Mapping[str, SystemStatistics], names: Sequence[str]) -> None:
        self._systems, self._names = systems, dict.fromkeys(names)

    def __getitem__(self, name: str) -> SystemStatistics:
        if name not in self._names:
            raise KeyError(name)
        return self._systems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _size(systems: Mapping[str, SystemStatistics]) -> int:
    return sum(system.statistics.nbytes for system in systems.values())
