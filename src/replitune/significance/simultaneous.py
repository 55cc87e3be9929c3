"""Inference on all pairs at once: max-|t| from what the systems share (Games and Howell's idea).

Pairs that share a system share its runs, and all pairs share the segments, so the tests of pairs
go together, and correcting them as if they did not is too strict. Under the null hypothesis
that all systems are equal, with the estimated components as the truth, draws of all differences
and of all mean squares give the distribution of the largest |t| over pairs. As pairs have unlike
degrees of freedom, each t is first turned into the normal quantile with the same tail, the
degrees of freedom being Satterthwaite's.

Only how the pairs go together is taken from the draws. The p of a pair by itself stays that of
`crossed`: with G(p) the probability that some pair's p is at or below p, the adjusted one is
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
from replitune.significance.critical import Scope, critical_value
from replitune.significance.system_parts import Block

MANY = 200.0
"""With so many degrees of freedom the mean square of segments is as good as known."""
AT_ONCE = 2_000_000
"""Numbers (draws x pairs) in memory at a time."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """A difference, its critical values, and what its systems share with those of other pairs."""

    a: str
    b: str
    delta: float
    se: float
    layers: tuple[NDArray[np.float64], NDArray[np.float64]]
    scope: Scope
    sign: float
    """Of a one-sided alternative, 1 when it is delta > 0; 0 for a two-sided one."""
    means: tuple[NDArray[np.float64], NDArray[np.float64]]
    """(U,) unit values of A and of B, mean over replicas."""
    blocks: tuple[Block, ...]
    components: Components | None
    """None where the scope needs none, and where replicas are paired."""

    def interval(self, level: float) -> tuple[float, float]:
        """With confidence 1 - level."""
        reach = critical_value(*self.layers, level / 2) * self.se
        return self.delta - reach, self.delta + reach


@dataclass(frozen=True)
class Largest:
    """The distribution of the largest z over pairs, under the null hypothesis of all."""

    z: NDArray[np.float64]
    """(D,) descending."""
    pairs: int
    two_sided: bool

    def adjusted(self, p: float) -> float:
        from scipy.special import ndtri

        z = -ndtri(p / 2 if self.two_sided else p)
        exceed = int(np.searchsorted(-self.z, -z, side="right"))
        return max(p, min((exceed + 1) / (len(self.z) + 1), self.pairs * p))

    def level(self, alpha: float) -> float:
        """The p of a pair by itself whose adjusted value is alpha."""
        from scipy.special import ndtr

        allowed = int(np.floor(alpha * (len(self.z) + 1))) - 1
        found = 0.0
        if allowed >= 0:
            found = float(ndtr(-self.z[allowed])) * (2 if self.two_sided else 1)
        return min(alpha, max(found, alpha / self.pairs))


def largest_z(estimates: Sequence[Estimate], samples: int, rng: np.random.Generator) -> Largest | None:
    """None when the pairs do not share what they would have to: segments, one scope, runs."""
    first = estimates[0]
    same = {(e.scope, e.sign, len(e.means[0])) for e in estimates}
    if len(same) > 1 or (first.scope != "segments" and any(e.components is None for e in estimates)):
        return None
    family = _Family(estimates)
    z = np.concatenate(list(family.draw(samples, rng)))
    return Largest(-np.sort(-z), len(estimates), first.sign == 0)


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
        size = max(1, min(samples, AT_ONCE // len(self.a)))
        factors = [
            _factor(K - np.diag(own) if self.scope == "both" else K)
            for K, own in zip(self.shared, self.both.T, strict=True)
        ]
        for start in range(0, samples, size):
            yield self._some(min(size, samples - start), factors, rng)

    def _some(
        self, D: int, factors: Sequence[NDArray[np.float64]], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        S, a, b = len(self.rep), self.a, self.b
        effect, rep, q = np.zeros((D, S)), np.zeros((D, S)), np.zeros((D, S))
        if self.scope != "segments":
            for s, (values, nus) in enumerate(self.rep):
                effect[:, s] += rng.normal(0.0, np.sqrt(values.sum()), D)
                for value, nu in zip(values, nus, strict=True):
                    drawn = value * rng.chisquare(nu, D) / nu
                    rep[:, s] += drawn
                    q[:, s] += drawn**2 / nu
        runs = rep[:, a] + rep[:, b]
        V, below = runs, q[:, a] + q[:, b]
        if self.scope != "runs":
            seg, net = np.zeros_like(runs), np.zeros_like(runs)
            for k, nu in enumerate(self.nu):
                effect += product(rng.standard_normal((D, S)), factors[k])
                mean_square = self._mean_square(k, D, rng)
                inner = 0.0
                if self.scope == "both":
                    inner = self.both[a, k] + self.both[b, k]
                own = np.maximum(mean_square - inner, 0.0)
                below += own * np.minimum(mean_square / nu, own)  # own^2 / max(1, nu own / seg)
                seg += mean_square
                net += mean_square - inner
            V = np.maximum(runs + net, np.maximum(runs, seg))
        gain = effect[:, b] - effect[:, a]
        known = V > 0
        t2 = np.divide(gain**2, V, out=np.zeros_like(V), where=known)
        df = np.divide(V**2, below, out=np.full_like(V, MANY**2), where=below > 0)
        # Wallace (1959): the normal quantile with the tail of a t
        z = (8 * df + 1) / (8 * df + 3) * np.sqrt(df * log1p(t2 / df))
        if self.sign:
            z *= np.sign(gain) * self.sign
        found: NDArray[np.float64] = z.max(axis=1)
        return found

    def _mean_square(self, k: int, D: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """V_seg of each pair as it would be estimated, (D, m), or (m,) where it is as good as
        known. Those of pairs are drawn independently, which is a little too strict."""
        K, nu, a, b = self.shared[k], self.nu[k], self.a, self.b
        known: NDArray[np.float64] = np.maximum(K[a, a] + K[b, b] - 2 * K[a, b], 0.0)
        if nu >= MANY:
            return known
        drawn: NDArray[np.float64] = known * rng.chisquare(nu, (D, len(a))) / nu
        return drawn


def _factor(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric F with F F = K, or the nearest that is positive semi-definite: the one root that
    does not depend on the order and the signs of eigenvectors."""
    values, vectors = eigen(K)
    return product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)
