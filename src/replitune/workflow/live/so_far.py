"""The verdict before all runs are finished. It is for watching, not for deciding when to stop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.replicas import Replica
from replitune.significance.looks.record import PairLook, Record, read_record

PEEKING = (
    "Not final: do not stop or add runs because of it. Testing at every look, without a rule, finds a "
    "difference at .05 in up to .17 of experiments that have none (docs/adaptive.md)."
)
BY_RULE = (
    "Not final. Looks follow the rule of until: settled: what is settled stays so, and what is open "
    "may still change (docs/adaptive.md)."
)
SHOWN = 6
"""How many pairs are shown; the others are only counted."""

Verdict = dict[str, Any]
"""`final`, `where`, `lines`, `more` (pairs), `words`."""
Key = tuple[tuple[str, int, int], ...]
"""The files with their times and sizes."""


class SoFar:
    """The lead test on the statistics so far. It is run in the background, once for each state of the
    files, as soon as they have not changed between two looks."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.verdict: Verdict | None = None
        self._made: Key = ()
        self._seen: Key = ()
        self._thread: threading.Thread | None = None

    def look(self, wait: bool = False) -> Verdict | None:
        """The latest verdict; with `wait`, the one on the files as they are now."""
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
        key = self._key()
        if self._thread is None and key != self._made and (wait or key == self._seen):
            self._made = key
            self._thread = threading.Thread(target=self._make, daemon=True)
            self._thread.start()
        self._seen = key
        if wait and self._thread is not None:
            self._thread.join()
        return self.verdict

    def _make(self) -> None:
        try:
            if self.experiment.looks is not None:
                self.verdict = self._looks_verdict()
            elif (cell := self._cell()) is not None:
                self.verdict = self._tests_verdict(*cell)
            else:
                self.verdict = None
        except (ReplituneError, OSError, ValueError):
            self.verdict = None  # files are changing: the next look tries again

    # ---- the files that it reads

    def _key(self) -> Key:
        if self.experiment.looks is not None:
            files = self._records()
        else:
            cell = self._cell()
            files = [] if cell is None else [path for paths in cell[1].values() for path in paths]
        key = []
        for path in files:
            try:
                status = path.stat()
            except OSError:
                continue
            key.append((str(path), status.st_mtime_ns, status.st_size))
        return tuple(key)

    def _records(self) -> list[Path]:
        paths: list[Path] = []
        while (path := Path(self.experiment.at.look(len(paths) + 1))).exists():
            paths.append(path)
        return paths

    def _cell(self) -> tuple[str, dict[str, list[Path]]] | None:
        """The first suite or test set with statistics of two systems that are compared, and the files
        by test set."""
        experiment, metric = self.experiment, self.experiment.metrics[0]
        for name in [*experiment.suites, *experiment.tests]:
            testsets = [*experiment.suites.get(name, (name,))]
            systems = [
                system
                for system in experiment.decoding(name)
                if all(Path(experiment.at.store(t, metric, system)).exists() for t in testsets)
            ]
            if self._pairs(systems):
                stores = {
                    t: [Path(experiment.at.store(t, metric, system)) for system in systems]
                    for t in testsets
                }
                return name, stores
        return None

    def _pairs(self, systems: Sequence[str]) -> tuple[tuple[str, str], ...]:
        return tuple((a, b) for a, b in self.experiment.pairs if {a, b} <= {*systems})

    # ---- the verdict

    def _looks_verdict(self) -> Verdict | None:
        files = self._records()
        if not files:
            return None
        record = read_record(files[-1])
        pairs = record.looks[-1].pairs
        return {
            "final": False,
            "where": f"{record.plan.testset}, {record.plan.metric}, look {len(record.looks)}",
            "lines": [
                *([record.drift] if record.drift else []),
                *(look_line(record, pair) for pair in pairs[:SHOWN]),
            ],
            "more": max(len(pairs) - SHOWN, 0),
            "words": BY_RULE,
        }

    def _tests_verdict(self, name: str, files: dict[str, list[Path]]) -> Verdict | None:
        from dataclasses import replace

        from replitune.corpus.prepare import corpus_warnings
        from replitune.statistics.store import read_systems

        experiment = self.experiment
        stores = [
            replace(
                store,
                systems={
                    system: in_order(
                        statistics,
                        experiment.replicas(system),
                        store.metadata[system].missing.get(system, {}) if system in store.metadata else {},
                    )
                    for system, statistics in store.systems.items()
                },
            )
            for store in map(read_systems, files.values())
        ]
        systems = [name for name in stores[0].systems if all(store.systems[name].n for store in stores)]
        if not self._pairs(systems):
            return None
        test: Any = experiment.stage("test", testset=name, metric=experiment.metrics[0])
        tests = experiment.settings.tests
        settings = msgspec.structs.replace(
            tests, methods=(tests.lead,), intervals=(), pairs=self._pairs(systems)
        )
        given = corpus_warnings(experiment.at.inputs)
        return said_of(test.result_of(stores, settings, systems), given, final=False)


def in_order(statistics: Any, replicas: Sequence[Replica], missing: Any) -> Any:
    """The statistics of the replicas of each kind that come before the first one still missing; those
    that could not be made are skipped, as in the tests."""
    have, stopped = {*statistics.replicas}, set[str]()
    kept = set[str]()
    for replica in replicas:
        if replica.id in have and replica.prefix not in stopped:
            kept.add(replica.id)
        elif replica.id not in missing:
            stopped.add(replica.prefix)
    return statistics.take([row for row, id in enumerate(statistics.replicas) if id in kept])


def said_of(cell: Any, given: Sequence[str], final: bool) -> Verdict:
    """The verdict of a result, `final` or not. `given`: warnings about the corpus."""
    from replitune.results.summary import summarise_answers

    pairs = [answer.sentence for answer in cell.answers] if len(cell.answers) > 1 else []
    return {
        "final": final,
        "where": f"{cell.testset}, {cell.name}",
        "lines": [*summarise_answers([cell], given=given).lines, *pairs[:SHOWN]],
        "more": max(len(pairs) - SHOWN, 0),
        "words": "" if final else PEEKING,
    }


def look_line(record: Record, pair: PairLook) -> str:
    """A line about one pair at the last look."""
    from replitune.results.numbers import p_equation, signed

    if pair.delta is None or pair.p_adjusted is None:
        return f"{pair.b} - {pair.a}: {pair.note or pair.decision}"
    p = p_equation(pair.p_adjusted)
    settled = record.settled_at(pair.a, pair.b) is not None
    state = "settled" if settled else pair.note or pair.decision
    return f"{pair.b} - {pair.a}: {signed(pair.delta, 2)}, {p}, {pair.n_a} + {pair.n_b} runs: {state}"
