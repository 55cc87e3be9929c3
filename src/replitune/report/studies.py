"""Rows of the studies under studies/, beside the (test set, metric) that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replitune.meta.rows import MetaRow
from replitune.report.data import Cell
from replitune.results.rows import read_rows
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import PowerRow
from replitune.significance.studies.replication import ReplicationRow

KINDS = {"power": PowerRow, "replication": ReplicationRow, "calibrate": CalibrationRow}


@dataclass(frozen=True)
class Studies:
    """What an experiment studied; empty where it did not."""

    power: Sequence[tuple[Cell, list[PowerRow]]] = ()
    replication: Sequence[tuple[Cell, list[ReplicationRow]]] = ()
    calibrate: Sequence[tuple[Cell, list[CalibrationRow]]] = ()
    meta: Mapping[str, list[MetaRow]] = field(default_factory=dict)
    """By test set."""
    names: Mapping[str, str] = field(default_factory=dict)
    """How metrics are printed, by id."""


def load_studies(folder: Path, settings: Mapping[str, Any], cells: Sequence[Cell]) -> Studies:
    """Read what `settings` say was studied: cells by study, and test sets that people judged."""
    by_key = {(cell.testset, cell.metric): cell for cell in cells}
    found: dict[str, Any] = {
        name: [
            (
                by_key[testset, metric],
                read_rows(folder / "studies" / name / testset / f"{metric}.parquet", kind),
            )
            for testset, metric in settings.get("studies", {}).get(name, [])
        ]
        for name, kind in KINDS.items()
    }
    meta = {
        testset: read_rows(folder / "studies" / "meta" / f"{testset}.parquet", MetaRow)
        for testset in settings.get("judged", [])
    }
    return Studies(**found, meta=meta, names={cell.metric: cell.name for cell in cells})
