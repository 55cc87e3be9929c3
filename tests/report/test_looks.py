"""What the report says of looks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

import replitune
from replitune.report import contents
from replitune.report.material import Material
from replitune.report.methods_paragraph import methods
from replitune.report.report import ComparisonReport
from replitune.results.settling import settle
from replitune.significance.looks.record import Abandoned, Record

SEGMENTS = 60


def compared(shift: float, spread: float, seed: int = 1, runs: int = 8) -> ComparisonReport:
    rng = np.random.default_rng(seed)
    same = rng.normal(size=SEGMENTS) * 3
    scores = {
        name: same * sign
        + rng.normal(size=(runs, SEGMENTS)) * 0.2
        + more
        + rng.normal(size=(runs, 1)) * spread
        for name, more, sign in (("A", 0.0, 1), ("B", shift, -1))
    }
    return replitune.test(scores, methods=["crossed"], correction="holm")


def looked(report: ComparisonReport) -> tuple[Material, Record]:
    """The material of an experiment that has looked at these runs."""
    record = report.looks([3, 5])
    cell = report.material.cells[0]
    plan = msgspec.structs.replace(record.plan, testset=cell.testset)
    record = msgspec.structs.replace(record, plan=plan)
    settled = replace(cell, tests=tuple(settle(cell.tests, record)))
    return replace(report.material, cells=[settled], looks=record), record


def said(material: Material) -> str:
    (answer,) = material.cells[0].answers
    return answer.text


def test_a_settled_difference_says_so_with_its_runs():
    material, record = looked(compared(9, 0.05))
    assert record.settled
    assert "adjusted for looks, settled with 3 and 3 of at most 8 runs" in said(material)


def test_a_pair_that_is_given_up_wants_segments():
    material, record = looked(compared(0.1, 0.01))
    text = said(material)
    assert "are unlikely (5%) to settle it" in text or "not settled" in text.lower()
    assert "adjusted for looks" in text
    assert record.looks[-1].pairs[0].decision == "futile"
    assert "Add segments." in text
    (answer,) = material.cells[0].answers
    assert answer.next.startswith("more segments: the looks ask for no more runs")


def test_p_and_the_interval_are_the_records():
    material, record = looked(compared(1.5, 0.5))
    row = material.cells[0].tests[0]
    last = record.last(row.a, row.b)
    assert last is not None
    assert (row.p, row.p_adjusted, row.ci_low, row.ci_high) == (
        last.p,
        last.p_adjusted,
        last.ci_low,
        last.ci_high,
    )
    assert row.correction == "holm"


def test_the_report_warns_of_what_looks_do_to_other_p():
    material, record = looked(compared(1.5, 0.5))
    material = replace(material, said=None)
    texts = {caveat.code: caveat.text for caveat in material.summary.trust}
    assert "other p-values are not adjusted" in texts["looks"]
    assert "looked-before" not in texts
    changed = replace(
        material,
        looks=Record(
            plan=record.plan, looks=record.looks, abandoned=[Abandoned(looks=2, plan=record.plan)]
        ),
    )
    assert "of the planned looks, at 3, 5 and 8 runs, by " in methods(changed)[0]
    texts = {caveat.code: caveat.text for caveat in changed.summary.grave}
    assert "were changed after 2 looks" in texts["looked-before"]


@pytest.mark.parametrize("shift", [0.0, 1.5, 9.0])
def test_there_is_a_table_and_two_pictures(shift: float):
    material, record = looked(compared(shift, 0.5))
    table: Any = contents.TABLES["looks"](material)
    assert len(table.rows) == len(record.looks)
    assert "decision" in table.header
    for kind in ("looks", "runs"):
        (figure,) = contents.FIGURES[kind](material).values()
        assert figure.caption
        from replitune.report.drawing import render

        assert render(kind, figure) == render(kind, figure)
    without = replace(material, looks=None)
    assert contents.TABLES["looks"](without) is None
    assert contents.FIGURES["looks"](without) == {}
