"""The table of looks."""

from __future__ import annotations

from replitune.report.material import Material
from replitune.report.specification import Column, Table, ends, exact
from replitune.report.tables_tests import PAIR_OF_ROW
from replitune.results.numbers import p_value, signed
from replitune.results.result import Result
from replitune.significance.looks.record import Look, PairLook, Record


def decider(material: Material, record: Record) -> Result | None:
    """The result of the (test set, metric) that decided."""
    plan = record.plan
    return next((c for c in material.cells if (c.testset, c.metric) == (plan.testset, plan.metric)), None)


def looks(material: Material) -> Table | None:
    """Every look at every pair in an experiment that decides by itself how many runs it needs:
    difference, the rule's interval, p of the look, the smallest p so far, and what was decided."""
    record = material.looks
    cell = None if record is None else decider(material, record)
    if record is None or cell is None:
        return None
    used, most = record.runs
    return Table(
        title="Looks",
        caption=f"Looks at {cell.testset} by {cell.name}: runs of A and B, their difference "
        "with the rule's interval, p of the look and the smallest so far, and what was decided. "
        f"{used} of at most {most} runs were made.",
        columns=(
            Column("look", "look", lambda _cell, look, _pair: look.number),
            *PAIR_OF_ROW,
            Column("n", None, lambda *row: f"{row[-1].n_a} + {row[-1].n_b}"),
            *exact("n_a", "n_b"),
            Column("delta", "delta", show=signed, in_units=True),
            *ends(),
            *exact("variance", "movement", "level", "p_alone"),
            Column("p look", "p_look", show=p_value),
            Column("p", "p", show=p_value),
            Column("p adj.", "p_adjusted", show=p_value),
            Column("decision", "decision", left=True),
            Column("more runs of", None, _more, left=True),
            *exact("more_a", "more_b", "note"),
        ),
        rows=[(cell, look, pair) for look in record.looks for pair in look.pairs],
        filters=2,
    )


def _more(_cell: Result, _look: Look, pair: PairLook) -> str:
    """The systems that a pair asks for more runs of."""
    asked = [name for name, more in ((pair.a, pair.more_a), (pair.b, pair.more_b)) if more]
    return ", ".join(asked) or "–"
