"""A bound on how unequally noisy the runs of systems are, and what is gained by it.

Three runs say little about the noise of one system. If no system's runs vary more than R times as
much as another's (standard deviation), the runs of all systems help: the variance s^2 of a system's
runs, on d degrees of freedom, is shrunk towards the mean of all,

    s~^2 = (2 s_pooled^2 + d s^2) / (2 + d).

The critical value is then not a t quantile. For runs alone it is C(q), the quantile of the largest
|t| over pairs under the least favourable pattern of standard deviations within the bound, each of
them 1 or R. It is simulated, with a random stream that depends on the seed alone, and kept. It is
averaged with that of the test set's own part by their shares of the variance, as Cochran and Cox
(1950) do:

    reach = se (share C(q) + (1 - share) T(q)),        share = sum s~^2 / n / (sum s~^2 / n + W)

T is the critical value by `critical` for the test set's parts, at q / m for m pairs. If variances
differ by more than they would in one of a hundred families within the bound, nothing is shrunk, and
the answer is that of `crossed` without a bound (docs/evidence.md shows how far all this holds).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import dot, exp, log
from replitune.notes import Note, note
from replitune.significance.critical import Parts, layers, matching_df
from replitune.streams import stream

if TYPE_CHECKING:
    from replitune.significance.simultaneous import Estimate

FAMILY_DF = 2.0
"""Weight of the mean of all variances beside a system's own, in degrees of freedom."""
CONTRADICTED = 0.01
NODES = 256
"""Tails at which critical values are computed; between them, they are linear in the tail's logarithm."""
NUMBERS = 2**26
"""Draws times patterns times (systems + pairs): half a second."""
MOST_PATTERNS = 100
FEWEST_DRAWS, MOST_DRAWS = 2**13, 2**19
BLOCK = 2048

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Worst:
    """The least favourable case, for runs alone."""

    tails: NDArray[np.float64]
    """(NODES,) descending from 1."""
    values: NDArray[np.float64]
    """(NODES,) quantiles of the largest |t| over pairs at these tails, each in the worst pattern."""
    ratio: float
    """Ratio of the largest variance to the smallest that is exceeded in `CONTRADICTED` of families."""
    draws: int


def patterns(ns: Sequence[int], pairs: Pairs, ratio: float) -> list[NDArray[np.float64]]:
    """Standard deviations (S,), each 1 or `ratio`.

    Systems with the same number of runs and of pairs are alike; what matters is how many of them are
    noisy: none, one, two, half, or all (fewer of these where the patterns would be too many).
    """
    degree = Counter(s for pair in pairs for s in pair)
    kinds = Counter((n, degree[s]) for s, n in enumerate(ns))
    members = {kind: [s for s, n in enumerate(ns) if (n, degree[s]) == kind] for kind in sorted(kinds)}
    for counts in ((0, 1, 2, 0.5, 1.0), (0, 1, 1.0), (0, 1.0)):
        several = [
            sorted({int(k * len(alike)) if isinstance(k, float) else min(k, len(alike)) for k in counts})
            for alike in members.values()
        ]
        if np.prod([len(options) for options in several]) <= MOST_PATTERNS:
            break
    deviations = []
    for noisy in product(*several):
        sd = np.ones(len(ns))
        for alike, k in zip(members.values(), noisy, strict=True):
            sd[alike[:k]] = ratio
        if sd.min() == 1:
            deviations.append(sd)
    return deviations


@lru_cache(maxsize=64)
def worst_case(ns: tuple[int, ...], pairs: Pairs, ratio: float, one_sided: bool, seed: int) -> Worst:
    """For systems with ns (S,) runs; one_sided: t of each pair (a, b) counts with its sign, not |t|."""
    cases = patterns(ns, pairs, ratio)
    n = np.array(ns, np.float64)[:, np.newaxis]
    d, S = n - 1, len(ns)
    a, b = (np.array([pair[k] for pair in pairs], np.intp) for k in (0, 1))
    draws = int(np.clip(NUMBERS // (len(cases) * (S + len(pairs))), FEWEST_DRAWS, MOST_DRAWS))
    largest = np.zeros((len(cases), draws))
    spread = np.zeros((len(cases), draws))
    rng = stream(seed, "noise-ratio")
    for start in range(0, draws, BLOCK):
        rows = slice(start, min(start + BLOCK, draws))
        D = rows.stop - start
        chi = rng.chisquare(d, (S, D)) / d
        noise = rng.standard_normal((S, D))
        for case, sd in enumerate(cases):
            s2 = chi * sd[:, np.newaxis] ** 2
            V = shrunk(s2, d, (d * s2).sum(axis=0) / d.sum()) / n
            spread[case, rows] = s2.max(axis=0) / np.maximum(s2.min(axis=0), np.finfo(float).tiny)
            effect = noise * (sd[:, np.newaxis] / np.sqrt(n))
            for first in np.unique(a):
                others = b[a == first]
                gain = effect[others] - effect[first]
                t = (gain if one_sided else np.abs(gain)) / np.sqrt(V[others] + V[first])
                np.maximum(largest[case, rows], t.max(axis=0), out=largest[case, rows])
    largest.sort(axis=1)
    tails = exp(np.linspace(0.0, float(log(2 / (draws + 1))), NODES))
    # with c of D draws at least as large, a tail is (c + 1) / (D + 1)
    places = np.minimum(np.ceil((1 - tails) * (draws + 1)).astype(int), draws - 1)
    values = np.maximum(largest[:, places].max(axis=0), 0.0)
    usual = np.quantile(spread, 1 - CONTRADICTED, axis=1).max()
    return Worst(tails, values, float(usual), draws)


def shrunk(
    s2: NDArray[np.float64] | float, d: NDArray[np.float64] | float, pooled: NDArray[np.float64] | float
) -> NDArray[np.float64] | float:
    return (FAMILY_DF * pooled + d * s2) / (FAMILY_DF + d)


@dataclass(frozen=True)
class Bound:
    """The assumption, and the systems that it is about."""

    ratio: float
    ns: tuple[int, ...]
    """Numbers of runs of the systems that have at least two, ascending."""
    pooled: float
    """Mean of the variances of their runs' scores, weighted by degrees of freedom."""
    contradicted: bool
    seed: int

    def note(self) -> Note:
        if self.contradicted:
            return note("noise-ratio-contradicted", ratio=self.ratio)
        return note("noise-ratio", ratio=self.ratio, number=len(self.ns))

    def worst(self, compared: Sequence[int], pairs: Pairs, one_sided: bool = False) -> Worst:
        """For `pairs` of the `compared` systems, given by their numbers of runs; the rest of the family
        only adds its variances."""
        rest = tuple(sorted((Counter(self.ns) - Counter(compared)).elements()))
        return worst_case((*compared, *rest), pairs, self.ratio, one_sided, self.seed)


def bound_of(ratio: float, scores: Sequence[NDArray[np.float64]], seed: int) -> Bound:
    """The bound, from the scores (n_s,) of each system of the family."""
    several = sorted((x for x in scores if len(x) > 1), key=len)
    ns = tuple(len(x) for x in several)
    s2 = np.array([np.var(x, ddof=1) for x in several])
    d = np.array(ns) - 1.0
    usual = worst_case(ns, (), ratio, False, seed).ratio if len(ns) > 1 else np.inf
    contradicted = bool(s2.max(initial=0) > usual * s2.min(initial=np.inf))
    pooled = dot(d, s2) / float(d.sum()) if len(ns) else 0.0
    return Bound(ratio, ns, pooled, contradicted, seed)


@dataclass(frozen=True, eq=False)
class Bounded:
    """Critical values of a pair under the bound; without one they are `critical.Layers`."""

    bound: Bound
    n: tuple[int, int]
    parts: Parts
    """With shrunk variances; the last `own` parts are the test set's."""
    own: int

    @cached_property
    def share(self) -> float:
        """The share of runs in the variance."""
        values = self.parts.values
        return float(values[: len(values) - self.own].sum() / values.sum())

    def test_set(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the test set adds to the critical value, at upper tails q."""
        from scipy.special import stdtrit

        if self.share == 1:
            return np.zeros_like(q)
        weight, df = layers(self.parts.values[-self.own :], self.parts.nus[-self.own :])
        return -(1 - self.share) * (stdtrit(df, q[:, np.newaxis]) * weight).sum(axis=1)

    @cached_property
    def nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log of upper tails, descending, and critical values, ascending."""
        worst = self.bound.worst(sorted(self.n), ((0, 1),))
        q = worst.tails / 2
        return log(q), self.share * worst.values + self.test_set(q)

    def value(self, q: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """The critical values of delta / se at upper tails q, at most 1/2."""
        tails, values = self.nodes
        return np.interp(-log(q), -tails, values)

    def tail(self, t: float) -> float:
        """The upper tail at critical value t >= 0."""
        tails, values = self.nodes
        return float(exp(np.interp(t, values, tails)))

    def effective_df(self, alpha: float) -> float:
        """The degrees of freedom whose two-sided t quantile at alpha is the critical value."""
        return matching_df(float(self.value(alpha / 2)), alpha, 0.1, 1e6)


@dataclass(frozen=True, eq=False)
class BoundedFamily:
    """All pairs together under the bound; without one they are a `simultaneous.Largest`."""

    worst: Worst
    pairs: int
    sides: int
    """1 for a one-sided test, else 2."""

    def nodes(self, estimate: Estimate) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """log of adjusted p, descending, and critical values of a pair, ascending: between those of
        the pair by itself and Bonferroni's."""
        pair = estimate.critical
        assert isinstance(pair, Bounded)
        q = np.minimum(self.worst.tails / self.sides, 0.5)
        together = pair.share * self.worst.values + pair.test_set(q / self.pairs)
        values = np.clip(together, pair.value(q), pair.value(q / self.pairs))
        return log(self.worst.tails), np.maximum.accumulate(values)

    def adjusted(self, estimate: Estimate, p: float) -> tuple[float, float]:
        """The adjusted p of a pair whose own p is `p`, and the standard error of its simulation."""
        if estimate.t <= 0:
            return 1.0, 0.0
        tails, values = self.nodes(estimate)
        drawn = float(exp(np.interp(estimate.t, values, tails)))
        return max(p, drawn), float(np.sqrt(drawn * (1 - drawn) / self.worst.draws))

    def level(self, estimate: Estimate, alpha: float) -> float:
        """The level at which a pair's own interval ends at 0 exactly when its adjusted p is alpha."""
        tails, values = self.nodes(estimate)
        return 2 * estimate.critical.tail(float(np.interp(-log(alpha), -tails, values)))
