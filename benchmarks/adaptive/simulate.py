"""Simulated experiments whose runs come batch by batch, and the library's rule on all at once.

The rule needs the scores of runs, and inner products of vectors over segments: how segments suit each
system, and the noise in each batch's outputs. Instead of vectors of nu_seg normal numbers, shorter ones
with the same distribution of inner products are drawn (Bartlett), so that an experiment costs a few
hundred numbers instead of runs x segments. `tests/significance/test_looks.py` compares the components
with those that the library computes from complete data.

The model: at `base` runs of each system (and tuner), E V_seg = 1, V_int = h, and V_rep = ratio, shared
among systems and tuners as `noise` says. V_int is added to V_rep, because the noise of single outputs
is in the scores of runs, too. So with n runs, Var(delta) = (ratio + h) base / n + 1 - h.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from replitune.significance.critical import net_parts
from replitune.significance.looks.rule import Outlook, asks, outlook, step_down
from replitune.significance.looks.settings import SCHEDULE, RuleSettings
from replitune.streams import stream

Array = NDArray[np.float64]
SEED = 2011
NU_SEG = 499.0
"""Degrees of freedom of 500 segments."""
RULE = RuleSettings()


@dataclass(frozen=True)
class Cell:
    """One design."""

    part: str
    """The part of the gate."""
    h: float
    ratio: float
    noise: str = "equal"
    """Run variance of A and B: equal; 9:1; A or B: only that system has any; one: only A's first tuner
    has any. With more systems: equal; first: that of the first is nine times that of the others."""
    tuners: int = 1
    nu_seg: float = NU_SEG
    systems: int = 2
    shifts: tuple[float, ...] = (0.0, 0.0)
    """True scores, in standard deviations of a difference with all runs."""
    schedule: tuple[int, ...] = SCHEDULE
    runs: str = "normal"
    """Distribution of the scores of noisy runs. exponential: with a few very bad runs."""

    @property
    def sign(self) -> float:
        """The sign of the difference B - A that a one-sided test asks about; 0 for a two-sided test."""
        return 1.0 if self.part == "one-sided" else 0.0

    @property
    def name(self) -> str:
        """The name of its random stream."""
        return "/".join(str(value) for value in asdict(self).values())


@dataclass(frozen=True, eq=False)
class Drawn:
    """T experiments. S systems, J looks, H tuners, D dimensions."""

    score: Array
    """(T, S, J) mean score of the runs up to each look."""
    rep: Array
    """(T, S, J, H) V_rep."""
    both: Array
    """(T, S, J) V_int."""
    units: Array
    """(T, S, J, D) vectors; V_seg of two systems is the squared distance between theirs."""


def variances(cell: Cell, base: float) -> tuple[Array, float, float, float]:
    """The variances of one run (S, H), of one output, and of how segments suit a system, the last two
    summed over segments; and Var(delta) of two average systems with all runs."""
    H, S = cell.tuners, cell.systems
    weights = np.ones((S, H))
    if cell.noise == "9:1":
        weights[0] = 9
    elif cell.noise in ("A", "B"):
        weights[1 if cell.noise == "A" else 0] = 0
    elif cell.noise == "one":
        weights[:] = 0
        weights[0, 0] = 1
    elif cell.noise == "first":
        weights[0] = 9
    pairs = S * (S - 1) / 2
    # V_rep of a pair at `base`: sum over its systems and tuners of sigma2 / (H^2 base)
    mean = weights.sum() * (S - 1) / pairs
    run = cell.ratio * weights * H**2 * base / mean
    output = cell.h * H * base / 2
    suits = (1 - cell.h) / 2
    last = cell.schedule[-1]
    return run, output, suits, (cell.ratio + cell.h) * base / last + 1 - cell.h


def draw(cell: Cell, trials: int, rng: np.random.Generator, base: float) -> Drawn:
    run, output, suits, variance = variances(cell, base)
    S, H, T = cell.systems, cell.tuners, trials
    sizes = np.diff([0, *cell.schedule])
    J = len(sizes)
    vectors = S + S * H * J
    Z = _vectors(vectors, cell.nu_seg, T, rng) / np.sqrt(cell.nu_seg)
    own, noise = Z[:, :S] * np.sqrt(suits), Z[:, S:].reshape(T, S, H, J, -1)
    D = Z.shape[-1]
    total = np.zeros((T, S, H, D))
    inside = np.zeros((T, S, H))
    between = np.zeros((T, S, H))
    sums = np.zeros((T, S, H))
    squares = np.zeros((T, S, H))
    truth = np.array(cell.shifts) * np.sqrt(variance)
    suited = rng.normal(size=(T, S)) * np.sqrt(suits)
    score, rep = np.empty((T, S, J)), np.empty((T, S, J, H))
    both, units = np.empty((T, S, J)), np.empty((T, S, J, D))
    for j, (k, n) in enumerate(zip(sizes, cell.schedule, strict=True)):
        mean = noise[:, :, :, j] * np.sqrt(output / k)
        total += k * mean
        between += k * (mean**2).sum(axis=-1)
        if k > 1:
            nu = (k - 1) * cell.nu_seg
            inside += rng.chisquare(nu, (T, S, H)) * output / cell.nu_seg
        x = rng.normal(size=(T, S, H, k)) * np.sqrt(output)
        x += _runs(cell, (T, S, H, k), rng) * np.sqrt(run)[..., np.newaxis]
        sums += x.sum(axis=-1)
        squares += (x**2).sum(axis=-1)
        average = total / n
        within = inside + between - n * (average**2).sum(axis=-1)
        both[:, :, j] = within.sum(axis=-1) / ((n - 1) * n * H**2)
        rep[:, :, j] = np.maximum(squares - sums**2 / n, 0.0) / ((n - 1) * n * H**2)
        score[:, :, j] = truth + suited + sums.mean(axis=-1) / n
        units[:, :, j] = own + average.mean(axis=2)
    return Drawn(score, rep, both, units)


def _vectors(count: int, nu: float, trials: int, rng: np.random.Generator) -> Array:
    """(T, count, D) vectors whose inner products are distributed as those of normal vectors (count, nu)."""
    if nu <= count:
        return rng.normal(size=(trials, count, int(nu)))
    L = np.zeros((trials, count, count))
    below = np.tril_indices(count, -1)
    L[:, below[0], below[1]] = rng.normal(size=(trials, len(below[0])))
    for i in range(count):
        L[:, i, i] = np.sqrt(rng.chisquare(nu - i, trials))
    return L


def _runs(cell: Cell, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if cell.runs == "exponential":
        return 1 - rng.exponential(size=shape)
    return rng.normal(size=shape)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of T experiments."""

    rejected: NDArray[np.bool_]
    """(T, m) whether each pair is rejected."""
    n: Array
    """(T, S) runs of each system (and tuner)."""


def pairs_of(systems: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(systems), 2)))


def experiment(cell: Cell, drawn: Drawn, alpha: float) -> Outcome:
    """Apply the library's rule to each experiment."""
    pairs, S, last = pairs_of(cell.systems), cell.systems, len(cell.schedule) - 1
    T, m = len(drawn.score), len(pairs)
    step = np.zeros((T, S), np.intp)
    best = np.ones((T, m))
    rejected = np.zeros((T, m), bool)
    active = np.arange(T)
    while len(active):
        found, shares = _looked(cell, drawn, active, step[active], pairs)
        was = rejected[active]
        p = np.where(was, best[active], np.minimum(best[active], steps_of_p(found, alpha)))
        reject, level = step_down(p, alpha, "holm")
        again = (step[active][:, pairs] > 0).any(axis=-1)
        futile = found.futile(np.broadcast_to(level[:, np.newaxis], p.shape)) & again
        grows = step[active][:, pairs] < last
        more = asks(reject, futile, shares, RULE.skip) & grows
        marked = np.zeros((len(active), S), bool)
        for i, (a, b) in enumerate(pairs):
            marked[:, a] |= more[:, i, 0]
            marked[:, b] |= more[:, i, 1]
        over = ~marked.any(axis=1)
        if over.any():
            end = np.where(reject[over], p[over], np.minimum(p[over], found.p_now()[over]))
            p[over] = end
            reject[over] = step_down(end, alpha, "holm")[0]
        best[active], rejected[active] = p, reject
        step[active] += marked
        active = active[~over]
    return Outcome(rejected, np.array(cell.schedule, float)[step])


def steps_of_p(found: Outlook, alpha: float) -> Array:
    """(T, m) p of the rule, rounded up to a step of Holm's (alpha / j) or to 1. This gives the same
    decisions as p itself, without solving for it."""
    p = np.ones(found.delta.shape)
    for j in range(1, p.shape[-1] + 1):
        p[found.size >= found.needed(alpha / j)] = alpha / j
    return p


def ordinary_p(cell: Cell, drawn: Drawn, look: int) -> Array:
    """(T, m) p of the ordinary test of the runs up to one look."""
    T = len(drawn.score)
    step = np.full((T, cell.systems), look)
    return _looked(cell, drawn, np.arange(T), step, pairs_of(cell.systems))[0].p_now()


def _looked(
    cell: Cell, drawn: Drawn, trials: NDArray[np.intp], step: NDArray[np.intp], pairs: NDArray[np.intp]
) -> tuple[Outlook, Array]:
    """What a look sees in some experiments: the library's `outlook` (T', m), and the shares of A and B."""
    S, H, schedule = cell.systems, cell.tuners, np.array(cell.schedule, float)
    at = (trials[:, np.newaxis], np.arange(S)[np.newaxis], step)
    score, rep, both, units = (x[at] for x in (drawn.score, drawn.rep, drawn.both, drawn.units))
    a, b = pairs[:, 0], pairs[:, 1]
    n = schedule[step]
    V_rep = np.concatenate([rep[:, a], rep[:, b]], axis=-1)
    nu = np.repeat(np.stack([n[:, a], n[:, b]], axis=-1) - 1, H, axis=-1)
    gram = np.einsum("tsd,tud->tsu", units, units)
    own = np.einsum("tss->ts", gram)
    seg = own[:, a] + own[:, b] - 2 * gram[:, a, b]
    parts = net_parts(
        V_rep,
        nu,
        np.maximum(seg, 0.0)[..., np.newaxis],
        np.array([cell.nu_seg]),
        (both[:, a] + both[:, b])[..., np.newaxis],
    )
    share = np.repeat(np.stack([n[:, a], n[:, b]], axis=-1) / schedule[-1], H, axis=-1)
    found = outlook(score[:, b] - score[:, a], parts, share, RULE, cell.sign)
    of = found.shares()
    return found, np.stack([of[..., :H].sum(axis=-1), of[..., H:].sum(axis=-1)], axis=-1)


def drawn_of(cell: Cell, trials: int, base: float) -> Drawn:
    return draw(cell, trials, stream(SEED, "adaptive", cell.name), base)
