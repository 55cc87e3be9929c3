"""The segments of the median replicas: what the page shows, and all of them as TSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.results.result import Result
from replitune.statistics.outputs import DistinctPairs
from replitune.statistics.segments import SegmentStatistics

if TYPE_CHECKING:
    from replitune.backends.interface import Derivation


@dataclass(frozen=True)
class Output:
    """What one replica made of a test set."""

    system: str
    replica: str
    lines: list[str]
    """N translations."""
    scores: NDArray[np.float64]
    """(N,) score of each segment alone."""
    derivations: Sequence[Derivation] = ()
    """One for each translation, if the system records them."""


@dataclass(frozen=True)
class Runs:
    """What all replicas of a system made of a test set."""

    replicas: Sequence[str]
    pairs: DistinctPairs
    scores: NDArray[np.float64]
    """(n, N) score of each segment alone."""

    def distinct(self, segment: int) -> list[tuple[str, float, list[int]]]:
        """The different outputs of a segment, the most frequent first: text, score, and the
        numbers of the replicas that have it."""
        column = self.pairs.inverse[:, segment]
        by_pair: dict[int, list[int]] = {}
        for run, pair in enumerate(column.tolist()):
            by_pair.setdefault(pair, []).append(run)
        return [
            (self.pairs.hyps[pair], float(self.scores[runs[0], segment]), runs)
            for pair, runs in sorted(by_pair.items(), key=lambda item: (-len(item[1]), item[1]))
        ]


@dataclass(frozen=True)
class Segments:
    """A test set and one output of every system; N segments."""

    testset: str
    metric: str
    """Name of the metric of the scores."""
    higher_is_better: bool
    decimals: int
    references: Sequence[Sequence[str]]
    """R streams of N."""
    source: Sequence[str] | None
    documents: Sequence[str] | None
    outputs: list[Output]
    runs: Mapping[str, Runs] = field(default_factory=dict)
    """All replicas of systems with more than one."""

    @property
    def count(self) -> int:
        return len(self.references[0])

    def texts(self, rows: Sequence[int]) -> list[tuple[str, Sequence[object]]]:
        """Documents, source and references of some segments, if there are any, each with its heading."""
        known = [("document", self.documents), ("source", self.source)]
        known += [(f"reference_{r}", stream) for r, stream in enumerate(self.references, start=1)]
        return [(heading, [column[i] for i in rows]) for heading, column in known if column]

    def tsv(self) -> str:
        """Everything, one segment a row."""
        every = range(self.count)
        columns: list[tuple[str, Sequence[object]]] = [("segment", every), *self.texts(every)]
        if len(self.references) == 1:
            columns[-1] = ("reference", columns[-1][1])
        for output in self.outputs:
            columns.append((f"{output.system}_{output.replica}", output.lines))
            columns.append((f"{output.system}_{self.metric}", output.scores.tolist()))
        return tsv_text(columns)


def tsv_text(columns: Iterable[tuple[str, Iterable[object]]]) -> str:
    """Columns with their headings as TSV; fields with tabs or quotes are quoted."""
    headings, values = zip(*columns, strict=True)
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(zip(*values, strict=True))
    return buffer.getvalue()


def segments_of(
    cell: Result,
    store: SegmentStatistics,
    testset: TestSet,
    outputs: Mapping[str, DistinctPairs],
    derivations: Mapping[str, tuple[str, Sequence[Derivation]]] | None = None,
) -> Segments:
    """`outputs`: those of all replicas of each system, in the order of the store, whose metric scores
    them; `derivations`: of some systems, a replica and the derivations of its outputs."""
    median, runs = [], {}
    for name, summary in cell.systems.items():
        system, pairs = store.systems[name], outputs[name]
        scores = system.scores(store.metric)
        replica = summary.median_replica
        r = system.replicas.index(replica)
        lines = [pairs.hyps[pair] for pair in pairs.inverse[r].tolist()]
        of_replica, derived = (derivations or {}).get(name, ("", ()))
        median.append(Output(name, replica, lines, scores[r], derived if of_replica == replica else ()))
        if system.n > 1:
            runs[name] = Runs(system.replicas, pairs, scores)
    return Segments(
        cell.testset,
        cell.name,
        cell.sign > 0,
        cell.decimals,
        testset.references,
        testset.source,
        testset.documents,
        median,
        runs,
    )


FOR_RUNS = 0.3
"""Share of the room for segments that is kept for the outputs of all runs, and derivations."""


def page_data(
    segments: Sequence[Segments],
    budget: int,
    links: Mapping[str, str],
    differences: Mapping[str, Sequence[str]],
) -> str:
    """JSON for the page.

    `budget`, in bytes of UTF-8, is shared by the test sets. Of a test set that does not fit, the
    segments on which systems differ most are kept, with details of as many of them as fit. By test set,
    `links` has the file with all segments, and `differences` those of each segment.
    """
    data: list[dict[str, Any]] = []
    for rank, part in enumerate(segments):
        share = budget // (len(segments) - rank)
        told = differences.get(part.testset) or [""] * part.count
        detailed = bool(part.runs) or any(output.derivations for output in part.outputs)
        room = share * (1 - FOR_RUNS) if detailed else share
        rows, used = _that_fit(((i, _row(part, i, told[i])) for i in _most_different_first(part)), room)
        some = ((i, _details(part, i)) for i in rows if detailed)
        details, more = _that_fit(some, share - used, key=True)
        budget -= used + more
        data.append(
            {
                **_about(part),
                "link": links.get(part.testset),
                "rows": [rows[i] for i in sorted(rows)],
                "details": details,
            }
        )
    return embedded(data)


def _about(part: Segments) -> dict[str, Any]:
    """What holds for all segments of a test set."""
    runs = [part.runs.get(output.system) for output in part.outputs]
    return {
        "testset": part.testset,
        "metric": part.metric,
        "higher": part.higher_is_better,
        "decimals": part.decimals,
        "source": part.source is not None,
        "documents": part.documents is not None,
        "systems": [[output.system, output.replica] for output in part.outputs],
        "replicas": [None if every is None else list(every.replicas) for every in runs],
        "all": part.count,
    }


def _most_different_first(part: Segments) -> list[int]:
    """The segments by how much the scores of the systems differ."""
    if not part.outputs:
        return list(range(part.count))
    spread = np.ptp([output.scores for output in part.outputs], axis=0)
    return np.argsort(-spread, kind="stable").tolist()


def _that_fit(
    rows: Iterable[tuple[int, Any]], room: float, key: bool = False
) -> tuple[dict[int, Any], int]:
    """The first rows that fit, by segment, and their bytes; `key`: the segment takes room, too."""
    kept: dict[int, Any] = {}
    used = 0
    for i, row in rows:
        size = _bytes(row)
        room -= size + (len(f'"{i}":') if key else 0)
        if room < 0:
            break
        kept[i] = row
        used += size
    return kept, used


def _details(part: Segments, i: int) -> list[Any]:
    """[outputs of all runs, derivation] for each output; None where there are none."""
    return [
        [
            [[text, round(score, part.decimals), runs] for text, score, runs in every.distinct(i)]
            if (every := part.runs.get(output.system)) is not None
            else None,
            output.derivations[i] if output.derivations else None,
        ]
        for output in part.outputs
    ]


def _bytes(row: Any) -> int:
    return len(embedded(row).encode("utf-8")) + 1


def _row(part: Segments, i: int, differences: str) -> list[Any]:
    """[number, document, source, references, outputs, scores, differences]"""
    return [
        i,
        part.documents[i] if part.documents else None,
        part.source[i] if part.source else None,
        [stream[i] for stream in part.references],
        [output.lines[i] for output in part.outputs],
        [round(float(output.scores[i]), part.decimals) for output in part.outputs],
        differences,
    ]


def embedded(data: Any) -> str:
    """JSON that can be put into a <script> element: nothing in it ends the element or a line."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
