"""Pearson's r, Spearman's rho and Kendall's tau-b of resampled data.

A resample is the data with weights: how often each item was drawn. So nothing is sorted or
ranked again, and items that were not drawn, or that nobody judged, have weight 0.

Few items (systems): all coefficients are sums over pairs i < j of w_i w_j u_ij v_ij, divided by
the root of the product of the same sums of u_ij^2 and of v_ij^2, with

    Pearson    u_ij = x_i - x_j                      Kendall's tau-b    u_ij = sign(x_i - x_j)

and Spearman is Pearson of the ranks sum_j w_j sign(x_i - x_j) / 2. Many items (cells of systems
and segments): sums over items, ranks from cumulative weights, and Knight's O(m log m) for tau-b.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.significance.arguments import one_of
from replitune.significance.draws import exact_columns

COEFFICIENTS = ("pearson", "spearman", "kendall")

BLOCK = 64
"""Resamples computed at once; constant, since rounding in BLAS depends on the shapes of arrays."""


def snap(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """`x` (..., m) divided by its largest absolute value and rounded to 12 decimals.

    No coefficient changes, and values that are equal up to rounding errors are ties.
    """
    scale = np.abs(x).max(axis=-1, keepdims=True, initial=0.0)
    return np.round(x / np.where(scale > 0, scale, 1.0), 12)


def few_items(
    x: NDArray[np.float64], z: NDArray[np.float64], coefficient: str, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """(...) coefficient of x and z, (..., m) each, under weights (..., m); they broadcast.

    NaN where x or z is constant over the items that were drawn.
    """
    one_of("coefficient", coefficient, COEFFICIENTS)
    x, z = snap(np.asarray(x, dtype=np.float64)), snap(np.asarray(z, dtype=np.float64))
    w = np.ones(x.shape[-1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if coefficient == "spearman":
        a, b = _centred_ranks(x, w), _centred_ranks(z, w)
        return _quotient((w * a * b).sum(-1), (w * a * a).sum(-1), (w * b * b).sum(-1))
    first, second = np.triu_indices(x.shape[-1], 1)
    u, v = x[..., first] - x[..., second], z[..., first] - z[..., second]
    if coefficient == "kendall":
        u, v = np.sign(u), np.sign(v)
    pairs = w[..., first] * w[..., second]
    return _quotient((pairs * u * v).sum(-1), (pairs * u * u).sum(-1), (pairs * v * v).sum(-1))


def _centred_ranks(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """(..., m) mid-rank of each item minus the mean rank."""
    return np.einsum("...ij,...j->...i", np.sign(x[..., :, np.newaxis] - x[..., np.newaxis, :]), w) / 2


def _quotient(
    xz: NDArray[np.float64], xx: NDArray[np.float64], zz: NDArray[np.float64]
) -> NDArray[np.float64]:
    """xz / sqrt(xx zz) within [-1, 1]; NaN where it is not defined."""
    xz, xx, zz = np.broadcast_arrays(xz, xx, zz)
    defined = (xx > 0) & (zz > 0)
    quotients = np.full(xz.shape, np.nan)
    quotients[defined] = xz[defined] / (np.sqrt(xx[defined]) * np.sqrt(zz[defined]))
    return np.clip(quotients, -1.0, 1.0)


def many_items(
    x: NDArray[np.float64], z: NDArray[np.float64], coefficient: str, weights: NDArray | None = None
) -> NDArray[np.float64]:
    """(B,) coefficient of x and z, (m,) each, under weights (B, m) of whole numbers.

    NaN where x or z is constant over the items that were drawn.
    """
    x, z = snap(np.asarray(x, dtype=np.float64)), snap(np.asarray(z, dtype=np.float64))
    w = np.ones((1, len(x)), dtype=np.int64) if weights is None else np.asarray(weights)
    if coefficient == "kendall":
        order, groups = np.argsort(x, kind="stable"), np.unique(x, return_inverse=True)[1]
        return _tau_b(
            groups[order].astype(np.int64),
            np.unique(z, return_inverse=True)[1][order].astype(np.int64),
            np.ascontiguousarray(w[:, order], dtype=np.int64),
        )
    values = np.empty(len(w))
    ranked = coefficient == "spearman"
    order_x, order_z = (_Order(x), _Order(z)) if ranked else (None, None)
    for start in range(0, len(w), BLOCK):
        rows = slice(start, start + BLOCK)
        part = w[rows].astype(np.float64)
        a = x if order_x is None else order_x.ranks(part)
        b = z if order_z is None else order_z.ranks(part)
        values[rows] = _pearson(a, b, part)
    return values


def _pearson(x: NDArray[np.float64], z: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B,) Pearson's r, centred first; x, z (m,) or (B, m)."""
    total = np.maximum(w.sum(axis=1), 1.0)[:, np.newaxis]
    a = x - (w * x).sum(axis=1)[:, np.newaxis] / total
    b = z - (w * z).sum(axis=1)[:, np.newaxis] / total
    xz, xx, zz = ((w * p * q).sum(axis=1) for p, q in ((a, b), (a, a), (b, b)))
    for squares, values in ((xx, x), (zz, z)):
        # of a constant, squares of rounding errors remain
        smallest = total[:, 0] * (1e-14 * np.abs(values).max(axis=-1)) ** 2
        squares[squares <= smallest] = 0.0
    return _quotient(xz, xx, zz)


class _Order:
    """Items sorted once, for ranks under any weights."""

    def __init__(self, x: NDArray[np.float64]) -> None:
        self.order = np.argsort(x, kind="stable")
        ordered = x[self.order]
        self.starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.sizes = np.diff(np.r_[self.starts, len(x)])

    def ranks(self, w: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, m) mid-ranks of the items when each counts as often as it was drawn, w (B, m)."""
        groups = np.add.reduceat(w[:, self.order], self.starts, axis=1)
        ranks = np.cumsum(groups, axis=1) - (groups - 1) / 2
        by_item = np.empty(w.shape)
        by_item[:, self.order] = np.repeat(ranks, self.sizes, axis=1)
        return by_item


@njit(cache=True)
def _tau_b(x, z, weights):  # type: ignore[no-untyped-def]
    """tau-b of ranks x (ascending) and z, (m,) from 0, under each of weights (B, m).

    Knight (1966): each item, in order of x, is compared with those before it by a tree of
    cumulative weights over z (Fenwick 1994).
    """
    m = len(x)
    groups = z.max() + 1
    taus = np.empty(len(weights))
    tree = np.empty(groups + 1, dtype=np.int64)
    at = np.empty(groups, dtype=np.int64)
    for b in range(len(weights)):
        w = weights[b]
        tree[:] = 0
        at[:] = 0
        total = 0
        score = 0.0
        tied_x = 0.0
        start = 0
        while start < m:
            end = start
            size = 0
            while end < m and x[end] == x[start]:
                if w[end] > 0:
                    less = 0
                    i = z[end]
                    while i > 0:
                        less += tree[i]
                        i -= i & -i
                    score += float(w[end]) * float(2 * less + at[z[end]] - total)
                    size += w[end]
                end += 1
            for item in range(start, end):
                if w[item] > 0:
                    at[z[item]] += w[item]
                    i = z[item] + 1
                    while i <= groups:
                        tree[i] += w[item]
                        i += i & -i
            total += size
            tied_x += 0.5 * size * (size - 1)
            start = end
        tied_z = 0.0
        for group in range(groups):
            tied_z += 0.5 * at[group] * (at[group] - 1)
        pairs = 0.5 * total * (total - 1)
        if pairs > tied_x and pairs > tied_z:
            tau = score / (np.sqrt(pairs - tied_x) * np.sqrt(pairs - tied_z))
            taus[b] = min(1.0, max(-1.0, tau))
        else:
            taus[b] = np.nan
    return taus


class Averages:
    """Coefficient over the systems of each segment, averaged over segments.

    Products of matrices, made once from the scores, with the weights of a resample.

    Parameters
    ----------
    x, z, present : (S, N)
        Cells that are not present have no score.
    """

    def __init__(
        self, x: NDArray[np.float64], z: NDArray[np.float64], present: NDArray[np.bool_], coefficient: str
    ) -> None:
        # each segment on its own scale: "equal" is relative to the scores of the segment
        a = snap(np.where(present, x, 0.0).T)
        b = snap(np.where(present, z, 0.0).T)
        self.present = present.T.astype(np.float64)
        self.signs: list[NDArray[np.float64]] | None = None
        if coefficient == "spearman":
            self.signs = [
                np.sign(values[:, :, np.newaxis] - values[:, np.newaxis, :])
                * self.present[:, np.newaxis, :]
                for values in (a, b)
            ]
            return
        self.first, self.second = np.triu_indices(len(x), 1)
        both = self.present[:, self.first] * self.present[:, self.second]
        u = (a[:, self.first] - a[:, self.second]) * both
        v = (b[:, self.first] - b[:, self.second]) * both
        if coefficient == "kendall":
            u, v = np.sign(u), np.sign(v)
        self.products = [exact_columns((p * q).T, len(x) ** 2) for p, q in ((u, v), (u, u), (v, v))]

    def per_segment(self, weights: NDArray) -> NDArray[np.float64]:
        """(B, N) coefficients under weights (B, S) of the systems; NaN where not defined."""
        w = np.asarray(weights, dtype=np.float64)
        if self.signs is None:
            pairs = w[:, self.first] * w[:, self.second]
            return _quotient(*(pairs @ product for product in self.products))
        values = np.empty((len(w), len(self.present)))
        for b, row in enumerate(w):
            ranks_x, ranks_z = (signs @ row / 2 for signs in self.signs)
            counted = self.present * row
            values[b] = _quotient(
                (counted * ranks_x * ranks_z).sum(axis=1),
                (counted * ranks_x * ranks_x).sum(axis=1),
                (counted * ranks_z * ranks_z).sum(axis=1),
            )
        return values

    def __call__(
        self, systems: NDArray, segments: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Averages (B,) under weights (B, S) and (B, N), and their numbers of segments (B,).

        Only segments where both the metric's and the human scores vary count; NaN if there are none.
        """
        if len(systems) > 1 and (systems == systems[0]).all():
            values = self.per_segment(systems[:1])
        else:
            values = self.per_segment(systems)
        counts = np.where(np.isnan(values), 0, segments)
        used = counts.sum(axis=1).astype(np.int64)
        sums = (counts * np.nan_to_num(values)).sum(axis=1)
        average = np.divide(sums, used, out=np.full(len(used), np.nan), where=used > 0)
        return average, used
