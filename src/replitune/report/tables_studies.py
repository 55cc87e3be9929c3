"""Tables of the studies: planning, fewer runs (Clark, Table 2), calibration, and metrics and
people (Graham 2016)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from replitune.meta.rows import MetaRow
from replitune.report.material import Material
from replitune.report.specification import Column, Table, ends, exact, limits
from replitune.report.tables_scores import CELL
from replitune.report.tables_tests import METHOD, PAIR_OF_ROW
from replitune.results.numbers import MISSING, interval, p_value, score, signed
from replitune.results.result import Result
from replitune.results.wording import COMPARISONS, LEVELS, SCOPES
from replitune.significance.studies.planned import MANY_SEGMENTS
from replitune.significance.studies.power import Estimate, PowerRow, sentence
from replitune.significance.studies.replication import ReplicationRow

Row = TypeVar("Row", PowerRow, ReplicationRow)


def about_one_pair(cell: Result, study: Sequence[tuple[Result, list[Row]]]) -> list[Row]:
    """The rows of a study about one pair: `Result.closest` if it was studied, or else the first."""
    rows: list[Any] = [row for other, own in study if other is cell for row in own]
    pairs = [(row.a, row.b) for row in rows]
    pair = cell.closest if cell.closest in pairs else next(iter(pairs), None)
    return [row for row in rows if (row.a, row.b) == pair]


def plans_of(rows: Sequence[PowerRow]) -> list[PowerRow]:
    """One row of each pair and plan, the experiment's own first."""
    plans: dict[tuple[object, ...], PowerRow] = {}
    for row in rows:
        key = (row.a, row.b, row.n_a, row.n_b, row.tuners, row.segments)
        plans.setdefault(key, row)
    return list(plans.values())


def scopes_of(rows: Sequence[PowerRow]) -> str:
    """What the plans generalise to."""
    return " or ".join(sorted({SCOPES[row.scope][0].format(unit=row.unit, kind="run") for row in rows}))


def power(material: Material) -> Table | None:
    """Smallest difference that n runs and N segments would detect with the wanted power by the
    ``crossed`` test, from the variances of this experiment."""
    rows = [(cell, row) for cell, study in material.power for row in plans_of(study)]
    if not rows:
        return None
    _, first = rows[0]
    sure = f"{100 * first.confidence:.0f}%"
    note, asked = "", None
    if first.asked is not None:
        note = f"; {MISSING}: no number of segments suffices"
        asked = f"segments for {first.asked:g}"
    in_documents = any(row.documents is not None for _, row in rows)
    with_margin = any(row.margin is not None for _, row in rows)
    if with_margin:
        note += (
            "; same: probability that two systems without any difference are shown to be the same "
            "within the margin; smallest margin: the one at which this probability is the wanted power"
        )
    return Table(
        title="What a plan would detect",
        caption=f"Standard error of the difference, and the smallest difference found with "
        f"{100 * first.wanted:g}% power at {first.alpha:g} by the crossed test, with n runs of "
        f"each system and N segments; from the variances that this experiment estimates, with {sure} "
        f"intervals{note}. It holds for "
        f"{scopes_of([row for _, row in rows])}.",
        columns=(
            *CELL,
            *PAIR_OF_ROW,
            Column("plan", None, lambda _, row: "this experiment" if row.design else "plan", left=True),
            *exact("design", "n_a", "n_b", "tuners"),
            Column("n", None, lambda _, row: (row.n_a, row.n_b), _runs),
            Column("N", "segments", show=_size),
            *exact("unit"),
            Column("documents" if in_documents else None, "documents"),
            Column(None, "alpha"),
            Column(None, "power", "wanted"),
            Column("s.e.", "se", show=lambda se, decimals: score(se, decimals + 1), in_units=True),
            Column("detectable", "detectable", _part("detectable"), score, in_units=True),
            Column(sure, None, _ends("detectable"), limits, in_units=True),
            *exact("confidence"),
            *_limits("detectable"),
            *exact("asked"),
            Column(asked, "segments_needed", _part("needed")),
            Column(asked and sure, None, lambda _, row: row.needed, _needed),
            *_limits("needed"),
            *exact("margin"),
            Column("same" if with_margin else None, "same", _part("same"), score),
            Column(sure if with_margin else None, None, _ends("same"), limits),
            *_limits("same"),
            Column(
                "smallest margin" if with_margin else None,
                "smallest_margin",
                _part("smallest_margin"),
                score,
                in_units=True,
            ),
            Column(sure if with_margin else None, None, _ends("smallest_margin"), limits, in_units=True),
            *_limits("smallest_margin"),
        ),
        rows=rows,
        filters=4,
    )


def _in_thousandths(ends: tuple[float | None, float | None]) -> str:
    return limits(ends, 3)


def _ends(name: str) -> Callable[[Result, PowerRow], tuple[float | None, float | None]]:
    """The ends of the interval of an attribute."""
    return lambda _, row: (getattr(row, name).low, getattr(row, name).high)


def _part(name: str, part: str = "value") -> Callable[[Result, PowerRow], float | None]:
    return lambda _, row: getattr(getattr(row, name), part)


def _limits(name: str) -> Iterator[Column]:
    """The limits of an estimate, only in the CSV."""
    return (Column(None, f"{name}_{part}", _part(name, part)) for part in ("low", "high"))


def _needed(needed: Estimate[int]) -> str:
    """The interval of how many segments are needed; without an upper end, perhaps no number suffices."""
    if needed.low is None:
        return MISSING
    return f"[{needed.low}, {'any number' if needed.high is None else needed.high}]"


def _runs(n: tuple[int, int]) -> str:
    return str(n[0]) if n[0] == n[1] else f"{n[0]} + {n[1]}"


def _size(segments: int) -> str:
    return "any number" if segments >= MANY_SEGMENTS else f"{segments}"


def plan_sentences(studies: Sequence[tuple[Result, list[PowerRow]]]) -> list[tuple[str, str, str]]:
    """(test set, pair, sentence) for each cell: what this experiment would detect in one pair, and what
    the same runs would on any number of segments."""
    sentences = []
    for cell, _ in studies:
        plans = plans_of(about_one_pair(cell, studies))
        own = next((row for row in plans if row.design), None)
        if own is None:
            continue
        text = sentence(own, cell.name)
        runs = (own.n_a, own.n_b, own.tuners)
        limit = [row for row in plans if row.segments >= MANY_SEGMENTS]
        limit = [row for row in limit if (row.n_a, row.n_b, row.tuners) == runs]
        if limit:
            best = limit[0].detectable
            text += (
                ". More segments alone, with the same runs, would bring the detectable "
                f"difference to {best.value:.2g} at best"
            )
            if best.low is not None and best.high is not None:
                text += f" ({best.low:.2g} to {best.high:.2g})"
        sentences.append((cell.testset, f"{own.b} − {own.a}", f"{text}."))
    return sentences


def replication(material: Material) -> Table | None:
    """Clark et al. (2011), Table 2: p of single runs that luck could have chosen, and the 2.5th and
    97.5th percentile of p over small experiments drawn from the runs."""
    if not material.replication:
        return None
    rows = [(cell, row) for cell, study in material.replication for row in study]
    alpha = next((f"{row.alpha:g}" for _, row in rows), "the level")
    repeats = next((row.repeats for _, row in rows if row.repeats), "several")
    return Table(
        title="With fewer runs",
        caption="What a paper with n runs of each system could have reported, after Clark et "
        "al. (2011), Table 2: p of single runs chosen by their test score, and the 2.5th to 97.5th "
        f"percentile of p over {repeats} experiments with n runs drawn from the "
        f"pool; † at or below {alpha}. B better, A better: share of these experiments with p at or "
        f"below {alpha} in which B, or A, is ahead (a pair is B − A).",
        columns=(
            *CELL,
            *PAIR_OF_ROW,
            Column("runs", None, _chosen, left=True),
            METHOD,
            *exact("case", "n", "pool_a", "pool_b", "replica_a", "replica_b", "score_a", "score_b"),
            Column("delta", "delta", show=signed, in_units=True),
            Column("p", None, _p_text, mark=_p_mark),
            Column("n", None, "n"),
            *exact("p", "repeats", "without_p", "p_low", "p_median", "p_high"),
            Column("B better", "significant", show=_percent),
            Column("A better", "opposite", show=_percent),
            *exact("alpha"),
        ),
        rows=rows,
        filters=5,
    )


def _chosen(cell: Result, row: ReplicationRow) -> str:
    if row.case is None:
        return "random"
    return row.case.replace("A's", f"{row.a}:").replace("B's", f"{row.b}:")


def _p_text(cell: Result, row: ReplicationRow) -> str:
    if row.case is not None:
        return p_value(row.p)
    return MISSING if row.p_low is None else f"{p_value(row.p_low)} to {p_value(row.p_high)}"


def _p_mark(cell: Result, row: ReplicationRow) -> str:
    return "sign" if row.case is not None and row.p is not None and row.p <= row.alpha else ""


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.0f}%"


def calibration(material: Material) -> Table | None:
    """How often each test rejects where there is no difference, with Wilson intervals. One pool of
    runs is one data set."""
    if not material.calibrate:
        return None
    return Table(
        title="Rejections where there is no difference",
        caption="Share of trials with p at or below alpha where there is no difference, with a "
        "Wilson interval (Monte-Carlo error only: one pool of runs is one data set); ‡: the whole "
        "interval is above alpha. A/A: disjoint runs of one system; coin flip: outputs of two "
        "systems swapped by a coin for each segment; simulation: a normal model. Trials without p "
        "count as not rejected; the last column says whether the level holds by construction.",
        columns=(
            *CELL,
            *(Column(name, name, left=True) for name in ("study", "null", "pool")),
            METHOD,
            Column("alpha", "alpha", show=lambda alpha: f"{alpha:g}"),
            Column(
                "rate",
                "rate",
                show=lambda rate: score(rate, 3),
                mark=lambda _, row: "odd" if row.low > row.alpha else "",
            ),
            *ends("low", "high", _in_thousandths, in_units=False),
            Column("n", "n_a"),
            *exact("n_b", "unit"),
            Column("trials", "trials"),
            Column("no p", "without_p"),
            *exact("rejected"),
            Column("exact", "exact", show=lambda exact: "yes" if exact else "no"),
            *exact("note"),
        ),
        rows=[(cell, row) for cell, study in material.calibrate for row in study],
        filters=6,
    )


# ---- metrics and people

JUDGED = (
    Column("test set", "testset", lambda _, testset, __: testset, left=True),
    Column("judged", "criterion", left=True),
)
METRIC = (
    *exact("metric"),
    Column("metric", None, lambda material, _, row: material.names.get(row.metric, row.metric), left=True),
)
OVER = Column("over", "level", show=lambda level: LEVELS.get(level, level or "systems"), left=True)


def _rows_of_people(material: Material, *studies: str) -> list[tuple[Material, str, MetaRow]]:
    return [
        (material, testset, row)
        for testset, rows in material.meta.items()
        for row in rows
        if row.study in studies
    ]


def agreement(material: Material) -> Table | None:
    """Share of pairs of systems on which a metric's test and people agree, with Clopper-Pearson
    intervals (after Graham 2016)."""
    if not material.meta:
        return None
    return Table(
        title="Agreement of tests with people",
        caption="Share (%) of pairs of systems on which a metric's test and a test of people's "
        "scores agree at the level alpha: A better, B better, or no significant "
        "difference; with an exact binomial (Clopper-Pearson) 95% interval, after Graham (2016). "
        "Pairs share systems, so the true interval is wider.",
        columns=(
            *JUDGED,
            *METRIC,
            METHOD,
            Column("people's test", "human_test", left=True),
            Column("alpha", "alpha", show=lambda alpha: f"{alpha:g}"),
            Column("agree", "agreement", "value", lambda share: score(_in_percent(share), 1)),
            *ends(show=_ends_in_percent, in_units=False),
            Column("pairs", "pairs", "n", str),
            *exact("note"),
        ),
        rows=_rows_of_people(material, "agreement"),
        filters=5,
    )


def _in_percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _ends_in_percent(shares: tuple[float | None, float | None]) -> str:
    low, high = map(_in_percent, shares)
    return interval(low, high, 1)


def correlations(material: Material) -> Table | None:
    """Correlation of each metric with people, with bootstrap intervals."""
    if not material.meta:
        return None
    return Table(
        title="Correlation of metrics with people",
        caption="Correlation of each metric with human scores, all turned so that higher is better, with "
        "95% bootstrap intervals: over systems, over all judged outputs, and over the systems of each "
        "segment, averaged; and soft pairwise accuracy. n: systems, outputs, or segments.",
        columns=(
            *JUDGED,
            *METRIC,
            OVER,
            Column("measure", "measure", "method", left=True),
            Column("value", "value", show=lambda value: score(value, 3)),
            *ends(show=_in_thousandths, in_units=False),
            Column("n", "n"),
            *exact("resampled", "samples", "note"),
        ),
        rows=_rows_of_people(material, "correlation", "soft-pairwise"),
        filters=5,
    )


def metrics(material: Material) -> Table | None:
    """Does one metric correlate better with people than another? Williams' test, PERM-SYS and
    PERM-BOTH."""
    if not material.meta:
        return None
    return Table(
        title="Which metric agrees better with people",
        caption="Does the first metric correlate better with people than the second? One-sided p, "
        "uncorrected, of the difference of Pearson correlations, by Williams' test and by exchanges of the "
        "scores of whole systems (PERM-SYS) or of single outputs (PERM-BOTH, which rejects too often over "
        "systems).",
        columns=(
            *JUDGED,
            *exact("metric", "other"),
            Column("metrics", None, _better, left=True),
            OVER,
            Column("test", "method", show=_comparison, left=True),
            Column("difference", "difference", "value", lambda value: score(value, 3)),
            Column("t", "statistic", show=score),
            Column("p", "p", show=p_value),
            *exact("p_min"),
            Column("n", "n"),
            *exact("note"),
        ),
        rows=_rows_of_people(material, "comparison"),
        filters=5,
    )


def _comparison(method: str) -> str:
    return COMPARISONS.get(method, method)


def _better(material: Material, testset: str, row: MetaRow) -> str:
    one, other = (material.names.get(m or "", m or "") for m in (row.metric, row.other))
    return f"{one} > {other}"
