"""A test set: references, perhaps a source, perhaps documents; and its prepared form on disk.

The prepared form is JSON Lines, one object a segment, so that a document and several references
travel with their segment and any line can be read by hand:

    {"document": "d1", "source": "das haus", "references": ["the house", "the home"]}

A segment of a joined test set also has the name of its `part`, which is a label for reports and not
a document.

Keys without a value are left out. Lines end at LF only: U+2028, U+0085, form feed and the
like are text.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open, read_text

KEYS = ("document", "part", "source")


@dataclass(frozen=True)
class TestSet:
    """N segments in order; `references` holds R streams of N (sacrebleu's order)."""

    __test__ = False  # tells pytest that this is no test, despite its name

    references: tuple[list[str], ...]
    source: list[str] | None = None
    documents: list[str] | None = None
    """A document id per segment; None: each segment is its own document."""
    parts: list[str] | None = None
    """Of a joined test set: the part each segment came from."""

    def __post_init__(self) -> None:
        if not self.references:
            raise ReplituneError("a test set without references", expected="at least one reference")
        named = [(f"reference {r + 1}", lines) for r, lines in enumerate(self.references)]
        for name in ("source", "documents", "parts"):
            if (lines := getattr(self, name)) is not None:
                named.append((name, lines))
        require_equal_counts(named)
        require_segments(named[0][0], self.references[0])
        for name, lines in named:
            require_line_text(name, lines)
        if self.documents is not None:
            require_ids(self.documents)

    @property
    def segments(self) -> int:
        """The number of segments, N."""
        return len(self.references[0])

    def document_codes(self) -> NDArray[np.int32]:
        """Documents (N,) as codes 0, 1, ... in order of first appearance."""
        if self.documents is None:
            return np.arange(self.segments, dtype=np.int32)
        return codes(self.documents)


def codes(labels: Sequence[Hashable]) -> NDArray[np.int32]:
    """Labels (N,) as 0, 1, ... in order of first appearance."""
    code: dict[Hashable, int] = {}
    return np.array([code.setdefault(label, len(code)) for label in labels], dtype=np.int32)


def join_testsets(name: str, parts: Mapping[str, TestSet]) -> TestSet:
    """Join test sets one after the other; each segment keeps the name of its part.

    All parts must agree in whether they have a source and documents, and in the number of
    references. Ids of documents get the name of their part, since two parts may use the same ids.
    """
    (first, pattern), *others = ((part, _shape(testset)) for part, testset in parts.items())
    for other, shape in others:
        if shape != pattern:
            raise ReplituneError(
                f"the parts of test set {name} do not go together",
                found=f"{other}: {shape}",
                expected=f"{pattern}, as in {first}",
            )
    every = list(parts.values())
    return TestSet(
        references=tuple(
            [line for testset in every for line in testset.references[r]]
            for r in range(len(every[0].references))
        ),
        source=None
        if every[0].source is None
        else [line for testset in every for line in testset.source or []],
        documents=None
        if every[0].documents is None
        else [f"{part}/{id}" for part, testset in parts.items() for id in testset.documents or []],
        parts=[part for part, testset in parts.items() for _ in range(testset.segments)],
    )


def _shape(testset: TestSet) -> str:
    return ", ".join(
        (
            f"{len(testset.references)} reference(s)",
            "no source" if testset.source is None else "a source",
            "no documents" if testset.documents is None else "documents",
        )
    )


def require_equal_counts(named: Sequence[tuple[str | Path, Sequence[str]]]) -> None:
    """Refuse a list that is not as long as the first; the message gives both names and lengths."""
    first, lines = named[0]
    for other, its_lines in named[1:]:
        if len(its_lines) != len(lines):
            raise ReplituneError(
                "line counts differ",
                file=other,
                found=f"{len(its_lines)} lines in {other}",
                expected=f"{len(lines)} lines, as in {first}",
                fix="give files of the same segments, one a line",
            )


def require_segments(name: str | Path, lines: Sequence[str]) -> None:
    """Refuse a text without segments."""
    if not lines:
        raise ReplituneError(
            "no segments", file=name, found="0 lines", expected="at least one", fix="check the file"
        )


def require_line_text(name: str | Path, lines: Sequence[str]) -> None:
    """Refuse segments that cannot be written one a line and read back unchanged."""
    joined = "\n".join(lines)
    if joined.count("\n") == len(lines) - 1 and "\0" not in joined and "\r\n" not in joined + "\n":
        try:
            joined.encode("utf-8")
            return
        except UnicodeEncodeError:
            pass
    for number, line in enumerate(lines, start=1):
        bad = next(
            (
                what
                for what, here in (
                    ("a line feed", "\n" in line),
                    ("a NUL character", "\0" in line),
                    ("a carriage return at the end", line.endswith("\r")),
                    ("half of a surrogate pair", any("\ud800" <= c <= "\udfff" for c in line)),
                )
                if here
            ),
            None,
        )
        if bad is not None:
            raise ReplituneError(
                "a segment that does not fit on a line of text",
                file=name,
                line=number,
                found=bad,
                fix="remove it from the segment",
            )


def require_ids(documents: Sequence[str], name: str | Path = "documents") -> None:
    """Refuse a blank id. (An id is a label: the segments of a document need not follow each other.)"""
    blank = next((i for i, document in enumerate(documents, start=1) if not document.strip()), None)
    if blank is not None:
        raise ReplituneError(
            "a document id is blank", file=name, line=blank, expected="one id for each segment"
        )


def jsonl_lines(testset: TestSet) -> Iterable[str]:
    """The prepared form, line by line, without LF."""
    for i in range(testset.segments):
        row: dict[str, str | list[str]] = {}
        if testset.documents is not None:
            row["document"] = testset.documents[i]
        if testset.parts is not None:
            row["part"] = testset.parts[i]
        if testset.source is not None:
            row["source"] = testset.source[i]
        row["references"] = [reference[i] for reference in testset.references]
        yield json.dumps(row, ensure_ascii=False)


def write_testset(testset: TestSet, path: str | Path) -> None:
    """Write the prepared form; `read_prepared` gives it back exactly."""
    with atomic_open(path) as handle:
        handle.write("".join(f"{line}\n" for line in jsonl_lines(testset)))


def read_prepared(path: str | Path) -> TestSet:
    """Read what `write_testset` wrote."""
    text = read_text(path)
    lines = text.split("\n")
    if lines.pop() != "":
        raise ReplituneError(
            "the last line has no line end",
            file=path,
            line=len(lines) + 1,
            fix="the file is cut off: prepare the corpus again",
        )
    require_segments(path, lines)
    rows = [_parse_row(line, path, number) for number, line in enumerate(lines, start=1)]
    first = rows[0].shape
    for number, row in enumerate(rows, start=1):
        if row.shape != first:
            raise ReplituneError(
                "the keys of this segment differ from those of the first",
                file=path,
                line=number,
                found=_keys(row),
                expected=f"{_keys(rows[0])}, as on line 1",
            )
    document, part, source, references = first
    try:
        return TestSet(
            references=tuple([row.references[r] for row in rows] for r in range(references)),
            source=[str(row.source) for row in rows] if source else None,
            documents=[str(row.document) for row in rows] if document else None,
            parts=[str(row.part) for row in rows] if part else None,
        )
    except ReplituneError as error:
        raise ReplituneError(error.message, file=path, line=error.line, **error.details) from None


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A segment of the prepared form."""

    references: Annotated[list[str], msgspec.Meta(min_length=1)]
    document: str | msgspec.UnsetType = msgspec.UNSET
    part: str | msgspec.UnsetType = msgspec.UNSET
    source: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def shape(self) -> tuple[bool, bool, bool, int]:
        given = (self.document, self.part, self.source)
        document, part, source = (value is not msgspec.UNSET for value in given)
        return document, part, source, len(self.references)


_ROW = msgspec.json.Decoder(_Row)


def _keys(row: _Row) -> str:
    keys = [key for key, there in zip(KEYS, row.shape, strict=False) if there is True]
    return ", ".join([*keys, f"{len(row.references)} references"])


def _parse_row(line: str, path: str | Path, number: int) -> _Row:
    try:
        return _ROW.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ReplituneError(
            "not a segment of a prepared test set",
            file=path,
            line=number,
            found=str(error),
            expected='{"document": TEXT, "source": TEXT, "references": [TEXT, ...]}',
        ) from None
