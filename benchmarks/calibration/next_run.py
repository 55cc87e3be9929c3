"""The gate of the probability of the next run, and how often what it says comes true.

    PYTHONPATH=src python benchmarks/calibration/next_run.py

Written down before it was run:

- **Model.** Normal: a system's score has its true value, noise of n runs and, on a new test set, what
  the test set adds, known to 300 degrees of freedom. Mean squares are drawn as scaled chi-squares.
  True values are normal, their differences with k standard errors of a pair's delta: k = 1 and 2.
- **Cells.** One pair, and families of 4, 5 and 10 systems, whose spread shrinks; n = 3, 5, 10 runs of
  each; standard deviations of runs all equal, or every other one twice or three times the rest; this
  test set, or a new one that adds .3, 1 or 3 times what the mean system's runs add to its score.
- **Trials.** 20,000 of one pair; of families so many that there are 40,000 pairs, which are not
  independent and count as 4,000.
- **Limits.** The 90% interval covers the probability in .88 to .92; a cell fails when the 99% interval
  (Wilson) of its rate lies wholly outside.
- **Reported**: no true differences (k = 0), large ones (k = 4), one system ten times as noisy, 3 v 10
  runs; and a table of what was said and what is so, of one pair and of a family of five, n = 3, 5, 10,
  k = 0 and 1, both without a new test set, beside what any difference as likely beforehand would say.
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


def trial(
    rng: np.random.Generator, n: np.ndarray, sd: np.ndarray, test_set: float, k: float
) -> tuple[np.ndarray, list[Spread], np.ndarray, np.ndarray]:
    """Differences (m,) of all pairs, their spreads, scores (S,), and the true probabilities (m,)."""
    S = len(n)
    rep = sd**2 / n
    own = test_set * rep.mean()
    se2 = (rep + own).mean()  # of a system; a pair has twice as much, and so have true differences
    true = rng.normal(0, k * np.sqrt(se2), S)
    scores = true + rng.normal(0, np.sqrt(rep + own))
    drawn = rep * rng.chisquare(n - 1.0) / (n - 1.0)
    a, b = np.triu_indices(S, 1)
    seg = 2 * own * rng.chisquare(NU, len(a)) / NU
    spreads = []
    for i, j, W in zip(a, b, seg, strict=True):
        values = np.array([drawn[i], drawn[j], *([W] if test_set else [])])
        nus = np.array([n[i] - 1.0, n[j] - 1.0, *([NU] if test_set else [])])
        ones = np.array([n[i], n[j], *([1.0] if test_set else [])])
        spreads.append(spread_of(Parts(values.sum(), values, nus), ones, 0.0))
    theta = ndtr((true[b] - true[a]) / np.sqrt(sd[a] ** 2 + sd[b] ** 2 + 2 * own))
    return scores[b] - scores[a], spreads, scores, theta


def covered(n: np.ndarray, sd: np.ndarray, test_set: float, k: float, trials: int) -> tuple[float, int]:
    """How often the interval has the probability in it, and of how many."""
    rng = np.random.default_rng(35)
    hit = total = 0
    if len(n) == 2:  # all trials at once
        gains, spreads, thetas = [], [], []
        for _ in range(trials):
            gain, spread, _, theta = trial(rng, n, sd, test_set, k)
            gains.append(gain[0])
            spreads += spread
            thetas.append(theta[0])
        _, low, high = next_better(np.array(gains), spreads)
        return float(((low <= thetas) & (thetas <= high)).mean()), trials
    for _ in range(trials):
        gain, spreads, scores, theta = trial(rng, n, sd, test_set, k)
        _, low, high = next_better(gain, spreads, scores)
        hit += int(((low <= theta) & (theta <= high)).sum())
        total += len(theta)
    return hit / total, total


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
                rate, total = covered(np.full(S, n), np.resize([1.0, ratio], S), test_set, k, trials)
                low, high = wilson(rate, min(total, 4_000) if S > 2 else total)
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
            cells = [f"{covered(ns, sd, own, k, trials)[0]:.3f}" for own in (0.0, 1.0)]
            numbers = f"{n[0]}" if n[0] == n[1] else f"{n[0]} and {n[1]}"
            yield f"| {S} | {numbers} | {ratio:g} | {k:g} | " + " | ".join(cells) + " |"


def said() -> Iterator[str]:
    """On this test set: what was said of who is ahead, and the true probability, its mean."""
    yield (
        "| systems | n | k | | best against the rest | "
        + " | ".join(f"{a:g} to {b:g}" for a, b in pairwise(CLASSES))
        + " |"
    )
    yield "|---" * (len(CLASSES) + 4) + "|"
    for S, n, k in product((2, 5), (3, 5, 10), (0.0, 1.0)):
        for how in ("any difference alike", "by the spread of systems")[: 1 if S == 2 else 2]:
            rng = np.random.default_rng(36)
            p_all, true_all, best = [], [], []
            for _ in range(8_000 if S == 2 else 2_000):
                gain, spreads, scores, theta = trial(rng, np.full(S, n), np.ones(S), 0.0, k)
                p, *_ = next_better(gain, spreads, scores if how.startswith("by") else None)
                ahead = gain > 0
                p_all += np.where(ahead, p, 1 - p).tolist()
                true_all += np.where(ahead, theta, 1 - theta).tolist()
                a, b = np.triu_indices(S, 1)
                best += ((a == scores.argmax()) | (b == scores.argmax())).tolist()
            p, true, top = np.array(p_all), np.array(true_all), np.array(best)
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
