"""Reading n-best lists in Moses' format.

One hypothesis a line: ``id ||| text ||| Name= v v ... ||| score [||| ...]``. Ids count from 0
and are lines of the reference. Several files form one pool; every line must have the same names
as the first, each with as many values. Fields after the features are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.running.files import read_text
from replitune.tuning.weights import Layout

LINE = "id ||| text ||| Name= v v ... ||| score"


@dataclass(frozen=True)
class NBestLists:
    """H hypotheses of N segments as they stand in the files."""

    layout: Layout
    segments: NDArray[np.int32]
    """(H,) segment of each hypothesis."""
    features: NDArray[np.float64]
    """(H, F)"""
    texts: list[str]
    """H hypotheses."""


def read_nbest(paths: Sequence[str | Path], n_segments: int) -> NBestLists:
    """Read n-best files (plain or gz) for `n_segments` references; each needs a list."""
    layout: Layout | None = None
    parts: list[tuple[NDArray, NDArray, list[str]]] = []
    for path in paths:
        data = read_text(path).encode()
        if data[:1].isspace() or not data:
            raise ReplituneError(
                "does not start with an n-best line" if data else "empty file",
                file=path,
                line=1 if data else None,
                expected=LINE,
            )
        if layout is None:
            layout = _layout(data.split(b"\n", 1)[0].decode(), path, 1)
        parts.append(_read_one(data, layout, n_segments, path))
    if layout is None:
        raise ReplituneError("no n-best files given")
    segments = np.concatenate([part[0] for part in parts])
    features = np.concatenate([part[1] for part in parts])
    texts = [text for part in parts for text in part[2]]
    counts = np.bincount(segments, minlength=n_segments)
    if not counts.all():
        empty = np.flatnonzero(counts == 0)
        raise ReplituneError(
            f"no hypotheses for {len(empty)} of {n_segments} segments",
            file=paths[0],
            found="no line with id " + ", ".join(map(str, empty[:5])) + " ..." * (len(empty) > 5),
            expected="at least one for each line of the references",
            fix="check that n-best lists and references belong together",
        )
    return NBestLists(layout, segments, features, texts)


def _layout(text: str, path: str | Path, line: int) -> Layout:
    """The features of a line, which must have the form of an n-best line."""
    wrong = partial(ReplituneError, file=path, line=line)
    fields = text.removesuffix("\r").split("|||")
    if len(fields) < 3:
        what = "not an n-best line" if text.strip() else "blank line"
        raise wrong(what, found=text[:80] or None, expected=LINE)
    number = fields[0].strip()
    if not (number.isdecimal() and number.isascii() and len(number) <= 9):
        raise wrong("the id of a segment is not a number from 0", found=number)
    names: list[str] = []
    arities: list[int] = []
    for token in fields[2].split():
        if token.endswith("=") and len(token) > 1:
            names.append(token[:-1])
            arities.append(0)
        elif not names:
            raise wrong("feature values without a name", found=token, expected="Name= v v ...")
        else:
            arities[-1] += 1
    for name, arity in zip(names, arities, strict=True):
        if arity == 0 or names.count(name) > 1:
            raise wrong(f"feature {name} has no value" if arity == 0 else f"feature {name} twice")
    if not names:
        raise wrong("no features", expected="Name= v v ...")
    return Layout(tuple(names), tuple(arities))


def _read_one(
    data: bytes, layout: Layout, n_segments: int, path: str | Path
) -> tuple[NDArray[np.int32], NDArray[np.float64], list[str]]:
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    segments = np.empty(lines, dtype=np.int32)
    features = np.empty((lines, layout.dimension))
    spans = np.empty((lines, 2), dtype=np.int64)
    feature_spans = np.empty((lines, 2), dtype=np.int64)
    names = b"".join(name.encode() + b"=" for name in layout.names)
    ends = np.cumsum([len(name.encode()) + 1 for name in layout.names])
    bad = _parse(
        np.frombuffer(data, dtype=np.uint8),
        np.frombuffer(names, dtype=np.uint8),
        ends.astype(np.int64),
        np.array(layout.arities, dtype=np.int64),
        segments,
        features,
        spans,
        feature_spans,
    )
    if bad >= 0:
        raise _what_is_wrong(data.split(b"\n")[bad].decode(), layout, path, bad + 1)
    # The kernel leaves NaN where a number is not written in the common, exactly readable way.
    for row in map(int, np.flatnonzero(np.isnan(features).any(axis=1))):
        start, end = feature_spans[row]
        field = data[start:end].decode()
        values = _slow_values(field, path, row + 1)
        if len(values) != layout.dimension:
            raise ReplituneError(
                "feature values must stand between spaces", file=path, line=row + 1, found=repr(field)
            )
        features[row] = values
    outside = (segments < 0) | (segments >= n_segments)
    if outside.any():
        row = int(np.argmax(outside))
        raise ReplituneError(
            "an n-best list without a reference",
            file=path,
            line=row + 1,
            found=f"id {segments[row]}",
            expected=f"0 to {n_segments - 1}, a line of the references",
        )
    texts = [data[start:end].decode() for start, end in spans.tolist()]
    return segments, features, texts


def _slow_values(field: str, path: str | Path, line: int) -> list[float]:
    """The values of one feature field by Python's own conversion."""
    values = []
    for token in field.split():
        if token.endswith("="):
            continue
        try:
            value = float(token.replace("_", "?"))
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            raise ReplituneError(
                "a feature value that is not a finite number", file=path, line=line, found=token
            )
        values.append(value + 0.0)
    return values


def _what_is_wrong(text: str, layout: Layout, path: str | Path, line: int) -> ReplituneError:
    """The mistake on a line that does not have the form of the first one."""
    wrong = partial(ReplituneError, file=path, line=line)
    try:
        here = _layout(text, path, line)
    except ReplituneError as error:
        return error
    for name, arity in zip(here.names, here.arities, strict=True):
        if name not in layout.names:
            close = nearest(name, layout.names)
            return wrong(
                f"a feature that the first line does not have: {name}",
                expected=f"on every line {layout}",
                fix=f"did you mean {close}?" if close else None,
            )
        expected = layout.arities[layout.names.index(name)]
        if arity != expected:
            return wrong(
                f"feature {name} has another number of values than on the first line",
                found=str(arity),
                expected=str(expected),
            )
    return wrong(
        "other features than on the first line, or in another order", found=str(here), expected=str(layout)
    )


@njit(cache=True)
def _parse(data, names, name_ends, arities, segments, features, spans, feature_spans):
    """Fill one row per line; returns the first line of another form, or -1.

    `names` is the concatenation of ``Name=``, `name_ends` where each ends. A value that is
    not digits with a point and an exponent, or not exactly readable, is left NaN.
    """
    size = len(data)
    position = 0
    for line in range(len(segments)):
        # the id
        value = 0
        start = position
        while position < size and 48 <= data[position] <= 57 and position - start < 10:
            value = value * 10 + data[position] - 48
            position += 1
        if position == start or position - start > 9:
            return line
        segments[line] = value
        position, ok = _separator(data, position)
        if not ok:
            return line
        # the text: up to the next ||| between spaces
        start = position
        if _is_bar(data, position):
            end = position
        else:
            while position < size and data[position] != 10:
                if data[position] == 32 and _is_bar(data, position + 1):
                    break
                position += 1
            end = position
        while start < end and data[start] == 32:
            start += 1
        while end > start and data[end - 1] == 32:
            end -= 1
        spans[line, 0] = start
        spans[line, 1] = end
        position, ok = _separator(data, position)
        if not ok:
            return line
        # the features
        feature_spans[line, 0] = position
        name = 0
        column = 0
        for group in range(len(arities)):
            while position < size and data[position] == 32:
                position += 1
            while name < name_ends[group]:
                if position >= size or data[position] != names[name]:
                    return line
                name += 1
                position += 1
            for _ in range(arities[group]):
                if position >= size or data[position] != 32:
                    return line
                while position < size and data[position] == 32:
                    position += 1
                start = position
                number, position = _number(data, position)
                if position == start or (data[position - 1] == 61):
                    return line
                features[line, column] = number
                column += 1
        feature_spans[line, 1] = position
        while position < size and (data[position] == 32 or data[position] == 13):
            position += 1
        if position < size and data[position] != 10 and not _is_bar(data, position):
            return line
        while position < size and data[position] != 10:
            position += 1
        position += 1
    return -1


@njit(cache=True)
def _is_bar(data, position):
    """Whether ``|||`` stands here, before a space or an end of line."""
    size = len(data)
    if position + 3 > size:
        return False
    for i in range(3):
        if data[position + i] != 124:
            return False
    if position + 3 == size:
        return True
    after = data[position + 3]
    return after == 32 or after == 10 or after == 13


@njit(cache=True)
def _separator(data, position):
    """The position after spaces, ``|||`` and one space; and whether they stand here."""
    while position < len(data) and data[position] == 32:
        position += 1
    if not _is_bar(data, position):
        return position, False
    position += 3
    if position < len(data) and data[position] == 32:
        position += 1
    return position, True


@njit(cache=True)
def _number(data, position):
    """The number that starts here and the position after its characters.

    At most 15 digits and a power of ten up to 22 are exact in one operation (Clinger 1990);
    everything else is NaN.
    """
    size = len(data)
    negative = False
    good = True
    if position < size and (data[position] == 45 or data[position] == 43):
        negative = data[position] == 45
        position += 1
    mantissa = 0
    digits = 0
    scale = 0
    seen = False
    point = False
    while position < size:
        c = data[position]
        if 48 <= c <= 57:
            seen = True
            if mantissa > 0 or c > 48:
                digits += 1
                if digits <= 15:
                    mantissa = mantissa * 10 + c - 48
            if point:
                scale -= 1
        elif c == 46 and not point:
            point = True
        else:
            break
        position += 1
    if position < size and (data[position] == 101 or data[position] == 69):
        position += 1
        minus = False
        if position < size and (data[position] == 45 or data[position] == 43):
            minus = data[position] == 45
            position += 1
        exponent = 0
        first = position
        while position < size and 48 <= data[position] <= 57:
            if exponent < 10000:
                exponent = exponent * 10 + data[position] - 48
            position += 1
        good = good and position > first
        scale += -exponent if minus else exponent
    if position < size and data[position] not in (32, 10, 13):
        good = False
        while position < size and data[position] not in (32, 10, 13):
            position += 1
    if not seen or not good or digits > 15:
        return np.nan, position
    value = float(mantissa)
    # -0 becomes 0, so that equal vectors have equal bytes
    if mantissa == 0:
        return 0.0, position
    if scale < -22 or scale > 22:
        return np.nan, position
    power = 1.0
    for _ in range(abs(scale)):
        power *= 10.0
    value = value / power if scale < 0 else value * power
    return (-value if negative else value), position
