"""The segments of the median replicas: what the page shows, and all of them as TSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.metrics.base import Metric
from replitune.results.result import Result
from replitune.statistics.systems import SystemStatistics


@dataclass(frozen=True)
class Output:
    """What one replica made of a test set."""

    system: str
    replica: str
    lines: list[str]
    """N translations."""
    scores: NDArray[np.float64]
    """(N,) score of each segment alone."""


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

    @classmethod
    def of(cls, cell: Result, testset: TestSet, outputs: list[Output]) -> Segments:
        return cls(
            cell.testset,
            cell.name,
            cell.higher_is_better,
            cell.decimals,
            testset.references,
            testset.source,
            testset.documents,
            outputs,
        )

    @property
    def count(self) -> int:
        return len(self.references[0])

    def tsv(self) -> str:
        """Everything, one segment a row; fields with tabs or quotes stand in quotes."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
        streams = len(self.references)
        head = ["segment"]
        head += ["document"] if self.documents else []
        head += ["source"] if self.source else []
        head += ["reference"] if streams == 1 else [f"reference_{r + 1}" for r in range(streams)]
        for output in self.outputs:
            head += [f"{output.system}_{output.replica}", f"{output.system}_{self.metric}"]
        writer.writerow(head)
        for i in range(self.count):
            row: list[object] = [i]
            row += [self.documents[i]] if self.documents else []
            row += [self.source[i]] if self.source else []
            row += [stream[i] for stream in self.references]
            for output in self.outputs:
                row += [output.lines[i], float(output.scores[i])]
            writer.writerow(row)
        return buffer.getvalue()


def sentence_scores(metric: Metric, system: SystemStatistics, replica: str) -> NDArray[np.float64]:
    """(N,) the metric's score of every segment alone, for one replica."""
    return metric.score(system.statistics[system.replicas.index(replica)])


def page_data(
    segments: Sequence[Segments], budget: int, links: Mapping[str, str]
) -> tuple[str, list[tuple[str, int, int]]]:
    """JSON for the page, and (test set, shown, all) of each test set.

    `budget` is in bytes of UTF-8, shared by the test sets; of a test set that does not fit, the
    segments on which systems differ most are kept. `links` has the file with all segments.
    """
    data: list[dict[str, Any]] = []
    shown: list[tuple[str, int, int]] = []
    for rank, part in enumerate(segments):
        share = budget // (len(segments) - rank)
        rows = [_row(part, i) for i in range(part.count)]
        sizes = [len(embedded(row).encode("utf-8")) + 1 for row in rows]
        keep = range(part.count)
        if sum(sizes) > share:
            scores = np.array([output.scores for output in part.outputs])
            spread = np.ptp(scores, axis=0) if len(scores) else np.zeros(part.count)
            order = np.argsort(-spread, kind="stable")
            used = np.cumsum(np.asarray(sizes)[order])
            keep = np.sort(order[: int(np.searchsorted(used, share, side="right"))]).tolist()
        budget -= sum(sizes[i] for i in keep)
        data.append(
            {
                "testset": part.testset,
                "metric": part.metric,
                "higher": part.higher_is_better,
                "decimals": part.decimals,
                "source": part.source is not None,
                "documents": part.documents is not None,
                "systems": [[output.system, output.replica] for output in part.outputs],
                "all": part.count,
                "link": links.get(part.testset),
                "rows": [rows[i] for i in keep],
            }
        )
        shown.append((part.testset, len(keep), part.count))
    return embedded(data), shown


def _row(part: Segments, i: int) -> list[Any]:
    """[number, document, source, references, outputs, scores]"""
    return [
        i,
        part.documents[i] if part.documents else None,
        part.source[i] if part.source else None,
        [stream[i] for stream in part.references],
        [output.lines[i] for output in part.outputs],
        [round(float(output.scores[i]), part.decimals) for output in part.outputs],
    ]


def embedded(data: Any) -> str:
    """JSON that can stand in a <script> element: nothing in it ends the element or a line."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
