"""Variance components of a difference whose replicas are crossed with segments.

Every replica translates every segment, so a score varies with the tuner run, with the
segments, and with their interaction. A metric is linearised into one value per (replica,
segment), the infinitesimal jackknife (Efron and Tibshirani 1993, ch. 21), and the two-way
random-effects analysis of variance is done on those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.metrics.base import Metric
from replitune.significance import arguments as iv
from replitune.significance.base import Comparison, Note

SMALLEST_DOCUMENTS = 6.0
"""Fewer effective documents than this: no p."""
FEW_DOCUMENTS = 20.0


@dataclass(frozen=True)
class Component:
    """One estimated part of Var(delta), with its degrees of freedom."""

    value: float
    df: float


@dataclass(frozen=True)
class Components:
    """The parts of Var(delta) = V_rep,A + V_rep,B + V_seg - V_int,A - V_int,B."""

    replicas: tuple[Component, ...]
    """V_rep: one per system, or per (system, group); one in all when replicas are paired."""
    segments: Component
    """V_seg, over segments or documents."""
    interaction: tuple[Component, ...]
    """V_int, counted in V_rep and in V_seg, hence subtracted once; as `replicas`."""

    @property
    def variance(self) -> float:
        """Var(delta), never below what the replicas or the segments alone make."""
        rep = sum(part.value for part in self.replicas)
        both = sum(part.value for part in self.interaction)
        return max(rep + self.segments.value - both, rep, self.segments.value)

    @property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values and degrees of freedom (K,) of the parts that weigh in the critical value."""
        parts = (*self.replicas, self.segments)
        return np.array([p.value for p in parts]), np.array([p.df for p in parts])


def linearise(
    metric: Metric, statistics: NDArray, sums: NDArray
) -> tuple[NDArray[np.float64], bool]:
    """L (n, N) of statistics (n, N, K) with sums (n, K), and whether a gradient made it.

    L[r, i] = N grad f(Z_r) . (z[r, i] - Z_r/N): what segment i adds to N times the score,
    rows summing to 0. A metric without a gradient, or with one that is not finite here,
    uses jackknife pseudo-values N f(Z) - (N-1) f(Z - z_i), centred.
    """
    n, N, _ = statistics.shape
    L = np.empty((n, N))
    gradient = metric.gradient(sums)
    if gradient is not None and np.isfinite(gradient).all():
        for r in range(n):  # a replica at a time: no float copy of all statistics
            L[r] = statistics[r].astype(np.float64) @ gradient[r]
        L *= N
        L -= L.mean(axis=1, keepdims=True)
        return L, True
    for r in range(n):
        L[r] = -(N - 1) * metric.score(sums[r] - statistics[r])
    L -= L.mean(axis=1, keepdims=True)
    return L, False


def effective_documents(documents: NDArray[np.int32]) -> float:
    """G_eff = (sum m_g)^2 / sum m_g^2: how many documents of equal size would do as well."""
    sizes = np.bincount(documents).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _document_sums(values: NDArray[np.float64], documents: NDArray[np.int32]) -> NDArray:
    """(..., N) -> (..., G)."""
    flat = values.reshape(-1, values.shape[-1])
    G = int(documents.max()) + 1
    out = np.stack([np.bincount(documents, weights=row, minlength=G) for row in flat])
    return out.reshape(*values.shape[:-1], G)


def _segment_part(
    d: NDArray[np.float64], documents: NDArray[np.int32] | None
) -> tuple[float, float]:
    """V_seg of per-segment differences d (N,) that sum to 0, and its degrees of freedom.

    Over documents: the delete-one-document jackknife of the mean of d.
    """
    N = len(d)
    if documents is None:
        return float(d @ d) / (N * (N - 1)), float(N - 1)
    sizes = np.bincount(documents)
    G = len(sizes)
    left_out = -_document_sums(d, documents) / (N - sizes)
    spread = left_out - left_out.mean()
    return (G - 1) / G * float(spread @ spread), effective_documents(documents) - 1


def _replica_part(
    scores: NDArray[np.float64],
    L: NDArray[np.float64],
    strata: NDArray[np.int64],
    documents: NDArray[np.int32] | None,
) -> tuple[list[Component], list[Component]]:
    """V_rep and V_int of one system's (or of paired differences') replicas, by stratum.

    scores (n,); L (n, N); strata (n,) numbers from 0.
    """
    n, N = L.shape
    rep, both = [], []
    for h in range(int(strata.max()) + 1):
        own = strata == h
        k = int(own.sum())
        share = (k / n) ** 2
        rep.append(Component(share * float(np.var(scores[own], ddof=1)) / k, k - 1.0))
        residual = L[own] - L[own].mean(axis=0)
        units = N
        if documents is not None:
            residual = _document_sums(residual, documents)
            units = residual.shape[1]
        square = float(np.vdot(residual, residual))
        scale = units / ((units - 1) * (k - 1) * k * N**2)
        both.append(Component(share * scale * square, (k - 1.0) * (units - 1.0)))
    return rep, both


def strata_numbers(
    comparison: Comparison, strata: str = "groups"
) -> tuple[NDArray[np.int64], NDArray[np.int64], Note | None]:
    """Stratum of each replica of A and of B, and a note when groups had to be pooled."""
    a, b = comparison.a, comparison.b
    of_a, of_b = np.zeros(a.n, np.int64), np.zeros(b.n, np.int64)
    found = iv.strata_of(a, b, strata)
    if len(found) > 1 and min(min(len(x), len(y)) for x, y in found) < 2:
        return of_a, of_b, Note("pooled-groups", "a group with one replica: all groups pooled")
    for h, (in_a, in_b) in enumerate(found):
        of_a[in_a], of_b[in_b] = h, h
    return of_a, of_b, None


def variance_components(
    comparison: Comparison,
    La: NDArray[np.float64],
    Lb: NDArray[np.float64],
    *,
    documents: NDArray[np.int32] | None = None,
    strata_a: NDArray[np.int64],
    strata_b: NDArray[np.int64],
    paired: NDArray[np.int64] | None = None,
) -> Components:
    """Components of Var(delta) from linearised values La (n_a, N), Lb (n_b, N).

    `documents` None: segments are the unit. `paired`: B's replica for each of A's.
    """
    d = Lb.mean(axis=0) - La.mean(axis=0)
    seg = Component(*_segment_part(d, documents))
    if paired is not None:
        scores = comparison.scores_b[paired] - comparison.scores_a
        rep, both = _replica_part(scores, Lb[paired] - La, strata_a, documents)
    else:
        rep, both = _replica_part(comparison.scores_a, La, strata_a, documents)
        more_rep, more_both = _replica_part(comparison.scores_b, Lb, strata_b, documents)
        rep += more_rep
        both += more_both
    return Components(tuple(rep), seg, tuple(both))


def spread_of_sums(
    statistics: NDArray, sums: NDArray, documents: NDArray[np.int32] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean sums (K,) over replicas and their covariance (K, K), segments and replicas varying.

    statistics (n, N, K), sums (n, K). The interaction is counted twice: a little too wide.
    """
    n, N, K = statistics.shape
    total = np.zeros((N, K))
    for r in range(n):
        total += statistics[r]
    total /= n
    centre = np.asarray(sums, np.float64).mean(axis=0)
    total -= centre / N
    if documents is not None:
        total = _document_sums(total.T, documents).T
    units = len(total)
    spread = units / (units - 1) * total.T @ total
    if n > 1:
        spread = spread + np.cov(np.asarray(sums, np.float64).T) / n
    return centre, np.atleast_2d(spread)


def kink_notes(comparison: Comparison, documents: NDArray[np.int32] | None) -> list[Note]:
    """What the metric says of its smoothness near the scores of A and of B."""
    said = []
    for system in (comparison.a, comparison.b):
        spread = spread_of_sums(system.statistics, system.sums, documents)
        note = comparison.metric.kink(*spread)
        if note:
            said.append(Note("not-smooth", f"{system.name}: {note}", system.name))
    advice = Note("linearised", "linearised near a corner: compare with multi-bootstrap")
    return [*said, advice] if said else []
