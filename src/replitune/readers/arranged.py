"""The rows of all tables by what they are scores of: one arrangement for tables of scores, systems of
scores, external metrics and test sets without texts; whatever does not fit is an error with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, did_you_mean, option
from replitune.readers.coding import Coded, coded, in_order, in_rows, together
from replitune.readers.columns import WORDS, plain
from replitune.readers.interface import FEW, ScoreRows, brief
from replitune.replicas import Design, Replica

RUNS = ("replica", "group", "sample")
"""Roles of columns that tell the outputs of a system apart."""
OPTIONAL = ("metric", "testset", "language", "document")

Rows = NDArray[np.intp] | slice
"""Some rows, as an index."""


@dataclass(frozen=True)
class Outputs:
    """Which output of its system each row is of."""

    ids: Coded
    """As replicas are called: run-001, sample-003, prompt002-001."""
    groups: tuple[str | None, ...]
    """Of each id."""
    design: Design
    given: tuple[str, ...]
    """Each id as the table has it."""


@dataclass(frozen=True)
class Grid:
    """The scores of some metrics for each (run, segment)."""

    runs: NDArray[np.int64]
    """(R, 2): system and output."""
    segments: NDArray[np.int64]
    """(S, 2): document and id."""
    values: dict[int, NDArray[np.float64]]
    """(R, S) by metric; NaN where there is no score."""
    warnings: tuple[str, ...] = ()


class Arranged:
    """The rows of all tables, one after the other.

    Runs and segments are in the order of their ids, systems and metrics in that of their first rows, so
    that the order of rows changes no number. `tuners`: their names, which runs may be named after.
    """

    def __init__(self, tables: Sequence[ScoreRows], tuners: Collection[str] = ()) -> None:
        self.tables, self.tuners = tables, tuners
        self.starts = np.cumsum([0, *(table.rows for table in tables)])
        for role in ("system", *RUNS, "segment", *OPTIONAL):
            self._require_in_all(role)
        names_by_text: dict[str, list[str]] = {}
        for table in tables:
            for text in table.read_as:
                names_by_text.setdefault(text, []).append(table.name)
        self.read_as = [f"{brief(names)}: {text}" for text, names in names_by_text.items()]
        self._systems = self._column("system")
        if self._systems is not None:
            self._require_names(self._systems)
        self.testsets = self._testsets()
        self.metrics = self._column("metric") or self._all(self._metric())
        self.by_run = "segment" not in tables[0].columns
        """Whether there is one score for each run, and no segments."""
        segment, self.documents = self._column("segment"), self._column("document")
        if segment is None:
            self.ids, self.documents = self._all("the run"), None
            self.where, self.segments = self.ids.codes, np.zeros((1, 2), np.int64)
        else:
            self.where, self.segments, self.ids, self.documents = in_order(segment, self.documents)
        self.outputs = self._outputs()

    # ---- columns

    def _require_in_all(self, role: str) -> None:
        """Refuse a column that some tables have and others do not."""
        without = [table for table in self.tables if not table.has(role)]
        if without and len(without) < len(self.tables):
            table = next(table for table in self.tables if table.has(role))
            raise ReplituneError(
                f"no column for the {role}",
                file=without[0].file,
                found=", ".join(without[0].called.values()),
                expected=f"as in {table.name}",
                fix=f"say which it is: {option('columns', {role: 'NAME'})}",
            )

    def _column(self, role: str) -> Coded | None:
        if not self.tables[0].has(role):
            return None
        return coded([table.column(role) for table in self.tables])

    def _all(self, name: str) -> Coded:
        """A column with one id."""
        return Coded(np.zeros(int(self.starts[-1]), np.int32), [name])

    def _metric(self) -> str:
        """The metric of a table that names none."""
        called = self.tables[0].called["score"]
        return "score" if plain(called) in ("score", "value", "metricscore") else called

    def _testsets(self) -> Coded | None:
        """The test sets, with their languages if there are such."""
        testset, language = self._column("testset"), self._column("language")
        if testset is None or language is None:
            return testset or language
        codes, pairs = together(testset, language)
        return Coded(codes, [f"{testset.names[t]}.{language.names[lang]}" for t, lang in pairs])

    @property
    def systems(self) -> Coded:
        """The systems, which a table for a test set alone need not have."""
        if self._systems is None:
            raise ReplituneError(
                "no column for the system",
                file=self.tables[0].file,
                found=", ".join(self.tables[0].called.values()),
                fix=f"say which it is: {option('columns', {'system': 'NAME'})}; or give the files of each "
                "system under its name",
            )
        return self._systems

    def _require_names(self, systems: Coded) -> None:
        """Refuse systems whose names cannot be told apart in print."""
        alike: dict[str, str] = {}
        for name in systems.names:
            if not name.strip() or not name.isprintable():
                raise ReplituneError(
                    "a system without a printable name", file=self.tables[0].file, found=repr(name)
                )
            other = alike.setdefault(" ".join(name.lower().split()), name)
            if other != name:
                raise ReplituneError(
                    "two systems whose names differ only in capitals or spaces",
                    file=self.tables[0].file,
                    found=f"{other!r} and {name!r}",
                    fix="rename one of them or, if they are the same system, spell both alike",
                )

    def _outputs(self) -> Outputs:
        """The outputs of a system: its runs, its samples, or samples of runs."""
        columns = {role: column.sorted() for role in RUNS if (column := self._column(role)) is not None}
        if "group" in columns and self._of_segments(columns["group"]):
            self.read_as.append(f"`{self._called('group')}` is the same in all rows of a segment: not used")
            del columns["group"]
        if "sample" in columns and columns["sample"].distinct == 1:
            del columns["sample"]
        if len(columns) == len(RUNS):
            columns_said = {"group": self._called("group"), "sample": self._called("replica")}
            raise ReplituneError(
                "samples of runs in groups: which of these are the runs?",
                file=self.tables[0].file,
                found=", ".join(self._called(role) for role in RUNS),
                expected="runs or groups, each perhaps with samples",
                fix="name two of them, and make the third one part of the system's name: "
                + option("columns", columns_said),
            )
        if not columns:
            self.read_as.append("no column for the run: one run of each system")
            return Outputs(self._all("run-001"), (None,), "runs", ("1",))
        if len(columns) == 1:
            ((role, column),) = columns.items()
            prefix = "sample" if role == "sample" else self._kind(role)
            ids = [f"{prefix}-{int(name):03d}" if name.isdecimal() else name for name in column.names]
            if role == "group":
                ids = [id if Replica(id).prefix == prefix else f"{prefix}-{id}" for id in ids]
            if role == "sample":
                runs = option("design", "runs")
                self.read_as.append(f"{self._called(role)}s are samples (if they are runs: {runs})")
            prefixes = [Replica(id).prefix for id in ids]
            groups = tuple(p if p in self.tuners else None for p in prefixes)
            design: Design = "samples" if role == "sample" else "runs"
            return Outputs(Coded(column.codes, ids), groups, design, tuple(column.names))
        outer, inner = columns
        codes, pairs = together(columns[outer], columns[inner])
        names = [self._run_of(outer, name) for name in columns[outer].names]
        numbers = [f"{int(n):03d}" if n.isdecimal() else n for n in columns[inner].names]
        ids = [f"{names[one]}-{numbers[other]}" for one, other in pairs.tolist()]
        strata = outer == "group" and {*names} <= {*self.tuners}
        if not strata:
            what, of = self._called(inner), self._called(outer)
            self.read_as.append(f"each {of} is a run, and the {what}s of a {of} are its samples")
        return Outputs(
            Coded(codes, ids),
            tuple(names[one] for one, _ in pairs.tolist()),
            "runs" if strata else "nested",
            tuple(ids),
        )

    def _of_segments(self, group: Coded) -> bool:
        """Whether groups are of segments, not of outputs: each segment of a test set is in one group."""
        if group.distinct == 1 or self.by_run:
            return False
        every = Coded(self.where, np.arange(len(self.segments)))
        if self.testsets is not None:
            codes, pairs = together(self.testsets, every)
            every = Coded(codes, np.arange(len(pairs)))
        return len(together(group, every)[1]) == every.distinct

    def _called(self, role: str) -> str:
        return self.tables[0].called.get(role, WORDS.get(role, role))

    def _kind(self, role: str) -> str:
        """What the runs in a column are called: prompt, seed, run."""
        called = plain(self._called(role))
        if role == "replica":
            return "seed" if called == "seed" else "run"
        return next((kind for kind in ("prompt", "seed") if kind in called), "group")

    def _run_of(self, role: str, name: str) -> str:
        """The name of a run that has samples: prompt002, prompt-short, seed001, p1."""
        kind = self._kind(role)
        if name.isdecimal():
            return f"{kind}{int(name):03d}"
        return name if kind in ("run", "group") or plain(name).startswith(kind) else f"{kind}-{name}"

    # ---- rows

    def testset(self, asked: str | None) -> tuple[str | None, Rows]:
        """The name of the chosen test set, and which rows are its own."""
        testsets = self.testsets
        if testsets is None:
            return None, slice(None)
        if asked is None and testsets.distinct > 1:
            raise ReplituneError(
                f"{testsets.distinct} test sets in one table",
                file=self.tables[0].file,
                found=brief(testsets.names),
                expected="exactly one test set",
                fix=f"choose one: {option('testset', testsets.names[0]) or f'FILE#{testsets.names[0]}'}",
            )
        name = testsets.names[0] if asked is None else asked
        if name not in testsets.names:
            raise ReplituneError(
                f"no test set is called {name!r}",
                file=self.tables[0].file,
                found=brief(testsets.names),
                fix=did_you_mean(name, testsets.names, "{!r}"),
            )
        if testsets.distinct == 1:
            return name, slice(None)
        return name, np.flatnonzero(testsets.codes == testsets.names.index(name))

    def metrics_of(self, rows: Rows) -> list[str]:
        """The metrics of these rows."""
        codes = self.metrics.codes[rows]
        here = range(self.metrics.distinct) if isinstance(rows, slice) else np.unique(codes).tolist()
        return [self.metrics.names[m] for m in here]

    def rows_of(self, metric: str, rows: Rows) -> Rows:
        """Those of the rows that are of a metric."""
        if self.metrics.distinct == 1:
            return rows
        own = self.metrics.codes[rows] == self.metrics.names.index(metric)
        return np.flatnonzero(own) if isinstance(rows, slice) else rows[own]

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """(rows,) NaN where there is none."""
        return in_rows([table.columns["score"] for table in self.tables])

    def cells(self, metric: str) -> Iterator[tuple[tuple[int, int], NDArray[np.intp]]]:
        """The system and the output of each run, and its rows, each of another segment."""
        rows = np.arange(int(self.starts[-1]))[self.rows_of(metric, slice(None))]
        run, runs = together(self.systems, self.outputs.ids)
        cell = run[rows].astype(np.int64) * len(self.segments) + self.where[rows]
        if len(np.unique(cell)) < len(cell):
            self._refuse_duplicates(cell, rows)
        order = rows[np.argsort(run[rows], kind="stable")]
        ends = np.searchsorted(run[order], np.arange(len(runs) + 1))
        for r, (system, output) in enumerate(runs.tolist()):
            if ends[r] < ends[r + 1]:
                yield (system, output), order[ends[r] : ends[r + 1]]

    def grid(self, metrics: Sequence[str], rows: Rows, *, allow_missing: bool = False) -> Grid:
        """The scores of the chosen metrics. A score that some run lacks is an error; with `allow_missing`,
        its segment is left out."""
        scores = self.scores
        run, runs = together(self.systems, self.outputs.ids)
        of_metric = {self.metrics.names.index(name): self.rows_of(name, rows) for name in metrics}
        present, used = np.zeros(len(self.segments), bool), np.zeros(len(runs), bool)
        for own in of_metric.values():
            present[self.where[own]] = True
            used[run[own]] = True
        place, line = np.cumsum(present) - 1, np.cumsum(used) - 1
        shape = (np.count_nonzero(used), np.count_nonzero(present))
        values, there = {}, {}
        for m, own in of_metric.items():
            cell = line[run[own]] * shape[1] + place[self.where[own]]
            seen = np.zeros(shape[0] * shape[1], bool)
            seen[cell] = True
            if np.count_nonzero(seen) < len(cell):
                self._refuse_duplicates(cell, own)
            filled = np.full(shape[0] * shape[1], np.nan)
            filled[cell] = scores[own]
            values[m], there[m] = filled.reshape(shape), seen.reshape(shape)
        grid = Grid(runs[used], self.segments[present], values)
        if not any(np.isnan(table).any() for table in values.values()):
            return grid
        return self._complete(grid, there, of_metric, scores, allow_missing)

    # ---- what is wrong

    def _place(self, row: int) -> tuple[ScoreRows, int]:
        """The table that has this row, counted over all tables, and its line there."""
        t = int(np.searchsorted(self.starts, row, side="right")) - 1
        (number,) = self.tables[t].line([int(row - self.starts[t])])
        return self.tables[t], number

    def _lines(self, rows: Iterable[int]) -> list[str]:
        """The places of rows, in words."""
        places: list[str] = []
        for table, number in map(self._place, rows):
            word = "line" if table.is_file else "row"
            inside = f"{table.name}, " if len(self.tables) > 1 else ""
            places.append(f"{inside}{word} {number}")
        return places

    def at(self, row: int | None) -> dict[str, Any]:
        """The file and the line of an error, as its arguments."""
        if row is None or not self.tables[0].is_file:
            return {"file": self.tables[0].file}
        table, number = self._place(row)
        return {"file": table.name, "line": number}

    def _segment(self, pair: NDArray[np.int64]) -> str:
        if self.by_run:
            return ""
        inside = "" if self.documents is None else f"document {self.documents.names[pair[0]]}, "
        return f", {inside}segment {self.ids.names[pair[1]]}"

    def _run(self, pair: NDArray[np.int64]) -> str:
        return f"{self.systems.names[pair[0]]} {self.outputs.ids.names[pair[1]]}"

    def _refuse_duplicates(self, cell: NDArray[np.int64], rows: Rows) -> None:
        """Refuse several scores of one segment of one run."""
        order = np.argsort(cell, kind="stable")
        again = np.flatnonzero(cell[order][1:] == cell[order][:-1])
        number = np.arange(int(self.starts[-1]))[rows]
        pairs = sorted((int(number[order[i + 1]]), int(number[order[i]])) for i in again[: 10**6])
        run, runs = together(self.systems, self.outputs.ids)
        examples = []
        for later, earlier in pairs[:FEW]:
            one, other = self._lines([later, earlier])
            what = self._run(runs[run[later]]) + self._segment(self.segments[self.where[later]])
            examples.append(f"{what} ({one}, as on {other})")
        apart = option("columns", {"replica": "NAME", "testset": "NAME"})
        raise ReplituneError(
            "several scores of one run, and no column says of which segment"
            if self.by_run
            else "a segment of a run occurs twice",
            **self.at(pairs[0][0]),
            found=brief(examples, len(again)),
            expected="one row for each (system, run, segment)"
            + ("" if len(self.metrics.names) == 1 else " and metric"),
            fix=f"say what the column of the segment is called: {option('columns', {'segment': 'NAME'})}"
            if self.by_run
            else f"if these are several runs or test sets, say which column tells them apart: {apart}",
        )

    def _complete(
        self,
        grid: Grid,
        there: dict[int, NDArray[np.bool_]],
        of_metric: dict[int, Rows],
        scores: NDArray[np.float64],
        allow_missing: bool,
    ) -> Grid:
        """The grid without segments that some run has no score of, under any metric; or an error."""
        absent = {m: np.isnan(table) for m, table in grid.values.items()}
        missing = sum(int(np.count_nonzero(gaps)) for gaps in absent.values())
        keep = ~np.any([gaps.any(axis=0) for gaps in absent.values()], axis=0)
        empty: list[int] = np.concatenate(
            [np.arange(len(scores))[rows][np.isnan(scores[rows])] for rows in of_metric.values()]
        ).tolist()
        examples = []
        for m, gaps in absent.items():
            suffix = f" of {self.metrics.names[m]}" if len(absent) > 1 else ""
            examples += [
                self._run(grid.runs[r]) + self._segment(grid.segments[n]) + suffix
                for r, n in np.argwhere(gaps & ~there[m])[:FEW]
            ]
        not_there = missing - len(empty)
        parts = []
        if len(empty):
            parts.append(f"{len(empty):,} without a number ({brief(self._lines(empty[:FEW]), len(empty))})")
        if not_there:
            parts.append(f"{not_there:,} not there ({brief(examples, not_there)})")
        whole = sum(gaps.size for gaps in absent.values())
        text = f"{missing:,} of {whole:,} scores: {'; '.join(parts)}"
        if allow_missing and keep.any() and not self.by_run:
            told = (
                f"{np.count_nonzero(~keep):,} of {len(keep):,} segments left out, because some run "
                f"has no score of them; missing are {text}"
            )
            kept = {m: table[:, keep] for m, table in grid.values.items()}
            return Grid(grid.runs, grid.segments[keep], kept, (told,))
        leave_out = option("allow_missing", True)
        leave_out = f", or leave incomplete segments out of all: {leave_out}" if leave_out else ""
        raise ReplituneError(
            "scores are missing" if keep.any() else "no segment has a score from every run",
            **self.at(int(empty[0]) if len(empty) else None),
            found=text + self._difference(there, grid.runs),
            expected="a score of every segment from every run of every system",
            fix="complete the table" + (leave_out if keep.any() else ""),
        )

    def segment_names(self, segments: NDArray[np.int64]) -> list[str]:
        """The id of each segment, after its document if there are documents."""
        lines = [self.ids.names[n] for n in segments[:, 1].tolist()]
        if self.documents is None:
            return lines
        inside = (self.documents.names[d] for d in segments[:, 0].tolist())
        return [f"{document}\t{line}" for document, line in zip(inside, lines, strict=True)]

    def runs_of_systems(self, runs: NDArray[np.int64]) -> dict[str, NDArray[np.intp]]:
        """The positions of the runs of each system."""
        return {self.systems.names[s]: np.flatnonzero(runs[:, 0] == s) for s in np.unique(runs[:, 0])}

    def _difference(self, there: dict[int, NDArray[np.bool_]], runs: NDArray[np.int64]) -> str:
        """How two systems differ in their segments, in words; empty if no two do."""
        seen = np.any(list(there.values()), axis=0)
        by_system = {name: seen[own].any(axis=0) for name, own in self.runs_of_systems(runs).items()}
        (first, known), *others = by_system.items()
        for name, segments in others:
            only = (int(np.count_nonzero(known & ~segments)), int(np.count_nonzero(segments & ~known)))
            if any(only):
                return (
                    f". The segments of {first} and {name} differ: "
                    f"{np.count_nonzero(known & segments):,} in both, {only[0]:,} in {first} only, "
                    f"{only[1]:,} in {name} only"
                )
        return ""
