"""What the report reads of an experiment whose tests are done, in results/<experiment>."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from replitune.corpus.testset import codes, read_prepared
from replitune.errors import ReplituneError
from replitune.meta.rows import MetaRow
from replitune.report.document_scores import DocumentScores, document_scores
from replitune.report.material import Material
from replitune.report.segment_browser import Output, Segments, sentence_scores
from replitune.report.wording import named
from replitune.results.result import Result
from replitune.results.rows import read_rows
from replitune.running.files import read_lines, read_text, sha256_lines
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import PowerRow
from replitune.significance.studies.replication import ReplicationRow
from replitune.statistics.store import SegmentStatistics, read_systems

STUDIES = {"power": PowerRow, "replication": ReplicationRow, "calibrate": CalibrationRow}


def read_material(
    folder: Path,
    settings: Mapping[str, Any],
    methods: Mapping[str, str],
    unrepeatable: Sequence[str],
) -> Material:
    """Everything that `settings`, the report's settings of an experiment, name. `methods` has the
    test behind each label; `unrepeatable` the replicas that another run would make otherwise."""
    cells = named(
        [
            Result.read(folder / "tests" / testset, metric)
            for testset in settings["tests"]
            for metric in settings["metrics"]
        ]
    )
    lead = [cell for cell in cells if cell.metric == settings["metrics"][0]]
    by_key = {(cell.testset, cell.metric): cell for cell in cells}
    studies: dict[str, Any] = {
        name: [
            (
                by_key[testset, metric],
                read_rows(folder / "studies" / name / testset / f"{metric}.parquet", kind),
            )
            for testset, metric in settings.get("studies", {}).get(name, [])
        ]
        for name, kind in STUDIES.items()
    }
    keys = ("experiment", "seed", "alpha", "correction", "samples", "baseline")
    return Material(
        **{key: settings[key] for key in keys},
        **studies,
        cells=cells,
        methods=methods,
        segments=[read_segments(folder, cell) for cell in lead],
        documents=[(cell, found) for cell in lead for found in read_documents(folder, cell)],
        histories=read_histories(folder, settings["systems"]),
        corpus=json.loads(read_text(folder / "corpus" / "inputs.json"))["warnings"],
        unrepeatable=unrepeatable,
        meta={
            testset: read_rows(folder / "studies" / "meta" / f"{testset}.parquet", MetaRow)
            for testset in settings.get("judged", [])
        },
    )


def _statistics(folder: Path, cell: Result) -> Iterator[tuple[str, SegmentStatistics]]:
    """Of each system."""
    for name in cell.systems:
        path = folder / "stats" / cell.testset / cell.metric / f"{name}.parquet"
        yield name, read_systems([path])


def read_segments(folder: Path, cell: Result) -> Segments:
    """The outputs of the median replicas of one (test set, metric)."""
    testset = read_prepared(folder / "corpus" / f"{cell.testset}.jsonl")
    outputs = []
    for name, store in _statistics(folder, cell):
        median = cell.systems[name].median_replica
        decoded = folder / "decodes" / cell.testset / name / f"{median}.txt"
        lines = read_lines(decoded)
        if sha256_lines(lines) != store.metadata[name].decode_sha256[name][median]:
            raise ReplituneError(
                "is not the text that was scored",
                file=decoded,
                fix="remove it, and run again; it is made anew",
            )
        scores = sentence_scores(store.metric, store.systems[name], median)
        outputs.append(Output(name, median, lines, scores))
    return Segments.of(cell, testset, outputs)


def read_documents(folder: Path, cell: Result) -> list[DocumentScores]:
    """Of documents, where segments are in documents; of parts, where the test set has parts."""
    stores = dict(_statistics(folder, cell))
    if not stores:
        return []
    store = next(reversed(stores.values()))
    systems = {name: found.systems[name] for name, found in stores.items()}
    groupings: list[tuple[NDArray[np.int32], Sequence[str]]] = []
    if store.document_names is not None:
        groupings.append((store.documents, store.document_names))
    parts = read_prepared(folder / "corpus" / f"{cell.testset}.jsonl").parts
    if parts is not None:
        groupings.append((codes(parts), list(dict.fromkeys(parts))))
    return [document_scores(store.metric, systems, *grouping) for grouping in groupings]


def read_histories(folder: Path, systems: Sequence[str]) -> dict[str, dict[str, NDArray]]:
    """tuning/<system>/<replica>/history.parquet, of the systems that were tuned or trained."""
    found: dict[str, dict[str, NDArray]] = {}
    for system in systems:
        for path in sorted((folder / "tuning" / system).glob("*/history.parquet")):
            table = pq.ParquetFile(path).read()
            if "dev_score" not in table.column_names:
                continue
            scores = table["dev_score"].to_numpy(zero_copy_only=False).astype(np.float64)
            if np.isfinite(scores).any():
                found.setdefault(system, {})[path.parent.name] = scores
    return found
