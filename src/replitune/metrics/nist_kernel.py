"""The compiled part of NIST: n-gram counts, their information, and the information of matches."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from replitune.metrics.base import Array
from replitune.metrics.ngram_trie import ABSENT, ROOT, child, plant, table_size


@njit(cache=True)
def all_ngrams(tokens: Array, starts: Array, order: int) -> tuple[Array, Array, Array]:
    """Trie (keys, nodes) of the n-grams of all references, and the count of each node; that of
    the root is the number of words."""
    space = order * tokens.size + 1
    keys = np.full(table_size(space), ABSENT, dtype=np.int64)
    nodes = np.empty(keys.size, dtype=np.int32)
    counts = np.zeros(space, dtype=np.int32)
    used = 1
    for k in range(starts.size - 1):
        words = tokens[starts[k] : starts[k + 1]]
        used = plant(words, words.size, order, keys, nodes, counts, used)
    counts[ROOT] = tokens.size
    return keys, nodes, counts[:used]


@njit(cache=True)
def informations(keys: Array, nodes: Array, counts: Array) -> Array:
    """log2(count of the parent / count) of each node: Doddington (2002), equation 2."""
    result = np.zeros(counts.size)
    for slot in range(keys.size):
        if keys[slot] != ABSENT:
            parent = keys[slot] >> 32
            result[nodes[slot]] = math.log2(counts[parent] / counts[nodes[slot]])
    return result


@njit(cache=True, nogil=True)
def matched_information(
    hyps: Array,
    hyp_starts: Array,
    segments: Array,
    refs: Array,
    ref_starts: Array,
    nrefs: int,
    order: int,
    keys: Array,
    nodes: Array,
    information: Array,
) -> Array:
    """Information (J, order) of the n-grams that each hypothesis shares with its references."""
    result = np.zeros((segments.size, order))
    allowed = np.zeros(information.size, dtype=np.int32)  # the largest count in one reference
    counts = np.zeros(information.size, dtype=np.int32)
    for h in range(segments.size):
        first = segments[h] * nrefs
        for k in range(first, first + nrefs):
            # Two passes over each reference: count, then reset the counts.
            for forget in range(2):
                for start in range(ref_starts[k], ref_starts[k + 1]):
                    node = ROOT
                    for at in range(start, min(ref_starts[k + 1], start + order)):
                        node = child(keys, nodes, node, refs[at])
                        if forget:
                            counts[node] = 0
                        else:
                            counts[node] += 1
                            allowed[node] = max(allowed[node], counts[node])
        for start in range(hyp_starts[h], hyp_starts[h + 1]):
            node = ROOT
            for at in range(start, min(hyp_starts[h + 1], start + order)):
                if hyps[at] < 0:
                    break
                node = child(keys, nodes, node, hyps[at])
                if node == ABSENT:
                    break
                if allowed[node] > 0:
                    allowed[node] -= 1
                    result[h, at - start] += information[node]
        for start in range(ref_starts[first], ref_starts[first + nrefs]):
            node = ROOT
            for at in range(start, min(ref_starts[first + nrefs], start + order)):
                node = child(keys, nodes, node, refs[at])
                if node == ABSENT:  # an n-gram that spans two references
                    break
                allowed[node] = 0
    return result
