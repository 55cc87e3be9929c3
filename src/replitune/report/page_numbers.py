"""The numbers of the page's pictures, as JSON: rounded to six digits, and short."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.replicas import Replica
from replitune.report.findings import adjusted
from replitune.report.material import Material
from replitune.report.ranks import by_people, places
from replitune.report.tables_studies import plans_of
from replitune.report.why import Why
from replitune.report.words import Moments
from replitune.results.result import Result
from replitune.significance.base import TestResult
from replitune.significance.studies.pilot import tuners_of
from replitune.significance.variances import REST, RUNS, VarianceRow

MISSING = 2**24 - 1
"""Of packed numbers."""


def numbers(material: Material) -> dict[str, Any]:
    people = by_people(material)
    return {
        "alpha": material.alpha,
        "baseline": material.baseline,
        "cells": [_cell(cell, material, people.get(cell.testset, {})) for cell in material.cells],
        "histories": {
            system: {replica: rounded(scores) for replica, scores in runs.items()}
            for system, runs in material.histories.items()
        },
        "looks": _looks(material),
        "why": {one.testset: _why(one) for one in material.why},
    }


def short(value: float | None) -> float | None:
    """Six digits."""
    return None if value is None or value - value != 0 else float(f"{value:.6g}")


def rounded(values: Iterable[float]) -> list[float | None]:
    return [short(float(value)) for value in values]


def packed(values: NDArray[np.float64]) -> tuple[float, float, str]:
    """(N,) as 24-bit numbers between the smallest and the largest, in base 64."""
    known = np.isfinite(values)
    low, high = (float(f(values[known], initial=0.0)) for f in (np.min, np.max))
    scale = (MISSING - 1) / (high - low) if high > low else 0.0
    whole = np.where(known, np.rint((np.nan_to_num(values) - low) * scale), MISSING)
    little = whole.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3]
    return low, high, base64.b64encode(little.tobytes()).decode("ascii")


def _cell(cell: Result, material: Material, people: Mapping[str, Any]) -> dict[str, Any]:
    names = list(cell.ranked)
    place = {name: i for i, name in enumerate(names)}
    standing = places(cell)
    method = {name: i for i, name in enumerate(cell.methods)}
    detectable = _planned(cell, material)
    systems = []
    for name in names:
        system = cell.systems[name]
        at = standing.get(name)
        systems.append(
            {
                "name": name,
                "n": system.n,
                "avg": short(system.avg),
                "sel": short(system.s_sel),
                "dev": short(system.s_dev),
                "test": short(system.s_test),
                "median": system.median_replica,
                "runs": [[id, Replica(id).group, short(score)] for id, score in system.scores.items()],
                "ci": {m: rounded(ends) for m, ends in system.ci.items() if ends is not None},
                "cluster": None if at is None else at.cluster,
                "ranks": None if at is None else at.ranks,
                "people": people.get(name),
            }
        )
    segments = max((test.segments for test in cell.tests), default=0)
    return {
        "testset": cell.testset,
        "metric": cell.metric,
        "name": cell.name,
        "higher": cell.higher_is_better,
        "neutral": cell.neutral,
        "decimals": cell.decimals,
        "suite": bool(cell.suite),
        "people": cell.metric in material.people,
        "segments": segments,
        "methods": cell.methods,
        "lead": cell.lead_method,
        "says": {test.method: test.generalises_to for test in cell.tests},
        "systems": systems,
        "tests": [
            [
                place[t.a],
                place[t.b],
                method[t.method],
                *map(short, (t.delta, adjusted(t), t.ci_low, t.ci_high)),
            ]
            for t in cell.tests
        ],
        "pairs": [
            [
                place[t.a],
                place[t.b],
                *map(short, (t.se, t.df, t.details.get("margin"), detectable.get((t.a, t.b)))),
                _parts(cell, t),
            ]
            for t in cell.tests
            if t.method == cell.lead_method
        ],
    }


def _parts(cell: Result, test: TestResult) -> list[Any] | None:
    """The variance components of a pair, and how its runs are grouped, as state.js reads them: sd,
    units and share of the test set; the same of the runs of A and of B, or of their differences;
    sd of the rest; tuners."""
    rows = test.variances
    of_set = next((row for row in rows if row.source.startswith("system x")), None)
    if of_set is None:
        return None
    return [
        _part(of_set),
        [_part(row) for row in rows if row.source == RUNS],
        [short(row.sd) for row in rows if row.source == REST],
        tuners_of(*([Replica(id).group for id in cell.systems[name].scores] for name in (test.a, test.b))),
    ]


def _part(row: VarianceRow) -> list[float | None]:
    return [short(row.sd), short(row.n), short(row.share)]


def _planned(cell: Result, material: Material) -> dict[tuple[str, str], float]:
    """What this experiment would detect, where the study of power has said it."""
    return {
        (row.a, row.b): row.detectable
        for other, found in material.power
        if other is cell
        for row in plans_of(found)
        if row.design
    }


def _looks(material: Material) -> dict[str, Any] | None:
    record = material.looks
    if record is None:
        return None
    return {
        "testset": record.plan.testset,
        "metric": record.plan.metric,
        "rows": [
            [
                look.number,
                row.a,
                row.b,
                row.n_a,
                row.n_b,
                *map(short, (row.delta, row.ci_low, row.ci_high)),
                row.decision,
            ]
            for look in record.looks
            for row in look.pairs
        ],
    }


def _why(one: Why) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {}
    for metric, group in one.groups:
        kind = kinds.setdefault(group.kind, {"names": group.names, "sizes": group.sizes, "metrics": {}})
        kind["metrics"][metric] = {
            system: _moments(Moments.of(scores)) for system, scores in group.scores.items()
        }
    words = one.words
    return {
        "means": {
            metric: {system: packed(values) for system, values in found.items()}
            for metric, found in one.means.items()
        },
        "groups": kinds,
        "words": None
        if words is None
        else {
            "grams": words.grams,
            "expected": words.expected,
            "right": {system: _moments(found, 4) for system, found in words.right.items()},
            "classes": words.classes,
            "sizes": words.sizes,
            "in": words.counted_in,
            "recall": {system: _moments(found) for system, found in words.recall.items()},
        },
    }


def _moments(found: Moments, digits: int = 6) -> list[list[float]]:
    return [
        [float(f"{value:.{digits}g}") for value in values.tolist()] for values in (found.mean, found.sd)
    ]
