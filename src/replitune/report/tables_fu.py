"""AR against bootstrap, the difference that is enough, and overlaps (Fu et al. 2016)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from replitune.report.data import Cell
from replitune.report.numbers import MISSING, p_value, score, signed
from replitune.report.table import Table
from replitune.report.tables_tests import INTERVALS
from replitune.significance.studies.replication import Threshold, threshold
from replitune.streams import stream

LEVELS = {
    "one replica": ("riezler", ("graham", "koehn")),
    "all replicas (Clark)": ("clark", ("clark-bootstrap",)),
    "test set (Fu)": ("fu-ar", ("fu-bootstrap",)),
}
"""What is drawn or exchanged: by approximate randomisation, and by bootstraps."""


def resampling_table(cells: Sequence[Cell], alpha: float, methods: Mapping[str, str]) -> Table:
    """Fu et al. (2016), Table 8: AR beside the bootstrap of the same unit.

    `methods` has the name of the test behind each label.
    """
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    for cell in cells:
        named = {label: methods.get(label, label) for label in cell.methods}
        sides = [
            (level, ar, bootstrap)
            for level, (first, others) in LEVELS.items()
            for ar in named
            if named[ar] == first
            for bootstrap in named
            if named[bootstrap] in others
        ]
        for pair in cell.pairs:
            for level, ar, bootstrap in sides:
                found = [cell.test(pair, method) for method in (ar, bootstrap)]
                p = [None if result is None else result.p for result in found]
                delta = None if found[0] is None else found[0].delta
                known = [value <= alpha for value in p if value is not None]
                for column, value in ((7, p[0]), (8, p[1])):
                    words = ["sign"] if value is not None and value <= alpha else []
                    words += ["odd"] if len(set(known)) == 2 else []
                    if words:
                        marks[len(text), column] = " ".join(words)
                name = f"{pair[1]} − {pair[0]}"
                text.append(
                    (cell.testset, cell.name, name, level, ar, bootstrap, signed(delta),
                     p_value(p[0]), p_value(p[1]))
                )  # fmt: skip
                values.append((cell.testset, cell.metric, *pair, level, ar, bootstrap, delta, *p))
    return Table(
        name="resampling",
        title="Approximate randomisation and bootstrap",
        caption="Uncorrected p of every pair by approximate randomisation (AR) and by the "
        f"bootstrap of the same unit, as Fu et al. (2016), Table 8: † at or below {alpha:g}, ‡ the "
        "two disagree at that level.",
        header=("test set", "metric", "pair", "unit", "AR", "bootstrap", "delta", "p AR",
                "p bootstrap"),
        text=tuple(text),
        columns=("testset", "metric", "a", "b", "unit", "ar", "bootstrap", "delta", "p_ar",
                 "p_bootstrap"),
        values=tuple(values),
        left=6,
        marks=marks,
        filters=4,
    )  # fmt: skip


def thresholds(cell: Cell, alpha: float, seed: int) -> list[Threshold]:
    """Fu et al. (2016), Fig. 5: where a decreasing fit of p on the difference falls to alpha."""
    found = []
    for method in cell.methods:
        results = [r for r in cell.tests if r.method == method and r.p is not None]
        if len(results) < 2:
            continue
        found.append(
            threshold(
                np.array([result.delta for result in results]),
                np.array([result.p for result in results], dtype=np.float64),
                method=method,
                n=min(min(result.n_a, result.n_b) for result in results),
                alpha=alpha,
                rng=stream(seed, "report", cell.testset, "threshold", method),
            )
        )
    return found


def thresholds_table(found: Sequence[tuple[Cell, list[Threshold]]], alpha: float) -> Table:
    """The same in numbers."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell, fits in found:
        for fit in fits:
            known = fit.low is not None or fit.high is not None
            limits = f"[{score(fit.low)}, {score(fit.high)}]" if known else MISSING
            text.append(
                (cell.testset, cell.name, fit.method, str(fit.n), str(fit.pairs),
                 score(fit.crossing), limits, _said(fit))
            )  # fmt: skip
            values.append(
                (cell.testset, cell.metric, fit.method, fit.n, fit.pairs, fit.crossing, fit.low,
                 fit.high, fit.note)
            )  # fmt: skip
    return Table(
        name="thresholds",
        title="The difference that is enough",
        caption="Absolute difference at which a decreasing fit of uncorrected p falls to "
        f"{alpha:g}, by interpolation, and a 95% bootstrap interval over pairs, as Fu et al. "
        "(2016), Fig. 5. It holds for this test set and number of replicas n (the smallest, where "
        "they differ) only.",
        header=("test set", "metric", "test", "n", "pairs", "difference", "CI", "note"),
        text=tuple(text),
        columns=("testset", "metric", "method", "n", "pairs", "difference", "ci_low", "ci_high",
                 "note"),
        values=tuple(values),
        filters=3,
    )  # fmt: skip


def _said(fit: Threshold) -> str:
    """Its notes, without the one that is in the caption."""
    return "; ".join(note.text for note in fit.notes if note.code != "scope")


def overlaps_table(cells: Sequence[Cell], alpha: float) -> Table:
    """Fu et al. (2016), Figs. 2 and 3: overlap ratio of the intervals of every pair, by method."""
    methods = list(dict.fromkeys(row.method for cell in cells for row in cell.overlaps))
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell in cells:
        for pair in cell.pairs:
            ratios = [cell.overlap(pair, method) for method in methods]
            name = f"{pair[1]} − {pair[0]}"
            text.append((cell.testset, cell.name, name, *map(score, ratios)))
            values.append((cell.testset, cell.metric, *pair, *ratios))
    return Table(
        name="overlaps",
        title="Overlap of intervals",
        caption=f"Overlap ratio of the {100 * (1 - alpha):g}% intervals of the two systems of a "
        "pair, from normal densities fitted to their bootstrap distributions (Fu et al. 2016, "
        "section 4.2): 0 is apart, 1 the same.",
        header=("test set", "metric", "pair", *(INTERVALS.get(m, m) for m in methods)),
        text=tuple(text),
        columns=("testset", "metric", "a", "b", *methods),
        values=tuple(values),
        filters=2,
    )
