"""Every test with a closed form, on T comparisons at once: for the calibration study only.

These tests need only a `Summary` of a comparison: the scores of runs, and what segments and the
interaction of runs and segments add to the variance of delta. `summarise` computes it from complete
data. For a normal model and a mean metric, `drawn` draws it directly: in that case the mean squares of
segments and of the interaction are independent of each other and of everything else, and are their
expected values times chi-squares. That makes a trial some hundred times cheaper.
`tests/significance/test_calibration_batch.py` compares each function with the library's, and `drawn`
with `summarise`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from batch import Array, Batch
from numba import njit
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtrit

from replitune.metrics.base import Metric
from replitune.significance.critical import Drawn, Parts, critical_values, net_parts
from replitune.significance.crossed_pair import FEWEST_FOR_FLAG, RUN_EFFECT, UNSTABLE
from replitune.significance.studies.simulate import Design
from replitune.significance.system_parts import contributing_df, effective_documents

Yes = NDArray[np.bool_]


@dataclass(frozen=True)
class Summary:
    """T comparisons; systems have H tuners with equally many runs each, one tuner after the other."""

    a: Array
    """(T, n_a) scores of runs."""
    b: Array
    """(T, n_b) scores of runs."""
    seg: Array
    """(T,) V_seg."""
    nu_seg: float | Array
    both: Array
    """(T, 2H) V_int of A by tuner, then of B."""
    units: int
    """Number of segments, or of documents."""
    tuners: int = 1

    @property
    def delta(self) -> Array:
        """(T,) differences of mean scores."""
        found: Array = self.b.mean(axis=1) - self.a.mean(axis=1)
        return found


@njit(cache=True)
def _along(z, gradient, out):  # type: ignore[no-untyped-def]
    """out (M, U) = z (M, U, K) . gradient (M, K), without converting all statistics to floats."""
    M, U, K = z.shape
    for m in range(M):
        for u in range(U):
            total = 0.0
            for k in range(K):
                total += z[m, u, k] * gradient[m, k]
            out[m, u] = total


def _linear(metric: Metric, z: NDArray, sums: NDArray, N: float) -> Array:
    """Linearised scores L (T, n, U): sums over each unit's segments, minus the unit's share of the mean."""
    gradient = metric.gradient(sums)
    assert gradient is not None
    T, n, U, K = z.shape
    out = np.empty((T, n, U))
    _along(z.reshape(T * n, U, K), gradient.reshape(T * n, K) * N, out.reshape(T * n, U))
    return out


def summarise(batch: Batch) -> Summary:
    """The summary of complete data; if units have sizes, they are documents."""
    U = batch.a.shape[2]
    sizes = np.ones(U) if batch.sizes is None else batch.sizes.astype(np.float64)
    N = sizes.sum()
    both: list[Array] = []
    means = []
    for z, sums in zip((batch.a, batch.b), batch.sums, strict=True):
        n = z.shape[1]
        L = _linear(batch.metric, z, sums, N)
        L -= L.sum(axis=2, keepdims=True) * (sizes / N)
        L /= N - sizes
        L -= L.mean(axis=2, keepdims=True)
        L *= np.sqrt((U - 1) / U)
        means.append(L.mean(axis=1))
        k = n // batch.tuners
        for h in range(batch.tuners):
            own = L[:, h * k : (h + 1) * k]
            E = own - own.mean(axis=1, keepdims=True)
            both.append((k / n) ** 2 * np.einsum("tnu,tnu->t", E, E) / ((k - 1) * k))
    nu_seg = N - 1.0
    if batch.sizes is not None:
        nu_seg = effective_documents(np.repeat(np.arange(U, dtype=np.int32), batch.sizes)) - 1
    d = means[1] - means[0]
    seg = (d**2).sum(axis=1)
    nus = contributing_df(d, nu_seg)
    return Summary(*batch.scores, seg, nus, np.stack(both, axis=-1), U, batch.tuners)


def chi_square(nu: float, shape: int | tuple[int, ...], rng: np.random.Generator) -> Array:
    """Chi-squares divided by their degrees of freedom, so that their mean is 1."""
    return rng.chisquare(nu, shape) / nu


def drawn(
    design: Design, trials: int, rng: np.random.Generator, tuners: int = 1, spread: float = 0.0
) -> Summary:
    """As `summarise` of `mean_scores`, but without the effects of segments on both systems alike.

    spread: standard deviation of the logarithm of the standard deviation of a system's runs.
    """
    N, T = design.segments, trials
    shift = np.full(T, design.delta)
    noise = design.noise_a**2 / design.n_a + design.noise_b**2 / design.n_b
    if design.null == "this":
        # Twins d + p, e - p: p is in the half-differences of twins, and in none of their means
        assert N % 2 == 0
        seg = (2 * design.difference**2 + noise) * chi_square(N / 2, T, rng) * (N / 2)
        seg += noise * chi_square(N / 2 - 1, T, rng) * (N / 2 - 1)
        seg /= N * (N - 1)
    else:
        shift += rng.normal(0.0, design.difference / np.sqrt(N), T)
        seg = (design.difference**2 + noise) / N * chi_square(N - 1, T, rng)
    scores, both = [], []
    for n, run, of_output, sign in (
        (design.n_a, design.replica_a, design.noise_a, -0.5),
        (design.n_b, design.replica_b, design.noise_b, 0.5),
    ):
        own = np.broadcast_to(np.asarray(run, np.float64).reshape(-1), (n,))
        more = np.exp(spread * rng.standard_normal((T, 1)))
        x = rng.standard_normal((T, n)) * np.sqrt((own * more) ** 2 + of_output**2 / N)
        scores.append(x + sign * shift[:, None])
        k = n // tuners
        V_int = (k / n) ** 2 * of_output**2 / (k * N)
        both.append(V_int * chi_square((k - 1) * (N - 1), (T, tuners), rng))
    return Summary(*scores, seg, N - 1.0, np.concatenate(both, axis=1), N, tuners)


# -- crossed ------------------------------------------------------------------------------


def crossed_parts(summary: Summary, scope: Drawn = "both") -> Parts:
    """Variance (T,), its parts (T, K), and their degrees of freedom (T, K)."""
    rep, nus = [], []
    for scores in (summary.a, summary.b):
        n = scores.shape[1]
        k = n // summary.tuners
        for h in range(summary.tuners):
            s2 = scores[:, h * k : (h + 1) * k].var(axis=1, ddof=1)
            nu = np.full(len(s2), k - 1.0)
            rep.append((k / n) ** 2 * s2 / k)
            nus.append(nu)
    return net_parts(
        np.stack(rep, axis=-1),
        np.stack(nus, axis=-1),
        summary.seg[:, np.newaxis],
        np.reshape(summary.nu_seg, (-1, 1)),
        summary.both.sum(axis=1, keepdims=True),
        scope,
    )


def cochran_cox(values: Array, nus: Array, q: float) -> Array:
    """Critical values (T,) for parts (T, K)."""
    known, place = np.unique(nus, return_inverse=True)
    quantiles = -stdtrit(known, q)[place].reshape(nus.shape)
    found: Array = (values * quantiles).sum(axis=-1) / values.sum(axis=-1)
    return found


def satterthwaite(values: Array, nus: Array, q: float) -> Array:
    df = values.sum(axis=-1) ** 2 / (values**2 / nus).sum(axis=-1)
    found: Array = -stdtrit(df, q)
    return found


CRITICAL: dict[str, Callable[[Array, Array, float], Array]] = {
    "crossed": critical_values,
    "crossed, Cochran-Cox": cochran_cox,
    "crossed, Satterthwaite": satterthwaite,
}


def crossed_rejections(
    summary: Summary,
    parts: Parts,
    alpha: float,
    critical: Callable[[Array, Array, float], Array] = critical_values,
) -> Yes:
    """(T,) whether the test rejects."""
    t = np.abs(summary.delta) / np.sqrt(parts.variance)
    found: Yes = t > critical(parts.values, parts.nus, alpha / 2)
    return found


def unstable_run(summary: Summary) -> Yes:
    """(T,) whether the result has the note `unstable-run`."""
    found = np.zeros(len(summary.a), bool)
    for scores in (summary.a, summary.b):
        if scores.shape[1] >= FEWEST_FOR_FLAG:
            off = np.abs(scores - np.median(scores, axis=1, keepdims=True))
            mad = np.median(off, axis=1, keepdims=True)
            found |= (off > UNSTABLE * mad).any(axis=1)
    return found


def run_effect(summary: Summary) -> Yes:
    """(T,) whether the result has the note `run-effect`: F of runs against the interaction."""
    found = np.zeros(len(summary.a), bool)
    for scores, V_int in zip((summary.a, summary.b), summary.both.T, strict=True):
        n = scores.shape[1]
        F = scores.var(axis=1, ddof=1) / (n * V_int)
        found |= fdtrc(n - 1, (n - 1) * (summary.units - 1), F) < RUN_EFFECT
    return found


# -- mixed models -------------------------------------------------------------------------


def mixed_model(summary: Summary, runs: bool) -> tuple[Array, Array]:
    """Variance (T,) of delta and degrees of freedom (T,) of score ~ system + (1 | segment).

    With `runs`, + (1 | system:run). By restricted maximum likelihood. As every segment has the same
    outputs, delta is the difference of means, and variances are those of the analysis of variance; a
    negative run variance becomes 0, and the mean square of runs is then pooled with that of the rest.
    The variance of segments, which is far from 0 here, cancels in delta. The test is Wald's t, with
    the degrees of freedom of the mean square in its variance, which are Satterthwaite's. The model has
    no term for segments that suit one system better, so these are in the residual.
    """
    N = summary.units
    (n_a, n_b) = summary.a.shape[1], summary.b.shape[1]
    rest = n_a * n_b / (n_a + n_b) * N * (N - 1) * summary.seg
    between = np.zeros_like(rest)
    for scores, V_int in zip((summary.a, summary.b), summary.both.T, strict=True):
        n = scores.shape[1]
        rest = rest + (n - 1) * (N - 1) * n * N * V_int
        between += N * (n - 1) * scores.var(axis=1, ddof=1)
    df_rest, df_runs = (n_a + n_b - 1) * (N - 1), n_a + n_b - 2
    square = (rest + between) / (df_rest + df_runs)
    df = np.full(len(square), float(df_rest + df_runs))
    if runs:
        differ = between / df_runs > rest / df_rest
        square = np.where(differ, between / df_runs, square)
        df = np.where(differ, df_runs, df)
    return square * (1 / n_a + 1 / n_b) / N, df


def mixed_rejections(summary: Summary, runs: bool, alpha: float) -> Yes:
    V, df = mixed_model(summary, runs)
    known, place = np.unique(df, return_inverse=True)
    found: Yes = np.abs(summary.delta) / np.sqrt(V) > -stdtrit(known, alpha / 2)[place]
    return found
