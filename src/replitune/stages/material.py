"""Reads what the report shows of an experiment, from results/<experiment> after its tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from replitune import __version__
from replitune.backends.interface import Derivation
from replitune.backends.registry import get_backend
from replitune.corpus.prepare import corpus_warnings
from replitune.corpus.testset import read_prepared
from replitune.errors import ReplituneError
from replitune.experiment.places import Places
from replitune.meta.rows import MetaRow
from replitune.replicas import replica_ids
from replitune.report.material import Material
from replitune.report.segment_browser import segments_of
from replitune.report.why import Why, explain
from replitune.results.comparing import sha256_of
from replitune.results.result import Result
from replitune.results.rows import read_rows
from replitune.results.summary import Provenance
from replitune.results.wording import with_names
from replitune.running.files import read_lines, read_text
from replitune.significance.looks.record import read_record
from replitune.significance.registry import PEOPLE, TESTS
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import PowerRow
from replitune.significance.studies.replication import ReplicationRow
from replitune.statistics.outputs import DistinctPairs, Outputs
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.store import read_systems
from replitune.tuning.history import read_dev_scores

if TYPE_CHECKING:
    from replitune.stages.report import Report

STUDIES = {"power": PowerRow, "replication": ReplicationRow, "calibrate": CalibrationRow}


def read_results(job: Report, unrepeatable: Sequence[str]) -> Material:
    """What the results say. `unrepeatable`: the replicas that another run would make differently."""
    folder = Path(job.folder)
    return Material(
        experiment=folder.name,
        seed=job.seed,
        alpha=job.alpha,
        family=job.family,
        samples=job.samples,
        cells=with_names([Result.read(folder / "tests" / testset, id) for testset, id in job.cells]),
        baseline=job.baseline,
        methods={entry.id: entry.name for entry in TESTS.entries(job.methods)},
        corpus=corpus_warnings(job.at.inputs),
        unrepeatable=unrepeatable,
        answers=_remarks(job),
        looks=read_record(job.at.look(job.looks)) if job.looks else None,
        people=[PEOPLE] if job.people else [],
    )


def with_texts(job: Report, results: Material) -> Material:
    """The same with all else that a report shows: texts, studies, histories, hashes."""
    folder, cells = Path(job.folder), results.cells
    lead = [c for c in cells if c.metric == job.metrics[0] and c.testset in job.decoded]
    texts = {cell.testset: read_prepared(job.at.testset(cell.testset)) for cell in lead}
    stores = {cell.testset: _store(job.at, cell) for cell in lead}
    outputs = {cell.testset: read_outputs(job.at, cell, stores[cell.testset]) for cell in lead}

    def why(testset: str) -> Why:
        own = [cell for cell in cells if cell.testset == testset and cell.systems and cell.metric != PEOPLE]
        scored = (
            (c.metric, _store(job.at, c) if c.metric != job.metrics[0] else stores[testset]) for c in own
        )
        train = read_lines(job.at.train[1]) if job.trained else None
        return explain(testset, scored, texts=texts[testset], outputs=outputs[testset], train=train)

    by_key = {(cell.testset, cell.metric): cell for cell in cells}
    studies: dict[str, Any] = {
        name: [
            (by_key[testset, metric], read_rows(job.at.study(name, testset, metric), kind))
            for testset, metric in job.studies[name]
        ]
        for name, kind in STUDIES.items()
    }
    return replace(
        results,
        segments=[
            segments_of(
                c, stores[c.testset], texts[c.testset], outputs[c.testset], _derivations(job, c.testset)
            )
            for c in lead
        ],
        explain=lambda: [why(testset) for testset in texts],
        histories=read_histories(job),
        provenance=Provenance(
            __version__,
            job.seed,
            {"methods": job.methods, "alpha": job.alpha, "family": job.family, "samples": job.samples},
            sha256_of([*stores.values()]),
            f"replitune run, with the settings in {folder.name}/manifest.json",
        ),
        **studies,
        meta={t: read_rows(job.at.study("meta", t), MetaRow) for t in job.judged},
    )


def _derivations(job: Report, testset: str) -> dict[str, tuple[str, list[Derivation]]]:
    """For each system with derivations, the replica and the derivations of its translations."""
    derivations = {}
    for system in job.derived:
        if system in job.decoded[testset]:
            read = json.loads(read_text(job.at.derivations(testset, system)))
            derivations[system] = read["replica"], read["derivations"]
    return derivations


def _remarks(job: Report) -> list[str]:
    """What a reader must know about the answers of servers."""
    remarks = []
    for system, settings in (job.asked or {}).items():
        files = {
            name: Path(file)
            for testset in job.decoded
            for name, file in job.answers(testset, system).items()
        }
        remarks += get_backend(system, settings).remarks(files)
    return remarks


def _store(at: Places, cell: Result) -> SegmentStatistics:
    """The segment statistics of all systems of a cell."""
    return read_systems([at.store(cell.testset, cell.metric, name) for name in cell.systems])


def read_outputs(at: Places, cell: Result, store: SegmentStatistics) -> dict[str, DistinctPairs]:
    """For each system, the outputs of all replicas that were scored, in the order of the store."""
    by_system = {}
    for name in cell.systems:
        outputs = Outputs(store.segments)
        hashes = store.metadata[name].decode_sha256[name]
        for replica in store.systems[name].replicas:
            decoded = at.decode(cell.testset, name, replica)
            outputs.add(read_lines(decoded))
            if outputs.sha256[-1] != hashes[replica]:
                raise ReplituneError(
                    "is not the text that was scored",
                    file=decoded,
                    fix="remove it, and run again: it will be made again",
                )
        by_system[name] = outputs.every()
    return by_system


def read_histories(job: Report) -> dict[str, dict[str, NDArray[np.float64]]]:
    """For each system that was tuned or trained, the dev scores of its replicas."""
    histories: dict[str, dict[str, NDArray[np.float64]]] = {}
    for system in job.histories:
        for replica in sorted(replica_ids(job.systems[system])):
            path = job.at.history(system, replica.id)
            if not Path(path).exists():
                continue
            scores = read_dev_scores(path)
            if scores is not None:
                histories.setdefault(system, {})[replica.id] = scores
    return histories
