"""The numbers of the page's pictures, as JSON: rounded to six digits, and short.

All that people read is computed here or earlier. The page draws it, and reverses it where A and B
are exchanged. Lists of pairs are in the order of `pairs_of`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.replicas import Replica
from replitune.report.material import Material
from replitune.report.planning import CURVE, PlanGrid, detectable, plan_grid, planner, stops
from replitune.report.ranks import by_people, places
from replitune.report.tables_scores import anchor
from replitune.report.why import Why
from replitune.report.words import Moments, Words, half_width
from replitune.results.answer import AHEAD, Answer, of_outputs, unfit
from replitune.results.findings import adjusted
from replitune.results.planning import WANTED
from replitune.results.result import Result
from replitune.results.wording import generalises_to
from replitune.significance.base import TestResult
from replitune.significance.multiple import verdict
from replitune.significance.variances import RUNS, shares

BINS = 20
"""Most bins of a histogram on each side of 0."""
MISSING, EQUAL = 256**3 - 1, 256**3 // 2 - 1
"""Codes of the difference on a segment: where there is none, and for 0."""


Differences = Mapping[str, Mapping[str, tuple[dict[str, Any], NDArray[np.int64]]]]
"""What `segment_differences` returns, by test set and metric."""


def numbers(material: Material, differences: Differences) -> dict[str, Any]:
    people = by_people(material)
    planned = sum(planner(cell, test) is not None for cell in material.cells for test in _leading(cell))
    runs, sizes = stops(planned)
    return {
        "alpha": material.alpha,
        "sure": f"surely better, at {material.alpha:g}",
        "baseline": material.baseline,
        "plans": {"runs": runs, "curve": CURVE, "wanted": WANTED},
        "cells": [
            _cell(cell, material, people.get(cell.testset, {}), runs, sizes) for cell in material.cells
        ],
        "histories": {
            system: {replica: rounded(scores) for replica, scores in runs.items()}
            for system, runs in material.histories.items()
        },
        "looks": _looks(material),
        "why": {one.testset: _why(one, differences[one.testset], material.alpha) for one in material.why},
    }


def short(value: float | None) -> float | None:
    """Rounded to six digits; None if missing or not finite."""
    return None if value is None or value - value != 0 else float(f"{value:.6g}")


def rounded(values: Iterable[float]) -> list[float | None]:
    return [short(float(value)) for value in values]


def packed(values: NDArray[np.float64], low: float, high: float, width: int = 3) -> str:
    """Numbers between `low` and `high` in `width` bytes each, in base 64; the largest code is for
    missing ones (NaN). Numbers that differ only by rounding errors have the same code."""
    return _base64(_codes(values, low, high, width), width)


def _codes(values: NDArray[np.float64], low: float, high: float, width: int = 3) -> NDArray[np.int64]:
    most = 256**width - 2
    scale = most / (high - low) if high > low else 0.0
    # in two steps, so that all numbers within rounding errors of half a code go to the same side
    whole = np.rint(np.round((np.nan_to_num(values) - low) * scale, 4))
    return np.where(np.isfinite(values), whole, most + 1).astype(np.int64)


def _base64(codes: NDArray[np.int64], width: int) -> str:
    little = codes.astype("<u8").ravel().view(np.uint8).reshape(-1, 8)[:, :width]
    return base64.b64encode(little.tobytes()).decode("ascii")


def pairs_of(names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Every two of the names."""
    return combinations(names, 2)


def _leading(cell: Result) -> Sequence[TestResult]:
    """The lead test of each pair."""
    return [test for test in cell.tests if test.method == cell.lead_method]


def _cell(
    cell: Result, material: Material, people: Mapping[str, Any], runs: Sequence[int], sizes: Sequence[int]
) -> dict[str, Any]:
    names = list(cell.ranked)
    place = {name: i for i, name in enumerate(names)}
    standing = places(cell)
    method = {name: i for i, name in enumerate(cell.methods)}
    systems = []
    for name in names:
        system = cell.systems[name]
        at = standing.get(name)
        systems.append(
            {
                "name": name,
                "n": system.n,
                "avg": short(cell.mean(name)),
                "sel": short(system.s_sel),
                "dev": short(system.s_dev),
                "test": short(system.s_test),
                "median": system.median_replica,
                "runs": [[id, Replica(id).group, short(score)] for id, score in system.scores.items()],
                "ci": {m: rounded(ends) for m, ends in system.ci.items() if ends is not None},
                "cluster": None if at is None else at.cluster,
                "ranks": None if at is None else at.ranks,
                "people": people.get(name),
                "odd": odd_runs(cell, name),
            }
        )
    segments = max((test.segments for test in cell.tests), default=0)
    sizes = sorted({*sizes, segments})
    return {
        "testset": cell.testset,
        "metric": cell.metric,
        "name": cell.name,
        "kind": cell.kind,
        "higher": cell.sign > 0,
        "neutral": cell.neutral,
        "decimals": cell.decimals,
        "people": cell.metric in material.people,
        "segments": segments,
        "sizes": sizes,
        "methods": cell.methods,
        "lead": cell.lead_method,
        "says": {test.method: generalises_to(test) for test in cell.tests},
        "systems": systems,
        "anchor": anchor(cell, material),
        "own": rounded(
            cell.better_by(x - cell.systems[anchor(cell, material)].avg)
            for x in cell.systems[anchor(cell, material)].scores.values()
        ),
        "tests": [
            [
                place[t.a],
                place[t.b],
                method[t.method],
                *map(short, (t.delta, adjusted(t), t.ci_low, t.ci_high)),
                0 if of_outputs(t) or unfit(cell, t) else verdict(t, cell.alpha, cell.sign),
            ]
            for t in cell.tests
        ],
        "pairs": [
            [
                place[t.a],
                place[t.b],
                short(one.margin),
                None if one.state == "these-outputs" else short(detectable(material, cell, t)),
                _doubt(t, place),
                _plans(plan_grid(cell, t, runs, sizes)),
                _dots(cell, t),
                _told(one),
            ]
            for t, one in zip(_leading(cell), cell.answers, strict=True)
        ],
    }


def _dots(cell: Result, test: TestResult) -> list[Any]:
    """By how much B is better: its mean against each run of A, then each of its runs against A's mean."""
    a, b = cell.systems[test.a], cell.systems[test.b]
    values = [b.avg - x for x in a.scores.values()] + [x - a.avg for x in b.scores.values()]
    places = np.array([cell.better_by(value) for value in values])
    low, high = float(places.min()), float(places.max())
    return [low, high, packed(places, low, high, 2)]


def _told(one: Answer) -> list[Any]:
    """Who is ahead (1: B, -1: A), how far, the interval in that direction, state, colour, and words."""
    side = 0 if one.ahead is None else 1 if one.ahead == one.b else -1
    numbers = map(short, (one.size, one.low, one.high))
    return [side, *numbers, one.state, one.tone, one.state in AHEAD, one.interval, one.by_text]


def odd_runs(cell: Result, system: str) -> list[str]:
    """Runs that a note is about."""
    about = {note.run for one in cell.answers for note in one.trust if note.systems == (system,)}
    return [id for id in cell.systems[system].scores if id in about]


def _doubt(test: TestResult, place: Mapping[str, int]) -> list[list[Any]]:
    """The shares of the variance of the difference, each with its source (a system's place for its runs,
    `runs` for those of both, or the test set), the share, and how it is printed."""
    return [
        [
            "the test set" if one.row.source != RUNS else place.get(one.row.about or "", "runs"),
            short(one.row.share),
            str(one),
        ]
        for one in shares(test.variances)
    ]


def _plans(grid: PlanGrid | None) -> list[Any] | None:
    """Tuners, own runs, the smallest and the largest detectable difference; and packed, row by row, the
    detectable differences, the power for the observed difference, and the curves."""
    if grid is None:
        return None
    low, high = float(grid.detectable.min()), float(grid.detectable.max())
    return [
        grid.tuners,
        grid.own,
        low,
        high,
        packed(grid.detectable, low, high),
        packed(np.clip(grid.observed, 1e-4, 1 - 1e-4), 0, 1, 2),  # never 0 or 1, even when rounded
        packed(grid.curve, 0, 1, 1),
    ]


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


def differences_of(material: Material) -> Differences:
    return {
        one.testset: {metric: segment_differences(means) for metric, means in one.means.items()}
        for one in material.why
    }


def _why(one: Why, differences: Mapping[str, tuple[dict[str, Any], Any]], alpha: float) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {}
    for metric, group in one.groups:
        kind = kinds.setdefault(group.kind, {"names": group.names, "sizes": group.sizes, "metrics": {}})
        kind["metrics"][metric] = _means(
            {name: Moments.over_runs(scores) for name, scores in group.scores.items()}, alpha
        )
    words = one.words
    return {
        "differences": {metric: pairs for metric, (pairs, _) in differences.items()},
        "groups": kinds,
        "words": None
        if words is None
        else {
            "of": len(words.grams),
            "names": list(words.right),
            "pairs": [_grams(words, a, b, alpha) for a, b in pairs_of(words.right)],
            "classes": words.classes,
            "sizes": words.sizes,
            "in": words.counted_in,
            "recall": _means(words.recall, alpha),
        },
    }


def segment_differences(
    means: Mapping[str, NDArray[np.float64]],
) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """For each pair of systems by one metric the histogram of the differences on segments, and (pairs, N)
    the differences as codes (see `packed`) from -`most` to `most`. In `pairs`: the width of a bin; the
    numbers of segments on which the second system scores lower, as high, higher; and those in each bin,
    where 0 is the middle edge and segments without a difference are in none."""
    known = np.concatenate([values[np.isfinite(values)] for values in means.values()])
    most = float(np.ptp(known)) if len(known) else 0.0
    codes = np.array([_codes(means[b] - means[a], -most, most) for a, b in pairs_of(means)])
    pairs = []
    for own in codes:
        delta = own[own != MISSING] - EQUAL
        size = np.abs(delta) * (most / EQUAL)
        step = _step(float(size.max(initial=0)) / BINS)
        number = (size // step).astype(np.int64)
        half = int(number.max(initial=0)) + 1
        bins = np.bincount(
            (half + np.where(delta > 0, number, -number - 1))[delta != 0], minlength=2 * half
        )
        counts = [int((np.sign(delta) == sign).sum()) for sign in (-1, 0, 1)]
        pairs.append([step, counts, bins.tolist()])
    return {"names": list(means), "most": most, "pairs": pairs}, codes


def by_segment(codes: Iterable[NDArray[np.int64]]) -> list[str]:
    """For each segment, the differences of all pairs by all metrics, in four letters each."""
    return [_base64(row, 3) for row in np.concatenate([*codes]).T]


def _step(least: float) -> float:
    """1, 2 or 5 times a power of ten."""
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{times * power:.12g}") for times in (1, 2, 5, 10) if times * power >= least)


def _means(by_name: Mapping[str, Moments], alpha: float) -> dict[str, Any]:
    """Means over runs, and for each pair the differences and both ends of their intervals, packed."""
    every = {pair: _differences(by_name, *pair, alpha) for pair in pairs_of(by_name)}
    most = max((float(np.nanmax(np.abs(own), initial=0)) for own in every.values()), default=0.0)
    return {
        "names": list(by_name),
        "means": [rounded(moments.mean) for moments in by_name.values()],
        "most": most,
        "pairs": [packed(own, -most, most) for own in every.values()],
    }


def _differences(by_name: Mapping[str, Moments], a: str, b: str, alpha: float) -> NDArray[np.float64]:
    """(3, ...) B - A, and the ends of the interval over runs; NaN if a system has one run."""
    delta, half = by_name[b].mean - by_name[a].mean, half_width(by_name[a], by_name[b], alpha)
    half = np.full_like(delta, np.nan) if half is None else half
    return np.array([delta, delta - half, delta + half])


def _grams(words: Words, a: str, b: str, alpha: float) -> list[list[list[Any]]]:
    """What the runs of B have right more often than those of A, and less often: n-gram, how often
    the references have it, means of A and of B, the difference and its interval."""
    every = _differences(words.right, a, b, alpha)
    return [
        [
            [
                words.grams[i],
                words.expected[i],
                *rounded([*(words.right[name].mean[i] for name in (a, b)), *every[:, i]]),
            ]
            for i in side
        ]
        for side in words.most_changed(a, b, half_width(words.right[a], words.right[b], alpha))
    ]
