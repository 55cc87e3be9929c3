"""Columns of ids as codes: which of the distinct ids each row has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII)


@dataclass(frozen=True)
class Coded:
    """A column of R rows with D distinct ids. A whole number is the same id as its text."""

    codes: NDArray[np.int32]
    """Indices (R,) into `ids`."""
    ids: NDArray[np.int64] | list[str]
    """The D distinct ids: ascending whole numbers, or texts in the order of the columns' dictionaries."""

    @property
    def distinct(self) -> int:
        return len(self.ids)

    @cached_property
    def names(self) -> list[str]:
        return self.ids if isinstance(self.ids, list) else list(map(str, self.ids.tolist()))

    def sorted(self) -> Coded:
        """With ids in an order that does not depend on that of the rows: natural order, or by character
        if there are more than `MANY`."""
        if not isinstance(self.ids, list):
            return self
        key = natural if self.distinct <= MANY else str
        order = sorted(range(self.distinct), key=lambda i: key(self.names[i]))
        place = np.empty(self.distinct, np.int32)
        place[order] = np.arange(self.distinct, dtype=np.int32)
        return Coded(place[self.codes], [self.names[i] for i in order])


MANY = 10_000


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key that compares numbers within texts by their values: run-2 before run-10."""
    return [
        (0, int(part), part) if part.isdecimal() else (1, 0, part)
        for part in re.split(r"([0-9]+)", text)
        if part
    ]


def coded(columns: Sequence[pa.ChunkedArray]) -> Coded:
    """The column of one table, or of several tables one after the other."""
    if all(pa.types.is_integer(column.type) for column in columns):
        return _coded_numbers(np.concatenate([np.asarray(column, np.int64) for column in columns]))
    kind = pa.dictionary(pa.int32(), pa.string())
    chunks = [
        chunk
        for column in columns
        for chunk in (
            column if pa.types.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode()
        )
        .cast(kind)
        .chunks
        if len(chunk)
    ]
    unified = pa.chunked_array(chunks, kind).unify_dictionaries()
    texts = unified.chunk(0).dictionary.to_pylist()
    codes = np.concatenate([np.asarray(chunk.indices, np.int32) for chunk in unified.chunks])
    used = np.zeros(len(texts), bool)
    used[codes] = True
    if not used.all():
        place = np.cumsum(used, dtype=np.int32) - 1
        codes, texts = place[codes], [text for text, u in zip(texts, used, strict=True) if u]
    if all(map(WHOLE.fullmatch, texts)):
        return _coded_numbers(np.array(texts, np.int64)[codes])
    return Coded(codes, texts)


def _coded_numbers(values: NDArray[np.int64]) -> Coded:
    """Whole numbers as ids, in one pass if they are close together, as segments are."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000:
        ids, codes = np.unique(values, return_inverse=True)
        return Coded(codes.astype(np.int32), ids)
    there = np.zeros(high - low + 1, bool)
    shifted = values - low
    there[shifted] = True
    place = np.cumsum(there, dtype=np.int32) - 1
    return Coded(place[shifted], np.flatnonzero(there) + low)


def together(first: Coded, second: Coded) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Pairs of ids: codes (R,) in the order of (first, second), and the pairs (P, 2)."""
    joined = _coded_numbers(first.codes.astype(np.int64) * second.distinct + second.codes)
    pairs = np.asarray(joined.ids)
    return joined.codes, np.stack([pairs // second.distinct, pairs % second.distinct], axis=1)


def in_order(
    segment: Coded, document: Coded | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], Coded, Coded | None]:
    """Segments in an order that does not depend on that of the rows. Returns the number of each row's
    segment (R,); the codes of each segment's document and id (S, 2); and the sorted segments and
    documents that have these codes. Documents are in the order of their first segments."""
    segment = segment.sorted()
    if document is None:
        ids = np.arange(segment.distinct)
        return segment.codes, np.stack([0 * ids, ids], axis=1), segment, None
    document = document.sorted()
    row, pairs = together(document, segment)
    first = np.full(document.distinct, segment.distinct)
    np.minimum.at(first, pairs[:, 0], pairs[:, 1])
    rank = np.empty(document.distinct, np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(document.distinct)
    order = np.lexsort((pairs[:, 1], rank[pairs[:, 0]]))
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return place[row], pairs[order], segment, document


def in_rows(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.float64]:
    """The scores of all tables, NaN where there is none."""
    return np.concatenate([np.asarray(pc.fill_null(column, np.nan)) for column in columns])
