"""What people should judge next: which segments, how many, and the sheet for them to fill in."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from replitune.corpus.testset import TestSet
from replitune.errors import ReplituneError
from replitune.meta.human import Judgement
from replitune.significance.base import TestResult
from replitune.statistics.outputs import Outputs

COLUMNS = (
    *("item", "source", "output", "score"),
    *("segment", "document", "system", "replica", "annotator", "probability"),
)
"""The columns of a sheet; the first four are for those who judge."""
STRATA = 5
EVENLY = 0.5
"""The share of judgements spread evenly over all segments; the rest goes by the size of the difference.
It bounds the weights: none is more than twice what it would be if all probabilities were equal."""


def choose(
    sizes: NDArray[np.float64], n: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Indices (n,) of the chosen segments, and the probability (N,) with which each segment is chosen.

    sizes (N,): how far the outputs of a segment differ, by metrics. Segments are sorted by size and cut
    into strata with equal numbers of them; all segments of a stratum have the same probability.
    """
    N = len(sizes)
    strata = np.array_split(np.argsort(sizes, kind="stable"), min(STRATA, max(1, n // 2)))
    count = np.array([len(stratum) for stratum in strata])
    mean = np.array([sizes[stratum].mean() for stratum in strata])
    share = count / N
    if mean.sum() > 0:
        share = EVENLY * share + (1 - EVENLY) * count * mean / (count * mean).sum()
    exact = np.minimum(n * share, count)
    while exact.sum() < n - 1e-9:  # what a stratum cannot hold goes to the others
        room = exact < count
        exact = np.where(room, exact * (n - exact[~room].sum()) / exact[room].sum(), exact)
        exact = np.minimum(exact, count)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    rest = np.argsort(whole - exact, kind="stable")
    whole[rest[: n - int(whole.sum())]] += 1
    probability = np.empty(N)
    chosen = []
    for stratum, k in zip(strata, whole.tolist(), strict=True):
        probability[stratum] = k / len(stratum)
        chosen.append(rng.permutation(stratum)[:k])
    return np.sort(np.concatenate(chosen)), probability


def sheet(
    sizes: NDArray[np.float64],
    budget: int,
    outputs: Mapping[str, tuple[Sequence[str], Outputs]],
    texts: TestSet,
    rng: np.random.Generator,
    before: Sequence[Judgement] = (),
) -> str:
    """A sheet with `budget` more segments to judge: a CSV in which people fill in the column `score`,
    and which is then read as judgements.

    outputs: replicas and texts of each system; which run is judged is drawn for each segment.
    before: judgements of segments (from 0) that were chosen at random; they are copied into the sheet
    with the probability of being chosen by either of the two choices.
    """
    N = len(sizes)
    first = np.zeros(N, bool)
    first[[row.segment for row in before]] = True
    left = np.flatnonzero(~first)
    if not 0 < budget <= len(left):
        raise ReplituneError(
            "no such number of segments to judge", found=str(budget), expected=f"1 to {len(left)}"
        )
    chosen, of_left = choose(sizes[left], budget, rng)
    order = np.argsort(sizes[left], kind="stable")
    near = np.searchsorted(sizes[left][order], sizes).clip(max=len(left) - 1)
    second = of_left[order][near]
    second[left] = of_left
    early = first.sum() / N
    probability = early + (1 - early) * second
    names, chosen = list(outputs), left[chosen]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item, segment in enumerate(rng.permutation(chosen).tolist(), start=1):
        source = "" if texts.source is None else texts.source[segment]
        document = "" if texts.documents is None else texts.documents[segment]
        for name in rng.permutation(names).tolist():
            replicas, lines = outputs[name]
            r = int(rng.integers(len(replicas)))
            about = [segment, document, name, replicas[r], "", repr(float(probability[segment]))]
            writer.writerow([item, source, lines.line(r, segment), "", *about])
    for row in before:
        about = [row.segment, "", row.system, row.replica or "", row.annotator or ""]
        writer.writerow(["", "", "", repr(row.score), *about, repr(float(probability[row.segment]))])
    return buffer.getvalue()


def sizes_of(
    controls: Sequence[NDArray[np.float64]], pairs: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """(N,) how far the outputs of the pairs differ on each segment: root of the sum of squares over pairs
    and metrics, each divided by its spread. controls: S systems of (N, M)."""
    squares = np.zeros(len(controls[0]))
    for a, b in pairs:
        d = controls[b] - controls[a]
        spread = (d**2).mean(axis=0)
        squares += (d**2 / np.where(spread > 0, spread, 1.0)).sum(axis=1)
    sizes: NDArray[np.float64] = np.sqrt(squares)
    return sizes


def wanted(results: Iterable[TestResult], margin: float, segments: int) -> int:
    """About how many more segments would make the intervals of all pairs reach no further than the
    margin."""
    more = 0
    for result in results:
        if result.ci_low is None or result.ci_high is None:
            raise ReplituneError(
                f"too few judgements of {result.a} and {result.b} to say how many would be enough",
                fix="say how many with --budget",
            )
        judged = result.details["judged"]
        reach = (result.ci_high - result.ci_low) / 2
        more = max(more, math.ceil(judged * (reach / margin) ** 2 - judged))
    return min(more, segments)
