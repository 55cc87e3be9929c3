"""A study of metrics as tables in the terminal: at most 100 columns."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator
from typing import TextIO

from replitune.meta.correlations import COEFFICIENTS
from replitune.meta.rows import MetaRow, MetaStudy
from replitune.report.numbers import MISSING, interval, p_value, score

WIDTH = 100
NAME = 19
"""Names of metrics and tests are cut to this; the JSON has them whole."""

LEVELS = {
    "system": "systems",
    "segment": "all judged outputs together",
    "average": "systems of each segment, averaged over segments",
}
RESAMPLED = {
    "systems": "drawn systems, same segments",
    "segments": "same systems, drawn segments",
    "both": "drawn systems and segments",
}
COMPARISONS = {
    "williams": "Williams' test",
    "perm-systems": "PERM-SYS",
    "perm-both": "PERM-BOTH",
}


def print_meta(study: MetaStudy, file: TextIO | None = None) -> None:
    """Correlations, comparisons of metrics, and agreement with people."""
    file = file or sys.stdout
    colour = file.isatty() and "NO_COLOR" not in os.environ
    for line in lines(study):
        heading = bool(line) and not line.startswith(" ")
        print(f"\033[1m{line}\033[0m" if colour and heading else line, file=file)


def lines(study: MetaStudy) -> Iterator[str]:
    """Headings start at the margin, everything else does not."""
    size = f"{len(study.systems)} systems, {study.segments} segments"
    yield f"metrics and people on {study.run.testset} ({size})"
    for criterion in study.criteria:
        yield f"  {criterion}: {study.judged[criterion]} judged outputs"
    for criterion in study.criteria:
        yield from _correlations(study, criterion)
        for method in COMPARISONS:
            yield from _comparison(study, criterion, method)
    for judged in dict.fromkeys(row.criterion for row in study.of("agreement")):
        yield from _agreement(study, judged or "")
    yield from _notes(study)


def _correlations(study: MetaStudy, criterion: str) -> Iterator[str]:
    settings = study.run.settings
    soft = {row.metric: row.value for row in study.of("soft-pairwise", criterion=criterion)}
    for level, title in LEVELS.items():
        rows = study.of("correlation", criterion=criterion, level=level)
        yield ""
        yield f"correlation with {criterion}: {title}"
        head = f"  {'metric':<{NAME}}" + "".join(f" {c:>21}" for c in COEFFICIENTS)
        yield head + f" {'n':>6}" + (f" {'SPA':>5}" if level == "system" else "")
        for metric in study.metrics:
            found = {row.method: row for row in rows if row.metric == metric}
            text = f"  {_cut(metric):<{NAME}}"
            for coefficient in COEFFICIENTS:
                row = found[coefficient]
                limits = interval(row.ci_low, row.ci_high)
                text += f" {score(row.value, 3):>6} {limits:<14}"
            text += f" {max(row.n or 0 for row in found.values()):>6}"
            if level == "system":
                text += f" {score(soft[metric], 3):>5}"
            yield text
    yield (
        f"  [95% bootstrap intervals: {RESAMPLED[settings.resample]}]  SPA: soft pairwise accuracy"
    )


def _comparison(study: MetaStudy, criterion: str, method: str) -> Iterator[str]:
    """p of "the row's metric correlates better than the column's"."""
    if len(study.metrics) < 2:
        return
    each = (WIDTH - NAME - 6) // 6
    for level in ("system", "segment"):
        found = {
            (row.metric, row.other): row
            for row in study.of("comparison", criterion=criterion, method=method, level=level)
        }
        what = "systems" if level == "system" else "outputs"
        n = next(iter(found.values())).n
        for start in range(0, len(study.metrics), each):
            part = study.metrics[start : start + each]
            yield ""
            yield (
                f"{COMPARISONS[method]}, {criterion}, Pearson, {n} {what}: "
                "p that the row correlates better than the column"
            )
            numbers = range(start + 1, start + 1 + len(part))
            yield f"     {'':<{NAME}}" + "".join(f" {i:>5}" for i in numbers)
            for i, metric in enumerate(study.metrics, start=1):
                text = f"  {i:>2} {_cut(metric):<{NAME}}"
                for other in part:
                    p = p_value(found[metric, other].p) if metric != other else ""
                    text += f" {p:>5}"
                yield text.rstrip()


def _agreement(study: MetaStudy, criterion: str) -> Iterator[str]:
    rows = study.of("agreement", criterion=criterion)
    alphas = study.run.settings.alphas
    pairs = max((row.n or 0 for row in rows), default=0)
    human = study.run.settings.human_alpha
    yield ""
    yield f"agreement with {criterion}: % of {pairs} pairs of systems with equal outcomes, by alpha"
    for start in range(0, len(alphas), 3):
        part = alphas[start : start + 3]
        yield f"  {'metric':<{NAME}} {'test':<{NAME}}" + "".join(f" {a:>18g}" for a in part)
        for key in dict.fromkeys((row.metric, row.method) for row in rows):
            text = f"  {_cut(key[0] or ''):<{NAME}} {_cut(key[1]):<{NAME}}"
            for alpha in part:
                (row,) = [r for r in rows if (r.metric, r.method) == key and r.alpha == alpha]
                text += f" {_share(row):>18}"
            yield text
    people = (
        f"rank-sum test of people's scores at {human:g}" if human else "people at the same alpha"
    )
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
    said = [*dict.fromkeys(study.notes)]
    for note, where in places.items():
        more = f" and {len(where) - 3} more" if len(where) > 3 else ""
        said.append(f"{note} ({', '.join(where[:3])}{more})")
    if not said:
        return
    yield ""
    yield "notes"
    for note in said:
        yield from textwrap.wrap(note, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _cut(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"
