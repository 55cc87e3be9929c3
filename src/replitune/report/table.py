"""A table with two faces: exact values as CSV; texts as Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field

from replitune.report.numbers import MISSING


@dataclass(frozen=True)
class Table:
    """Rows of values for machines, and of texts for people."""

    name: str
    caption: str
    header: tuple[str, ...]
    text: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]
    left: int = 3
    """Number of columns, from the first, that hold words."""
    title: str = ""
    marks: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """By (row, column): `best` is printed bold, `sign` gets a dagger, both words may stand
    together; `odd` is a test that disagrees with the lead test."""
    filters: int = 0
    """Number of columns, from the first, by which the page can filter."""

    def mark(self, row: int, column: int) -> str:
        return self.marks.get((row, column), "")

    def csv(self) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.values:
            writer.writerow(["" if value is None else value for value in row])
        return buffer.getvalue()

    def markdown(self) -> str:
        rule = ["---" if i < self.left else "---:" for i in range(len(self.header))]
        rows = [
            tuple(map(_markdown_text, self.header)),
            tuple(rule),
            *(
                tuple(
                    _markdown_mark(_markdown_text(cell), self.mark(r, c))
                    for c, cell in enumerate(row)
                )
                for r, row in enumerate(self.text)
            ),
        ]
        return f"{self.caption}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def latex(self) -> str:
        """A booktabs table; rules between the groups of the first column."""
        spec = "l" * self.left + "r" * (len(self.header) - self.left)
        body = ""
        for r, row in enumerate(self.text):
            if r and row[0] != self.text[r - 1][0]:
                body += "\\midrule\n"
            cells = (_latex_mark(latex_text(cell), self.mark(r, c)) for c, cell in enumerate(row))
            body += f"{' & '.join(cells)} \\\\\n"
        head = " & ".join(map(latex_text, self.header))
        return (
            "% needs \\usepackage{booktabs}\n"
            "\\begin{table}[t]\n\\centering\n"
            f"\\begin{{tabular}}{{{spec}}}\n\\toprule\n{head} \\\\\n\\midrule\n{body}"
            f"\\bottomrule\n\\end{{tabular}}\n\\caption{{{latex_text(self.caption)}}}\n"
            "\\end{table}\n"
        )


def _markdown_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _markdown_mark(text: str, mark: str) -> str:
    words = mark.split()
    text = f"**{text}**" if "best" in words else text
    text += " †" if "sign" in words else ""
    return text + (" ‡" if "odd" in words else "")


def _latex_mark(text: str, mark: str) -> str:
    words = mark.split()
    text = f"\\textbf{{{text}}}" if "best" in words else text
    text += "$^{\\dagger}$" if "sign" in words else ""
    return text + ("$^{\\ddagger}$" if "odd" in words else "")


LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "[": r"{[}",
    "]": r"{]}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "Δ": r"$\Delta$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    MISSING: "--",
}


def latex_text(text: str) -> str:
    """`text` with LaTeX's special characters escaped. Brackets are in braces because a row
    that begins with one would be taken as the argument of the line break before it."""
    return "".join(LATEX.get(character, character) for character in text)
