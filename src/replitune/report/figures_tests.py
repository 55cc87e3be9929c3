"""Figures of tests: Graham (2016), heat map of p and distributions of the pseudo-statistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from replitune.report.drawing import COLUMN, LONGEST, PAGE, Figure, add_legend, look, of_each_cell
from replitune.report.material import Material
from replitune.results.findings import adjusted
from replitune.results.numbers import p_equation, p_value, score
from replitune.results.result import Result
from replitune.results.wording import INTERVALS, corrected, count, generalises_to

LEGIBLE = 15
"""A heat map of up to so many systems has numbers in it; the table has all."""


@of_each_cell
def heatmap(material: Material, cell: Result) -> Figure | None:
    """Corrected p of every pair, best system first (after Graham 2016); dark is small, bold is
    significant."""
    systems, alpha = cell.ranked, material.alpha
    if len(systems) < 3 or not cell.tests:
        return None
    p = np.full((len(systems), len(systems)), np.nan)
    for i, better in enumerate(systems):
        for j, worse in enumerate(systems[i + 1 :], start=i + 1):
            own = adjusted(cell.lead_test((better, worse)))
            if own is not None:
                p[i, j] = own

    legible = len(systems) <= LEGIBLE

    def draw(axes: Any) -> None:
        from matplotlib.colors import ListedColormap

        axes.grid(visible=False)
        levels = [0, alpha / 50, alpha / 5, alpha, 1.0001]
        shades = ["#1b2a38", "#35566f", "#6f93ab", "#f4f6f8"]
        bands = np.maximum(np.searchsorted(levels, p, side="left") - 1, 0)
        axes.pcolormesh(
            np.arange(-0.5, len(systems)),
            np.arange(-0.5, len(systems)),
            np.ma.masked_array(bands, np.isnan(p)),
            cmap=ListedColormap(shades),
            vmin=-0.5,
            vmax=len(shades) - 0.5,
        )
        for i, j in zip(*np.nonzero(~np.isnan(p)), strict=True) if legible else ():
            ink = "white" if bands[i, j] < 3 else "black"
            weight = "bold" if p[i, j] <= alpha else "normal"
            text = p_value(float(p[i, j]))
            axes.text(j, i, text, ha="center", va="center", color=ink, weight=weight, size=7)
        axes.set_xlim(-0.5, len(systems) - 0.5)
        axes.set_ylim(len(systems) - 0.5, -0.5)
        axes.set_xticks(range(len(systems)), systems, rotation=45, ha="right")
        axes.set_yticks(range(len(systems)), systems)
        axes.set_aspect("equal")

    lead = next(result for result in cell.tests if result.method == cell.lead_method)
    longest = min(max(map(len, systems)), LONGEST)
    side = min(0.6 + 0.06 * longest + (0.36 if legible else 0.16) * len(systems), PAGE)
    return Figure(
        f"p of every pair of systems ({lead.run_kind}s of the first pair: {lead.n_a} and {lead.n_b}) "
        f"by {cell.name} on {cell.testset}, {cell.lead_method} test, "
        f"{corrected([cell], material.family)}; best system first, dark is small"
        f"{f', bold is at or below {alpha:g}' if legible else ''} (after Graham 2016). A small p "
        f"holds for {generalises_to(lead)}.",
        draw,
        size=(side, side),
    )


@of_each_cell
def differences(material: Material, cell: Result) -> Figure | None:
    """Fu et al. (2016), Fig. 5: uncorrected p of every pair against its difference, by test, with
    a decreasing fit and the difference at which it falls to the level of the experiment."""
    (fits,) = (own for other, own in material.thresholds if other is cell)
    if not fits:
        return None
    alpha = fits[0].alpha

    def draw(axes: Any) -> None:
        for index, fit in enumerate(fits):
            at = fit.crossing
            label = fit.method if at is None else f"{fit.method}: {alpha:g} at {score(at, cell.decimals)}"
            axes.plot(fit.delta, fit.p, ls="none", ms=3, alpha=0.8, label=label, **look(index, "marker"))
            axes.plot(fit.delta, fit.fitted, lw=1, **look(index, "ls"))
        axes.axhline(alpha, color="black", linewidth=0.8)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(f"absolute difference in {cell.name}")
        axes.set_ylabel("p")
        add_legend(axes)

    scopes = {result.method: generalises_to(result) for result in cell.tests}
    scope_text = "; ".join(f"{scope} ({method})" for method, scope in scopes.items())
    return Figure(
        f"p, uncorrected, of {count(len(cell.pairs), 'pair')} of systems against their difference "
        f"in {cell.name} on {cell.testset}, with a decreasing fit and the difference at which it "
        f"falls to {alpha:g} (after Fu et al. 2016, Fig. 5). It holds for {scope_text}.",
        draw,
    )


@of_each_cell
def distributions(material: Material, cell: Result) -> Figure | None:
    """Distributions of the difference under the tests that resample (after Graham 2016), for the
    pair whose p is nearest to .05; the black line is the observed difference."""
    varying = {key: (edges, n) for key, (edges, n) in cell.histograms.items() if np.ptp(edges) > 1e-6}
    pairs = [(a, b) for a, b, _ in varying if (a, b) in cell.pairs]
    if not pairs:
        return None
    a, b = pair = cell.closest if cell.closest in pairs else pairs[0]
    drawn = {method: bins for (x, y, method), bins in varying.items() if (x, y) == pair}
    results = {method: cell.test(pair, method) for method in drawn}

    def draw(axes: Any) -> None:
        for index, (method, (edges, counts)) in enumerate(drawn.items()):
            edges, counts = _coarse(edges, counts)
            density = counts / (counts.sum() * np.diff(edges))
            result = results[method]
            p = "" if result is None else f", {p_equation(result.p)}"
            axes.stairs(density, edges, **look(index, "ls"), linewidth=1.5, label=f"{method}{p}")
        delta = next(r.delta for r in results.values() if r is not None)
        axes.axvline(delta, color="black", linewidth=1.2)
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.set_xlabel(f"difference in {cell.name}, {b} − {a}")
        axes.set_ylabel("density")
        axes.set_ylim(bottom=0)
        add_legend(axes)

    scopes = "; ".join(f"{generalises_to(r)} ({m})" for m, r in results.items() if r is not None)
    result = next(r for r in results.values() if r is not None)
    return Figure(
        f"Distributions of the difference in {cell.name} on {cell.testset} between {a} and {b} "
        f"({result.n_a} + {count(result.n_b, result.run_kind)}), of the tests that resample: those of "
        "exchange tests lie around zero, those of bootstraps around the observed difference "
        f"(black line), after Graham (2016). p is uncorrected. It holds for {scopes}.",
        draw,
    )


def _coarse(edges: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """200 bins merged into 50, for a smoother picture."""
    if len(counts) % 4:
        return edges, counts
    return edges[::4], counts.reshape(-1, 4).sum(axis=1)


MOST_PAIRS = 21
"""Most pairs in the figure of overlaps: those that overlap most, as in Fu et al. (2016)."""


@of_each_cell
def overlap(material: Material, cell: Result) -> Figure | None:
    """Overlap ratio of the intervals of two systems, by interval method (Fu et al. 2016, Figs. 2
    and 3), for the pairs that overlap by at least one of them. No test."""
    methods = list(dict.fromkeys(row.method for row in cell.overlaps if row.ratio is not None))
    most = {p: max((cell.overlap(p, method) or 0.0 for method in methods), default=0.0) for p in cell.pairs}
    pairs = sorted((pair for pair in most if most[pair] >= 0.005), key=lambda pair: -most[pair])[
        :MOST_PAIRS
    ]
    if not pairs:
        return None

    def draw(axes: Any) -> None:
        for index, method in enumerate(methods):
            ratios = [cell.overlap(pair, method) for pair in pairs]
            known = [(ratio, y) for y, ratio in enumerate(ratios) if ratio is not None]
            label = INTERVALS.get(method, method)
            axes.plot(
                *zip(*known, strict=True), ls="none", clip_on=False, label=label, **look(index, "marker")
            )
        axes.set_yticks(range(len(pairs)), [f"{b} − {a}" for a, b in pairs])
        axes.set_ylim(len(pairs) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xlabel("overlap ratio")
        add_legend(axes)

    apart = sum(ratio < 0.005 for ratio in most.values())
    more = len(cell.pairs) - len(pairs) - apart
    rest = f"; {count(apart, 'pair')} apart by all methods" if apart else ""
    rest += f"; {count(more, 'more pair')} in the table" if more else ""
    runs = sorted({n for r in cell.tests for n in (r.n_a, r.n_b)})
    n = "–".join(str(k) for k in dict.fromkeys((runs[0], runs[-1])))
    return Figure(
        f"Overlap ratio of the {100 * (1 - material.alpha):g}% intervals of {cell.name} on "
        f"{cell.testset} of the two systems of a pair (n = {n} {cell.kind}s), by interval method, "
        f"after Fu et al. (2016), Figs. 2 and 3: 0 is apart, 1 the same{rest}. No test; "
        "Riezler's and Clark's intervals hold for new segments, the test-set interval for "
        f"new {cell.kind}s on this test set.",
        draw,
        size=(COLUMN, 0.6 + 0.17 * len(pairs)),
    )
