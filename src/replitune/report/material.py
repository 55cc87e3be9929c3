"""Everything that a report is made from, whether of an experiment on disk or of `compare`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replitune.meta.rows import MetaRow
from replitune.notes import Note, note
from replitune.report.groups import GroupScores
from replitune.report.segment_browser import Segments
from replitune.report.why import Why
from replitune.results.result import Result
from replitune.results.summary import Provenance, Summary, summarise_answers
from replitune.results.wording import count
from replitune.significance.looks.record import Record
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import PowerRow
from replitune.significance.studies.replication import ReplicationRow, Threshold, threshold
from replitune.streams import stream

Histories = Mapping[str, Mapping[str, NDArray[np.float64]]]
"""Dev score per iteration (iterations,), by system and replica."""


@dataclass(frozen=True)
class Material:
    """Settings, results of the tests and studies, and texts; empty where there are none."""

    experiment: str
    seed: int
    alpha: float
    family: str
    """Which p-values were corrected together, if they were."""
    samples: int
    cells: Sequence[Result]
    """One for each (test set, metric)."""
    baseline: str | None = None
    methods: Mapping[str, str] = field(default_factory=dict)
    """The test behind each label."""
    segments: Sequence[Segments] = ()
    explain: Callable[[], Sequence[Why]] = tuple
    """Computes `why`, which takes a while."""
    histories: Histories = field(default_factory=dict)
    corpus: Sequence[str] = ()
    """Warnings about the texts."""
    unrepeatable: Sequence[str] = ()
    """Replicas that would differ if they were made again."""
    answers: Sequence[str] = ()
    """What is wrong with the answers of servers."""
    power: Sequence[tuple[Result, list[PowerRow]]] = ()
    replication: Sequence[tuple[Result, list[ReplicationRow]]] = ()
    calibrate: Sequence[tuple[Result, list[CalibrationRow]]] = ()
    looks: Record | None = None
    """The looks of an experiment that decides how many replicas it needs."""
    meta: Mapping[str, list[MetaRow]] = field(default_factory=dict)
    """Rows by test set."""
    people: Sequence[str] = ()
    """Metrics that are judgements of people."""
    provenance: Provenance | None = None
    said: Summary | None = None
    """The summary, if the results come with one; otherwise it is made here."""

    @cached_property
    def summary(self) -> Summary:
        return self.said or summarise_answers(
            self.cells,
            self.provenance,
            baseline=self.baseline,
            people=self.people,
            given=[*self.corpus, *self.answers],
            remarks=[*self._remarks()],
        )

    def _remarks(self) -> Iterator[Note]:
        for replica in self.unrepeatable:
            yield note("unrepeatable", replica=replica)
        if self.looks is not None:
            plan, again = self.looks.plan, sum(one.looks for one in self.looks.abandoned)
            yield note("looks", metric=plan.metric, testset=plan.testset)
            for system, sizes in plan.sizes.items():
                if len(sizes) == 1:
                    most = count(sum(plan.most[system].values()), "run")
                    yield note("no-more-runs", systems=[system], most=most)
            if self.looks.abandoned:
                yield note("looked-before", looks=count(again, "look"))

    @property
    def kind(self) -> str:
        """What one output of a system is: run, prompt, sample."""
        return self.cells[0].kind if self.cells else "run"

    @property
    def sentences(self) -> str:
        """The sentence of each test set."""
        return " ".join(self.summary.lines[: len(self.summary.headlines)])

    @cached_property
    def names(self) -> dict[str, str]:
        """How metrics are printed, by id."""
        return {cell.metric: cell.name for cell in self.cells}

    @cached_property
    def why(self) -> Sequence[Why]:
        """One for each test set of which there are segments."""
        return self.explain()

    @cached_property
    def documents(self) -> list[tuple[Result, GroupScores]]:
        """Scores of documents and parts, by the first metric of each test set."""
        rows = []
        for one in self.why:
            cell = next(cell for cell in self.cells if cell.testset == one.testset)
            rows += [
                (cell, group)
                for metric, group in one.groups
                if metric == cell.metric and group.kind in ("document", "part")
            ]
        return rows

    @cached_property
    def thresholds(self) -> list[tuple[Result, list[Threshold]]]:
        """The differences that are enough, for each cell."""
        return [(cell, thresholds(cell, self.alpha, self.seed)) for cell in self.cells]


def thresholds(cell: Result, alpha: float, seed: int) -> list[Threshold]:
    """Fu et al. (2016), Fig. 5: where a decreasing fit of p on the difference falls to alpha."""
    fits = []
    for method in cell.methods:
        results = [r for r in cell.tests if r.method == method and r.p is not None]
        if len(results) < 2:
            continue
        fits.append(
            threshold(
                np.array([result.delta for result in results]),
                np.array([result.p for result in results], dtype=np.float64),
                method=method,
                n=min(min(result.n_a, result.n_b) for result in results),
                alpha=alpha,
                rng=stream(seed, "report", cell.testset, "threshold", method),
            )
        )
    return fits
