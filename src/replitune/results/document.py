"""What is written about one test set under one metric, and read again: `tests/<testset>/<metric>.json`, and
with a summary `compare --json`. The structs are its schema, docs/compare.schema.json; tables and frames
are made of it by `FRAMES`. Numbers are unrounded. What cannot be computed is null, and a note says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from replitune.errors import ReplituneError
from replitune.metrics.base import Direction
from replitune.notes import Note, note_text
from replitune.results.answer import Answer
from replitune.results.summary import Summary
from replitune.running.files import atomic_open, bytes_of
from replitune.significance.base import DETAILS, OF_PEOPLE, RunKind, Scope, Unit
from replitune.significance.settings import Correction
from replitune.significance.variances import VarianceRow
from replitune.statistics.findings import Finding

SCHEMA: Literal[2] = 2
"""Raised when the document changes."""

Limits = tuple[float, float]
"""The ends of an interval."""
Row = dict[str, Any]


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """What one test says about a pair."""

    score_a: float
    score_b: float
    delta: float
    """The difference that this test looks at: of means, of pooled statistics, or of one replica each."""
    se: float | None = None
    df: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_level: float | None = None
    """Confidence of this interval by itself; of simultaneous intervals it is above the one with which all
    of them hold."""
    p: float | None
    p_adjusted: float | None = None
    """Corrected for all pairs of this metric and method."""
    p_min: float | None = None
    """The smallest p that this test could have returned."""
    exact: bool = False
    """All rearrangements were enumerated."""
    correction: Correction | None = None
    """What made p_adjusted."""
    alternative: str
    """greater: b is better, less: b is worse."""
    unit: Unit
    """What of a test set is exchanged or drawn; `replica` where whole test sets are."""
    aggregation: str
    """Mean of the replicas' scores, or score of their pooled statistics."""
    pairing: str | None = None
    replica_a: str | None = None
    """Of a test of single replicas."""
    replica_b: str | None = None
    n_a: int
    n_b: int
    segments: int
    documents: int
    """As many as segments when documents are not known."""
    samples: int | None = None
    """Resamples drawn; null for a test that draws none."""
    seed: int | None = None
    scope: Scope
    """What a small p generalises to."""
    run_kind: RunKind = "run"
    details: dict[str, float] = {}
    """Values that only some tests report."""
    notes: tuple[Note, ...] = ()
    variances: tuple[VarianceRow, ...] = ()
    """Where the uncertainty of delta comes from, for tests that know."""


class Pair(msgspec.Struct, frozen=True):
    """A pair of systems."""

    a: str
    """With a baseline, the baseline."""
    b: str
    delta: float
    """avg(b) - avg(a), in metric units."""
    overlaps: dict[str, float | None]
    """Overlap ratio of the two systems' intervals (Fu et al. 2016) by interval method."""
    overlap_notes: dict[str, tuple[Note, ...]]
    methods: dict[str, Method]


class System(msgspec.Struct, frozen=True):
    """A system."""

    n: int
    """Number of replicas."""
    avg: float
    """Mean score over replicas."""
    scores: dict[str, float]
    """Score by replica."""
    s_sel: float | None
    """Standard deviation from the choice of the test set (bootstrap)."""
    s_dev: float | None
    """Standard deviation over replicas on the tuning set."""
    s_test: float | None
    """Standard deviation over replicas on this test set."""
    median_replica: str
    next_run: Limits | None
    """Prediction interval of the score of the next run on this test set. Null with one run."""
    ci: dict[str, Limits | None]
    """Interval of the score by method: riezler, clark, fu."""
    notes: dict[str, tuple[Note, ...]]
    """Why something is null or to be read with care, by its name; of an interval, `ci_<method>`."""


class Order(msgspec.Struct, frozen=True):
    """The order of the systems by one test."""

    systems: tuple[str, ...]
    """From best to worst by avg."""
    wins: list[list[bool]]
    """wins[i][j]: system i beats system j at adjusted alpha."""
    clusters: tuple[tuple[str, ...], ...] | None
    """From best to worst: every system beats every system of a later cluster. Null when not every pair
    has a p."""
    ranks: tuple[tuple[int, int], ...] | None
    """[best, worst] rank of each system, in the order of `systems`: 1 + how many surely beat it, and how
    many it does not surely beat. All hold together; null when p are not corrected for that."""
    notes: tuple[Note, ...]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One test set, or suite, under one metric."""

    testset: str
    metric: str
    """The metric's id."""
    word: str
    """The metric as it is given on a command line."""
    signature: str
    direction: Direction
    """1 if a higher score is better, -1 if a lower one is; null if neither is."""
    alpha: float
    lead: str
    """The method that leads: it decides verdicts, ranks and looks."""
    suite: dict[str, float]
    """Weights of the test sets, of a suite."""
    missing: dict[str, dict[str, str]]
    """Why replicas are missing, by system and replica."""
    findings: tuple[Finding, ...]
    """What is wrong with the texts, and matters to the metric."""
    judged: bool
    """Whether people judged the outputs."""
    systems: dict[str, System]
    pairs: tuple[Pair, ...]
    rankings: dict[str, Order]
    """By method."""


class Meta(msgspec.Struct, frozen=True):
    """What was compared, and how."""

    version: str
    """Version of replitune."""
    seed: int
    testset: str
    """Name of the test set; random draws depend on it."""
    segments: int
    documents: int
    """As many as segments when documents are not known."""
    samples: int
    """Resamples of each resampling test."""
    alpha: float
    correction: Correction
    """As asked for; each method says what it got."""
    warnings: list[str]


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of a test set under one metric, as an experiment keeps them, or under several, with a
    summary."""

    schema: Literal[2]
    """Version of this format."""
    answers: tuple[Answer, ...]
    """About each pair under each metric."""
    metrics: dict[str, Cell]
    """By metric id."""
    summary: Summary | msgspec.UnsetType = msgspec.UNSET
    meta: Meta | msgspec.UnsetType = msgspec.UNSET


def builtins(document: Document) -> dict[str, Any]:
    """The document as JSON has it, as its schema says: a float is one if it is whole, too."""
    raw = msgspec.to_builtins(document, enc_hook=_number, str_keys=True)
    found: dict[str, Any] = msgspec.to_builtins(msgspec.convert(raw, Document))
    return found


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"no JSON for {type(value)}")


def write_document(path: Path, document: Document) -> None:
    """Numbers that are not finite are an error."""
    with atomic_open(path) as handle:
        json.dump(builtins(document), handle, allow_nan=False, ensure_ascii=False)
        handle.write("\n")


def read_document(path: Path) -> Document:
    if not path.is_file() and path.with_suffix(".parquet").is_file():
        raise ReplituneError(
            "results of an earlier version",
            file=path.with_suffix(".parquet"),
            expected=path.name,
            fix="make them again from what is there: replitune run",
        )
    try:
        return msgspec.json.decode(bytes_of(path), type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReplituneError(
            "not results of this version",
            file=path,
            found=str(error),
            fix="remove it and run the workflow again",
        ) from None


# ---- frames


class Frame(NamedTuple):
    """A table of numbers: its columns, and its rows from a document."""

    columns: tuple[str, ...]
    rows: Callable[[Document], Iterator[Row]]


def _methods(document: Document) -> Iterator[tuple[Row, Method]]:
    """Each test with the columns that name it."""
    for pair in _pairs(document):
        for name, method in pair.methods.items():
            yield {"a": pair.a, "b": pair.b, "method": name}, method


def _pairs(document: Document) -> Iterator[Pair]:
    return (pair for cell in document.metrics.values() for pair in cell.pairs)


def _systems_in(document: Document) -> Iterator[tuple[str, System]]:
    return (item for cell in document.metrics.values() for item in cell.systems.items())


def _tests(document: Document) -> Iterator[Row]:
    for key, method in _methods(document):
        row = {**key, **{name: getattr(method, name) for name in SCALARS}}
        details = {n if n in DECLARED else f"details.{n}": v for n, v in method.details.items()}
        yield {**row, **details, "note": note_text(method.notes)}


def _systems(document: Document) -> Iterator[Row]:
    for name, one in _systems_in(document):
        row = {"system": name, "n": one.n}
        yield {**row, "statistic": "avg", "value": one.avg}
        for statistic in ("s_sel", "s_dev", "s_test"):
            note = note_text(one.notes.get(statistic, ()))
            yield {**row, "statistic": statistic, "value": getattr(one, statistic), "note": note}
        median = one.median_replica
        yield {**row, "statistic": "median_replica", "value": one.scores[median], "replica": median}
        intervals: list[tuple[str, str | None, Limits | None]] = [
            *([] if one.next_run is None else [("next_run", None, one.next_run)]),
            *(("ci", method, limits) for method, limits in one.ci.items()),
        ]
        for statistic, by, limits in intervals:
            low, high = limits or (None, None)
            about = {"statistic": statistic, "method": by, "note": note_text(one.notes.get(f"ci_{by}", ()))}
            yield {**row, "value": one.avg, "ci_low": low, "ci_high": high, **about}
        for id, value in one.scores.items():
            yield {"system": name, "n": 1, "statistic": "score", "replica": id, "value": value}


def _overlaps(document: Document) -> Iterator[Row]:
    for pair in _pairs(document):
        for method, ratio in pair.overlaps.items():
            note = note_text(pair.overlap_notes.get(method, ()))
            yield {"a": pair.a, "b": pair.b, "method": method, "ratio": ratio, "note": note}


def _variances(document: Document) -> Iterator[Row]:
    for key, method in _methods(document):
        yield from ({**key, **vars(row)} for row in method.variances)


def _notes(document: Document) -> Iterator[Row]:
    noted: list[tuple[Row, tuple[Note, ...]]] = [
        ({"row": "test", **key}, method.notes) for key, method in _methods(document)
    ]
    for name, one in _systems_in(document):
        noted += [
            ({"row": "system", "system": name, "statistic": what}, n) for what, n in one.notes.items()
        ]
    for pair in _pairs(document):
        noted += [
            ({"row": "overlap", "a": pair.a, "b": pair.b, "method": method}, notes)
            for method, notes in pair.overlap_notes.items()
        ]
    for key, notes in noted:
        yield from ({**key, **msgspec.structs.asdict(note)} for note in notes)


def _answers(document: Document) -> Iterator[Row]:
    return map(msgspec.structs.asdict, document.answers)


SCALARS = [n for n in Method.__struct_fields__ if n not in ("details", "notes", "variances")]
PAIR = ("a", "b", "method")
DECLARED = {**DETAILS, **OF_PEOPLE}
FRAMES: Mapping[str, Frame] = {
    "tests": Frame((*PAIR, *SCALARS, *DETAILS, "note"), _tests),
    "systems": Frame(
        ("system", "statistic", "replica", "value", "ci_low", "ci_high", "method", "n", "note"), _systems
    ),
    "overlaps": Frame((*PAIR, "ratio", "note"), _overlaps),
    "variances": Frame((*PAIR, *VarianceRow.__dataclass_fields__), _variances),
    "notes": Frame(("row", *PAIR, "system", "statistic", *Note.__struct_fields__), _notes),
    "answers": Frame(
        (*PAIR, "state", "ahead", "behind", "size", "low", "high", "p", "sentence", "next"), _answers
    ),
}
"""The tables of a document, by name."""


def rows_of(document: Document, name: str) -> tuple[list[str], list[Row]]:
    """The columns and the rows of a table. Tests of other packages may add columns."""
    (*columns, last), rows = FRAMES[name].columns, [*FRAMES[name].rows(document)]
    more = {} if name == "answers" else dict.fromkeys(key for row in rows for key in row if key != last)
    return [*dict.fromkeys((*columns, *more)), last], rows
