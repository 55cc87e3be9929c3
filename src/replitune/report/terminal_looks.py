"""Looks in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replitune.report.specification import Column, Table
from replitune.results.in_hand import Advice
from replitune.results.numbers import interval, p_value, signed
from replitune.results.wording import count
from replitune.significance.looks.record import FUTILE, SETTLED, Look, PairLook, Plan, Record
from replitune.significance.variances import ENOUGH

PLANNED = (
    "p keeps its level if these looks, the most runs and the metric were fixed before the first look; "
    "looking again until p is small finds differences that are not there"
)


SHARED = "looks ask for more than one test: as each may end the experiment, they share the level"
WHILE_OPEN = (
    "looks ask for runs while these may still settle a pair ({:g}%); without looks, the step that is named "
    "would settle it four times out of five"
)
"""Why looks and one test do not say the same."""


def look_table(record: Record, decimals: int) -> Table:
    """Every look at every pair."""

    def ends(look: Look, row: PairLook) -> str:
        return "" if row.ci_low is None else interval(row.ci_low, row.ci_high, decimals)

    return Table(
        columns=(
            Column("look", None, lambda look, _: look.number, width=4),
            Column("pair", None, lambda _, row: f"{row.b} - {row.a}", left=True, width=16, gap=2),
            Column("n", None, lambda _, row: f"{row.n_a} + {row.n_b}", width=7),
            Column(
                "delta",
                None,
                lambda _, row: row.delta,
                lambda x: "–" if x is None else signed(x, decimals),
                width=7,
            ),
            Column("CI", None, ends, left=True, gap=2, width=16),
            Column("p", None, lambda _, row: row.p_adjusted, p_value, width=6),
            Column("", None, _decided, left=True, gap=2),
        ),
        rows=[(look, row) for look in record.looks for row in look.pairs],
    )


def _decided(_: Look, row: PairLook) -> str:
    asked = [name for name, more in ((row.a, row.more_a), (row.b, row.more_b)) if more]
    more = f": more runs of {' and '.join(asked)}" if asked else ""
    return f"{row.note or row.decision}{more}"


def savings(record: Record) -> str:
    """How many of the replicas in hand would have been enough."""
    used, most = record.runs
    if used == most:
        return f"all {most} runs were needed"
    each = ", ".join(
        f"{sum(counts.values())} of {sum(record.plan.most[name].values())} of {name}"
        for name, counts in record.counts.items()
    )
    return f"{used} of {most} runs would have been enough: {each}"


def advice_lines(advice: Advice, price: Mapping[str, float]) -> Iterator[str]:
    """What to do next: more runs of which systems, more segments, or nothing. `price`: CPU seconds
    of one run of each system, where known."""
    from replitune.significance.studies.cheapest import time_text

    record, plan = advice.record, advice.plan
    wanted = advice.wanted
    if record is not None and record.drift:
        yield record.drift
    for name, more in wanted.items():
        have = sum(advice.have[name].values())
        cost = f", about {time_text(more * price[name])} of CPU" if name in price else ""
        yield f"{name}: {count(more, 'more run')} (it has {have}){cost}"
    if wanted and wanted.keys() <= price.keys():
        total = sum(more * price[name] for name, more in wanted.items())
        cost = time_text(total)
        yield f"in all {count(sum(wanted.values()), 'run')}, about {cost} of CPU; then look again"
    if record is not None and not wanted:
        for row in record.looks[-1].pairs:
            yield f"{row.b} - {row.a}: {_outcome(plan, row)}"
    yield f"without looks, next: {advice.alone.next}"
    if wanted:
        open_ = any(headline.pairs > headline.decided for headline in advice.alone.headlines)
        yield WHILE_OPEN.format(100 * plan.futility) if open_ else SHARED


def _outcome(plan: Plan, row: PairLook) -> str:
    if row.decision == SETTLED:
        return "settled, nothing to do"
    if row.note:
        return f"{row.note}: more of the same would tell nothing new"
    share = row.parts[-1] / sum(row.parts) if sum(row.parts) > 0 else 0.0
    of_set = f"{100 * share:.0f}% of the variance is due to the test set"
    if row.decision == FUTILE:
        text = f"more runs are unlikely ({100 * plan.futility:g}%) to settle it; {of_set}"
    else:
        text = f"not settled, and its runs leave little open; {of_set}"
    return f"{text}: add segments" if share >= ENOUGH else text
