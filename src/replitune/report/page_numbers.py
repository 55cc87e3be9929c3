"""The numbers of the page that JavaScript shows, as JSON: rounded to six digits, and short.

All that people read is computed here or earlier. The page reverses it where A and B are exchanged. Lists of
pairs are in the order of `pairs_of`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.report.material import Material
from replitune.report.why import Why
from replitune.report.words import Moments, Words, half_width
from replitune.results.result import Result

MISSING, EQUAL = 256**3 - 1, 256**3 // 2 - 1
"""Codes of the difference on a segment: where there is none, and for 0."""


Differences = Mapping[str, Mapping[str, tuple[dict[str, Any], NDArray[np.int64]]]]
"""What `segment_differences` returns, by test set and metric."""


def numbers(material: Material, differences: Differences) -> dict[str, Any]:
    return {
        "baseline": material.baseline,
        "cells": [_cell(cell, material) for cell in material.cells],
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


def _cell(cell: Result, material: Material) -> dict[str, Any]:
    place = {name: i for i, name in enumerate(cell.ranked)}
    return {
        "testset": cell.testset,
        "metric": cell.metric,
        "name": cell.name,
        "kind": cell.kind,
        "higher": cell.sign > 0,
        "neutral": cell.neutral,
        "decimals": cell.decimals,
        "people": cell.metric in material.people,
        "systems": [{"name": name, "n": cell.systems[name].n} for name in cell.ranked],
        "pairs": [[place[one.a], place[one.b], one.by_text] for one in cell.answers],
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
    """For each pair of systems by one metric the numbers of segments on which the second scores lower, as
    high, higher; and (pairs, N) the differences as codes (see `packed`) from -`most` to `most`."""
    known = np.concatenate([values[np.isfinite(values)] for values in means.values()])
    most = float(np.ptp(known)) if len(known) else 0.0
    codes = np.array([_codes(means[b] - means[a], -most, most) for a, b in pairs_of(means)])
    if not most:
        codes[codes != MISSING] = EQUAL
    signs = (np.sign(own[own != MISSING] - EQUAL) for own in codes)
    pairs = [[int((own == sign).sum()) for sign in (-1, 0, 1)] for own in signs]
    return {"names": list(means), "most": most, "pairs": pairs}, codes


def by_segment(codes: Iterable[NDArray[np.int64]]) -> list[str]:
    """For each segment, the differences of all pairs by all metrics, in four letters each."""
    return [_base64(row, 3) for row in np.concatenate([*codes]).T]


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
