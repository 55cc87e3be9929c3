"""Compiled parts of batch MIRA: see `replitune.tuning.mira`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def model_scores(features, lo, hi, weights, out):
    """Weights . features of rows lo .. hi-1 into out."""
    for i in range(hi - lo):
        out[i] = 0.0
    for f in range(len(weights)):
        for i in range(hi - lo):
            out[i] += weights[f] * features[f, lo + i]


@njit(cache=True, nogil=True)
def step(features, statistics, lo, scores, gains, weights, background, c, decay, model_background):
    """Hope, fear, and one step of the weights (Cherry & Foster 2012, lines 4-8). Returns the
    loss before the step, 0 without one, and whether the pseudo-corpus grew."""
    hope = 0
    fear = 0
    model = 0
    for i in range(1, len(scores)):
        if scores[i] + gains[i] > scores[hope] + gains[hope]:
            hope = i
        if scores[i] - gains[i] > scores[fear] - gains[fear]:
            fear = i
        if scores[i] > scores[model]:
            model = i
    if hope == fear:
        return 0.0, False
    norm = 0.0
    margin = 0.0
    for f in range(len(weights)):
        d = float(features[f, lo + hope]) - float(features[f, lo + fear])
        norm += d * d
        margin += weights[f] * d
    loss = gains[hope] - gains[fear] - margin
    if loss > 0.0 and norm > 0.0:
        eta = min(c, loss / norm)
        for f in range(len(weights)):
            weights[f] += eta * (float(features[f, lo + hope]) - float(features[f, lo + fear]))
    else:
        loss = 0.0
    row = lo + (model if model_background else hope)
    for k in range(len(background)):
        background[k] = background[k] * decay + statistics[row, k]
    return loss, True


@njit(cache=True, nogil=True)
def bleu_epoch(
    features, statistics, offsets, order, bleu_order, weights, total, background, c, decay, model_background
):
    """An epoch with the BLEU of the pseudo-corpus in the kernel."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    scores = np.empty(longest)
    gains = np.empty(longest)
    loss = 0.0
    updates = 0
    for s in order:
        lo = offsets[s]
        n = offsets[s + 1] - lo
        model_scores(features, lo, lo + n, weights, scores)
        _background_bleu(statistics, lo, n, bleu_order, background, gains)
        this, _ = step(
            features, statistics, lo, scores[:n], gains[:n], weights, background, c, decay, model_background
        )
        for f in range(len(weights)):
            total[f] += weights[f]
        loss += this
        updates += this > 0.0
    return loss, updates


@njit(cache=True, nogil=True)
def _background_bleu(statistics, lo, n, order, background, out):
    """BLEU (0 .. 1) of the background with each of n rows, times its reference length; 0
    without a match of every order."""
    for i in range(n):
        product = 1.0
        for k in range(order):
            matches = background[k] + statistics[lo + i, k]
            product *= matches / max(background[order + k] + statistics[lo + i, order + k], 1e-9)
        length = background[2 * order] + statistics[lo + i, 2 * order]
        words = background[2 * order + 1] + statistics[lo + i, 2 * order + 1]
        value = np.sqrt(np.sqrt(product)) if order == 4 else product ** (1.0 / order)
        if length < words:
            value *= np.exp(1.0 - words / length) if length > 0 else 0.0
        out[i] = value * words
