"""Tables for papers: as wide as a column, or as a two-column A4 page, without overfull boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from replitune.results.numbers import MISSING

if TYPE_CHECKING:
    from replitune.report.specification import Table

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
IN_LATEX = str.maketrans(LATEX)

SIZES = {"small": 0.925, "footnotesize": 0.85, "scriptsize": 0.8}
"""Width of a digit relative to one in 10 points; no size is below 7 points."""
COLUMN, PAGE, HEIGHT = 219.0, 450.0, 560.0
"""Widths in points of a column and of a two-column A4 page in ACL's style; the height that a caption
leaves."""
GAP = 3.0
"""Points on either side of a column."""
LEAST = 60.0
"""Least width in points of a column whose texts are broken into lines, while letters can be smaller."""
WIDTHS = {**dict.fromkeys("ijlfrtI.,:;'!|()[]- ", 3.7), **dict.fromkeys("mwMW%+±−<>=@↑↓†", 8.2)}
"""Widths of characters in points; of other capitals 7.4, of all others 5.4."""


def latex_text(text: str) -> str:
    """`text` with LaTeX's special characters escaped, and a minus before numbers. Brackets are in braces
    because a row that begins with one would be taken as the argument of the line break before it."""
    return re.sub(r"(?<![\w.)])-(?=[\d.])", "−", text).translate(IN_LATEX)


def latex(table: Table) -> str:
    """Texts that all rows share go to the caption; rules are between groups of the first column. In the
    largest letters that fit, where need be with the widest columns of words broken into lines."""
    rows, headings = table.cells, table.header
    first = {c: rows[0][c][0] for c, column in enumerate(table.printed) if column.left and len(rows) > 1}
    shared = {c: text for c, text in first.items() if all(row[c] == (text, []) for row in rows)}
    kept = [c for c in range(len(headings)) if c not in shared]
    widths = [max([0.0, *(_points(*row[c]) for row in rows)]) for c in kept]
    for i, c in enumerate(kept):  # a heading is broken into lines where it is wider than its column
        if " " in headings[c] and _points(headings[c], []) > widths[i]:
            headings[c] = headings[c].replace(" ", "\n")
        widths[i] = max(widths[i], *(_points(line, []) for line in headings[c].split("\n")))
    words = [max([0.0, *(_points(word, []) for row in rows for word in _parts(row[c][0]))]) for c in kept]
    size, broken = _layout(
        widths, [w if table.printed[c].left else inf for c, w in zip(kept, words, strict=True)]
    )
    spec = ["l" if table.printed[c].left else "r" for c in kept]
    for i, room in broken.items():
        spec[i] = f">{{\\raggedright\\arraybackslash}}p{{{room:.0f}pt}}"
    body = ""
    for r, row in enumerate(rows):
        if r and row[0][0] != rows[r - 1][0][0]:
            body += "\\midrule\n"
        cells = [_marked(*row[c]) for c in kept]
        for i in broken:
            cells[i] = cells[i].replace("\\_", "\\_\\allowbreak{}")
        body += f"{' & '.join(cells)} \\\\\n"
    head = f"\\toprule\n{' & '.join(_heading(headings[c]) for c in kept)} \\\\\n\\midrule\n"
    said = " ".join(f"{headings[c]}: {text}." for c, text in shared.items() if text != MISSING)
    caption = latex_text(" ".join(filter(None, (table.said, table.caption, said))))
    caption = f"\\caption{{{caption}}}" + (f"\\label{{tab:{table.name}}}" if table.name else "")
    columns = f"{{@{{}}{''.join(spec)}@{{}}}}"
    size_of = f"\\{size}\\setlength{{\\tabcolsep}}{{{GAP:g}pt}}"
    needs = "% needs \\usepackage{booktabs}" + (" and \\usepackage{array}" if broken else "")
    if 11 * SIZES[size] * len(rows) > HEIGHT:
        return (
            f"{needs} and \\usepackage{{longtable}}, which has pages of one column of its own\n"
            "\\csname if@twocolumn\\endcsname\\onecolumn\\let\\afterlong\\twocolumn"
            "\\else\\let\\afterlong\\relax\\fi\n"
            f"{{{size_of}\n\\begin{{longtable}}{columns}\n{caption} \\\\\n{head}\\endhead\n\\bottomrule\n"
            f"\\endfoot\n{body}\\end{{longtable}}}}\n\\afterlong\n"
        )
    narrow = not broken and sum(widths) * SIZES[size] + 2 * GAP * (len(kept) - 1) <= COLUMN
    kind = "table" if narrow else "table*"
    return (
        f"{needs}\n\\begin{{{kind}}}[t]\n\\centering{size_of}\n\\begin{{tabular}}{columns}\n{head}{body}"
        f"\\bottomrule\n\\end{{tabular}}\n{caption}\n\\end{{{kind}}}\n"
    )


def _layout(widths: Sequence[float], words: Sequence[float]) -> tuple[str, dict[int, float]]:
    """The size of letters, and the widths in points of the columns that are broken into lines: none is
    narrower than its longest word."""
    room = PAGE - 2 * GAP * (len(widths) - 1)
    wordy = sorted((c for c, width in enumerate(widths) if words[c] < width), key=lambda c: -widths[c])
    for size, scale in SIZES.items():
        for n in range(len(wordy) + 1):  # the widest columns, and as few as will do
            left = room - scale * sum(width for c, width in enumerate(widths) if c not in wordy[:n])
            broken: dict[int, float] = {}
            for c in sorted(wordy[:n], key=lambda c: -words[c]):
                broken[c] = max(left / (n - len(broken)), 1.05 * scale * words[c])
                left -= broken[c]
            if left >= -0.01 and (size == "scriptsize" or min(broken.values(), default=LEAST) >= LEAST):
                return size, broken
    return "scriptsize", broken


def _parts(text: str) -> list[str]:
    """The parts that are never broken: words, or what is between their hyphens and underscores."""
    return re.findall(r"[^\s_-]+[_-]?|[_-]", text)


def _points(text: str, marks: Sequence[str]) -> float:
    """About how wide a cell is in letters of 10 points; rather too much than too little."""
    width = sum(WIDTHS.get(letter, 7.4 if letter.isupper() else 5.4) for letter in text)
    return width * (1.15 if "best" in marks else 1.0) + 5.0 * len({"sign", "odd"} & {*marks})


def _heading(text: str) -> str:
    lines = latex_text(text).replace("\n", "\\\\")
    return f"\\shortstack{{{lines}}}" if "\n" in text else lines


def _marked(text: str, marks: Sequence[str]) -> str:
    text = latex_text(text)
    text = f"\\textbf{{{text}}}" if "best" in marks else text
    text += "$^{\\dagger}$" if "sign" in marks else ""
    return text + ("$^{\\ddagger}$" if "odd" in marks else "")
