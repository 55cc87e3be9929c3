"""Inference on all pairs at once: max-|t| from what the systems share (Games and Howell's idea).

Pairs that share a system share its runs, and all pairs share the segments, so the tests of pairs
are correlated, and correcting them as if they were not is too strict. Under the null hypothesis
that all systems are equal, with the estimated components as the truth, draws of all differences and
of all mean squares give the distribution of the largest |t| over pairs. As pairs differ in their
degrees of freedom (Satterthwaite's), each t is first turned into the normal quantile with the same
tail.

The draws depend on the scores and the seed alone, and there are as many as it takes to tell every
adjusted p from alpha. Only the correlations come from them: a pair's own p stays that of `crossed`.
With G(p) the probability that some of m pairs has a p of at most p, the adjusted p of a pair is
max(p, min(G(p), m p)), never above Bonferroni's. The p* with adjusted value alpha is the level of
the simultaneous intervals, so an interval excludes 0 exactly when the adjusted p is at most alpha.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import eigen, gram, log1p, product
from replitune.significance.components import Components
from replitune.significance.critical import TINIEST, Drawn, Layers
from replitune.significance.noise_ratio import Bounded, BoundedFamily
from replitune.significance.system_parts import Block

MANY = 200.0
"""With this many degrees of freedom, the mean square of segments is taken as known."""
AT_ONCE = 50_000
"""Numbers (draws x pairs) at a time: what stays in a processor's cache."""
ERROR = 2e-4
"""Draws are added until each adjusted p has this standard error, or is eight of its errors from alpha."""
MOST_NUMBERS = 2**28
"""Draws times pairs beyond which none are added: some seconds."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A difference, its critical values, and what its systems share with those of other pairs."""

    a: str
    b: str
    delta: float
    se: float
    critical: Layers | Bounded
    scope: Drawn
    sign: float
    """For a one-sided alternative 1 if it is delta > 0, else -1; 0 for a two-sided one."""
    means: tuple[NDArray[np.float64], NDArray[np.float64]]
    """(U,) unit values of A and of B, mean over replicas."""
    blocks: tuple[Block, ...]
    components: Components | None
    """None where the scope needs none, and where replicas are paired."""

    @property
    def t(self) -> float:
        """t, in the direction of a one-sided alternative; |t| for a two-sided one."""
        return self.delta / self.se * self.sign if self.sign else abs(self.delta) / self.se

    def interval(self, level: float) -> tuple[float, float]:
        """With confidence 1 - level."""
        reach = float(self.critical.value(level / 2)) * self.se
        return self.delta - reach, self.delta + reach


def bounded_family(estimates: Sequence[Estimate]) -> BoundedFamily:
    """The family of pairs whose critical values all come from one bound on the noise of runs."""
    pairs = [e.critical for e in estimates if isinstance(e.critical, Bounded)]
    sign = estimates[0].sign
    n: dict[str, int] = {}
    for e, pair in zip(estimates, pairs, strict=True):
        n |= zip((e.a, e.b), pair.n, strict=True)
    names = sorted(n, key=lambda name: (n[name], name))
    place = {name: s for s, name in enumerate(names)}
    compared = [(place[e.a], place[e.b]) if sign >= 0 else (place[e.b], place[e.a]) for e in estimates]
    if not sign:
        compared = [(min(pair), max(pair)) for pair in compared]
    worst = pairs[0].bound.worst([n[name] for name in names], tuple(sorted(compared)), sign != 0)
    return BoundedFamily(worst, len(estimates), 1 if sign else 2)


@dataclass(frozen=True)
class Largest:
    """The distribution of the largest z over pairs, under the null hypothesis of all."""

    z: NDArray[np.float64]
    """(D,) descending."""
    pairs: int
    two_sided: bool

    def adjusted(self, _: Estimate, p: float) -> tuple[float, float]:
        """The adjusted p of a pair whose own p is `p`, and the standard error of its simulation."""
        return self._adjusted(p)

    def _adjusted(self, p: float) -> tuple[float, float]:
        from scipy.special import ndtri

        z = -ndtri(p / 2 if self.two_sided else p)
        exceed = int(np.searchsorted(-self.z, -z, side="right"))
        drawn = (exceed + 1) / (len(self.z) + 1)
        if p < drawn < self.pairs * p:
            return drawn, float(np.sqrt(drawn * (1 - drawn) / len(self.z)))
        return max(p, min(drawn, self.pairs * p)), 0.0

    def draws_wanted(self, p: Sequence[float], alpha: float) -> int:
        """How many draws would tell the adjusted values of all these p from alpha."""
        wanted = len(self.z)
        for drawn, error in map(self._adjusted, p):
            enough = max(ERROR, abs(drawn - alpha) / 8)
            wanted = max(wanted, int(len(self.z) * (error / enough) ** 2))
        return min(wanted, max(MOST_NUMBERS // self.pairs, len(self.z)))

    def level(self, _: Estimate, alpha: float) -> float:
        """The level of a pair's own interval: the p whose adjusted value is alpha, doubled for a
        one-sided test."""
        from scipy.special import ndtr

        allowed = int(np.floor(alpha * (len(self.z) + 1))) - 1
        p = 0.0
        if allowed >= 0:
            p = float(ndtr(-self.z[allowed])) * (2 if self.two_sided else 1)
        return min(alpha, max(p, alpha / self.pairs)) * (1 if self.two_sided else 2)


def jointly(
    estimates: Sequence[Estimate],
    p: Sequence[float],
    *,
    alpha: float,
    samples: int,
    rng: np.random.Generator,
) -> Largest | BoundedFamily | None:
    """The joint distribution of the pairs; None if they do not share segments, scope and runs.

    p: each pair's own. At least `samples` draws, and more until every adjusted p can be told from
    alpha.
    """
    first = estimates[0]
    same = {(e.scope, e.sign, len(e.means[0])) for e in estimates}
    if len(same) > 1 or (first.scope != "segments" and any(e.components is None for e in estimates)):
        return None
    if isinstance(first.critical, Bounded):
        return bounded_family(estimates)
    family = _Family(estimates)
    z, wanted = np.zeros(0), samples
    while wanted > len(z):
        drawn = np.concatenate([z, *family.draw(wanted - len(z), rng)])
        largest = Largest(-np.sort(-drawn), len(estimates), first.sign == 0)
        # few draws may misjudge how far p is from alpha: at most four times as many at once
        z, wanted = drawn, min(largest.draws_wanted(p, alpha), 4 * len(drawn))
    return largest


class _Family:
    """Systems with their components, and the pairs between them."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        first = estimates[0]
        self.scope, self.sign = first.scope, first.sign
        means: dict[str, NDArray[np.float64]] = {}
        rep: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        both: dict[str, NDArray[np.float64]] = {}
        for e in estimates:
            for side, name in enumerate((e.a, e.b)):
                means.setdefault(name, e.means[side])
                if e.components is not None and name not in rep:
                    own = e.components.sides == side
                    rep[name] = (e.components.rep[own], e.components.nu_rep[own])
                    both[name] = e.components.both[own].sum(axis=0)
        names = list(means)
        place = {name: s for s, name in enumerate(names)}
        self.a = np.array([place[e.a] for e in estimates])
        self.b = np.array([place[e.b] for e in estimates])
        self.rep = [rep.get(name, (np.zeros(1), np.ones(1))) for name in names]
        B = len(first.blocks)
        self.both = np.array([both.get(name, np.zeros(B)) for name in names])  # (S, B)
        matrix = np.array([means[name] for name in names])
        self.nu = [block.nu for block in first.blocks]
        self.shared = [gram(matrix[:, b.units]) for b in first.blocks]

    def draw(self, samples: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
        """The largest z of each draw, some draws at a time."""
        size = max(16, AT_ONCE // len(self.a))
        covariance = np.zeros((len(self.rep), len(self.rep)))
        if self.scope != "segments":
            covariance += np.diag([values.sum() for values, _ in self.rep])
        if self.scope != "runs":
            covariance += sum(self.shared)
        if self.scope == "both":
            covariance -= np.diag(self.both.sum(axis=1))
        factor = _factor(covariance)
        for start in range(0, samples, size):
            yield self._largest(min(size, samples - start), factor, rng)

    def _largest(
        self, D: int, factor: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """(D,) the largest z of each of D draws."""
        S = len(self.rep)
        effect = product(factor, rng.standard_normal((S, D)))
        rep, q = np.zeros((S, D)), np.zeros((S, D))
        if self.scope != "segments":
            for s, (values, nus) in enumerate(self.rep):
                for value, nu in zip(values, nus, strict=True):
                    drawn = value * rng.chisquare(nu, D) / nu
                    rep[s] += drawn
                    q[s] += drawn**2 / nu
        largest = np.full(D, -np.inf)
        step = max(1, AT_ONCE // D)
        work = np.empty((4, min(step, len(self.a)), D))
        for start in range(0, len(self.a), step):
            z = self._z(slice(start, start + step), effect, rep, q, rng, work)
            np.maximum(largest, z.max(axis=0), out=largest)
        return largest

    def _z(
        self,
        pairs: slice,
        effect: NDArray[np.float64],
        rep: NDArray[np.float64],
        q: NDArray[np.float64],
        rng: np.random.Generator,
        work: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """z (pairs, D), from effects, V_rep and V_rep^2 / nu of systems (S, D).

        Computed in `work` (4, pairs, D): allocating memory would take longer than the arithmetic.
        """
        a, b = self.a[pairs], self.b[pairs]
        V, below, gain, spare = work[:, : len(a)]
        for out, x, combine in ((V, rep, np.add), (below, q, np.add), (gain, effect, np.subtract)):
            np.take(x, b, axis=0, out=out, mode="clip")
            np.take(x, a, axis=0, out=spare, mode="clip")
            combine(out, spare, out=out)
        if self.scope != "runs":
            seg, net = np.zeros((len(a), 1)), np.zeros((len(a), 1))
            for k, nu in enumerate(self.nu):
                mean_square = self._mean_square(k, a, b, V.shape[1], rng)
                inner = np.zeros((len(a), 1))
                if self.scope == "both":
                    inner = (self.both[a, k] + self.both[b, k])[:, np.newaxis]
                own = np.maximum(mean_square - inner, 0.0)
                below += own * np.minimum(mean_square / nu, own)  # own^2 / max(1, nu own / seg)
                seg = seg + mean_square
                net = net + mean_square - inner
            np.maximum(V, seg, out=spare)
            V += net
            np.maximum(V, spare, out=V)
        np.maximum(V, TINIEST, out=V)
        t2 = np.multiply(gain, gain, out=spare)
        t2 /= V
        df = np.multiply(V, V, out=V)
        df /= np.maximum(below, TINIEST, out=below)
        np.minimum(df, MANY**2, out=df)
        # Wallace (1959): the normal quantile with the tail of a t
        t2 /= df
        z = log1p(t2)
        z *= df
        np.sqrt(z, out=z)
        df *= 8
        df += 1
        z *= df
        df += 2
        z /= df
        if self.sign:
            z *= np.sign(gain, out=gain)
            z *= self.sign
        return z

    def _mean_square(
        self, k: int, a: NDArray[np.intp], b: NDArray[np.intp], D: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draws of the estimated V_seg of pairs, (m, D), or (m, 1) where it is taken as known. Pairs
        are drawn independently of each other, which is a little too strict."""
        K, nu = self.shared[k], self.nu[k]
        known: NDArray[np.float64] = np.maximum(K[a, a] + K[b, b] - 2 * K[a, b], 0.0)[:, np.newaxis]
        return known if nu >= MANY else known * rng.chisquare(nu, (len(a), D)) / nu


def _factor(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric F with F F = K, or the nearest positive semi-definite matrix: the only root that does
    not depend on the order and the signs of eigenvectors."""
    values, vectors = eigen(K)
    return product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)
