"""Rows of scores as the segment statistics of one test set; everything that does not fit is reported.

Given scores become a metric that is a mean of segment scores (`metrics.base.MeanMetric`): each score
is a statistic, with a count of 1. If there is only one score per run, the test set has one segment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.errors import ReplituneError, did_you_mean
from replitune.metrics.base import MeanMetric
from replitune.readers.coding import Coded, coded, in_order, in_rows, together
from replitune.readers.columns import WORDS, plain
from replitune.readers.directions import higher_is_better
from replitune.readers.interface import FEW, ScoreRows, brief
from replitune.registry import Entry
from replitune.replicas import Design, Replica
from replitune.running.files import sha256_lines
from replitune.statistics.segments import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics

RUNS = ("replica", "group", "sample")
"""Roles of columns that tell the outputs of a system apart."""
OPTIONAL = ("metric", "testset", "language", "document")


@dataclass(frozen=True)
class Given:
    """One test set under each metric."""

    testset: str | None
    """Its name, if the table has one."""
    stores: list[SegmentStatistics]
    segments: list[str]
    """Their ids, in order."""
    read_as: tuple[str, ...]
    warnings: tuple[str, ...]
    undirected: tuple[str, ...] = ()
    """Metrics for which nothing says whether higher or lower is better; higher is assumed."""

    design: Design = "runs"
    """What the table's columns say that replicas are."""

    @property
    def run_level(self) -> bool:
        """Whether there is one score for each run, and no segments."""
        return self.stores[0].segments == 1


def arrange(
    tables: Sequence[ScoreRows],
    *,
    metrics: Sequence[str] | None = None,
    testset: str | None = None,
    directions: Mapping[str, bool] | bool | None = None,
    allow_missing: bool = False,
    tuners: Collection[str] = (),
) -> Given:
    """The statistics of the chosen test set and metrics. `tuners`: their names, which runs may be
    named after. `directions`: whether higher is better, for all metrics or for some; for the others
    it is guessed from their names.

    Systems and metrics are in the order of their first rows, runs and segments in that of their
    ids, so that the order of rows changes no number.
    """
    return _Arranged(tables, metrics, testset, directions, allow_missing, tuners).given()


@dataclass(frozen=True)
class _Outputs:
    """Which output of its system each row is of."""

    ids: Coded
    groups: tuple[str | None, ...]
    """Of each id."""
    design: Design


class _Arranged:
    """The rows of all tables, one after the other."""

    def __init__(
        self,
        tables: Sequence[ScoreRows],
        metrics: Sequence[str] | None,
        testset: str | None,
        directions: Mapping[str, bool] | bool | None,
        allow_missing: bool,
        tuners: Collection[str],
    ) -> None:
        self.tables = tables
        names_by_text: dict[str, list[str]] = {}
        for table in tables:
            for text in table.read_as:
                names_by_text.setdefault(text, []).append(table.name)
        self.read_as = [f"{brief(names)}: {text}" for text, names in names_by_text.items()]
        self.warnings: list[str] = []
        self.wanted, self.asked, self.directions = metrics, testset, directions
        self.undirected: list[str] = []
        self.allow_missing, self.tuners = allow_missing, tuners
        self.starts = np.cumsum([0, *(table.rows for table in tables)])
        for role in ("system", *RUNS, "segment", *OPTIONAL):
            self._require_in_all(role)

    # ---- columns

    def _require_in_all(self, role: str) -> None:
        """Refuse a column that some tables have and others do not."""
        without = [table for table in self.tables if not table.has(role)]
        if without and len(without) < len(self.tables):
            table = next(table for table in self.tables if table.has(role))
            raise ReplituneError(
                f"no column for the {role}",
                file=_file(without[0]),
                found=", ".join(without[0].called.values()),
                expected=f"as in {table.name}",
                fix=f"say which it is: --columns {role}=NAME",
            )

    def _column(self, role: str) -> Coded | None:
        if not self.tables[0].has(role):
            return None
        return coded([table.column(role) for table in self.tables])

    @cached_property
    def systems(self) -> Coded:
        systems = self._column("system")
        if systems is None:
            raise ReplituneError(
                "no column for the system",
                file=_file(self.tables[0]),
                found=", ".join(self.tables[0].called.values()),
                fix="say which it is, --columns system=NAME, or of each file, --scores NAME=FILE",
            )
        for name in systems.names:
            if not name.strip() or not name.isprintable():
                raise ReplituneError(
                    "a system without a printable name", file=_file(self.tables[0]), found=repr(name)
                )
        alike: dict[str, str] = {}
        for name in systems.names:
            other = alike.setdefault(" ".join(name.lower().split()), name)
            if other != name:
                raise ReplituneError(
                    "two systems whose names differ only in capitals or spaces",
                    file=_file(self.tables[0]),
                    found=f"{other!r} and {name!r}",
                    fix="rename one of them or, if they are the same system, spell both alike",
                )
        return systems

    @cached_property
    def outputs(self) -> _Outputs:
        """The outputs of a system: its runs, its samples, or samples of runs."""
        columns = {role: column.sorted() for role in RUNS if (column := self._column(role)) is not None}
        if "group" in columns and self._of_segments(columns["group"]):
            self.read_as.append(f"`{self._called('group')}` is the same in all rows of a segment: not used")
            del columns["group"]
        if "sample" in columns and columns["sample"].distinct == 1:
            del columns["sample"]
        if len(columns) == len(RUNS):
            names = ", ".join(self._called(role) for role in RUNS)
            raise ReplituneError(
                "samples of runs in groups: which of these are the runs?",
                file=_file(self.tables[0]),
                found=names,
                expected="runs or groups, each perhaps with samples",
                fix="name two of them, and make the third one part of the system's name: "
                f"--columns group={self._called('group')} sample={self._called('replica')}",
            )
        if not columns:
            self.read_as.append("no column for the run: one run of each system")
            rows = int(self.starts[-1])
            return _Outputs(Coded(np.zeros(rows, np.int32), ["run-001"]), (None,), "runs")
        if len(columns) == 1:
            ((role, column),) = columns.items()
            prefix = "sample" if role == "sample" else self._kind(role)
            ids = [_replica(name, prefix) for name in column.names]
            if role == "group":
                ids = [id if Replica(id).prefix == prefix else f"{prefix}-{id}" for id in ids]
            if role == "sample":
                self.read_as.append(f"{self._called(role)}s are samples (runs: --design runs)")
            prefixes = [Replica(id).prefix for id in ids]
            groups = tuple(p if p in self.tuners else None for p in prefixes)
            return _Outputs(Coded(column.codes, ids), groups, "samples" if role == "sample" else "runs")
        outer, inner = columns
        codes, pairs = together(columns[outer], columns[inner])
        runs = [self._run_of(outer, name) for name in columns[outer].names]
        numbers = [f"{int(n):03d}" if n.isdecimal() else n for n in columns[inner].names]
        ids = [f"{runs[one]}-{numbers[other]}" for one, other in pairs.tolist()]
        groups = tuple(runs[one] for one, _ in pairs.tolist())
        strata = outer == "group" and {*runs} <= {*self.tuners}
        if not strata:
            what, of = self._called(inner), self._called(outer)
            self.read_as.append(f"each {of} is a run, and the {what}s of a {of} are its samples")
        return _Outputs(Coded(codes, ids), groups, "runs" if strata else "nested")

    def _of_segments(self, group: Coded) -> bool:
        """Whether groups are of segments, not of outputs: each segment of a test set is in one group."""
        if group.distinct == 1 or not self.tables[0].has("segment"):
            return False
        where, segments, *_ = self.segments
        every = Coded(where, np.arange(len(segments)))
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
        return (
            name if kind in (*WORDS.values(), "group") or plain(name).startswith(kind) else f"{kind}-{name}"
        )

    @cached_property
    def segments(self) -> tuple[NDArray[np.int32], NDArray[np.int64], Coded, Coded | None]:
        """The segment number of each row; the numbers of each segment's document and id; and the ids
        and documents by these numbers."""
        segment, document = self._column("segment"), self._column("document")
        if segment is None:
            rows = int(self.starts[-1])
            one = Coded(np.zeros(rows, np.int32), ["the run"])
            return one.codes, np.zeros((1, 2), np.int64), one, None
        return in_order(segment, document)

    @cached_property
    def testsets(self) -> Coded | None:
        """The test sets, with their languages if there are such."""
        testset, language = self._column("testset"), self._column("language")
        if testset is None or language is None:
            return testset or language
        codes, pairs = together(testset, language)
        names = [f"{testset.names[t]}.{language.names[lang]}" for t, lang in pairs]
        return Coded(codes, names)

    @cached_property
    def metrics(self) -> Coded:
        metrics = self._column("metric")
        if metrics is not None:
            return metrics
        called = self.tables[0].called["score"]
        name = "score" if plain(called) in ("score", "value", "metricscore") else called
        return Coded(np.zeros(int(self.starts[-1]), np.int32), [name])

    # ---- rows

    def given(self) -> Given:
        name, kept = self._testset()
        chosen = self._metrics(kept)
        scores = in_rows([table.columns["score"] for table in self.tables])
        run, runs = together(self.systems, self.outputs.ids)
        where, segments, *_ = self.segments
        values: dict[int, NDArray[np.float64]] = {}
        there: dict[int, NDArray[np.bool_]] = {}
        present, used = np.zeros(len(segments), bool), np.zeros(len(runs), bool)
        of_rows = [(m, self._rows_of(m, kept)) for m in chosen]
        for _, rows in of_rows:
            present[where[rows]] = True
            used[run[rows]] = True
        place, line = np.cumsum(present) - 1, np.cumsum(used) - 1
        segments, runs = segments[present], runs[used]
        shape = (len(runs), len(segments))
        for m, rows in of_rows:
            cell = line[run[rows]] * shape[1] + place[where[rows]]
            seen = np.zeros(shape[0] * shape[1], bool)
            seen[cell] = True
            if np.count_nonzero(seen) < len(cell):
                self._refuse_duplicates(cell, rows, run)
            grid = np.full(shape[0] * shape[1], np.nan)
            grid[cell] = scores[rows]
            values[m], there[m] = grid.reshape(shape), seen.reshape(shape)
        keep = self._complete(values, there, runs, segments, of_rows, scores)
        if keep is not None:
            segments = segments[keep]
            values = {m: table[:, keep] for m, table in values.items()}
        return self._stores(name, values, runs, segments)

    def _testset(self) -> tuple[str | None, NDArray[np.bool_] | None]:
        """The name of the chosen test set, and which rows are its own; None for all rows."""
        testsets = self.testsets
        if testsets is None:
            return None, None
        if self.asked is None and testsets.distinct > 1:
            raise ReplituneError(
                f"{testsets.distinct} test sets in one table",
                file=_file(self.tables[0]),
                found=brief(testsets.names),
                expected="exactly one test set",
                fix="choose one with --testset",
            )
        name = testsets.names[0] if self.asked is None else self.asked
        if name not in testsets.names:
            raise ReplituneError(
                f"no test set is called {name!r}",
                file=_file(self.tables[0]),
                found=brief(testsets.names),
                fix=did_you_mean(name, testsets.names, "{!r}"),
            )
        if testsets.distinct == 1:
            return name, None
        return name, testsets.codes == testsets.names.index(name)

    def _metrics(self, kept: NDArray[np.bool_] | None) -> list[int]:
        metrics = self.metrics
        here = range(metrics.distinct) if kept is None else np.unique(metrics.codes[kept]).tolist()
        names = [metrics.names[m] for m in here]
        every = [self.wanted or (), self.directions if isinstance(self.directions, Mapping) else ()]
        for name in (name for names_of in every for name in names_of):
            if name not in names:
                raise ReplituneError(
                    f"no metric is called {name!r} in this table",
                    file=_file(self.tables[0]),
                    found=", ".join(names),
                    fix=did_you_mean(name, names, "{!r}"),
                )
        if self.wanted:
            names = list(dict.fromkeys(self.wanted))
        return [metrics.names.index(name) for name in names]

    def _higher_is_better(self, metric: str, greatest: float) -> bool:
        """As given, or else guessed from the metric's name; `greatest`: its largest value."""
        if isinstance(self.directions, bool):
            return self.directions
        if self.directions and metric in self.directions:
            return self.directions[metric]
        guessed = higher_is_better(metric, greatest)
        if guessed is None:
            self.undirected.append(metric)
        elif not guessed:
            self.read_as.append(f"{metric}: lower is better, by its name (--higher-is-better {metric})")
        return guessed is not False

    def _one_scale(self, metric: str, own: Mapping[str, NDArray[np.float64]]) -> None:
        """Refuse systems with scores from 0 to 1 beside others with scores from 0 to 100."""
        ones = [name for name, values in own.items() if values.min() >= 0 and 0 < values.max() <= 1]
        hundreds = [name for name, values in own.items() if values.min() >= 0 and 1 < values.max() <= 100]
        least = min((own[name].mean() for name in hundreds), default=0.0)
        if ones and hundreds and least > 20 * max(own[name].mean() for name in ones):
            raise ReplituneError(
                f"systems on different scales of {metric}",
                file=_file(self.tables[0]),
                found=f"{brief(ones)} from 0 to 1, {brief(hundreds)} from 0 to 100",
                fix="bring all scores to one scale",
            )

    def _rows_of(self, metric: int, kept: NDArray[np.bool_] | None) -> Any:
        """The rows of a metric on the chosen test set: an index."""
        if self.metrics.distinct == 1:
            return slice(None) if kept is None else np.flatnonzero(kept)
        own = self.metrics.codes == metric
        return np.flatnonzero(own if kept is None else own & kept)

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

    def _at(self, row: int | None) -> dict[str, Any]:
        """The file and the line of an error, as its arguments."""
        if row is None or not self.tables[0].is_file:
            return {"file": _file(self.tables[0])}
        table, number = self._place(row)
        return {"file": table.name, "line": number}

    def _segment(self, pair: NDArray[np.int64]) -> str:
        if "segment" not in self.tables[0].columns:
            return ""
        _, _, ids, documents = self.segments
        inside = "" if documents is None else f"document {documents.names[pair[0]]}, "
        return f", {inside}segment {ids.names[pair[1]]}"

    def _run(self, pair: NDArray[np.int64]) -> str:
        return f"{self.systems.names[pair[0]]} {self.outputs.ids.names[pair[1]]}"

    def _refuse_duplicates(self, cell: NDArray[np.int64], rows: Any, run: NDArray[np.int32]) -> None:
        """Refuse several scores of one segment of one run."""
        order = np.argsort(cell, kind="stable")
        again = np.flatnonzero(cell[order][1:] == cell[order][:-1])
        number = np.arange(int(self.starts[-1]))[rows]
        pairs = sorted((int(number[order[i + 1]]), int(number[order[i]])) for i in again[: 10**6])
        _, runs = together(self.systems, self.outputs.ids)
        where, segments, *_ = self.segments
        examples = []
        for later, earlier in pairs[:FEW]:
            one, other = self._lines([later, earlier])
            what = self._run(runs[run[later]]) + self._segment(segments[where[later]])
            examples.append(f"{what} ({one}, as on {other})")
        by_run = "segment" not in self.tables[0].columns
        raise ReplituneError(
            "several scores of one run, and no column says of which segment"
            if by_run
            else "a segment of a run occurs twice",
            **self._at(pairs[0][0]),
            found=brief(examples, len(again)),
            expected="one row for each (system, run, segment)"
            + ("" if len(self.metrics.names) == 1 else " and metric"),
            fix="say what the column of the segment is called: --columns segment=NAME"
            if by_run
            else "if these are several runs or test sets, say which column tells them apart: "
            "--columns replica=NAME testset=NAME",
        )

    def _complete(
        self,
        values: dict[int, NDArray[np.float64]],
        there: dict[int, NDArray[np.bool_]],
        runs: NDArray[np.int64],
        segments: NDArray[np.int64],
        of_rows: Sequence[tuple[int, Any]],
        scores: NDArray[np.float64],
    ) -> NDArray[np.bool_] | None:
        """(N,) which segments every run has a score of, under every metric; None for all."""
        absent = {m: np.isnan(table) for m, table in values.items()}
        missing = sum(int(np.count_nonzero(gaps)) for gaps in absent.values())
        if not missing:
            return None
        keep = ~np.any([gaps.any(axis=0) for gaps in absent.values()], axis=0)
        empty: list[int] = np.concatenate(
            [np.arange(len(scores))[rows][np.isnan(scores[rows])] for _, rows in of_rows]
        ).tolist()
        examples = []
        for m, gaps in absent.items():
            suffix = f" of {self.metrics.names[m]}" if len(values) > 1 else ""
            examples += [
                self._run(runs[r]) + self._segment(segments[n]) + suffix
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
        if self.allow_missing and keep.any() and "segment" in self.tables[0].columns:
            self.warnings.append(
                f"{np.count_nonzero(~keep):,} of {len(keep):,} segments left out, because some run "
                f"has no score of them; missing are {text}"
            )
            return keep
        raise ReplituneError(
            "scores are missing" if keep.any() else "no segment has a score from every run",
            **self._at(int(empty[0]) if len(empty) else None),
            found=text + self._difference(there, runs),
            expected="a score of every segment from every run of every system",
            fix="complete the table"
            + (", or leave incomplete segments out of all: --allow-missing" if keep.any() else ""),
        )

    def _difference(self, there: dict[int, NDArray[np.bool_]], runs: NDArray[np.int64]) -> str:
        """How two systems differ in their segments, in words; empty if no two do."""
        seen = np.any(list(there.values()), axis=0)
        by_system = {name: seen[own].any(axis=0) for name, own in self._runs_of_systems(runs).items()}
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

    # ---- the result

    def _runs_of_systems(self, runs: NDArray[np.int64]) -> dict[str, NDArray[np.intp]]:
        """The positions of the runs of each system."""
        return {self.systems.names[s]: np.flatnonzero(runs[:, 0] == s) for s in np.unique(runs[:, 0])}

    def _stores(
        self,
        testset: str | None,
        values: dict[int, NDArray[np.float64]],
        runs: NDArray[np.int64],
        segments: NDArray[np.int64],
    ) -> Given:
        _, _, ids, documents = self.segments
        names = None
        numbers = np.arange(len(segments), dtype=np.int32)
        if documents is not None:  # the segments of each follow each other
            starts = np.r_[True, segments[1:, 0] != segments[:-1, 0]]
            names = tuple(documents.names[d] for d in segments[starts, 0])
            numbers = np.cumsum(starts, dtype=np.int32) - 1
        # so that statistics of other segments are not mistaken for these
        lines = _lines_of_ids(segments, ids, documents)
        ids_sha256 = sha256_lines(lines)
        runs_of = self._runs_of_systems(runs)
        stores = []
        for m, table in values.items():
            of_system = {name: table[own] for name, own in runs_of.items()}
            self._one_scale(self.metrics.names[m], of_system)
            higher = self._higher_is_better(self.metrics.names[m], float(table.max(initial=0.0)))
            metric = MeanMetric(self.metrics.names[m], higher)
            digest = hashlib.sha256()
            for name in sorted(of_system):
                digest.update(of_system[name].tobytes())
            scores = f"scores:{digest.hexdigest()[:16]}"
            signature = f"{metric.signature()}|{scores}|version:{__version__}"
            systems = {}
            for name, own in of_system.items():
                replicas = tuple(self.outputs.ids.names[r] for r in runs[runs_of[name], 1])
                statistics = np.ones((*own.shape, 2))
                statistics[..., 0] = own
                groups = tuple(self.outputs.groups[r] for r in runs[runs_of[name], 1])
                systems[name] = SystemStatistics(name, replicas, groups, statistics)
            options = {} if higher else {"higher_is_better": False}
            metadata = StoreMetadata(
                metric=Entry("mean", options, metric.id).word,
                id=metric.id,
                signature=signature,
                direction=1 if higher else -1,
                testset=testset or "",
                reference_sha256=ids_sha256,
                decode_sha256={},
            )
            stores.append(
                SegmentStatistics(
                    testset or "",
                    metric,
                    signature,
                    systems,
                    numbers,
                    names,
                    dict.fromkeys(systems, metadata),
                )
            )
        return Given(
            testset,
            stores,
            lines,
            tuple(self.read_as),
            tuple(self.warnings),
            tuple(self.undirected),
            self.outputs.design,
        )


def _lines_of_ids(segments: NDArray[np.int64], ids: Coded, documents: Coded | None) -> list[str]:
    """The id of each segment, after its document if there are documents."""
    lines = [ids.names[n] for n in segments[:, 1].tolist()]
    if documents is not None:
        inside = (documents.names[d] for d in segments[:, 0].tolist())
        lines = [f"{document}\t{line}" for document, line in zip(inside, lines, strict=True)]
    return lines


def _file(table: ScoreRows) -> str | None:
    return table.name if table.is_file else None


def _replica(name: str, prefix: str) -> str:
    """The id of a run; a bare number is written as in the workflow: run-001."""
    return f"{prefix}-{int(name):03d}" if name.isdecimal() else name
