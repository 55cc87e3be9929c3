"""The gate of the probability of the next run, and how often its predictions come true.

    PYTHONPATH=src python benchmarks/calibration/next_run.py

Written down before it was run:

- **Model.** Normal: a system's score is the sum of its true value, the noise of n runs and, with a new
  test set, an effect of the test set, whose variance is known with 300 degrees of freedom. Mean squares
  are drawn as scaled chi-squares. True values are normal; the sd of their differences is k standard
  errors of a pair's delta, k = 1 and 2.
- **Cells.** One pair, and families of 4, 5 and 10 systems, whose differences are shrunk by their spread;
  n = 3, 5, 10 runs of each; standard deviations of runs all equal, or every other one twice or three
  times the rest; this test set, or a new one that adds .3, 1 or 3 times as much variance to a score as
  the mean system's runs.
- **Trials.** 20,000 for one pair; for families so many that there are 40,000 pairs, which are not
  independent and count as 4,000.
- **Limits.** The 90% interval covers the probability in .88 to .92 of the trials; a cell fails if the
  99% interval (Wilson) of its rate lies wholly outside.
- **Reported**: no true differences (k = 0), large ones (k = 4), one system ten times as noisy, 3 v 10
  runs; and a table of predictions and the truth for one pair and a family of five, n = 3, 5, 10, k = 0
  and 1, all on this test set, also with every difference equally likely a priori.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
from scipy.special import ndtr

from replitune.significance.critical import Parts
from replitune.significance.next_run import Spread, next_better, spread_of

NU, LOW, HIGH = 300.0, 0.88, 0.92
CLASSES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def trials_of(
    rng: np.random.Generator, n: np.ndarray, sd: np.ndarray, test_set: float, k: float, trials: int
) -> tuple[np.ndarray, Spread, np.ndarray, np.ndarray]:
    """For T trials, the differences (T, m) of all pairs, their spreads, scores (T, S), and the true
    probabilities (T, m)."""
    S, T = len(n), trials
    rep = sd**2 / n
    own = test_set * rep.mean()
    se2 = (rep + own).mean()  # of one system; doubled for a pair, as for true differences
    true = rng.normal(0, k * np.sqrt(se2), (T, S))
    scores = true + rng.normal(0, np.sqrt(rep + own), (T, S))
    drawn = rep * rng.chisquare(n - 1.0, (T, S)) / (n - 1.0)
    a, b = np.triu_indices(S, 1)
    seg = 2 * own * rng.chisquare(NU, (T, len(a))) / NU
    known = 3 if test_set else 2
    values = np.stack([drawn[:, a], drawn[:, b], seg], axis=-1)[..., :known]
    nus = np.stack([n[a] - 1.0, n[b] - 1.0, np.full(len(a), NU)], axis=-1)[:, :known]
    ones = np.stack([n[a], n[b], np.ones(len(a))], axis=-1)[:, :known]
    spread = spread_of(Parts(values.sum(axis=-1), values, nus), ones)
    theta = ndtr((true[:, b] - true[:, a]) / np.sqrt(sd[a] ** 2 + sd[b] ** 2 + 2 * own))
    return scores[:, b] - scores[:, a], spread, scores, theta


def answers(gain: np.ndarray, spread: Spread, scores: np.ndarray | None) -> np.ndarray:
    """(3, T, m) predictions: for single pairs all at once, for families one by one."""
    if scores is None or gain.shape[1] == 1:
        return np.array(next_better(gain, spread))
    return np.stack(
        [
            next_better(gain[t], Spread(spread.now[t], spread.new[t], spread.nu[t]), scores[t])
            for t in range(len(gain))
        ],
        axis=1,
    )


def covered(n: np.ndarray, sd: np.ndarray, test_set: float, k: float, trials: int) -> float:
    """How often the interval contains the true probability."""
    gain, spread, scores, theta = trials_of(np.random.default_rng(35), n, sd, test_set, k, trials)
    _, low, high = answers(gain, spread, scores)
    return float(((low <= theta) & (theta <= high)).mean())


def wilson(rate: float, trials: int, z: float = 2.5758) -> tuple[float, float]:
    centre = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * np.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials**2))
    return centre - half, centre + half


def gate() -> Iterator[str]:
    yield "| systems | n | sd of every other | this set | new, .3 | new, 1 | new, 3 |"
    yield "|---|---|---|---|---|---|---|"
    rates, failed = [], 0
    for S, n, ratio in product((2, 4, 5, 10), (3, 5, 10), (1.0, 2.0, 3.0)):
        cells = []
        for test_set in (0.0, 0.3, 1.0, 3.0):
            ends = []
            for k in (1.0, 2.0):
                trials = 20_000 if S == 2 else 40_000 // (S * (S - 1) // 2)
                rate = covered(np.full(S, n), np.resize([1.0, ratio], S), test_set, k, trials)
                low, high = wilson(rate, trials if S == 2 else 4_000)
                fails = high < LOW or low > HIGH
                failed += fails
                rates.append(rate)
                ends.append(f"**{rate:.3f}**" if fails else f"{rate:.3f}")
            cells.append(" / ".join(ends))
        yield f"| {S} | {n} | {ratio:g} | " + " | ".join(cells) + " |"
    yield f"{len(rates)} cells, {min(rates):.3f} to {max(rates):.3f}; {failed} fail"


def beyond() -> Iterator[str]:
    yield "| systems | n | sd | k | this set | new, 1 |"
    yield "|---|---|---|---|---|---|"
    for S in (2, 5):
        for n, ratio, k in (
            *product(((3, 3), (10, 10)), (1.0,), (0.0, 4.0)),
            *product(((3, 3), (10, 10)), (10.0,), (1.0, 2.0)),
            *product(((3, 10), (10, 3)), (1.0, 3.0), (1.0,)),
        ):
            trials = 20_000 if S == 2 else 2_000
            ns, sd = np.resize(n, S), np.resize([1.0, ratio], S)
            cells = [f"{covered(ns, sd, own, k, trials):.3f}" for own in (0.0, 1.0)]
            numbers = f"{n[0]}" if n[0] == n[1] else f"{n[0]} and {n[1]}"
            yield f"| {S} | {numbers} | {ratio:g} | {k:g} | " + " | ".join(cells) + " |"


def said() -> Iterator[str]:
    """On this test set: the predicted probability of the favoured side, and the mean of the true one."""
    yield (
        "| systems | n | k | | best against the rest | "
        + " | ".join(f"{a:g} to {b:g}" for a, b in pairwise(CLASSES))
        + " |"
    )
    yield "|---" * (len(CLASSES) + 4) + "|"
    for S, n, k in product((2, 5), (3, 5, 10), (0.0, 1.0)):
        for how in ("any difference alike", "by the spread of systems")[: 1 if S == 2 else 2]:
            rng = np.random.default_rng(36)
            gain, spread, scores, theta = trials_of(
                rng, np.full(S, n), np.ones(S), 0.0, k, 40_000 if S == 2 else 4_000
            )
            p = answers(gain, spread, scores if how.startswith("by") else None)[0]
            a, b = np.triu_indices(S, 1)
            best = scores.argmax(axis=1)[:, np.newaxis]
            top = (a == best) | (b == best)
            p, true = np.maximum(p, 1 - p), np.where(gain > 0, theta, 1 - theta)
            cells = []
            for low, high in pairwise(CLASSES):
                own = (p >= low) & (p < high)
                cells.append(f"{true[own].mean():.2f} ({own.mean():.0%})" if own.sum() >= 50 else "-")
            yield (
                f"| {S} | {n} | {k:g} | {how} | {p[top].mean():.2f}, true {true[top].mean():.2f} | "
                + " | ".join(cells)
                + " |"
            )


if __name__ == "__main__":
    parts = {"gate": gate, "beyond": beyond, "said": said}
    for name in sys.argv[1:] or parts:
        print(*parts[name](), sep="\n")
        print()
