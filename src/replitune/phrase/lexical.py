"""Lexical translation tables and lexical weights (Koehn, Och and Marcu 2003, section 4.4).

The word translation probabilities are relative frequencies over the links of the training
text, where a word without a link counts as linked to NULL. The weight of a phrase pair,
given the links inside it, is a product over the words of one side: of each, the mean probability
given the words it is linked to, or given NULL.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from replitune.arithmetic import log
from replitune.phrase.encode import Encoded
from replitune.phrase.symmetrise import Links


class LexicalTable(NamedTuple):
    """w(e|f) and w(f|e) of all linked word pairs; NULL has the id after the last word.

    row: (source words + 2,) int64, source word f owns entries row[f]:row[f + 1]
    target: (L,) int32, ascending within a row
    e_given_f, f_given_e: (L,) float64
    """

    row: NDArray[np.int64]
    target: NDArray[np.int32]
    e_given_f: NDArray[np.float64]
    f_given_e: NDArray[np.float64]


def lexical_table(source: Encoded, target: Encoded, links: Links) -> LexicalTable:
    """Relative frequencies of the links, with NULL for unlinked words on either side."""
    segment = np.repeat(np.arange(len(source)), np.diff(links.start))
    source_at = source.start[segment] + links.source
    target_at = target.start[segment] + links.target
    source_null, target_null = len(source.vocab), len(target.vocab)
    source_free = np.ones(len(source.words), bool)
    source_free[source_at] = False
    target_free = np.ones(len(target.words), bool)
    target_free[target_at] = False
    lonely_source, lonely_target = source.words[source_free], target.words[target_free]
    f = np.concatenate(
        [source.words[source_at], lonely_source, np.full(len(lonely_target), source_null)]
    ).astype(np.int64)
    e = np.concatenate(
        [target.words[target_at], np.full(len(lonely_source), target_null), lonely_target]
    ).astype(np.int64)
    keys, counts = np.unique(f * (target_null + 1) + e, return_counts=True)
    f, e = np.divmod(keys, target_null + 1)
    total_f = np.bincount(f, weights=counts, minlength=source_null + 1)
    total_e = np.bincount(e, weights=counts, minlength=target_null + 1)
    row = np.searchsorted(f, np.arange(source_null + 2))
    return LexicalTable(row, e.astype(np.int32), counts / total_f[f], counts / total_e[e])


def weights_of(
    source: tuple[NDArray[np.int32], NDArray[np.int64]],
    source_length: NDArray[np.integer],
    target: tuple[NDArray[np.int32], NDArray[np.int64]],
    target_length: NDArray[np.integer],
    links: NDArray[np.uint64],
    width: int,
    table: LexicalTable,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Natural logs of lex(f|e) and lex(e|f), each (P,), of P pairs of stretches of words.

    source, target: words, and where each stretch begins in them; links: bit s * width + t is set
    when word s of the source side is linked to word t of the target side."""
    f_given_e, e_given_f = np.empty(len(links)), np.empty(len(links))
    _weights(*source, source_length, *target, target_length, links, width, table, f_given_e, e_given_f)
    return log(f_given_e), log(e_given_f)


@njit(cache=True)
def _find(row: NDArray[np.int64], target: NDArray[np.int32], f: int, e: int) -> int:
    """Index of the entry (f, e), which exists."""
    low, high = row[f], row[f + 1]
    while low < high:
        middle = (low + high) // 2
        if target[middle] < e:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _weights(f_words, f_at, f_length, e_words, e_at, e_length, masks, width, table, lex_fe, lex_ef):
    row, target, e_given_f, f_given_e = table
    source_null = len(row) - 2
    for p in range(len(masks)):
        weight = 1.0
        for t in range(e_length[p]):
            e = e_words[e_at[p] + t]
            total, number = 0.0, 0
            for s in range(f_length[p]):
                bit = np.uint64(s * width + t)
                if (masks[p] >> bit) & np.uint64(1):
                    f = f_words[f_at[p] + s]
                    total += e_given_f[_find(row, target, f, e)]
                    number += 1
            if number == 0:
                weight *= e_given_f[_find(row, target, source_null, e)]
            else:
                weight *= total / number
        lex_ef[p] = weight
        weight = 1.0
        for s in range(f_length[p]):
            f = f_words[f_at[p] + s]
            total, number = 0.0, 0
            for t in range(e_length[p]):
                bit = np.uint64(s * width + t)
                if (masks[p] >> bit) & np.uint64(1):
                    e = e_words[e_at[p] + t]
                    total += f_given_e[_find(row, target, f, e)]
                    number += 1
            if number == 0:
                # the target NULL is the last entry of the row
                weight *= f_given_e[row[f + 1] - 1]
            else:
                weight *= total / number
        lex_fe[p] = weight
