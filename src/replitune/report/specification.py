"""A table specified by its columns: exact values as CSV, and texts as Markdown, LaTeX, HTML and lines
of a terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.results.numbers import MISSING, interval

if TYPE_CHECKING:
    import pandas as pd

FROZEN = ("system", "pair")
"""Columns that stay in sight when a table of the page is scrolled sideways."""
WIDTH = 100
"""Width of a terminal, in characters, that tables keep to."""


def shown(value: Any) -> str:
    """A word or a whole number."""
    return MISSING if value is None else str(value)


def unmarked(*row: Any) -> str:
    return ""


@dataclass(frozen=True)
class Column:
    """What a table shows of each of its rows. A row is a tuple of objects; `value` and `mark` are
    called with all of them."""

    heading: str | None
    """None: it is only in the CSV, without texts."""
    key: str | None = None
    """Name in the CSV; None: it is only printed."""
    value: Callable[..., Any] | str | None = None
    """What it shows: a function, or the name of an attribute of the last object of a row; by default
    `key`."""
    show: Callable[..., str] = shown
    """The text of a value."""
    in_units: bool = False
    """Whether the value is in units of a metric: then the first object of a row is its `Result`,
    and `show` is also given its decimals."""
    left: bool = False
    """Whether it is a column of words, aligned on the left."""
    mark: Callable[..., str] = unmarked
    """`best` is printed bold, `sign` gets a dagger, `odd` (disagrees with another test) a double dagger;
    several words are separated by spaces."""
    width: int = 0
    """Least width on a terminal."""
    gap: int = 1
    """Spaces before it on a terminal."""

    def exact_value(self, row: Sequence[Any]) -> Any:
        """The exact value."""
        value = self.value or self.key
        if callable(value):
            return value(*row)
        if value is None or not hasattr(row[-1], value):
            raise ReplituneError(
                f"column {self.heading or self.key!r} of a table has no value",
                found=f"a row of {', '.join(type(item).__name__ for item in row)}",
                expected="`key` or `value`, an attribute of its last object, or a function of all",
            )
        return getattr(row[-1], value)

    def text(self, row: Sequence[Any]) -> str:
        value = self.exact_value(row)
        return self.show(value, row[0].decimals) if self.in_units else self.show(value)


def exact(*keys: str) -> Iterator[Column]:
    """Columns that are only in the CSV, named like the attributes that they show."""
    return (Column(None, key) for key in keys)


def limits(ends: tuple[float | None, float | None], decimals: int = 2) -> str:
    """How an interval is shown."""
    return interval(*ends, decimals)


def ends(
    low: str = "ci_low", high: str = "ci_high", show: Callable[..., str] = limits, *, in_units: bool = True
) -> tuple[Column, ...]:
    """An interval whose ends are attributes of the last object of a row: one text, two values."""
    return (
        Column("CI", None, lambda *row: (getattr(row[-1], low), getattr(row[-1], high)), show, in_units),
        Column(None, "ci_low", low),
        Column(None, "ci_high", high),
    )


@dataclass(frozen=True, repr=False)
class Table:
    """Rows, and the columns that show them."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    caption: str = ""
    name: str = ""
    """The name by which it is asked for, and its label in LaTeX."""
    said: str = ""
    """What the answers say about its rows; the caption in a paper begins with it."""
    filters: int = 0
    """Number of printed columns, from the first, by which the page can filter."""

    @cached_property
    def printed(self) -> list[Column]:
        return [column for column in self.columns if column.heading is not None]

    @property
    def header(self) -> list[str]:
        return [str(column.heading) for column in self.printed]

    @cached_property
    def cells(self) -> list[list[tuple[str, list[str]]]]:
        """Text and marks of every cell that is printed."""
        return [
            [(column.text(row), column.mark(*row).split()) for column in self.printed] for row in self.rows
        ]

    @property
    def keys(self) -> list[str]:
        return [column.key for column in self.columns if column.key is not None]

    @property
    def values(self) -> list[tuple[Any, ...]]:
        """Rows of exact values, by `keys`."""
        exact = [column for column in self.columns if column.key is not None]
        return [tuple(column.exact_value(row) for column in exact) for row in self.rows]

    def csv(self) -> str:
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self.keys)
        writer.writerows(["" if v is None else v for v in row] for row in self.values)
        return buffer.getvalue()

    def markdown(self) -> str:
        rule = ["---" if column.left else "---:" for column in self.printed]
        rows = [[_marked_markdown(*cell) for cell in row] for row in self.cells]
        lines = [[markdown_text(heading) for heading in self.header], rule, *rows]
        return f"{self.caption}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def latex(self) -> str:
        """A booktabs table, for a column or the width of a two-column A4 page."""
        from replitune.report.latex import latex

        return latex(self)

    def to_frame(self) -> pd.DataFrame:
        """Exact values as a DataFrame."""
        needs("tables", "a DataFrame")
        import pandas as pd

        return pd.DataFrame(self.values, columns=pd.Index(self.keys))

    def html_table(self) -> str:
        """A whole <table> with its caption."""
        return f"<table><caption>{escape(self.caption)}</caption>\n{self.html()}</table>"

    _repr_html_ = html_table

    def __str__(self) -> str:
        return "\n".join(line for block in self.terminal(0) for line in block)

    def __repr__(self) -> str:
        return str(self)

    def html(self, most: int | None = None) -> str:
        """The head and the body of a <table>, with the first `most` rows or all."""
        words = [
            ["word"] * column.left + ["frozen"] * (column.heading in FROZEN) for column in self.printed
        ]
        head = (
            _element("th", kind, escape(h), ' scope="col"')
            for h, kind in zip(self.header, words, strict=True)
        )
        body = (
            "".join(
                _element("td", [*kind, *marks], escape(text) + _daggers(marks))
                for kind, (text, marks) in zip(words, row, strict=True)
            )
            for row in self.cells[:most]
        )
        rows = "".join(f"<tr>{row}</tr>\n" for row in body)
        return f"<thead><tr>{''.join(head)}</tr></thead>\n<tbody>\n{rows}</tbody>"

    def terminal(self, indent: int = 2, repeated: int = 0) -> Iterator[list[str]]:
        """Lines in one block or, if the first columns may be `repeated`, in as many blocks as it takes to
        keep to the width of a terminal."""
        texts = [self.header, *([text for text, _ in row] for row in self.cells)]
        widths = [
            max(column.width, *(len(row[c]) for row in texts)) for c, column in enumerate(self.printed)
        ]
        first = list(range(repeated))
        for block in _that_fit(self.printed, widths, indent, repeated):
            lines = []
            for row in texts if any(self.header) else texts[1:]:
                line = " " * indent
                for c in [*first, *block]:
                    column, side = self.printed[c], "<" if self.printed[c].left else ">"
                    line += " " * (column.gap if c else 0) + f"{row[c]:{side}{widths[c]}}"
                lines.append(line.rstrip())
            yield lines


def _that_fit(
    columns: Sequence[Column], widths: Sequence[int], indent: int, repeated: int
) -> list[list[int]]:
    """The columns after those that are repeated, in blocks that fit a terminal."""
    each = [width + column.gap for width, column in zip(widths, columns, strict=True)]
    start = indent - columns[0].gap + sum(each[:repeated])
    blocks: list[list[int]] = [[]]
    used = start
    for c in range(repeated, len(columns)):
        if repeated and blocks[-1] and used + each[c] > WIDTH:
            blocks.append([])
            used = start
        blocks[-1].append(c)
        used += each[c]
    return blocks


def _element(name: str, classes: Iterable[str], content: str, attributes: str = "") -> str:
    words = " ".join(classes)
    return f"<{name}{attributes}" + (f' class="{words}"' if words else "") + f">{content}</{name}>"


def _daggers(marks: Sequence[str]) -> str:
    return "".join(f"<sup>{sign}</sup>" for mark, sign in (("sign", "†"), ("odd", "‡")) if mark in marks)


def _marked_markdown(text: str, marks: Sequence[str]) -> str:
    text = markdown_text(text)
    text = f"**{text}**" if "best" in marks else text
    text += " †" if "sign" in marks else ""
    return text + (" ‡" if "odd" in marks else "")


def markdown_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
