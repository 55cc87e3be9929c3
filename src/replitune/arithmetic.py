"""Arithmetic that is the same on every processor: sums in a fixed order, and functions.

BLAS adds in an order that depends on the processor, and numpy uses different code for exp, log and
powers where there is AVX-512. The functions here use only additions, multiplications, divisions and
roots, which IEEE 754 defines to the last bit, and numpy's sums, whose order is fixed (blocks of 128,
eight partial sums). A product by BLAS is safe only where all its sums are exact: counts with counts,
or with `significance.draws.exact_columns`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BLOCK = 1 << 14
"""How many numbers a function is computed for at once."""

SQRT_HALF, ONE_BY_LN2 = 0.70710678118654752440, 1.44269504088896338700
LN10 = 2.30258509299404568402
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2 in two parts; a whole number times the first is exact."""

LOG = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)
"""Coefficients of the polynomial for log, from fdlibm (Ng 1993): the error is below one unit in the
last place."""

EXP = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05),
    *(-1.65339022054652515390e-06, 4.13813679705723846039e-08),
)
"""Coefficients for exp, from the same."""


def dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The sum of a times b."""
    return float((a * b).sum())


def product(a: NDArray[Any], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """a (..., k) times b (k,) or (k, n), each sum in the order of k. Meant for small k."""
    out = np.zeros((*a.shape[:-1], *b.shape[1:]))
    for k in range(len(b)):
        out += np.multiply.outer(a[..., k], b[k])
    return out


def gram(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S, S) dot products of the rows (S, U) with each other."""
    return np.array([(rows * row).sum(axis=1) for row in rows])


def covariance(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance (S, S) of S variables observed U times, (S, U), with U - 1 degrees of freedom."""
    return gram(rows - rows.mean(axis=1, keepdims=True)) / (rows.shape[1] - 1)


def solve(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """x (..., S) such that matrix x = right, for positive definite matrices (..., S, S), by Gaussian
    elimination."""
    left, x = matrix.copy(), right.copy()
    for k in range(x.shape[-1]):
        factor = left[..., k + 1 :, k] / left[..., k, k, np.newaxis]
        left[..., k + 1 :, k:] -= factor[..., np.newaxis] * left[..., np.newaxis, k, k:]
        x[..., k + 1 :] -= factor * x[..., k, np.newaxis]
    for k in reversed(range(x.shape[-1])):
        known = (left[..., k, k + 1 :] * x[..., k + 1 :]).sum(axis=-1)
        x[..., k] = (x[..., k] - known) / left[..., k, k]
    return x


def eigen(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues (S,) of a symmetric matrix, and its eigenvectors as columns (S, S), by Jacobi
    rotations."""
    left, vectors = matrix.astype(np.float64), np.eye(len(matrix))
    small = np.finfo(float).eps * np.abs(left).max(initial=0.0) / 8
    turned = True
    while turned:
        turned = False
        for p, q in itertools.combinations(range(len(left)), 2):
            if abs(left[p, q]) <= small:
                continue
            turned = True
            slope = (left[q, q] - left[p, p]) / (2 * left[p, q])
            tangent = (1.0 if slope >= 0 else -1.0) / (abs(slope) + np.sqrt(slope * slope + 1))
            cosine = 1 / np.sqrt(tangent * tangent + 1)
            sine = tangent * cosine
            for rows in (left, left.T, vectors.T):
                rows[p], rows[q] = cosine * rows[p] - sine * rows[q], sine * rows[p] + cosine * rows[q]
            left[p, q] = left[q, p] = 0.0
    return left.diagonal().copy(), vectors


def _in_blocks(function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Callable[..., Any]:
    """Apply a function block by block, so that its intermediate arrays stay in the cache."""

    @functools.wraps(function)
    def of_any_shape(x: ArrayLike) -> NDArray[np.float64]:
        x = np.asarray(x, dtype=np.float64)
        flat, out = x.ravel(), np.empty(x.size)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            for start in range(0, x.size, BLOCK):
                out[start : start + BLOCK] = function(flat[start : start + BLOCK])
        return out.reshape(x.shape)

    return of_any_shape


@_in_blocks
def exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """e to the x."""
    x = np.clip(x, -746.0, 709.79)  # the result is 0 below this range, infinite above
    power = np.rint(x * ONE_BY_LN2)
    high, low = x - power * LN2_HIGH, power * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    y = 1 - ((low - (r * c) / (2 - c)) - high)
    return np.ldexp(y, power.astype(np.int32))


@_in_blocks
def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The natural logarithm of finite numbers; -infinity for 0."""
    m, power = np.frexp(x)
    below = m < SQRT_HALF
    f, k = np.where(below, 2 * m, m) - 1, (power - below).astype(np.float64)
    s = f / (2 + f)
    z = s * s
    w = z * z
    odd = z * (LOG[0] + w * (LOG[2] + w * (LOG[4] + w * LOG[6])))
    even = w * (LOG[1] + w * (LOG[3] + w * LOG[5]))
    half = 0.5 * f * f
    logarithm = k * LN2_HIGH - ((half - (s * (half + (odd + even)) + k * LN2_LOW)) - f)
    return np.where(x > 0, logarithm, np.where(x == 0, -np.inf, np.nan))


def log10(x: ArrayLike) -> NDArray[np.float64]:
    """The logarithm to base 10 of finite numbers; -infinity for 0."""
    return log(x) / LN10


def log1p(x: ArrayLike) -> NDArray[np.float64]:
    """log(1 + x), where x may be tiny."""
    x = np.asarray(x, dtype=np.float64)
    above = 1 + x
    return log(above) - ((above - 1) - x) / above


def power(x: ArrayLike, exponent: ArrayLike) -> NDArray[np.float64]:
    """x >= 0 to the power of `exponent`, which must not be negative where x is 0."""
    return exp(np.multiply(exponent, np.maximum(log(x), -1e300)))
