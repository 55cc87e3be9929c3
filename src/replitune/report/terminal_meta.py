"""A study of metrics as tables in the terminal: at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replitune.meta.correlations import COEFFICIENTS
from replitune.meta.rows import MetaRow, MetaStudy
from replitune.report.specification import Column, Table
from replitune.report.terminal import bold, first_three, wrapped
from replitune.results.numbers import MISSING, interval, p_value, score
from replitune.results.wording import COMPARISONS, LEVELS

NAME = 19
"""Names of metrics and tests are cut to so many letters; the JSON has them whole."""

RESAMPLED = {
    "systems": "resampled systems, same segments",
    "segments": "same systems, resampled segments",
    "both": "resampled systems and segments",
}


def print_meta(study: MetaStudy) -> None:
    """Correlations, comparisons of metrics, and agreement with people."""
    for line in lines(study):
        print(bold(line) if line and not line.startswith(" ") else line)


def lines(study: MetaStudy) -> Iterator[str]:
    """Only headings start at the margin."""
    size = f"{len(study.systems)} systems, {study.segments} segments"
    yield f"metrics and people on {study.run.testset} ({size})"
    for criterion in study.criteria:
        yield f"  {criterion}: {study.judged[criterion]} judged outputs"
    for criterion in study.criteria:
        yield from _correlations(study, criterion)
        for method in COMPARISONS:
            yield from _comparison(study, criterion, method)
    rows = study.rows_of("agreement")
    for judged, test in dict.fromkeys((row.criterion, row.human_test) for row in rows):
        yield from _agreement(study, judged or "", test or "")
    yield from _notes(study)


def _short(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _correlations(study: MetaStudy, criterion: str) -> Iterator[str]:
    for level, title in LEVELS.items():
        yield ""
        yield f"correlation with {criterion}: {title}"
        for block in _correlation_table(study, criterion, level).terminal():
            yield from block
    drawn = RESAMPLED[study.run.settings.resample]
    yield f"  [95% bootstrap intervals: {drawn}]  SPA: soft pairwise accuracy"


def _correlation_table(study: MetaStudy, criterion: str, level: str) -> Table:
    rows = study.rows_of("correlation", criterion=criterion, level=level)
    by_method = {(row.metric, row.method): row for row in rows}
    soft = {row.metric: row.value for row in study.rows_of("soft-pairwise", criterion=criterion)}

    def coefficient(name: str) -> Column:
        return Column(name, None, lambda metric: by_method[metric, name], _correlation, width=21)

    def n(metric: str) -> int:
        return max(row.n or 0 for row in rows if row.metric == metric)

    columns = [
        Column("metric", None, _short, left=True, width=NAME),
        *map(coefficient, COEFFICIENTS),
        Column("n", None, n, width=6),
    ]
    if level == "system":
        columns.append(Column("SPA", None, lambda metric: score(soft[metric], 3), width=5))
    return Table(columns, [(metric,) for metric in study.metrics])


def _correlation(row: MetaRow) -> str:
    return f"{score(row.value, 3):>6} {interval(row.ci_low, row.ci_high):<14}"


def _comparison(study: MetaStudy, criterion: str, method: str) -> Iterator[str]:
    if len(study.metrics) < 2:
        return
    for level, what in (("system", "systems"), ("segment", "outputs")):
        rows = study.rows_of("comparison", criterion=criterion, method=method, level=level)
        for block in _comparison_table(study.metrics, rows).terminal(repeated=2):
            yield ""
            yield (
                f"{COMPARISONS[method]}, {criterion}, Pearson, {rows[0].n} {what}: "
                "p that the row correlates better than the column"
            )
            yield from block


def _comparison_table(metrics: Sequence[str], rows: Sequence[MetaRow]) -> Table:
    """p of "the row's metric correlates better than the column's"."""
    by_metrics = {(row.metric, row.other): row for row in rows}
    numbered = dict(enumerate(metrics, start=1))

    def better(number: int, other: str) -> Column:
        def p(_: int, metric: str) -> str:
            return p_value(by_metrics[metric, other].p) if metric != other else ""

        return Column(str(number), None, p, width=5)

    return Table(
        (
            Column("", None, lambda number, _: number, width=2),
            Column("", None, lambda _, metric: _short(metric), left=True, width=NAME),
            *(better(number, other) for number, other in numbered.items()),
        ),
        [*numbered.items()],
    )


def _agreement(study: MetaStudy, criterion: str, test: str) -> Iterator[str]:
    rows = study.rows_of("agreement", criterion=criterion, human_test=test)
    by_level = {(row.metric, row.method, row.alpha): row for row in rows}
    human = study.run.settings.human_alpha

    def share(alpha: float) -> Column:
        return Column(
            f"{alpha:g}", None, lambda metric, method: by_level[metric, method, alpha], _share, width=18
        )

    table = Table(
        (
            Column("metric", None, lambda metric, _: _short(metric), left=True, width=NAME),
            Column("test", None, lambda _, method: _short(method), left=True, width=NAME),
            *map(share, study.run.settings.alphas),
        ),
        list(dict.fromkeys((row.metric or "", row.method) for row in rows)),
    )
    pairs = max((row.n or 0 for row in rows), default=0)
    yield ""
    yield f"agreement with {criterion}: % of {pairs} pairs of systems with equal outcomes, by alpha"
    for block in table.terminal(repeated=2):
        yield from block
    people = f"{test} test of people's scores at {f'{human:g}' if human else 'the same alpha'}"
    yield f"  [95% Clopper-Pearson intervals; {people}]"


def _share(row: MetaRow) -> str:
    if row.value is None or row.ci_low is None or row.ci_high is None:
        return MISSING
    return f"{100 * row.value:.1f} {interval(100 * row.ci_low, 100 * row.ci_high, 1)}"


def _notes(study: MetaStudy) -> Iterator[str]:
    """Each note once, with a few of the places that it is about."""
    places: dict[str, list[str]] = {}
    for row in study.rows:
        if not row.note or row.study == "pair":
            continue
        metric = row.metric if row.other is None else f"{row.metric} against {row.other}"
        alpha = None if row.alpha is None else f"{row.alpha:g}"
        words = (row.criterion, metric, row.level, row.method, alpha)
        places.setdefault(row.note, []).append(" ".join(word for word in words if word))
    notes = [*dict.fromkeys(study.notes)]
    notes += [f"{note} ({first_three(where)})" for note, where in places.items()]
    if not notes:
        return
    yield ""
    yield "notes"
    for note in notes:
        yield from wrapped(note)
