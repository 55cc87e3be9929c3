"""Tables of the studies: planning, fewer replicas (Clark, Table 2), calibration."""

from __future__ import annotations

from collections.abc import Sequence

from replitune.report.data import Cell
from replitune.report.numbers import MISSING, interval, p_value, score, signed
from replitune.report.table import Table
from replitune.significance.studies.calibrate import CalibrationRow
from replitune.significance.studies.power import MANY_SEGMENTS, PowerRow, sentence
from replitune.significance.studies.replication import ReplicationRow


def plans_of(rows: Sequence[PowerRow]) -> list[PowerRow]:
    """One row of each pair and plan, the experiment's own first."""
    found: dict[tuple[object, ...], PowerRow] = {}
    for row in rows:
        key = (row.a, row.b, row.n_a, row.n_b, row.tuners, row.segments)
        found.setdefault(key, row)
    return list(found.values())


def power_table(found: Sequence[tuple[Cell, list[PowerRow]]]) -> Table:
    """What n replicas and N segments would detect."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    asked = next((row.asked for _, rows in found for row in rows), None)
    first = next((row for _, rows in found for row in rows), None)
    for cell, rows in found:
        for row in plans_of(rows):
            n = str(row.n_a) if row.n_a == row.n_b else f"{row.n_a} + {row.n_b}"
            size = "any number" if row.segments >= MANY_SEGMENTS else f"{row.segments}"
            printed = [
                cell.testset, cell.name, f"{row.b} − {row.a}",
                "this experiment" if row.design else "plan", n, size, score(row.se, 3),
                score(row.detectable),
            ]  # fmt: skip
            if asked is not None:
                printed.append(MISSING if row.needed is None else f"{row.needed}")
            text.append(tuple(printed))
            values.append(
                (cell.testset, cell.metric, row.a, row.b, row.design, row.n_a, row.n_b, row.tuners,
                 row.segments, row.alpha, row.wanted, row.se, row.detectable, row.asked, row.needed)
            )  # fmt: skip
    extra = (f"segments for {asked:g}",) if asked is not None else ()
    wanted = f"{100 * first.wanted:g}% power at {first.alpha:g}" if first else "the wanted power"
    note = f"; {MISSING}: no number of segments suffices" if asked is not None else ""
    return Table(
        name="power",
        title="What a plan would detect",
        caption=f"Standard error of the difference, and the smallest difference found with "
        f"{wanted} by the crossed test, with n replicas of each system and N segments; from the "
        f"variances of this experiment{note}. It speaks of new segments and new tuner runs.",
        header=("test set", "metric", "pair", "plan", "n", "N", "s.e.", "detectable", *extra),
        text=tuple(text),
        columns=("testset", "metric", "a", "b", "design", "n_a", "n_b", "tuners", "segments",
                 "alpha", "power", "se", "detectable", "asked", "segments_needed"),
        values=tuple(values),
        left=4,
        filters=4,
    )  # fmt: skip


def plan_sentences(found: Sequence[tuple[Cell, list[PowerRow]]]) -> list[tuple[str, str, str]]:
    """(test set, pair, sentence) for each cell: what this experiment would detect in the pair with
    most to see, and what the same replicas would on any number of segments."""
    said = []
    for cell, rows in found:
        pairs = list(dict.fromkeys((row.a, row.b) for row in rows))
        pair = pairs[0] if cell.closest not in pairs else cell.closest
        plans = [row for row in plans_of(rows) if (row.a, row.b) == pair]
        own = next((row for row in plans if row.design), None)
        if own is None or pair is None:
            continue
        text = sentence(own, cell.name)
        runs = (own.n_a, own.n_b, own.tuners)
        limit = [row for row in plans if row.segments >= MANY_SEGMENTS]
        limit = [row for row in limit if (row.n_a, row.n_b, row.tuners) == runs]
        if limit:
            text += (
                f". More segments alone, with the same replicas, would bring it to "
                f"{limit[0].detectable:.2g} at best"
            )
        said.append((cell.testset, f"{pair[1]} − {pair[0]}", f"{text}."))
    return said


REPLICATION_COLUMNS = (
    "a", "b", "method", "case", "n", "pool_a", "pool_b", "replica_a", "replica_b", "score_a",
    "score_b", "delta", "p", "repeats", "without_p", "p_low", "p_median", "p_high", "significant",
    "opposite", "alpha",
)  # fmt: skip


def replication_table(found: Sequence[tuple[Cell, list[ReplicationRow]]]) -> Table:
    """Clark et al. (2011), Table 2."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    first = next((row for _, rows in found for row in rows), None)
    for cell, rows in found:
        for row in rows:
            if row.case is not None:
                who = row.case.replace("A's", f"{row.a}:").replace("B's", f"{row.b}:")
                p, share = p_value(row.p), (MISSING, MISSING)
                if row.p is not None and row.p <= row.alpha:
                    marks[len(text), 6] = "sign"
            else:
                who = "random"
                p = f"{p_value(row.p_low)} to {p_value(row.p_high)}"
                p = MISSING if row.p_low is None else p
                share = (_percent(row.significant), _percent(row.opposite))
            text.append(
                (cell.testset, cell.name, f"{row.b} − {row.a}", who, row.method, signed(row.delta),
                 p, str(row.n), *share)
            )  # fmt: skip
            values.append(
                (cell.testset, cell.metric, *(getattr(row, name) for name in REPLICATION_COLUMNS))
            )
    alpha = f"{first.alpha:g}" if first else "the level"
    repeats = next((row.repeats for _, rows in found for row in rows if row.repeats), None)
    return Table(
        name="replication",
        title="With fewer replicas",
        caption="What a paper with n replicas of each system could have reported, after Clark et "
        "al. (2011), Table 2: p of single runs chosen by their test score, and the 2.5th to 97.5th "
        f"percentile of p over {repeats or 'several'} experiments with n replicas drawn from the "
        f"pool; † at or below {alpha}. Share of these with p at or below {alpha} and B ahead, and "
        "with A ahead (of B − A).",
        header=("test set", "metric", "pair", "runs", "test", "delta", "p", "n", "B better",
                "A better"),
        text=tuple(text),
        columns=("testset", "metric", *REPLICATION_COLUMNS),
        values=tuple(values),
        left=5,
        marks=marks,
        filters=5,
    )  # fmt: skip


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.0f}%"


def calibration_table(found: Sequence[tuple[Cell, list[CalibrationRow]]]) -> Table:
    """How often each test finds a difference where there is none."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    marks: dict[tuple[int, int], str] = {}
    for cell, rows in found:
        for row in rows:
            if row.low > row.alpha:
                marks[len(text), 7] = "odd"
            text.append(
                (cell.testset, cell.name, row.study, row.null, row.pool, row.method,
                 f"{row.alpha:g}", score(row.rate, 3), interval(row.low, row.high, 3),
                 str(row.n_a), str(row.trials), str(row.without_p),
                 "yes" if row.exact else "no")
            )  # fmt: skip
            values.append(
                (cell.testset, cell.metric, row.study, row.null, row.pool, row.method, row.alpha,
                 row.rate, row.low, row.high, row.n_a, row.n_b, row.unit, row.trials, row.without_p,
                 row.rejected, row.exact, row.note)
            )  # fmt: skip
    return Table(
        name="calibration",
        title="Rejections where there is no difference",
        caption="Share of trials with p at or below alpha where there is no difference, with a "
        "Wilson interval (Monte-Carlo error only: one pool of replicas is one data set); ‡: all of "
        "it is above alpha. A/A: disjoint replicas of one system; coin flip: outputs of two "
        "systems swapped by a coin for each segment; simulation: a normal model. Trials without p "
        "count as not rejected; the last column says whether the level holds by construction.",
        header=("test set", "metric", "study", "null", "pool", "test", "alpha", "rate", "CI", "n",
                "trials", "no p", "exact"),
        text=tuple(text),
        columns=("testset", "metric", "study", "null", "pool", "method", "alpha", "rate", "ci_low",
                 "ci_high", "n_a", "n_b", "unit", "trials", "without_p", "rejected", "exact",
                 "note"),
        values=tuple(values),
        left=6,
        marks=marks,
        filters=6,
    )  # fmt: skip
