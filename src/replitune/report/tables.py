"""Tables as CSV (exact), Markdown and LaTeX (as printed)."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from replitune.report.data import Cell
from replitune.report.numbers import MISSING, interval, p_value, score, signed


@dataclass(frozen=True)
class Table:
    """A table with two faces: values for machines, texts for people."""

    name: str
    caption: str
    header: tuple[str, ...]
    text: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]
    left: int = 3
    """Number of columns, from the first, that hold words."""

    def csv(self) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.values:
            writer.writerow(["" if value is None else value for value in row])
        return buffer.getvalue()

    def markdown(self) -> str:
        rule = ["---" if i < self.left else "---:" for i in range(len(self.header))]
        rows = [self.header, tuple(rule), *self.text]
        escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
        return f"{self.caption}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in escaped)

    def latex(self) -> str:
        spec = "l" * self.left + "r" * (len(self.header) - self.left)
        body = "".join(f"{' & '.join(map(latex_text, row))} \\\\\n" for row in self.text)
        head = " & ".join(map(latex_text, self.header))
        return (
            "% needs \\usepackage{booktabs}\n"
            "\\begin{table}[t]\n\\centering\n"
            f"\\begin{{tabular}}{{{spec}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}"
            f"\\bottomrule\n\\end{{tabular}}\n\\caption{{{latex_text(self.caption)}}}\n"
            "\\end{table}\n"
        )


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    MISSING: "--",
}


def latex_text(text: str) -> str:
    """`text` with LaTeX's special characters escaped."""
    return "".join(LATEX.get(character, character) for character in text)


def systems_table(cells: Sequence[Cell]) -> Table:
    """Clark et al. (2011), Table 1: average and the three standard deviations."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell in cells:
        for system in cell.system_names:
            avg = cell.row(system, "avg")
            if avg is None:
                continue
            s_sel, s_dev, s_test = (
                cell.value(system, name) for name in ("s_sel", "s_dev", "s_test")
            )
            median = cell.row(system, "median_replica")
            median_id = median.replica if median else None
            head = (cell.testset, cell.metric, system)
            text.append(
                (
                    *head,
                    str(avg.n),
                    score(avg.value),
                    score(s_sel),
                    score(s_dev),
                    score(s_test),
                    median_id or MISSING,
                )
            )
            values.append((*head, avg.n, avg.value, s_sel, s_dev, s_test, median_id))
    return Table(
        name="systems",
        caption="Mean score of each system over its n replicas (Avg), standard deviation from "
        "the choice of the test set (s_sel, bootstrap), over replicas on the dev set (s_dev) "
        "and on the test set (s_test), and the median replica.",
        header=("test set", "metric", "system", "n", "Avg", "s_sel", "s_dev", "s_test", "median"),
        text=tuple(text),
        columns=(
            "testset",
            "metric",
            "system",
            "n",
            "avg",
            "s_sel",
            "s_dev",
            "s_test",
            "median_replica",
        ),
        values=tuple(values),
    )


PAIR_COLUMNS = (
    "a", "b", "method", "score_a", "score_b", "delta", "ci_low", "ci_high", "se", "df", "p",
    "p_adjusted", "p_min", "exact", "alternative", "unit", "aggregation", "pairing", "replica_a",
    "replica_b", "n_a", "n_b", "segments", "documents", "samples", "seed", "generalises_to", "note",
)  # fmt: skip


def pairs_table(cells: Sequence[Cell], alpha: float, correction: str) -> Table:
    """Every pair by every test."""
    text: list[tuple[str, ...]] = []
    values: list[tuple[object, ...]] = []
    for cell in cells:
        for result in cell.tests:
            adjusted = result.p if result.p_adjusted is None else result.p_adjusted
            mark = "*" if adjusted is not None and adjusted <= alpha else ""
            text.append(
                (
                    cell.testset,
                    cell.metric,
                    f"{result.b} − {result.a}",
                    result.method,
                    signed(result.delta),
                    interval(result.ci_low, result.ci_high),
                    p_value(result.p),
                    p_value(result.p_adjusted) + mark,
                    result.generalises_to,
                )
            )
            values.append(
                (cell.testset, cell.metric, *(getattr(result, name) for name in PAIR_COLUMNS))
            )
    return Table(
        name="pairs",
        caption="Differences between systems: p by each test, p adjusted for all pairs "
        f"({correction}; * at or below {alpha:g}), and what a small p generalises to.",
        header=(
            "test set",
            "metric",
            "pair",
            "test",
            "delta",
            "CI",
            "p",
            "p adj.",
            "generalises to",
        ),
        text=tuple(text),
        columns=("testset", "metric", *PAIR_COLUMNS),
        values=tuple(values),
        left=4,
    )
