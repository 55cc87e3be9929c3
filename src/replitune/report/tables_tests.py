"""Tables of tests: every pair by every test, AR beside the bootstrap, the difference that is
enough, overlaps of intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replitune.report.material import Material
from replitune.report.noticing import CAPTION, HEADING, accuracy, percent, published_name
from replitune.report.specification import Column, Table, ends, exact, limits
from replitune.report.tables_scores import CELL
from replitune.results.document import DECLARED, SCALARS
from replitune.results.findings import adjusted, significant
from replitune.results.numbers import MISSING, p_value, score
from replitune.results.result import Result
from replitune.results.wording import INTERVALS, corrected, generalises_to, word_of
from replitune.significance.base import DETAILS, TestResult
from replitune.significance.multiple import adjust
from replitune.significance.studies.replication import Threshold
from replitune.significance.variances import RUNS, VarianceRow, shares

Pair = tuple[str, str]


def _pair(row: Any) -> Pair:
    return row if isinstance(row, tuple) else (row.a, row.b)


PAIR = (
    Column(None, "a", lambda _, pair, *__: _pair(pair)[0]),
    Column(None, "b", lambda _, pair, *__: _pair(pair)[1]),
    Column("pair", None, lambda cell, pair, *_: _over(cell, _pair(pair)), left=True),
)
"""Columns of rows whose second object is a pair or a test; printed with the system ahead first."""


def _over(cell: Result, pair: Pair) -> str:
    behind, ahead = cell.ahead_last(pair)
    return f"{ahead} over {behind}"


def by(delta: Callable[..., float | None], key: str | None = None) -> Column:
    """How much better the system that is ahead is, given the difference B - A."""

    def value(cell: Result, *row: Any) -> float | None:
        found, pair = delta(cell, *row), _pair(row[0])
        return found and cell.better_by(found if cell.ahead_last(pair) == pair else -found)

    return Column("by", key, value, score, in_units=True)


def _delta(*row: Any) -> float:
    return float(row[-1].delta)


def better_ends() -> tuple[Column, ...]:
    """The interval of `by`."""

    def ends(cell: Result, test: TestResult) -> tuple[float | None, float | None]:
        low, high = ((None if x is None else cell.better_by(x)) for x in (test.ci_low, test.ci_high))
        return (low, high) if cell.better_by(1.0) > 0 else (high, low)

    return (
        Column("CI", None, ends, limits, in_units=True),
        Column(None, "ci_low", lambda *row: ends(*row)[0]),
        Column(None, "ci_high", lambda *row: ends(*row)[1]),
    )


PAIR_OF_ROW: tuple[Column, ...] = (
    *exact("a", "b"),
    Column("pair", None, lambda *row: f"{row[-1].b} − {row[-1].a}", left=True),
)
"""Columns of rows whose last object has a and b."""

METHOD = Column("test", "method", left=True)


def pair_rows(material: Material) -> list[tuple[Result, Pair]]:
    """A row for each pair of each (test set, metric)."""
    return [(cell, pair) for cell in material.cells for pair in cell.pairs]


def test_rows(material: Material) -> list[tuple[Result, TestResult]]:
    """A row for each test, B the system that is ahead."""
    rows = []
    for cell in material.cells:
        for result in cell.tests:
            found = cell.test(cell.ahead_last((result.a, result.b)), result.method)
            rows += [] if found is None else [(cell, found)]
    return rows


TOLD = {*("score_a", "score_b", "delta", "se", "df", "ci_low", "ci_high", "p"), *("scope", "run_kind")}
"""Columns of tests that have a place of their own among those that people read."""


def pairs(material: Material) -> Table:
    """Every pair of systems by every test: how much better the system that is ahead is, interval, p,
    adjusted p, the smallest p that the test could have returned, and what a small p generalises to."""
    alpha = material.alpha
    rows = test_rows(material)
    noticed = any(published_name(cell) for cell in material.cells)
    counted = any(result.details.get("won") is not None for _, result in rows)
    own = dict.fromkeys(name for _, test in rows for name in test.details if name not in DECLARED)
    return Table(
        title="Differences and their tests",
        said=material.sentences,
        caption="How much better the first system of a pair is than the second, p by each test, adjusted p "
        f"({corrected(material.cells, material.family)}; † at or below {alpha:g}), and what a "
        "small p generalises to." + (f" {CAPTION}." if noticed else ""),
        columns=(
            *CELL,
            *PAIR,
            METHOD,
            *exact("score_a", "score_b"),
            by(_delta, "by"),
            *([Column(HEADING, HEADING, _noticed, percent)] if noticed else []),
            *better_ends(),
            *([Column("won / tied / lost", None, _counted)] if counted else []),
            *exact("se", "df"),
            Column("p", "p", show=p_value),
            Column(
                "p adj.",
                None,
                lambda _, result: adjusted(result),
                p_value,
                mark=lambda _, result: "sign" if significant(result, alpha) else "",
            ),
            *exact(*(name for name in SCALARS if name not in TOLD)),
            Column("generalises to", "generalises_to", lambda _, result: generalises_to(result)),
            *exact("scope", "run_kind", "note"),
            *(Column(None, name, _detail(name)) for name in (*DETAILS, *own)),
        ),
        rows=rows,
        filters=4,
    )


def _noticed(cell: Result, result: TestResult) -> float | None:
    return accuracy(cell, (result.a, result.b))


def _detail(name: str) -> Callable[[Result, TestResult], float | None]:
    return lambda _, result: result.details.get(name)


def _counted(cell: Result, result: TestResult) -> str:
    """On how many of the test sets drawn, in percent, the system that is ahead won, tied and lost."""
    shares = [result.details.get(name) for name in ("won", "tied", "lost")]
    return MISSING if None in shares else " / ".join(f"{100 * (s or 0):.1f}" for s in shares)


def p(material: Material) -> Table:
    """Fu et al. (2016), Table 8: adjusted p of every pair by test."""
    alpha = material.alpha

    def column(method: str) -> Column:
        def p_of(cell: Result, pair: Pair) -> float | None:
            return adjusted(cell.test(pair, method))

        def mark(cell: Result, pair: Pair) -> str:
            here, lead = p_of(cell, pair), adjusted(cell.test(pair, cell.lead_method))
            words = ["sign"] if here is not None and here <= alpha else []
            if here is not None and lead is not None and (here <= alpha) != (lead <= alpha):
                words.append("odd")
            return " ".join(words)

        return Column(method, method, p_of, p_value, mark=mark)

    return Table(
        title="p by test",
        caption="p of every pair by every test "
        f"({corrected(material.cells, material.family)}), as Fu et al. (2016), "
        f"Table 8: † at or below {alpha:g}, ‡ disagrees at that level with the leading "
        "test. Tests answer different questions; see what each generalises to.",
        columns=(
            *CELL,
            *PAIR,
            by(Result.difference),
            Column(None, "delta", Result.difference),
            *(column(m) for m in dict.fromkeys(m for c in material.cells for m in c.methods)),
        ),
        rows=pair_rows(material),
        filters=2,
    )


LEVELS = {
    "one run": ("riezler", ("graham", "koehn")),
    "all runs (Clark)": ("clark", ("clark-bootstrap",)),
    "test set (Fu)": ("fu-ar", ("fu-bootstrap",)),
}
"""What is exchanged or drawn: the test by approximate randomisation, and those by bootstrap."""


def resampling(material: Material) -> Table:
    """Fu et al. (2016), Table 8: uncorrected p by approximate randomisation and by bootstrap, side
    by side for each unit that is drawn: segments of one run, segments of all runs, whole
    test sets."""
    alpha = material.alpha

    def p_of(cell: Result, pair: Pair, method: str) -> float | None:
        result = cell.test(pair, method)
        return None if result is None else result.p

    def column(heading: str, key: str, side: int) -> Column:
        def mark(cell: Result, pair: Pair, *words: str) -> str:
            known = [q <= alpha for q in (p_of(cell, pair, m) for m in words[1:]) if q is not None]
            here = p_of(cell, pair, words[side])
            marks = ["sign"] if here is not None and here <= alpha else []
            return " ".join([*marks, *(["odd"] if len(set(known)) == 2 else [])])

        return Column(
            heading, key, lambda cell, pair, *words: p_of(cell, pair, words[side]), p_value, mark=mark
        )

    def delta(cell: Result, pair: Pair, level: str, ar: str, bootstrap: str) -> float | None:
        result = cell.test(pair, ar)
        return None if result is None else result.delta

    rows = [
        (cell, pair, level, ar, bootstrap)
        for cell, pair in pair_rows(material)
        for level, (first, others) in LEVELS.items()
        for ar in cell.methods
        if material.methods.get(ar, ar) == first
        for bootstrap in cell.methods
        if material.methods.get(bootstrap, bootstrap) in others
    ]
    return Table(
        title="Approximate randomisation and bootstrap",
        caption="Uncorrected p of every pair by approximate randomisation (AR) and by the "
        f"bootstrap of the same unit, as Fu et al. (2016), Table 8: † at or below {alpha:g}, ‡ the "
        "two disagree at that level.",
        columns=(
            *CELL,
            *PAIR,
            Column("unit", "unit", lambda *row: row[2], left=True),
            Column("AR", "ar", lambda *row: row[3], left=True),
            Column("bootstrap", "bootstrap", lambda *row: row[4], left=True),
            by(delta),
            Column(None, "delta", delta),
            column("p AR", "p_ar", 1),
            column("p bootstrap", "p_bootstrap", 2),
        ),
        rows=rows,
        filters=4,
    )


def variances(material: Material) -> Table | None:
    """Where the uncertainty of each difference comes from: standard deviations of what one run, one
    segment, and one run on one segment add, with intervals, and their shares of Var(delta)."""
    rows = [
        (cell, test, source)
        for cell in material.cells
        for test in cell.tests
        if test.method == cell.lead_method
        for source in test.variances
    ]
    if not rows:
        return None
    kind = word_of(rows[0][1])
    return Table(
        title="Where the uncertainty comes from",
        caption=f"Standard deviations, in units of the metric, of what a {kind} of a system adds to "
        "its score, of what a segment (or document) adds to both systems and to their difference, "
        f"and of what is left, with {100 * (1 - material.alpha):g}% intervals. Share: of the "
        f"variance of the difference, due to {kind}s or to the test set. Where most is due to the test "
        f"set, more {kind}s cannot help.",
        columns=(
            *CELL,
            *PAIR,
            Column("source", "source", show=lambda name: f"{kind}s" if name == RUNS else name, left=True),
            Column("of", "about", show=lambda name: name or "", left=True),
            Column("sd", "sd", show=score, in_units=True),
            *ends("low", "high"),
            *exact("n"),
            Column("share", None, _share_text),
            *exact("share", "share_low", "share_high"),
        ),
        rows=rows,
        filters=4,
    )


def _share_text(cell: Result, test: TestResult, row: VarianceRow) -> str:
    return next((str(one) for one in shares(test.variances) if one.row is row), MISSING)


@dataclass(frozen=True)
class OnTestSet:
    """A pair on a test set of a suite, or on all of them."""

    testset: str
    weight: float
    delta: float
    p: float | None
    better_on: int | None = None
    worse_on: int | None = None


def suites(material: Material) -> Table | None:
    """For each suite, the difference of every pair on each of its test sets, with p corrected over
    the test sets by Holm, and on how many of them one system is surely better."""
    by_key = {(cell.testset, cell.metric): cell for cell in material.cells}
    rows = [
        (cell, test, row)
        for cell in material.cells
        if cell.suite
        for test in cell.tests
        for row in _on_testsets(cell, test, by_key)
    ]
    if not rows:
        return None
    alpha = material.alpha
    return Table(
        title="Suites of test sets",
        caption=f"The difference over all test sets of a suite (the same {material.kind}s of a system on "
        "each), with p corrected for pairs, and the difference on each test set, with p corrected for "
        f"test sets (Holm); † at or below {alpha:g}. Better, worse: on how many test sets B surely is "
        "(partial conjunction, Dror et al. 2017).",
        columns=(
            Column("suite", "suite", lambda cell, *_: cell.testset, left=True),
            Column("metric", "metric", lambda cell, *_: cell.name, left=True),
            *PAIR,
            Column("test set", "testset", left=True),
            Column("weight", "weight", show=score),
            by(_delta),
            *exact("delta"),
            Column("p", "p", show=p_value, mark=lambda *row: "sign" if (row[-1].p or 1) <= alpha else ""),
            Column("better", "better_on"),
            Column("worse", "worse_on"),
        ),
        rows=rows,
        filters=3,
    )


def _on_testsets(
    cell: Result, test: TestResult, by_key: Mapping[tuple[str, str], Result]
) -> list[OnTestSet]:
    """A row for all test sets together, and one for each."""
    counts = [int(test.details.get(name, 0)) for name in ("better_on", "worse_on")]
    rows = [OnTestSet("all together", 1.0, test.delta, adjusted(test), *counts)]
    alone = {
        testset: one
        for testset in cell.suite
        if (testset, cell.metric) in by_key
        for one in [by_key[testset, cell.metric].lead_test((test.a, test.b))]
        if one is not None
    }
    p = adjust([one.p for one in alone.values()], "holm")
    return rows + [
        OnTestSet(testset, cell.suite[testset], one.delta, q)
        for (testset, one), q in zip(alone.items(), p, strict=True)
    ]


def thresholds(material: Material) -> Table:
    """Fu et al. (2016), Fig. 5 in numbers: the difference at which a decreasing fit of p falls to
    the level of the experiment, by test, with a bootstrap interval over pairs. It holds for this
    test set and number of runs only."""
    return Table(
        title="The difference that is enough",
        caption="Absolute difference at which a decreasing fit of uncorrected p falls to "
        f"{material.alpha:g}, by interpolation, and a 95% bootstrap interval over pairs, as Fu et "
        f"al. (2016), Fig. 5. It holds for this test set and number of {material.kind}s n (the smallest, "
        "where they differ) only.",
        columns=(
            *CELL,
            METHOD,
            *(Column(name, name) for name in ("n", "pairs")),
            Column("difference", "difference", "crossing", score, True),
            *ends("low", "high", _known_ends),
            Column("note", None, _notes),
            *exact("note"),
        ),
        rows=[(cell, fit) for cell, fits in material.thresholds for fit in fits],
        filters=3,
    )


def _known_ends(limits: tuple[float | None, float | None], decimals: int) -> str:
    """An interval of which one end may be unknown."""
    if limits == (None, None):
        return MISSING
    return f"[{score(limits[0], decimals)}, {score(limits[1], decimals)}]"


def _notes(cell: Result, fit: Threshold) -> str:
    """All notes but the one that is in the caption."""
    return "; ".join(note.text for note in fit.notes if note.kind.gravity != "quiet")


def overlaps(material: Material) -> Table:
    """Fu et al. (2016), Figs. 2 and 3 in numbers: overlap ratio of the intervals of every pair, by
    interval method. 0: apart; 1: the same."""

    def column(method: str) -> Column:
        heading = INTERVALS.get(method, method)
        return Column(heading, method, lambda cell, pair: cell.overlap(pair, method), score)

    methods = dict.fromkeys(row.method for cell in material.cells for row in cell.overlaps)
    return Table(
        title="Overlap of intervals",
        caption=f"Overlap ratio of the {100 * (1 - material.alpha):g}% intervals of the two "
        "systems of a pair, from normal densities fitted to their bootstrap distributions (Fu et "
        "al. 2016, section 4.2): 0 is apart, 1 the same.",
        columns=(*CELL, *PAIR, *map(column, methods)),
        rows=pair_rows(material),
        filters=2,
    )
