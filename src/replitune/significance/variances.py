"""Where the uncertainty of a difference comes from: the variance components of a pair, as standard
deviations.

A run's score varies with the run; a segment suits both systems more or less, and one of them
better than the other; and each run translates it a little differently. With systems fixed and runs
and segments random (the mixed model of Scheffe 1959, ch. 8), each source is a mean square or a
difference of mean squares of the analysis of variance in `components`.

Intervals: for sums of mean squares that of Graybill and Wang (1980), for differences its extension
by Ting et al. (1990), the "modified large sample" interval. For one mean square it is the
chi-square interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from replitune.significance import arguments as iv
from replitune.significance.components import Components, Side, components
from replitune.significance.system_parts import SystemParts

RUNS = "runs"
REST = "rest"
ENOUGH = 0.75
"""Share of Var(delta) above which the other source cannot help: without the other source the
standard error would be sqrt(.75) = 87% of what it is."""
WIDE = 0.5
"""The interval of a share is reported if it is at least this wide."""
NOTHING = 1e-9
"""Shares below this are 0 up to rounding."""
MOST = 1e9
"""As good as infinitely many degrees of freedom."""


@dataclass(frozen=True)
class VarianceRow:
    """One source of variance of a pair, in units of the metric."""

    source: str
    """runs, segments (or documents), system x segment (or document), rest."""
    about: str | None
    """The system whose runs they are; None for both systems, and for differences of paired runs."""
    sd: float
    """Standard deviation of what one run, one segment, or one run on one segment adds. Of system x
    segment: to the difference B - A."""
    low: float
    high: float
    n: float
    """Number of runs, of segments or effective documents, or their product: sd^2 / n is in Var(delta)."""
    share: float | None
    """Share of Var(delta): of runs with their noise on single segments, and in the row of system x
    segment the rest, the test set's. None for sources without a part of their own."""
    share_low: float | None = None
    share_high: float | None = None
    """The interval of the share."""


@dataclass(frozen=True)
class MeanSquares:
    """Multiples of independent mean squares, with their degrees of freedom."""

    values: tuple[float, ...]
    nus: tuple[float, ...]

    def __add__(self, other: MeanSquares) -> MeanSquares:
        return MeanSquares(self.values + other.values, self.nus + other.nus)


NONE = MeanSquares((), ())


def variance_table(
    a: SystemParts,
    b: SystemParts,
    sides: Sequence[Side],
    estimates: Components,
    *,
    unit: str = "segment",
    alpha: float = 0.05,
) -> tuple[VarianceRow, ...]:
    """Sources of the variance of B - A, with intervals of confidence 1 - alpha.

    `estimates`: the components of `sides`, with at least two replicas and two units. Rows: runs of A and
    of B (of paired replicas: of their differences), segments, system x segment, rest of A and of B.

    - runs: sigma2_a,s = n (V_rep,s - V_int,s), within groups of replicas;
    - system x segment: sigma2_d = U (V_seg - sum V_int), of what B gains on A;
    - segments: U (|u_A + u_B|^2 - sum V_int) / 4, of the mean of A and B, u the units' means;
    - rest: sigma2_e,s = n U V_int,s

    with U segments, or effective documents; on a suite, all of its test sets together.
    """
    rep, nu_rep = estimates.rep.tolist(), estimates.nu_rep.tolist()
    seg, nu_seg = estimates.seg.tolist(), estimates.nu_seg.tolist()
    both, side_of = estimates.both.tolist(), estimates.sides.tolist()
    nus = [block.nu for block in a.blocks]
    U = math.fsum(nus) + len(nus)
    sizes = [len(members) for side in sides for members in side.strata]
    within = [
        MeanSquares(tuple(cells), tuple((k - 1) * nu for nu in nus))
        for cells, k in zip(both, sizes, strict=True)
    ]
    between = [MeanSquares((v,), (nu,)) for v, nu in zip(rep, nu_rep, strict=True)]
    names = (None,) if len(sides) == 1 else (a.name, b.name)

    def side_sum(parts: list[MeanSquares], number: int) -> MeanSquares:
        return sum((p for p, s in zip(parts, side_of, strict=True) if s == number), NONE)

    noise = sum(within, NONE)
    parts = estimates.parts("both")
    test_set = MeanSquares(*(tuple(x[len(rep) :].tolist()) for x in (parts.values, parts.nus)))

    def row(
        source: str,
        about: str | None,
        n: float,
        plus: MeanSquares,
        minus: MeanSquares,
        of: tuple[MeanSquares, MeanSquares] | None = None,
    ) -> VarianceRow:
        """of: the row's part of Var(delta), and the other parts."""
        variance, low, high = interval(plus, minus, alpha)
        share = (None, None, None) if of is None else share_interval(*of, high, alpha)
        sd, sd_low, sd_high = (math.sqrt(n * v) for v in (variance, low, high))
        return VarianceRow(source, about, sd, sd_low, sd_high, n, *share)

    rows, rest = [], []
    for number, (name, side) in enumerate(zip(names, sides, strict=True)):
        n, own = len(side.scores), side_sum(between, number)
        cell = side_sum(within, number)
        others = sum((side_sum(between, k) for k in range(len(sides)) if k != number), test_set)
        rows.append(row(RUNS, name, n, own, cell, (own, others)))
        rest.append(row(REST, name, n * U, cell, NONE))
    together = MeanSquares(
        tuple(
            (2 * x + 2 * y - d) / 4
            for x, y, d in zip(a.squares.tolist(), b.squares.tolist(), seg, strict=True)
        ),
        tuple(nu_seg),
    )
    shared = _quarter(noise) if len(sides) == 2 else _noise_of_mean(a, b, sides[0], estimates)
    rows += [
        row(f"{unit}s", None, U, together, shared),
        row(
            f"system x {unit}",
            None,
            U,
            MeanSquares(tuple(seg), tuple(nu_seg)),
            noise,
            (test_set, sum(between, NONE)),
        ),
    ]
    return (*rows, *rest)


def share_interval(
    part: MeanSquares, others: MeanSquares, high: float, alpha: float
) -> tuple[float | None, float | None, float | None]:
    """x / (x + y) of two sums of mean squares, and its limits from those of y / x, by F quantiles with
    Satterthwaite's degrees of freedom. high: the upper limit of x, for when x is estimated as 0."""
    from scipy.special import fdtri

    x, y = math.fsum(part.values), math.fsum(others.values)
    if x + y <= 0:
        return None, None, None
    if x == 0 or y == 0:
        return x / (x + y), x / (x + y) if x == 0 else 0.0, high / (high + y) if x == 0 else 1.0
    nu_x, nu_y = (
        min(s**2 / math.fsum(v * v / nu for v, nu in zip(m.values, m.nus, strict=True)), MOST)
        for s, m in ((x, part), (y, others))
    )
    low, up = (float(fdtri(nu_x, nu_y, q)) for q in (alpha / 2, 1 - alpha / 2))
    return x / (x + y), x / (x + y * up), x / (x + y * low)


def _quarter(noise: MeanSquares) -> MeanSquares:
    return MeanSquares(tuple(v / 4 for v in noise.values), noise.nus)


def _noise_of_mean(a: SystemParts, b: SystemParts, pairs: Side, estimates: Components) -> MeanSquares:
    """V_int of the mean of paired replicas: Var(x + y) = 2 Var(x) + 2 Var(y) - Var(y - x)."""
    partner = iv.matched(a, b)
    own = [
        components([Side(1.0, s.scores[order], s.units[order], pairs.strata)], s.blocks).both
        for s, order in ((a, slice(None)), (b, partner))
    ]
    values = (2 * own[0] + 2 * own[1] - estimates.both).sum(axis=0) / 4
    nu = len(pairs.scores) - len(pairs.strata)
    return MeanSquares(tuple(values.tolist()), tuple(nu * block.nu for block in a.blocks))


@dataclass(frozen=True)
class Share:
    """The share of one source in Var(delta), rounded together with the others."""

    row: VarianceRow
    percent: int
    """Those of all sources add up to 100."""

    def __str__(self) -> str:
        return percent_text(self.percent, self.row.share or 0.0)


def percent_text(percent: int, share: float) -> str:
    """
    >>> percent_text(0, 0.004), percent_text(100, 0.996), percent_text(100, 1.0)
    ('<1%', '>99%', '100%')
    """
    if percent == 0 and share > NOTHING:
        return "<1%"
    return ">99%" if percent == 100 and share < 1 - NOTHING else f"{percent}%"


def _unsure(row: VarianceRow, kind: str, others: bool = False) -> str:
    """The interval of a share, or of all others together, in words; empty unless it is wide."""
    low, high = row.share_low, row.share_high
    if low is None or high is None or high - low < WIDE:
        return ""
    if others:
        low, high = 1 - high, 1 - low
    low_text, high_text = (percent_text(round(100 * x), x) for x in (low, high))
    return f" ({low_text} to {high_text} with so few {kind}s)"


def shares(rows: Sequence[VarianceRow]) -> list[Share]:
    """Shares of the test set and of the runs of each side in Var(delta), as they are printed
    everywhere; none if nothing varies. They are rounded down, except those that would lose most, so
    that they add up to 100."""
    with_share = [row for row in rows if row.share is not None]
    with_share.sort(key=lambda row: row.source == RUNS)
    percent = [math.floor(100 * (row.share or 0.0)) for row in with_share]
    lost = sorted(range(len(with_share)), key=lambda i: percent[i] - 100 * (with_share[i].share or 0.0))
    for i in lost[: 100 - sum(percent)]:
        percent[i] += 1
    return [Share(row, whole) for row, whole in zip(with_share, percent, strict=True)]


def bottleneck(rows: Sequence[VarianceRow], unit: str = "segment", kind: str = "run") -> str | None:
    """What keeps the standard error from being smaller, in words; None if nothing varies.

    With ever more segments, sum sigma2_a,s / n is left of Var(delta); with ever more runs,
    sigma2_d / N; sigma2_e / (n N) vanishes with either. The sentence has no qualifier only if it is
    also true with the other source at the upper end of its interval.
    """
    parts = shares(rows)
    if not parts:
        return None
    of_set, *of_runs = parts
    the_runs = percent_text(100 - of_set.percent, 1 - (of_set.row.share or 0.0))
    noise = math.fsum(row.sd**2 / row.n for row in rows if row.source == REST)
    by_runs = math.fsum(one.row.sd**2 / one.row.n for one in of_runs)
    by_set = of_set.row.sd**2 / of_set.row.n
    total = by_runs + by_set + noise
    if total <= 0:
        return None
    if by_set >= ENOUGH * total:
        worst = math.fsum(one.row.high**2 / one.row.n for one in of_runs)
        sure = by_set / (by_set + worst + noise) >= 0.5
        advice = "cannot help" if sure else "would hardly help, as far as these tell"
        text = f"{of_set} of the uncertainty comes from the test set{_unsure(of_set.row, kind)}"
        return f"{text}: more {kind}s {advice}"
    if by_runs >= ENOUGH * total:
        worst = of_set.row.high**2 / of_set.row.n
        sure = by_runs / (by_runs + worst + noise) >= 0.5
        advice = f"more {unit}s cannot help" if sure else f"more {unit}s would hardly help"
        largest = max(of_runs, key=lambda one: one.row.sd**2 / one.row.n)
        if len(of_runs) > 1 and largest.row.sd**2 / largest.row.n >= ENOUGH * by_runs:
            whose = f"{largest.row.about}{_unsure(largest.row, kind)}"
            return f"{largest} of the uncertainty comes from the {kind}s of {whose}: {advice}"
        how = _unsure(of_set.row, kind, others=True)
        return f"{the_runs} of the uncertainty comes from the {kind}s{how}: {advice}"
    in_part = ", in part from their noise on single segments" if noise > by_set else ""
    return (
        f"{of_set} of the uncertainty comes from the test set{_unsure(of_set.row, kind)}, {the_runs} from "
        f"the {kind}s{in_part}: more of both would help"
    )


# -- intervals ----------------------------------------------------------------------------


def interval(plus: MeanSquares, minus: MeanSquares, alpha: float = 0.05) -> tuple[float, float, float]:
    """Estimate and limits of sum plus - sum minus: a variance, so all are cut off at 0.

    With F quantiles at alpha/2, x_p and y_q the terms of `plus` and `minus` (Ting et al. 1990):

        low  = theta - sqrt(sum G_p^2 x_p^2 + sum H_q^2 y_q^2 + sum G_pq x_p y_q)
        high = theta + sqrt(sum H_p^2 x_p^2 + sum G_q^2 y_q^2 + sum H_pq x_p y_q)
        G_p = 1 - 1/F(p, inf),  H_q = 1/F'(q, inf) - 1,
        G_pq = ((F(p, q) - 1)^2 - G_p^2 F(p, q)^2 - H_q^2) / F(p, q)

    F the upper alpha/2 quantile and F' the lower, G_q and H_p likewise, and H_pq as G_pq with
    F'(p, q), H_p and G_q.
    """
    G, H = zip(*(_single(nu, alpha) for nu in plus.nus), strict=True)
    theta = math.fsum(plus.values) - math.fsum(minus.values)
    down = math.fsum((g * x) ** 2 for g, x in zip(G, plus.values, strict=True))
    up = math.fsum((h * x) ** 2 for h, x in zip(H, plus.values, strict=True))
    for y, nu_y in zip(minus.values, minus.nus, strict=True):
        g, h = _single(nu_y, alpha)
        down += (h * y) ** 2
        up += (g * y) ** 2
        for x, nu_x in zip(plus.values, plus.nus, strict=True):
            low, high = _crossed(nu_x, nu_y, alpha)
            down += low * x * y
            up += high * x * y
    return (
        max(theta, 0.0),
        max(theta - math.sqrt(max(down, 0.0)), 0.0),
        max(theta + math.sqrt(max(up, 0.0)), 0.0),
    )


@lru_cache(maxsize=4096)
def _single(nu: float, alpha: float) -> tuple[float, float]:
    """G and H of a mean square."""
    from scipy.special import chdtri

    nu = min(nu, MOST)
    upper, lower = chdtri(nu, alpha / 2) / nu, chdtri(nu, 1 - alpha / 2) / nu
    return float(1 - 1 / upper), float(1 / lower - 1)


@lru_cache(maxsize=4096)
def _crossed(nu_plus: float, nu_minus: float, alpha: float) -> tuple[float, float]:
    """G_pq and H_pq."""
    from scipy.special import fdtri

    p, q = min(nu_plus, MOST), min(nu_minus, MOST)
    upper, lower = float(fdtri(p, q, 1 - alpha / 2)), float(fdtri(p, q, alpha / 2))
    (G_p, H_p), (G_q, H_q) = _single(p, alpha), _single(q, alpha)
    return (
        ((upper - 1) ** 2 - (G_p * upper) ** 2 - H_q**2) / upper,
        ((1 - lower) ** 2 - (H_p * lower) ** 2 - G_q**2) / lower,
    )
