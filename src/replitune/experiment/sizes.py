"""The sizes of an experiment's texts, from which the memory of its jobs is estimated before they run.
Files that do not exist yet count as empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from replitune.corpus.settings import DEV, TRAIN, SyntheticCorpus
from replitune.errors import ReplituneError

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment

T = TypeVar("T")

BYTES_OF_PAIR = 150
"""Bytes of a sentence pair of the synthetic corpus."""

DIFFERENT = 0.4
"""At most this share of the outputs of tuned replicas differ from each other."""


class Sizes:
    """The sizes of the texts of one experiment; each file is measured once."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self._known: dict[tuple[str, str], float] = {}

    def text_mb(self, part: str) -> float:
        """MB of text, all sides together, unpacked."""
        if isinstance(self.experiment.settings.corpus, SyntheticCorpus):
            return self.segments(part) * BYTES_OF_PAIR / 1e6
        return sum(self._once("bytes", _unpacked, path) for path in self._files(part)) / 1e6

    def segments(self, part: str) -> int:
        """The number of segments of the training text, dev, a test set, or all test sets of a suite."""
        if part in self.experiment.suites:
            return sum(map(self.segments, self.experiment.suites[part]))
        corpus = self.experiment.settings.corpus
        if isinstance(corpus, SyntheticCorpus):
            return {TRAIN: corpus.train, DEV: corpus.dev, **corpus.tests}.get(part) or 0
        if part == TRAIN:
            return self._most_lines(self.experiment.corpus_files(part))
        given = corpus.dev if part == DEV else corpus.tests[part]
        corpora = self.experiment.corpora
        parts = [] if given is None else [*given.described.values()]
        return sum(self._most_lines([corpora / name for name in one.files]) for one in parts)

    def cells(self, testset: str, systems: Iterable[str]) -> float:
        """Millions of outputs of these systems: replicas times segments."""
        replicas = sum(len(self.experiment.replicas(system)) for system in systems)
        return replicas * self.segments(testset) / 1e6

    def scored(self, testset: str, systems: Sequence[str], references: int = 5) -> float:
        """Millions of different outputs of these systems, and of references: those of one segment count
        as so many outputs."""
        outputs = sum(self._different(name, testset) * self.cells(testset, [name]) for name in systems)
        return outputs + references * self.segments(testset) / 1e6

    def tested(self, testset: str, systems: Iterable[str], most: int = 10) -> float:
        """Millions of outputs of the largest systems, as many as are in memory together when pairs are
        tested."""
        replicas = self.experiment.replicas
        return self.cells(testset, sorted(systems, key=lambda name: -len(replicas(name)))[:most])

    def _different(self, system: str, testset: str) -> float:
        """An upper bound of the share of different outputs of a system; for given files, an estimate from
        their first lines."""
        backend = self.experiment.backends[system]
        if backend.uses_our_tuners:
            return DIFFERENT
        if not backend.gives_texts:
            return 1.0
        files = [*self.experiment.outputs.get(system, {}).get(testset, {}).values()][:10]
        if not all(path.is_file() for path in files):
            return 1.0
        return self._once(f"different of {testset}", lambda _: _share(files), Path(system))

    def _most_lines(self, files: Iterable[Path]) -> int:
        return max((int(self._once("lines", _lines, path)) for path in files if path.is_file()), default=0)

    def _files(self, part: str) -> list[Path]:
        return [path for path in self.experiment.corpus_files(part) if path.is_file()]

    def _once(self, what: str, measure: Callable[[Path], float], path: Path) -> float:
        if (what, str(path)) not in self._known:
            self._known[what, str(path)] = measure(path)
        return self._known[what, str(path)]


def _unpacked(path: Path) -> float:
    """Bytes when unpacked; gzip writes them at the end of a file, up to 4 GB."""
    size = path.stat().st_size
    from replitune.running.files import open_regular

    with open_regular(path) as file:
        if file.read(2) != b"\x1f\x8b" or size < 18:
            return size
        file.seek(-4, 2)
        return max(size, int.from_bytes(file.read(4), "little"))


def _share(files: Sequence[Path]) -> float:
    """The share of different outputs among the first lines of these files."""
    from replitune.running.files import read_blocks

    try:
        segments = [*zip(*(next(read_blocks(path, 1 << 16)) for path in files), strict=False)]
    except ReplituneError:  # the job that reads these files reports it
        segments = []
    return sum(len({*each}) for each in segments) / max(len(segments) * len(files), 1) or 1.0


def _lines(path: Path) -> float:
    from replitune.running.files import read_lines

    try:
        return len(read_lines(path))
    except ReplituneError:  # the job that reads this file reports it
        return 0
