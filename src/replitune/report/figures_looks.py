"""Pictures of looks: intervals look by look, and how many runs were made."""

from __future__ import annotations

from typing import Any

from replitune.report.drawing import COLUMN, STYLES, Figure, Figures, add_legend, look
from replitune.report.material import Material
from replitune.report.tables_looks import decider
from replitune.significance.looks.record import FUTILE, NO_P, OPEN, SETTLED

SHOWN = 30
"""Most pairs in a picture; the table has all."""
LOOKS = {SETTLED: 0, FUTILE: 1, OPEN: 2, NO_P: 5}
"""Colour and marker of a decision."""


def looks(material: Material) -> Figures:
    """The difference of every pair with the rule's interval, look by look from the top, in an
    experiment that decides by itself how many runs it needs."""
    record = material.looks
    cell = None if record is None else decider(material, record)
    if record is None or cell is None:
        return {}
    pairs = record.plan.pairs[:SHOWN]
    rows = {
        pair: [row for look in record.looks for row in look.pairs if (row.a, row.b) == pair]
        for pair in map(tuple, pairs)
    }
    step = 0.8 / max(len(record.looks), 2)

    def draw(axes: Any) -> None:
        named = set()
        for y, of_pair in enumerate(rows.values()):
            for k, row in enumerate(of_pair):
                if row.delta is None:
                    continue
                at = y - 0.4 + step * (k + 0.5)
                kind = LOOKS[row.decision]
                if row.ci_low is not None and row.ci_high is not None:
                    axes.plot([row.ci_low, row.ci_high], [at, at], lw=1.4, **look(kind))
                label = None if row.decision in named else row.decision
                named.add(row.decision)
                axes.plot(row.delta, at, ls="none", ms=3, **look(kind, "marker"), label=label)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [f"{b} − {a}" for a, b in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(f"difference in {cell.name}")
        add_legend(axes)

    rest = len(record.plan.pairs) - len(pairs)
    return {
        f"{cell.testset}.{cell.metric}": Figure(
            f"Differences in {cell.name} on {cell.testset} at each of {len(record.looks)} looks, "
            f"the first one on top, with the rule's {100 * record.plan.confidence:g}% interval of "
            "each pair alone, which covers what all possible runs would show"
            + (f"; {rest} more pairs are in the table" if rest else "")
            + ".",
            draw,
            size=(COLUMN, 0.6 + max(0.22, 0.09 * len(record.looks)) * len(rows)),
        )
    }


def runs(material: Material) -> Figures:
    """How many runs of each system were made, look by look, and how many there might have
    been."""
    record = material.looks
    cell = None if record is None else decider(material, record)
    if record is None or cell is None:
        return {}
    plan, (used, most) = record.plan, record.runs
    stands = [look.wanted for look in record.looks]
    first = {name: look.n for name, look in record.looks[0].systems.items()}

    def draw(axes: Any) -> None:
        for y, system in enumerate(plan.sizes):
            counts = [
                sum(plan.counts(system, n).values())
                for n in (first[system], *(stand[system] for stand in stands))
            ]
            top = sum(plan.most[system].values())
            axes.barh(
                y,
                top,
                height=0.6,
                color="none",
                edgecolor="#8d99ae",
                lw=0.8,
                label="at most" if y == 0 else None,
            )
            done = 0
            for k, n in enumerate(counts):
                if n > done:
                    hatch = STYLES["hatch"][k % len(STYLES["hatch"])]
                    axes.barh(
                        y, n - done, left=done, height=0.6, hatch=hatch, edgecolor="white", lw=0, **look(k)
                    )
                    done = n
        axes.set_yticks(range(len(plan.sizes)), list(plan.sizes))
        axes.set_ylim(len(plan.sizes) - 0.4, -0.6)
        axes.set_xlabel("runs")
        add_legend(axes)

    return {
        f"{cell.testset}.{cell.metric}": Figure(
            f"Runs of each system that the looks at {cell.testset} by {cell.name} asked for, "
            f"batch by batch, and the most that were allowed: {used} of {most}, "
            f"{100 * (1 - used / most):.0f}% saved.",
            draw,
            size=(COLUMN, 0.6 + 0.26 * len(plan.sizes)),
        )
    }
