"""One system, linearised: what each segment, or document, adds to the score of each run.

A metric is linearised into one value per (replica, segment), the infinitesimal jackknife (Efron
and Tibshirani 1993, ch. 21). A system that is compared with many others is analysed once.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import BLOCK, covariance, dot, gram, product
from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.notes import Note, note
from replitune.replicas import sampled_runs
from replitune.significance.base import Comparison
from replitune.significance.noise_ratio import Bound, bound_of
from replitune.statistics.systems import SystemStatistics

FEWEST_UNITS = 6.0
"""Fewer segments, or effective documents, than this say nothing about new text."""
FEW_UNITS = 20.0
"""With fewer than this, p is approximate."""
MANY_CONTRIBUTING, FEW_CONTRIBUTING, SMALLEST_CONTRIBUTING = 100.0, 30.0, 6.0
"""If fewer units than this make up the difference: fewer degrees of freedom, a note, no p."""
KEPT_BYTES = 256 << 20
"""Size of the analyses that are kept for later pairs; the last two are always kept."""


@dataclass(frozen=True)
class Block:
    """The units of one test set, which may be one of a suite."""

    units: slice
    nu: float
    """Degrees of freedom of what they add: N - 1 for segments, G_eff - 1 for documents."""


@dataclass(frozen=True, eq=False)
class SystemParts:
    """One system on a test set, or on all test sets of a suite, under one metric."""

    name: str
    replicas: tuple[str, ...]
    groups: tuple[str | None, ...]
    scores: NDArray[np.float64]
    """(n,) of each replica."""
    units: NDArray[np.float64]
    """(n, U): what each unit (segment or document) adds to each replica's score, scaled so that
    V_seg of two systems is the squared distance of their means over replicas."""
    blocks: tuple[Block, ...]
    segments: int
    documents: int
    samples: tuple[int, ...] = ()
    """How many samples each replica is the mean of; empty if replicas are not made of samples."""
    smooth: bool = True
    """The values come from a gradient, not from pseudo-values."""
    notes: tuple[Note, ...] = ()

    @property
    def n(self) -> int:
        return len(self.replicas)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """(U,) mean over replicas."""
        means: NDArray[np.float64] = self.units.mean(axis=0)
        return means

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """(B,) squared length of the mean over replicas, on each test set."""
        return np.array([dot(self.mean[b.units], self.mean[b.units]) for b in self.blocks])


def analyse(metric: Metric, system: SystemStatistics, documents: NDArray[np.int32] | None) -> SystemParts:
    """Linearise a system; if `documents` is None, segments are the units.

    The value of a segment is L[r, i] / sqrt(N (N - 1)), that of a document what the delete-one
    jackknife makes of S[r, g], the sum of L over the m_g segments of document g:

        sqrt((G - 1) / G) (S[r, g] / (N - m_g) - its mean over g)
    """
    L, smooth = linearise(metric, system.statistics, system.sums)
    N = L.shape[1]
    if documents is None:
        units, nu, G = L, N - 1.0, N
        units /= np.sqrt(N * max(N - 1.0, 1.0))
    else:
        sizes = np.bincount(documents)
        G = len(sizes)
        units = document_sums(L, documents) / np.maximum(N - sizes, 1)
        units -= units.mean(axis=1, keepdims=True)
        units *= np.sqrt((G - 1) / G)
        nu = effective_documents(documents) - 1
    return SystemParts(
        system.name,
        system.replicas,
        system.groups,
        metric.score(system.sums),
        units,
        (Block(slice(0, G), nu),),
        segments=N,
        documents=G,
        smooth=smooth,
        notes=kink_notes(metric, system, documents) if smooth else (),
    )


def samples_as_runs(parts: SystemParts) -> SystemParts:
    """The samples of each run as one replica, their mean: those of ``prompt002`` are ``prompt-002``."""
    members = sampled_runs(parts.name, parts.replicas, parts.groups)
    return replace(
        parts,
        replicas=tuple(re.sub(r"(?<=[^\W\d_])(?=\d+$)", "-", name) for name in members),
        groups=(None,) * len(members),
        scores=np.array([parts.scores[rows].mean() for rows in members.values()]),
        units=np.array([parts.units[rows].mean(axis=0) for rows in members.values()]),
        samples=tuple(map(len, members.values())),
    )


def weighted(parts: Sequence[SystemParts], weights: Sequence[float]) -> SystemParts:
    """One system on a suite of test sets, with the same runs on each.

    A replica's score is the weighted mean of its scores; V_seg and V_int are those of each test
    set times the square of its weight.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    same_replicas(first.name, [part.replicas for part in parts])
    ends = np.cumsum([part.units.shape[1] for part in parts])
    blocks = [
        Block(slice(int(end) - part.units.shape[1], int(end)), part.blocks[0].nu)
        for part, end in zip(parts, ends, strict=True)
    ]
    return replace(
        first,
        scores=np.sum([w * part.scores for part, w in zip(parts, weights, strict=True)], axis=0),
        units=np.hstack([w * part.units for part, w in zip(parts, weights, strict=True)]),
        blocks=tuple(blocks),
        segments=sum(part.segments for part in parts),
        documents=sum(part.documents for part in parts),
        smooth=all(part.smooth for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def same_replicas(system: str, replicas: Sequence[tuple[str, ...]]) -> None:
    """Refuse a suite whose test sets do not have the same runs."""
    for other in replicas[1:]:
        if other != replicas[0]:
            only = sorted(set(replicas[0]) ^ set(other))
            raise ReplituneError(
                f"system {system} has different runs on the test sets of a suite",
                found=f"not on all of them: {', '.join(only) or 'the same in another order'}",
                expected="every run on every test set",
            )


class Analyses:
    """Systems that were analysed, kept for the next pair.

    `run_scores` returns, for a metric id, the scores of the runs of every system, for bounds that are
    estimated from all of them; `seed` is for the draws that this takes.
    """

    def __init__(
        self, run_scores: Callable[[str], Sequence[NDArray[np.float64]]] | None = None, seed: int = 0
    ) -> None:
        self._run_scores, self._seed = run_scores, seed
        self._kept: OrderedDict[tuple[str, str, int, bool], tuple[SystemStatistics, SystemParts]]
        self._kept = OrderedDict()
        self._bounds: dict[tuple[str, float], Bound] = {}
        self._lock = threading.Lock()

    def parts(
        self, metric: Metric, system: SystemStatistics, documents: NDArray[np.int32] | None
    ) -> SystemParts:
        key = (metric.id, system.name, id(system.statistics), documents is None)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        parts = analyse(metric, system, documents)
        with self._lock:
            self._kept[key] = (system, parts)  # the system is kept, too, so that its id is not used again
            while len(self._kept) > 2 and self._size() > KEPT_BYTES:
                self._kept.popitem(last=False)
        return parts

    def bound(self, metric: Metric, ratio: float, pair: Sequence[NDArray[np.float64]]) -> Bound:
        """The bound on the noise of runs; from the pair alone if no other systems are known."""
        if self._run_scores is None:
            return bound_of(ratio, pair, self._seed)
        with self._lock:
            if (metric.id, ratio) not in self._bounds:
                bound = bound_of(ratio, self._run_scores(metric.id), self._seed)
                self._bounds[metric.id, ratio] = bound
            return self._bounds[metric.id, ratio]

    def _size(self) -> int:
        return sum(s.statistics.nbytes + p.units.nbytes for s, p in self._kept.values())


def linearise(metric: Metric, statistics: NDArray, sums: NDArray) -> tuple[NDArray[np.float64], bool]:
    """L (n, N) of statistics (n, N, K) with sums (n, K), and whether a gradient made it.

    L[r, i] = N grad f(Z_r) . (z[r, i] - Z_r/N): what segment i adds to N times the score,
    rows summing to 0. A metric without a gradient, or with one that is not finite here,
    uses jackknife pseudo-values N f(Z) - (N-1) f(Z - z_i), centred.
    """
    n, N, _ = statistics.shape
    L = np.empty((n, N))
    gradient = metric.gradient(sums)
    if gradient is not None and np.isfinite(gradient).all():
        for r in range(n):  # a part at a time, to make no float copy of all statistics
            for start in range(0, N, BLOCK):
                part = slice(start, start + BLOCK)
                L[r, part] = product(statistics[r, part], gradient[r])
        L *= N
        L -= L.mean(axis=1, keepdims=True)
        return L, True
    for r in range(n):
        L[r] = -(N - 1) * metric.score(sums[r] - statistics[r])
    L -= L.mean(axis=1, keepdims=True)
    return L, False


def kish(units: NDArray[np.int32], weights: NDArray[np.float64]) -> float:
    """How many units of equal weight would do as well; units, weights (n,): of each segment."""
    heavy = np.asarray(np.bincount(units, weights=weights), np.float64)
    return float(weights.sum()) ** 2 / dot(heavy, heavy)


def effective_documents(documents: NDArray[np.int32]) -> float:
    """G_eff = (sum m_g)^2 / sum m_g^2, with m_g segments in document g."""
    return kish(documents, np.ones(len(documents)))


def contributing(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many units make up the difference: (sum d^2)^3 / (sum d^3)^2 for what each adds, d (..., U).

    This is U / skewness^2, or m if m units add the same and the rest nothing; infinite above
    `MANY_CONTRIBUTING`.
    """
    largest = np.abs(d).max(axis=-1, keepdims=True, initial=0.0)
    x = d / np.where(largest > 0, largest, 1.0)
    squares, cubes = (x**2).sum(axis=-1), (x**2 * x).sum(axis=-1)
    skewed = squares**3 < MANY_CONTRIBUTING * cubes**2
    return np.where(skewed, squares**3 / np.where(skewed, cubes, 1.0) ** 2, np.inf)


def few_contributing(d: NDArray[np.float64]) -> tuple[float, bool]:
    """How many of these units (U,) make up the difference, infinite if the skewness is at most 1; and
    whether they are enough for a p, as they always are if the skewness is at most 2."""
    K = float(contributing(d))
    if len(d) <= K:
        return np.inf, True
    return K, min(SMALLEST_CONTRIBUTING, len(d) / 4) <= K


def contributing_note(few: float, enough: bool, unit: str) -> Note | None:
    """What a reader must know about `few_contributing`."""
    if few >= FEW_CONTRIBUTING:
        return None
    what = "p is approximate" if enough else "no p"
    return note("few-contributing", unit=unit, number=few, what=what)


def contributing_df(d: NDArray[np.float64], nu: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Degrees of freedom of V_seg: what is left of nu if few units make up the difference.

    With N / skewness^2 degrees of freedom, Student's quantile at .05 is larger by about as much as
    makes up for the excess rejections of a two-sided test under skewness (the first term of Hall
    1992, ch. 2.6); at .01, by most of it.
    """
    return nu / (1 + nu / contributing(d))


def has_documents(documents: NDArray[np.int32]) -> bool:
    """Whether some document has more than one segment."""
    return int(documents.max(initial=-1)) + 1 < len(documents)


def unit_of(comparison: Comparison, unit: str, scope: str) -> str:
    """segment or document: the unit that test sets are drawn from."""
    known = has_documents(comparison.documents)
    if unit == "document" and not known and scope != "runs":
        raise ReplituneError(
            "the test set has no documents",
            found="`unit: document`, and one segment in each document",
            expected="a document id for each segment",
            fix="give the test set its documents, or leave `unit` to `auto`",
        )
    return {"auto": "document" if known else "segment"}.get(unit, unit)


def effective_units(comparison: Comparison, unit: str) -> float:
    """How many segments, or effective documents, the test set has."""
    return effective_documents(comparison.documents) if unit == "document" else float(comparison.segments)


def units_note(size: float, unit: str, what: str) -> Note:
    """A note on a test set of few units, and what follows from that."""
    code = "few-documents" if unit == "document" else "few-segments"
    return note(code, units=units_words(size, unit), what=what)


def units_words(size: float, unit: str) -> str:
    """``12 segments``, ``4.5 effective documents``"""
    if unit == "document":
        return "1 document" if size == 1 else f"{size:.1f} effective documents"
    return f"{size:.0f} segment{'s' if size > 1 else ''}"


def this_text_note(size: float, unit: str) -> Note:
    """A note that a test set is too small to stand for new text."""
    return note("this-text-alone", units=units_words(size, unit))


def ignored_documents(documents: NDArray[np.int32], d: NDArray[np.float64], alpha: float) -> Note | None:
    """What it costs to take segments as independent: their correlation within documents, and the
    level that a test at `alpha` really has when segments are all that varies.

    d (N,): unit values of B minus those of A. The correlation is that of a one-way analysis of
    variance, with m_0 = (N - sum m^2 / N) / (G - 1) segments per document.
    """
    from scipy.special import ndtr, ndtri

    sizes = np.bincount(documents)
    G, N = len(sizes), len(documents)
    if G < 2:
        return note("documents-ignored", documents="one document", cost="")
    sums = document_sums(d, documents)
    between = float((sums**2 / sizes).sum() - d.sum() ** 2 / N) / (G - 1)
    within = float((d**2).sum() - (sums**2 / sizes).sum()) / (N - G)
    m_0 = (N - float((sizes**2).sum()) / N) / (G - 1)
    total = between + (m_0 - 1) * within
    icc = (between - within) / total if total > 0 else 0.0
    left_out = sums / np.maximum(N - sizes, 1)
    left_out = left_out - left_out.mean()
    # N (N - 1) undoes the scaling of d in `analyse`
    by_document = (G - 1) / G * float((left_out**2).sum()) * N * (N - 1)
    by_segment = dot(d, d)
    level = alpha
    if by_document > by_segment > 0:
        level = 2 * float(ndtr(ndtri(alpha / 2) * np.sqrt(by_segment / by_document)))
    cost = (
        f"; their correlation within documents is {icc:.2f}, so if runs did not vary, a level of {alpha:g} "
        f"would really be {level:.2g}"
    )
    return note("documents-ignored", documents=f"{G} documents", cost=cost)


def document_sums(values: NDArray[np.float64], documents: NDArray[np.int32]) -> NDArray:
    """(..., N) -> (..., G)."""
    flat = values.reshape(-1, values.shape[-1])
    G = int(documents.max()) + 1
    out = np.stack([np.bincount(documents, weights=row, minlength=G) for row in flat])
    return out.reshape(*values.shape[:-1], G)


def spread_of_sums(
    statistics: NDArray, sums: NDArray, documents: NDArray[np.int32] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean sums (K,) over replicas and their covariance (K, K), if segments and replicas vary.

    statistics (n, N, K), sums (n, K). The interaction is counted twice: a little too large a covariance.
    """
    n, N, K = statistics.shape
    units = N if documents is None else int(documents.max()) + 1
    if units < 2:
        return np.asarray(sums, np.float64).mean(axis=0), np.zeros((K, K))
    total = np.zeros((N, K))
    for r in range(n):
        total += statistics[r]
    total /= n
    centre = np.asarray(sums, np.float64).mean(axis=0)
    total -= centre / N
    if documents is not None:
        total = document_sums(total.T, documents).T
    spread = units / (units - 1) * gram(total.T)
    if n > 1:
        spread = spread + covariance(np.asarray(sums, np.float64).T) / n
    return centre, np.atleast_2d(spread)


def kink_notes(
    metric: Metric, system: SystemStatistics, documents: NDArray[np.int32] | None
) -> tuple[Note, ...]:
    """Notes on how smooth the metric is near the scores of a system."""
    kink = metric.kink(*spread_of_sums(system.statistics, system.sums, documents))
    return (note("not-smooth", systems=[system.name], kink=kink),) if kink else ()
