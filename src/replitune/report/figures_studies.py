"""Figures of the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from replitune.meta.rows import MetaRow
from replitune.report.drawing import COLUMN, PAGE, Figure, Figures, add_legend, look, of_each_cell
from replitune.report.material import Material
from replitune.report.tables_studies import about_one_pair, plans_of, scopes_of
from replitune.results.result import Result
from replitune.results.wording import count
from replitune.significance.studies.calibrate import wilson
from replitune.significance.studies.planned import MANY_SEGMENTS


@of_each_cell
def power(material: Material, cell: Result) -> Figure | None:
    """Power of the ``crossed`` test against the true difference, by number of runs, for the
    pair whose p is nearest to .05."""
    rows = about_one_pair(cell, material.power)
    if not rows:
        return None
    first = rows[0]
    own = next((row for row in rows if row.design), first)
    grid = [row for row in rows if row.segments == own.segments]
    plans = list(dict.fromkeys((row.n_a, row.n_b, row.tuners) for row in grid))

    def draw(axes: Any) -> None:
        for index, plan in enumerate(plans):
            curve = [row for row in grid if (row.n_a, row.n_b, row.tuners) == plan]
            n = f"n = {plan[0]}" if plan[0] == plan[1] else f"n = {plan[0]} + {plan[1]}"
            this = " (this experiment)" if curve[0].design else ""
            if curve[0].design:
                axes.fill_between(
                    [row.delta for row in curve],
                    [row.power.low for row in curve],
                    [row.power.high for row in curve],
                    **look(index),
                    alpha=0.15,
                    lw=0,
                )
            axes.plot(
                [row.delta for row in curve],
                [row.power.value for row in curve],
                **look(index, "ls", "marker"),
                markevery=4,
                ms=3,
                label=f"{n}{this}",
            )
        axes.axhline(first.wanted, color="black", linewidth=0.8)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(left=0)
        axes.set_xlabel(f"true difference in {cell.name}")
        axes.set_ylabel("power")
        add_legend(axes)

    return Figure(
        f"Power of the crossed test at {first.alpha:g} to find a true difference in {cell.name} "
        f"between {first.a} and {first.b} with n runs of each and the {own.segments:,} "
        f"segments of {cell.testset}, computed from the variances of this experiment ({own.n_a} + "
        f"{count(own.n_b, 'run')}); the line is the wanted power, the band a "
        f"{100 * first.confidence:.0f}% interval of this experiment's own power. It holds for "
        f"{scopes_of(rows)}.",
        draw,
    )


@of_each_cell
def detectable(material: Material, cell: Result) -> Figure | None:
    """Smallest difference that would be detected, against the number of runs, by number of
    segments, for the pair whose p is nearest to .05."""
    rows = about_one_pair(cell, material.power)
    if not rows:
        return None
    first = rows[0]
    own = next((row for row in rows if row.design), first)
    plans = [row for row in plans_of(rows) if row.n_a == row.n_b and row.tuners == 1]
    sizes = sorted({row.segments for row in plans})
    top = 2.5 * max((row.detectable.value or 0.0 for row in plans), default=0.0)
    result = cell.lead_test((first.a, first.b))

    def draw(axes: Any) -> None:
        for index, size in enumerate(sizes):
            line = sorted((row.n_a, row.detectable.value or 0.0) for row in plans if row.segments == size)
            any_number = size >= MANY_SEGMENTS
            if size == sizes[0]:
                band = sorted(
                    (row.n_a, row.detectable.low or 0.0, min(row.detectable.high or top, top))
                    for row in plans
                    if row.segments == size
                )
                axes.fill_between(*zip(*band, strict=True), **look(index), alpha=0.15, lw=0)
            axes.plot(
                [n for n, _ in line],
                [smallest for _, smallest in line],
                **look(index, "ls", "marker"),
                ms=3.5,
                label="any number of segments" if any_number else f"{size:,} segments",
            )
        if own.design and own.n_a == own.n_b:
            axes.plot(
                own.n_a,
                own.detectable.value,
                ls="none",
                marker="*",
                ms=8,
                color="black",
                label="this experiment",
            )
        if result is not None:
            axes.axhline(abs(result.delta), color="black", linewidth=0.8)
        axes.set_ylim(bottom=0)
        axes.set_xticks(sorted({row.n_a for row in plans}))
        axes.set_xlabel("runs of each system")
        axes.set_ylabel(f"detectable {cell.name}")
        add_legend(axes)

    return Figure(
        f"Smallest true difference in {cell.name} between {first.a} and {first.b} that the crossed "
        f"test finds at {first.alpha:g} with {100 * first.wanted:g}% power, by numbers of runs "
        f"and segments, from the variances of this experiment ({own.n_a} + "
        f"{count(own.n_b, 'run')}, {own.segments:,} segments of {cell.testset}); the line is the "
        f"observed difference, the band a {100 * first.confidence:.0f}% interval of the smallest "
        f"difference with {sizes[0]:,} segments. It holds for {scopes_of(rows)}.",
        draw,
    )


@of_each_cell
def replication(material: Material, cell: Result) -> Figure | None:
    """Clark et al. (2011), Fig. 2: relative frequency of the observed difference by number of
    runs, drawn from the pools of the pair whose p is nearest to .05. No test."""
    rows = [row for row in about_one_pair(cell, material.replication) if row.deltas]
    if not rows:
        return None
    first = rows[0]
    by_n = {row.n: np.array(row.deltas) for row in rows}

    def draw(axes: Any) -> None:
        every = np.concatenate(list(by_n.values()))
        low, high = float(every.min()), float(every.max())
        margin = 0.02 * (high - low) or 0.5
        edges = np.linspace(low - margin, high + margin, 31)
        for index, (n, deltas) in enumerate(by_n.items()):
            counts, _ = np.histogram(deltas, edges)
            axes.stairs(counts / len(deltas), edges, **look(index, "ls"), linewidth=1.6, label=f"n = {n}")
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.axvline(cell.difference((first.a, first.b)), color="black", linewidth=1.2)
        axes.set_xlabel(f"observed difference in {cell.name}, {first.b} − {first.a}")
        axes.set_ylabel("relative frequency")
        axes.set_ylim(bottom=0)
        add_legend(axes)

    return Figure(
        f"Relative frequency of the difference in {cell.name} on {cell.testset} between {first.a} "
        f"and {first.b} that {first.repeats} experiments observe with n runs of each, drawn "
        f"with replacement from {first.pool_a} and {first.pool_b} (Clark et al. 2011, Fig. 2); the "
        "black line is the difference of the pools. No test; it holds for new runs on this "
        "test set.",
        draw,
    )


@of_each_cell
def calibration(material: Material, cell: Result) -> Figure | None:
    """Share of rejections where there is no difference, by test and number of runs; the line
    is the level."""
    rows = [row for other, study in material.calibrate if other is cell for row in study]
    if not rows:
        return None
    # one panel for each null hypothesis, pools together
    alpha = max(row.alpha for row in rows)
    kept = [row for row in rows if row.alpha == alpha and row.pool != "all"]
    nulls = list(dict.fromkeys((row.study, row.null) for row in kept))
    methods = list(dict.fromkeys(row.method for row in kept))
    sizes = sorted({row.n_a for row in kept})

    def draw(panels: Any) -> None:
        for panel, null in zip(np.ravel(panels), nulls, strict=True):
            for index, method in enumerate(methods):
                side = 0.5 * (index / max(len(methods) - 1, 1) - 0.5)
                for position, n in enumerate(sizes):
                    mine = [r for r in kept if ((r.study, r.null), r.method, r.n_a) == (null, method, n)]
                    if not mine:
                        continue
                    at = position + side
                    marker = look(index, "marker")
                    trials = sum(r.trials for r in mine)
                    rate = sum(r.rejected for r in mine) / trials
                    low, high = wilson(sum(r.rejected for r in mine), trials)
                    panel.plot([at, at], [low, high], lw=1.2, **look(index))
                    panel.plot(
                        at, rate, ls="none", ms=3.5, **marker, label=method if position == 0 else None
                    )
            panel.axhline(alpha, color="black", linewidth=0.8)
            panel.set_xticks(range(len(sizes)), map(str, sizes))
            panel.set_xlim(-0.5, len(sizes) - 0.5)
            panel.set_ylim(bottom=0)
            panel.set_xlabel("runs of each side")
            panel.set_title(f"{null[0]}: {null[1]}", loc="left")
        np.ravel(panels)[0].set_ylabel(f"share of p ≤ {alpha:g}")
        add_legend(np.ravel(panels)[-1])

    pools = list(dict.fromkeys(row.pool for row in kept))
    trials = max(row.trials for row in kept)
    return Figure(
        f"How often each test finds a difference at {alpha:g} (line) where there is none, by "
        f"{cell.name} on {cell.testset}: up to {trials} trials for each of "
        f"{count(len(pools), 'pool')}, together, with Wilson intervals (Monte-Carlo error only). "
        "'Next test set' is the null of a test that generalises to new segments, the others are "
        "nulls of this test set.",
        draw,
        size=(COLUMN if len(nulls) == 1 else PAGE, 2.3),
        panels=len(nulls),
    )


def agreement(material: Material) -> Figures:
    """Share of pairs of systems on which a metric's test and people agree, with Clopper-Pearson
    intervals (after Graham 2016)."""
    known = {
        testset: [row for row in rows if row.study == "agreement" and row.value is not None]
        for testset, rows in material.meta.items()
    }
    return {t: _agreement(t, rows, material.names) for t, rows in known.items() if rows}


def _agreement(testset: str, rows: Sequence[MetaRow], metrics: Mapping[str, str]) -> Figure:
    """The agreement by metric and test, at each level, for the last criterion and the last test of
    people's scores."""
    last = rows[-1].criterion, rows[-1].human_test
    rows = [row for row in rows if (row.criterion, row.human_test) == last]
    alphas = list(dict.fromkeys(row.alpha for row in rows))
    names = list(dict.fromkeys((row.metric, row.method) for row in rows))
    step = 0.7 / len(alphas)

    def draw(axes: Any) -> None:
        for index, alpha in enumerate(alphas):
            for y, name in enumerate(names):
                row = next((r for r in rows if (r.metric, r.method) == name and r.alpha == alpha), None)
                if row is None or row.value is None or row.ci_low is None or row.ci_high is None:
                    continue
                at = y + step * (index - (len(alphas) - 1) / 2)
                axes.plot([100 * row.ci_low, 100 * row.ci_high], [at, at], lw=1.4, **look(index, "ls"))
                axes.plot(
                    100 * row.value,
                    at,
                    ls="none",
                    ms=3.5,
                    **look(index, "marker"),
                    label=f"at {alpha:g}" if y == 0 else None,
                )
        shown = [f"{metrics.get(metric or '', metric)}, {method}" for metric, method in names]
        axes.set_yticks(range(len(names)), shown)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("pairs on which metric and people agree (%)")
        add_legend(axes)

    return Figure(
        f"Share of {count(rows[0].n or 0, 'pair')} of systems on which a metric's test and people "
        f"({rows[0].criterion}, {rows[0].human_test} test) agree at each level, on {testset}, with "
        "Clopper-Pearson 95% intervals, after Graham (2016). Pairs share systems, so the true "
        "intervals are wider; the shares hold for these systems.",
        draw,
        size=(COLUMN, 0.6 + 0.3 * len(names)),
    )
