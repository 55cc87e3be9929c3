"""The power of `crossed` under a plan, from known variance components.

A plan with other numbers of replicas and segments has

    V = sum_s sigma2_a,s / n_s  +  sigma2_d / N  +  sum_s sigma2_e,s / (n_s N)

In the normal model the mean squares of the test are independent multiples of chi-squares, and
independent of delta. So with the half width of the test's interval, its *reach*,

    power(delta) = E Phi((delta - reach) / sqrt(V)),

where the expectation is over the mean squares that determine the reach. It is taken over a fixed set
of nodes, quasi-random quantiles of the chi-squares. Without random numbers, it is smooth in all that
a search varies, and cheap enough to be computed for many sets of components. Mean squares of the
interaction have (n - 1)(N - 1) degrees of freedom and are taken as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.significance.critical import layers, net_parts
from replitune.significance.noise_ratio import Pairs, Worst, shrunk, worst_case
from replitune.significance.studies.pilot import VarianceModel

MANY_SEGMENTS = 10_000_000
"""Stands for any number of segments: what they add to Var(delta) is taken as 0."""
NODES = 4096
"""Nodes for one set of components; within 1% of a simulation with 200,000 trials."""
SEARCH_NODES = 1024
FEW_NODES = 256
"""Nodes for each of many sets of components; within 2%."""


@dataclass(frozen=True)
class Plan:
    """Replicas of A and B (in `tuners` equal groups) and segments."""

    n_a: int
    n_b: int
    segments: int
    tuners: int = 1

    def __post_init__(self) -> None:
        if self.segments < 2:
            raise ReplituneError("a plan needs two segments", found=str(self.segments))
        for n in (self.n_a, self.n_b):
            if n % self.tuners or n // self.tuners < 2:
                raise ReplituneError(
                    "a plan needs two runs per system and tuner, the same number of each",
                    found=f"{n} runs of {self.tuners} tuners",
                )

    @property
    def runs(self) -> tuple[int, int, int]:
        return self.n_a, self.n_b, self.tuners


class Planned:
    """A plan under components (S,), or under D sets of them, (D, S); (...) below is () or (D,).

    With `given`, the plan adds to an experiment that has shown these components. A mean square is then the
    mean of the known one and of what the new runs and segments add, by degrees of freedom; these add
    multiples of the true variance, which is the known mean square over a chi-square, for runs with the
    degrees of freedom of both systems.
    """

    def __init__(
        self,
        model: VarianceModel,
        plan: Plan,
        *,
        alpha: float = 0.05,
        nodes: int = NODES,
        given: Plan | None = None,
    ) -> None:
        self._alpha = alpha
        N, H = plan.segments, plan.tuners
        n = np.array([float(plan.n_a)] if model.paired else [float(plan.n_a), float(plan.n_b)])
        of_one = 0.0 if N >= MANY_SEGMENTS else 1 / N
        both = model.interaction * of_one / n[:, np.newaxis]  # (..., S, B)
        rep = np.repeat((model.replica / n + both.sum(axis=-1)) / H, H, axis=-1)
        noise = both.sum(axis=-2)
        test_set = model.segment * of_one
        scope = model.scope
        of_all = rep if scope != "segments" else 0 * rep
        own = {"both": test_set, "runs": 0 * test_set, "segments": test_set + noise}[scope]
        variances = np.concatenate([of_all, own], axis=-1)
        self.se = np.sqrt(variances.sum(axis=-1))
        """(...) sqrt(Var(delta)) under the plan."""
        nus = _degrees(model, plan)
        if given is None:
            drawn = _chi_squares(nodes, nus)
            drawn /= drawn.mean(axis=0)
        else:
            known = np.minimum(_degrees(model, given), nus)
            new = nus - known
            R = rep.shape[-1]
            sure = np.concatenate([np.full(R, known[:R].sum()), known[R:]])
            drawn = _chi_squares(nodes, np.concatenate([sure, np.maximum(new, 1e-3)]))
            true = 1 / drawn[:, : len(nus)]
            drawn = (known + new * true * drawn[:, len(nus) :]) / nus
            self.variance = (variances[..., np.newaxis, :] * true).sum(axis=-1)
            """(..., J) Var(delta) at each node."""
        R = rep.shape[-1]
        self._parts = net_parts(
            rep[..., np.newaxis, :] * drawn[:, :R],
            nus[:R],
            (test_set + noise)[..., np.newaxis, :] * drawn[:, R:],
            nus[R:],
            noise[..., np.newaxis, :],
            scope,
        )

    def power(self, delta: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """(...) P(p < alpha, with the right sign) at a true difference; for one set of components, also
        at each of several differences."""
        return self._share(np.abs(delta), self._two_sided)

    def decides(self, delta: float, own: Planned, margin: float | None = None) -> float:
        """P(this plan shows a difference, or that there is none of the margin), given that the experiment
        `own` has shown the difference `delta`, and if every true difference was equally likely. What the
        rest adds to delta has the variance |V_own - V|."""
        spread = np.sqrt(np.abs(own.variance - self.variance))
        found = self._share(np.asarray(abs(delta)), self._two_sided, spread)
        if margin is not None:
            found += self._share(np.asarray(margin - abs(delta)), self._one_sided, spread)
        return float(found)

    def detectable(self, power: float = 0.8) -> NDArray[np.float64]:
        """(...) the smallest difference with this power."""
        return self._root(power, self._two_sided)

    def same(self, margin: float) -> NDArray[np.float64]:
        """(...) P(equivalence within the margin is shown) if there is no difference at all: that the
        1 - 2 alpha interval lies inside, |delta| + reach < margin."""
        return self._share(np.asarray(margin), self._one_sided, inside=True)

    def smallest_margin(self, power: float = 0.8) -> NDArray[np.float64]:
        """(...) the smallest margin for which `same` has this probability."""
        return self._root(power, self._one_sided, inside=True)

    @cached_property
    def _two_sided(self) -> NDArray[np.float64]:
        return self._reach(self._alpha / 2)

    @cached_property
    def _one_sided(self) -> NDArray[np.float64]:
        return self._reach(self._alpha)

    def _reach(self, q: float) -> NDArray[np.float64]:
        """(..., J) half width of the interval with q in each tail, at each node."""
        parts = self._parts
        varies = parts.variance > 0
        values = np.where(varies[..., np.newaxis], parts.values, 1.0)
        weight, df = layers(values, parts.nus)
        critical = (weight * t_quantiles(df, q)).sum(axis=-1)
        return np.where(varies, critical * np.sqrt(parts.variance), 0.0)

    def _share(
        self,
        bound: NDArray[np.float64],
        reach: NDArray[np.float64],
        spread: NDArray[np.float64] | None = None,
        inside: bool = False,
    ) -> NDArray[np.float64]:
        """(...) E P(x + reach < bound) for normal x with the spread of delta, or with that at each node; if
        `inside`, E P(|x| + reach < bound)."""
        from scipy.special import ndtr

        gap, se = bound[..., np.newaxis] - reach, self.se[..., np.newaxis] if spread is None else spread
        with np.errstate(divide="ignore", invalid="ignore"):
            share = ndtr(np.where(se > 0, gap / se, np.where(gap > 0, np.inf, -np.inf)))
        if inside:
            share = np.maximum(2 * share - 1, 0.0)
        mean: NDArray[np.float64] = share.mean(axis=-1)
        return mean

    def _root(self, wanted: float, reach: NDArray[np.float64], inside: bool = False) -> NDArray[np.float64]:
        """(...) the bound with the wanted share, by the secant method on the probit scale, where the
        share is almost linear; kept between limits."""
        from scipy.special import ndtri

        if not 0 < wanted < 1:
            raise ReplituneError("`power` must be between 0 and 1", found=repr(wanted))
        goal, spread = ndtri(wanted), np.sqrt(self.se**2 + reach.var(axis=-1))
        low, high = np.zeros_like(self.se), reach.max(axis=-1) + 9 * self.se
        x = np.clip(reach.mean(axis=-1) + max(goal, -1.0) * spread, low, high)
        slope = 1 / np.where(spread > 0, spread, 1.0)
        last = last_gap = None
        for _ in range(60):
            share = self._share(x, reach, inside=inside)
            low, high = np.where(share < wanted, x, low), np.where(share < wanted, high, x)
            gap = ndtri(share) - goal
            if last is not None and last_gap is not None:
                with np.errstate(divide="ignore", invalid="ignore"):
                    secant = (gap - last_gap) / (x - last)
                slope = np.where(np.isfinite(secant) & (secant > 0), secant, slope)
            last, last_gap = x, gap
            step = x - gap / slope
            x = np.where((step > low) & (step < high), step, (low + high) / 2)
            if (np.abs(x - last) <= 1e-7 * high).all():
                break
        return x


class PlannedInFamily(Planned):
    """The same with `crossed: {noise_ratio: ratio}`, for one of several pairs that are tested together;
    each system has n runs, which vary as those of A and B do on average."""

    def __init__(
        self, model: VarianceModel, n: int, N: int, ratio: float, pairs: Pairs, *, alpha: float = 0.05
    ) -> None:
        super().__init__(model, Plan(n, n, N), alpha=alpha)
        systems = max(max(pair) for pair in pairs) + 1
        squares, self._own = n * self._parts.values[..., :2], self._parts.values[..., 2:]
        pooled = squares.mean(axis=-1)
        if systems > 2:
            rest = (systems - 2) * (n - 1.0)
            others = squares.mean() * _chi_square(NODES, squares.shape[-1] + 2, 0, rest)
            pooled = (2 * pooled + (systems - 2) * others) / systems
        self._runs = np.asarray(shrunk(squares, n - 1.0, pooled[..., np.newaxis])).sum(axis=-1) / n
        self._pairs = len(pairs)
        self._alone, self._all = (
            worst_case((n,) * systems, some, ratio, False, 0) for some in (((0, 1),), pairs)
        )

    def _reach(self, q: float) -> NDArray[np.float64]:
        own = self._own.sum(axis=-1)
        weight, df = layers(np.where(own[..., np.newaxis] > 0, self._own, 1.0), self._parts.nus[..., 2:])

        def both(worst: Worst, of_runs: float, of_set: float) -> NDArray[np.float64]:
            """Half widths times the standard error, at these tails for runs and for the test set."""
            runs = np.interp(-np.log(2 * of_runs), -np.log(worst.tails), worst.values)
            return self._runs * runs + own * (weight * t_quantiles(df, of_set)).sum(axis=-1)

        strict = q / self._pairs
        together = np.clip(
            both(self._all, q, strict), both(self._alone, q, q), both(self._alone, strict, strict)
        )
        return together / np.sqrt(np.maximum(self._runs + own, np.finfo(float).tiny))


def t_quantiles(df: NDArray[np.float64], q: float) -> NDArray[np.float64]:
    """Quantiles of Student's t at upper tail q, for df (...) of at least 1, from a table in 1/df."""
    inverse, table = _t_table(q)
    return np.interp(1 / df, inverse, table)


@lru_cache(maxsize=16)
def _t_table(q: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import ndtri, stdtrit

    inverse = np.linspace(0.0, 1.0, 4001)
    return inverse, np.concatenate([[-ndtri(q)], -stdtrit(1 / inverse[1:], q)])


@lru_cache(maxsize=256)
def _chi_square(nodes: int, dims: int, k: int, nu: float) -> NDArray[np.float64]:
    """(nodes,) one column of the nodes, chi-squares over their degrees of freedom; kept, because
    similar plans share most columns."""
    from scipy.special import chdtri

    return np.asarray(chdtri(nu, 1 - quasi_random(nodes, dims)[:, k]) / nu)


def _degrees(model: VarianceModel, plan: Plan) -> NDArray[np.float64]:
    """Degrees of freedom of V_rep of each system (and tuner), and of V_seg of each test set."""
    sizes = [plan.n_a] if model.paired else [plan.n_a, plan.n_b]
    of_runs = [n / plan.tuners - 1 for n in sizes for _ in range(plan.tuners)]
    return np.concatenate([of_runs, np.maximum(model.units * plan.segments - 1, 1.0)])


def _chi_squares(nodes: int, nus: NDArray[np.float64]) -> NDArray[np.float64]:
    """(nodes, K) chi-squares over their degrees of freedom (K,)."""
    return np.column_stack([_chi_square(nodes, len(nus), k, nu) for k, nu in enumerate(nus.tolist())])


@lru_cache(maxsize=64)
def quasi_random(size: int, dims: int) -> NDArray[np.float64]:
    """(size, dims) points that fill the unit cube evenly: the additive recurrence whose steps are
    powers of 1/x, x^(dims + 1) = x + 1 (Roberts 2018); in one dimension x is the golden ratio.

    >>> quasi_random(3, 1).round(3).ravel().tolist()
    [0.118, 0.736, 0.354]
    """
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dims + 1))
    steps = np.cumprod(np.full(dims, 1 / root))
    return np.clip((0.5 + np.outer(np.arange(1, size + 1), steps)) % 1, 1e-12, 1 - 1e-12)
