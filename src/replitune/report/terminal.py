"""The comparison in the terminal: at most 100 columns, bold only on a terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from replitune.report.noticing import CAPTION, HEADING, accuracy, percent, published_name
from replitune.report.ranks import places, rank_text, ranking
from replitune.report.specification import WIDTH, Column, Table, limits
from replitune.results.comparing import Results
from replitune.results.findings import adjusted, next_run
from replitune.results.numbers import p_value, probability, score
from replitune.results.result import Result
from replitune.results.summary import Summary
from replitune.results.wording import corrected, generalises_to, plain, word_of
from replitune.significance.one_system import SystemSummary


def print_comparison(comparison: Results) -> None:
    """Print the results on one test set."""
    cells, family = [*comparison.metrics.values()], comparison.settings.family
    print(*comparison_lines(cells, family, comparison.summary, bold), sep="\n")


def comparison_lines(
    results: Sequence[Result], family: str, summary: Summary, emphasis: Callable[[str], str] = str
) -> Iterator[str]:
    """The summary; then, for each (test set, metric), systems with their spread, differences with their
    p, and answers. `emphasis` is put on the sentences of the summary and on these headings."""
    for n, line in enumerate(summary.lines):
        lines = wrapped(line, 0)
        yield from map(emphasis, lines) if n < len(summary.headlines) else lines
    yield ""
    for result in results:
        better = f"{'higher' if result.sign > 0 else 'lower'} is better"
        if result.neutral:
            better = "neither more nor less is better"
        name = emphasis(f"{result.metric} on {result.testset}")
        yield f"{name} ({'; '.join((*_size(result), better))})"
        yield from table_lines(_systems(result))
        yield ""
        if len(result.pairs) > MOST_PAIRS:
            yield from wrapped(
                f"{len(result.pairs)} differences are too many to print: --html, --latex and --json have "
                "all; --pairs or --baseline chooses fewer"
            )
        elif result.tests:
            yield from table_lines(_pairs(result), repeated=3)
        yield from (*_clusters(result), *_answers(result, summary), f"  signature: {result.signature}", "")
    tests = [test for result in results for test in result.tests]
    if tests:
        how = corrected(results, family)
        yield from wrapped(f"p: {how}, * at or below {results[0].alpha:g}; it holds for", 0)
    for method, scope in {test.method: generalises_to(test) for test in tests}.items():
        yield from wrapped(f"{method}: {scope}")
    if any(len(result.pairs) <= MOST_PAIRS for result in results) and any(
        "superior_new" in test.details for test in tests
    ):
        kind = word_of(tests[0])
        text = (
            f"next {kind}: probability that the next {kind} of the system that is ahead beats the next one "
        )
        text += "of the other, on a new test set of this size"
        yield from wrapped(text, 0)
    if any(ranking(result) for result in results):
        level = f"{100 * (1 - results[0].alpha):g}%"
        text = f"ranks: those that each system may have, with joint confidence {level}; a system beats all "
        yield from wrapped(f"{text}systems of lower clusters", 0)
    if any(published_name(result) and result.pairs for result in results):
        yield from wrapped(CAPTION, 0)
    notes = _notes(results)
    if notes:
        yield "notes:"
        yield from (line for note in notes for line in wrapped(note))


def _size(result: Result) -> list[str]:
    """The size of the test set, as far as the tests know it."""
    segments = max((test.segments for test in result.tests), default=0)
    documents = max((test.documents for test in result.tests), default=0)
    if segments <= 1:
        return [f"one score for each {result.kind}"] if segments else []
    return [f"{segments} segments" + (f", {documents} documents" if documents < segments else "")]


def _notes(results: Sequence[Result]) -> list[str]:
    """Each kind of note once, with its tests and places."""
    kinds: dict[tuple[str, str], dict[str, list[str]]] = {}
    several = len({result.testset for result in results}) > 1
    for result in results:
        id = f"{result.testset} {result.metric}" if several else result.metric
        for test in result.tests:
            for note in test.notes:
                where = " and ".join(note.systems) or f"{test.b} - {test.a}"
                places = kinds.setdefault((test.method, note.code), {}).setdefault(note.text, [])
                places.append(f"{id} {where}")
    methods_of: dict[str, list[str]] = {}
    for (method, _), texts in kinds.items():
        text, places = next(iter(texts.items()))
        others = {place for group in texts.values() for place in group} - {*places}
        like = f"; similarly {_places(sorted(others))}" if others else ""
        where = _places([*dict.fromkeys(places)])
        methods_of.setdefault(f"{text} ({where}){like}", []).append(method)
    return [f"{', '.join(methods)}: {text}" for text, methods in methods_of.items()]


def _places(where: list[str]) -> str:
    """A few places by name; of many, the first, and the number of the others."""
    return ", ".join(where) if len(where) <= 3 else f"{where[0]} and {len(where) - 1} more"


MOST_ANSWERS = 6
"""If a metric has more pairs, their answers are not printed; the table has all."""

MOST_PAIRS = 20
"""If a metric has more pairs, their differences are not printed, so that the output fits a screen; the
other formats have all."""


def _answers(result: Result, summary: Summary) -> list[str]:
    """The answers, if they are few, without sentences that the summary has said."""
    if not 0 < len(result.answers) <= MOST_ANSWERS:
        return [""]
    said = tuple(headline.sentence for headline in summary.headlines)
    texts = [
        one.rest if any(s.startswith(one.sentence.removesuffix(".")) for s in said) else one.text
        for one in result.answers
    ]
    return ["", *(line for text in texts for line in wrapped(text)), ""]


def bold(text: str) -> str:
    """The text in bold on a terminal that has colours."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\033[1m{text}\033[0m" if colour else text


def table_lines(table: Table, indent: int = 2, repeated: int = 0) -> Iterator[str]:
    for block in table.terminal(indent, repeated):
        yield from block


def print_table(table: Table, indent: int = 2) -> None:
    print(*table_lines(table, indent), sep="\n")


def wrapped(text: str, indent: int = 2) -> list[str]:
    first, others = " " * indent, " " * (indent + 2)
    return textwrap.wrap(
        plain(text), WIDTH, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
    )


def first_three(where: list[str]) -> str:
    """The first three places, and the number of the others."""
    return ", ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")


def _systems(result: Result) -> Table:
    standing = places(result)
    names = list(standing or result.systems)

    def mean(_: Result, summary: SystemSummary) -> float | None:
        return result.mean(summary.name)

    several = any(summary.n > 1 for summary in result.systems.values())
    ranked = (
        Column("cluster", None, lambda _, summary: standing[summary.name].cluster),
        Column("ranks", None, lambda _, summary: rank_text(standing[summary.name].ranks)),
    )
    return Table(
        columns=(
            *(ranked if standing else ()),
            Column("system", "name", left=True, gap=3 if standing else 1),
            Column("n", "n", width=4),
            Column("score", None, mean, show=score, in_units=True, width=8),
            *(
                Column(name, name, show=score, in_units=True, width=7)
                for name in (("s_sel", "s_test") if several else ("s_sel",))
            ),
            *([Column(f"median {result.kind}", "median_replica", left=True, gap=3)] if several else []),
        ),
        rows=[(result, result.systems[name]) for name in names],
    )


def _pairs(result: Result) -> Table:
    alpha = result.alpha

    def p(method: str) -> Column:
        def star(_: Result, pair: tuple[str, str]) -> str:
            value = adjusted(result.test(pair, method))
            return p_value(value) + ("*" if value is not None and value <= alpha else " ")

        return Column(f"p {method}", None, star, width=len(method) + 3)

    answers = {(answer.a, answer.b): answer for answer in result.answers}
    names = {answer.interval for answer in answers.values() if answer.interval}
    interval = "CI"
    if len(names) == 1:
        interval = str(*names).replace("simultaneous", "simult.").replace(" of this pair alone", "")

    def label(_: Result, pair: tuple[str, str]) -> str:
        one = answers[pair]
        return f"{one.ahead or one.b} over {one.behind or one.a}"

    def ends(_: Result, pair: tuple[str, str]) -> tuple[float | None, float | None]:
        return answers[pair].low, answers[pair].high

    def likely(_: Result, pair: tuple[str, str]) -> float | None:
        test = result.test(pair, result.lead_method)
        predicted = None if test is None else next_run(result, test, "_new")
        return None if predicted is None else predicted[0]

    def means(_: Result, pair: tuple[str, str]) -> str:
        test = result.lead_test((answers[pair].behind or pair[0], answers[pair].ahead or pair[1]))
        assert test is not None
        b, a = (score(mean, result.decimals) for mean in (test.score_b, test.score_a))
        return f"{b} and {a}, {test.details.get('judged', test.segments):.0f}"

    own = Column("means, judged", None, means, width=21)
    people = Column(HEADING, None, accuracy, percent, width=7)
    known = any(likely(result, pair) is not None for pair in result.pairs)
    return Table(
        columns=(
            Column("difference", None, label, left=True),
            Column("by", None, lambda _, pair: answers[pair].size, score, in_units=True, width=8),
            *([] if result.one_mean else [own]),
            *([people] if published_name(result) else []),
            Column(interval, None, ends, limits, in_units=True, width=18),
            *(
                [Column(f"next {word_of(result.tests[0])}", None, likely, probability, width=9)]
                if known
                else []
            ),
            *map(p, result.methods),
        ),
        rows=[(result, pair) for pair in result.pairs],
    )


def _clusters(result: Result) -> list[str]:
    """Clusters by the tests other than the lead test: each system beats all those after a `>`."""
    if ranking(result) is None:
        return []
    rows = [
        line
        for method, ranked in result.rankings().items()
        if ranked.clusters is not None and method != result.lead_method
        for line in wrapped(f"{method}: {' > '.join(map(', '.join, ranked.clusters))}", 4)
    ]
    return ["", "  clusters (each system beats all after a >)", *rows] if rows else []
