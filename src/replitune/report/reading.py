"""What the report reads of an experiment whose tests are done, in results/<experiment>."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import codes, read_prepared
from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.experiment.places import Places
from replitune.meta.rows import MetaRow
from replitune.replicas import replica_ids
from replitune.report.document_scores import DocumentScores, document_scores
from replitune.report.material import Material
from replitune.report.segment_browser import Output, Segments, sentence_scores
from replitune.report.wording import named
from replitune.results.result import Result
from replitune.results.rows import read_rows
from replitune.running.files import read_lines, read_text, sha256_lines
from replitune.significance.looks.record import read_record
from replitune.significance.registry import TESTS
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import PowerRow
from replitune.significance.studies.replication import ReplicationRow
from replitune.statistics.store import SegmentStatistics, read_systems
from replitune.tuning.history import read_dev_scores

STUDIES = {"power": PowerRow, "replication": ReplicationRow, "calibrate": CalibrationRow}


def read_material(job: stages.Report, unrepeatable: Sequence[str]) -> Material:
    """Everything that the job is told of. `unrepeatable`: the replicas that another run would make
    otherwise."""
    folder = Path(job.folder)
    cells = named(
        [
            Result.read(folder / "tests" / testset, metric)
            for testset in job.tested
            for metric in job.metrics
        ]
    )
    lead = [c for c in cells if c.metric == job.metrics[0] and c.testset in job.decoded]
    by_key = {(cell.testset, cell.metric): cell for cell in cells}
    studies: dict[str, Any] = {
        name: [
            (by_key[testset, metric], read_rows(job.at.study(name, testset, metric), kind))
            for testset, metric in job.studies[name]
        ]
        for name, kind in STUDIES.items()
    }
    return Material(
        experiment=folder.name,
        seed=job.seed,
        alpha=job.alpha,
        family=job.family,
        samples=job.samples,
        cells=cells,
        baseline=job.baseline,
        methods={entry.id: entry.name for entry in TESTS.entries(job.methods)},
        segments=[read_segments(job.at, cell) for cell in lead],
        documents=[(cell, found) for cell in lead for found in read_documents(job.at, cell)],
        histories=read_histories(job),
        corpus=json.loads(read_text(job.at.inputs))["warnings"],
        unrepeatable=unrepeatable,
        looks=read_record(job.at.look(job.looks)) if job.looks else None,
        **studies,
        meta={t: read_rows(job.at.study("meta", t), MetaRow) for t in job.judged},
    )


def _statistics(at: Places, cell: Result) -> Iterator[tuple[str, SegmentStatistics]]:
    """Of each system."""
    for name in cell.systems:
        yield name, read_systems([at.store(cell.testset, cell.metric, name)])


def read_segments(at: Places, cell: Result) -> Segments:
    """The outputs of the median replicas of one (test set, metric)."""
    outputs = []
    for name, store in _statistics(at, cell):
        median = cell.systems[name].median_replica
        decoded = at.decode(cell.testset, name, median)
        lines = read_lines(decoded)
        if sha256_lines(lines) != store.metadata[name].decode_sha256[name][median]:
            raise ReplituneError(
                "is not the text that was scored",
                file=decoded,
                fix="remove it, and run again; it is made anew",
            )
        scores = sentence_scores(store.metric, store.systems[name], median)
        outputs.append(Output(name, median, lines, scores))
    return Segments.of(cell, read_prepared(at.testset(cell.testset)), outputs)


def read_documents(at: Places, cell: Result) -> list[DocumentScores]:
    """Of documents, where segments are in documents; of parts, where the test set has parts."""
    stores = dict(_statistics(at, cell))
    if not stores:
        return []
    store = next(reversed(stores.values()))
    systems = {name: found.systems[name] for name, found in stores.items()}
    groupings: list[tuple[NDArray[np.int32], Sequence[str]]] = []
    if store.document_names is not None:
        groupings.append((store.documents, store.document_names))
    parts = read_prepared(at.testset(cell.testset)).parts
    if parts is not None:
        groupings.append((codes(parts), list(dict.fromkeys(parts))))
    return [document_scores(store.metric, systems, *grouping) for grouping in groupings]


def read_histories(job: stages.Report) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Of the systems that were tuned or trained."""
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for system in job.histories:
        for replica in sorted(replica_ids(job.systems[system])):
            path = job.at.history(system, replica.id)
            if not Path(path).exists():
                continue
            scores = read_dev_scores(path)
            if scores is not None:
                found.setdefault(system, {})[replica.id] = scores
    return found
