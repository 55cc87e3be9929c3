"""Bowyer, Aitchison and Ivanova (2025), Don't use the CLT in LLM evals with fewer than a few
hundred datapoints: how often do 95% intervals contain the truth, with 20 to 400 questions?

    PYTHONPATH=src python benchmarks/papers/bowyer.py

**One system, right or wrong, one answer per question**: coverage by enumeration, without simulation. CLT
is p +- 1.96 sqrt(p (1 - p) / N); `riezler` (our interval for a system) is the percentile bootstrap,
whose resampled counts are binomial. Accuracies .5, .8, .95, and a uniform prior, as in the paper.

**Two systems**: TRIALS test sets per cell. Questions vary in difficulty, and each suits one of the systems
better. Designs: `one`, one answer of each system; `samples`, three answers of each, drawn for each
question; `runs`, three runs of each, whose effects add as much to the variance of the difference as the
questions do. Scores are 0 or 1 (accuracy .7 or .95 of both, or .8 and .95), normal, or skewed (how a
question suits a system is exponential: most a little, few a lot). Methods: CLT of all answers as if
independent; CLT of the paired differences of questions (Miller 2024); their percentile bootstrap;
Newcombe's (1998) paired Wilson interval, for `one`; and, ours, `crossed:scope=segments` (which `design:
samples` uses) and `crossed`.

The rule, fixed before the run: a method holds in a cell if coverage is at least .94.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtri
from shared import SEED, write

from batch import Batch  # isort: skip  (of ../calibration)
from closed import crossed_parts, crossed_rejections, summarise  # isort: skip
from other_models import ITEM, PREFERENCE, binary_units  # isort: skip
from replitune.metrics.base import MeanMetric
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.streams import stream

Array = NDArray[np.float64]
SIZES = (20, 30, 50, 100, 200, 400)
ACCURACIES = (0.5, 0.8, 0.95)
KINDS = ("accuracy .7", "accuracy .95", "accuracy .8 v .95", "normal", "skewed")
TRIALS, RESAMPLES = 4_000, 500
HOLDS = 0.94
SKEW = 1.5
Z = float(stats.norm.ppf(0.975))


# -- one system ---------------------------------------------------------------------------


def clt(k: Array, N: int) -> tuple[Array, Array]:
    p = k / N
    reach = Z * np.sqrt(p * (1 - p) / N)
    return p - reach, p + reach


def wilson(k: Array, N: int) -> tuple[Array, Array]:
    p = k / N
    centre = (p + Z**2 / (2 * N)) / (1 + Z**2 / N)
    reach = Z / (1 + Z**2 / N) * np.sqrt(p * (1 - p) / N + Z**2 / (4 * N**2))
    return centre - reach, centre + reach


def clopper_pearson(k: Array, N: int) -> tuple[Array, Array]:
    low = np.where(k > 0, stats.beta.ppf(0.025, np.maximum(k, 1), N - k + 1), 0.0)
    high = np.where(k < N, stats.beta.ppf(0.975, k + 1, np.maximum(N - k, 1)), 1.0)
    return low, high


def bayes(k: Array, N: int) -> tuple[Array, Array]:
    """Equal tails of the posterior under a uniform prior, as in the paper."""
    return stats.beta.ppf(0.025, k + 1, N - k + 1), stats.beta.ppf(0.975, k + 1, N - k + 1)


def bootstrap(k: Array, N: int) -> tuple[Array, Array]:
    return stats.binom.ppf(0.025, N, k / N) / N, stats.binom.ppf(0.975, N, k / N) / N


ONE: dict[str, Callable[[Array, int], tuple[Array, Array]]] = {
    "CLT": clt,
    "`riezler` (percentile bootstrap)": bootstrap,
    "Wilson": wilson,
    "Clopper-Pearson": clopper_pearson,
    "Bayes, uniform prior": bayes,
}


def one_system() -> Iterator[dict[str, Any]]:
    for N in SIZES:
        k = np.arange(N + 1.0)
        for name, interval in ONE.items():
            low, high = interval(k, N)
            width = high - low
            for theta in ACCURACIES:
                p = stats.binom.pmf(k, N, theta)
                inside = (low <= theta + 1e-12) & (theta <= high + 1e-12)
                yield row(
                    "one system", f"accuracy {theta:g}", N, name, (p * inside).sum(), (p * width).sum(), 0
                )
            # with theta uniform, all counts are equally likely, and the posterior is a beta
            covered = stats.beta.cdf(high, k + 1, N - k + 1) - stats.beta.cdf(low, k + 1, N - k + 1)
            yield row("one system", "uniform", N, name, covered.mean(), width.mean(), 0)


def row(
    design: str, scores: str, N: int, method: str, coverage: float, width: float, trials: int
) -> dict[str, Any]:
    return {
        "design": design,
        "scores": scores,
        "N": N,
        "method": method,
        "coverage": float(coverage),
        "width": float(width),
        "trials": trials,
    }


# -- two systems --------------------------------------------------------------------------


def answers(
    design: str, kind: str, N: int, trials: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    """Scores of A and B (T, n, N), and the true difference."""
    n = 1 if design == "one" else 3
    if kind.startswith("accuracy"):
        words = kind.split()
        each = float(words[1]), float(words[-1])
        units = [binary_units(accuracy, 2 / n) for accuracy in each]
        run = np.sqrt(np.mean([variance for variance, _ in units]) * n / 2 / N)
        sds = [run / slope if design == "runs" else 0.0 for _, slope in units]
        return *right_or_wrong(each, sds, n, N, trials, rng), each[1] - each[0]
    variance = 1 + 2 / n + (2 * SKEW**2 if kind == "skewed" else 0)
    run = np.sqrt(variance * n / 2 / N) if design == "runs" else 0.0
    a, b = mean_scores(Design(n, n, N, run, run), trials, rng)
    if kind == "skewed":
        for x in (a, b):
            x += rng.exponential(SKEW, (trials, 1, N)) - SKEW
    return a, b, 0.0


def right_or_wrong(
    accuracies: Sequence[float],
    runs: Sequence[float],
    n: int,
    N: int,
    trials: int,
    rng: np.random.Generator,
) -> list[Array]:
    """As `other_models.binary_scores`, for systems that may differ."""
    item = rng.normal(0.0, ITEM, (trials, 1, N))
    prefer = rng.normal(0.0, PREFERENCE, (trials, 1, N))
    out = []
    for accuracy, sd, sign in zip(accuracies, runs, (-0.5, 0.5), strict=True):
        centre = ndtri(accuracy) * np.sqrt(1 + ITEM**2 + PREFERENCE**2 / 4 + sd**2)
        x = centre + item + sign * prefer + rng.normal(0.0, sd, (trials, n, 1))
        out.append((x + rng.standard_normal((trials, n, N)) > 0).astype(np.float64))
    return out


def newcombe(a: Array, b: Array, N: int) -> tuple[Array, Array]:
    """Newcombe (1998), method 10, for paired right-or-wrong answers (T, N)."""
    both, only_a = (a * b).sum(1), (a * (1 - b)).sum(1)
    only_b = (b * (1 - a)).sum(1)
    none = N - both - only_a - only_b
    p_a, p_b = (both + only_a) / N, (both + only_b) / N
    (l_a, u_a), (l_b, u_b) = wilson(p_a * N, N), wilson(p_b * N, N)
    top = both * none - only_a * only_b
    top = np.where(top > N / 2, top - N / 2, np.where(top >= 0, 0.0, top))
    under = np.sqrt((both + only_a) * (only_b + none) * (both + only_b) * (only_a + none))
    phi = np.divide(top, under, out=np.zeros_like(top), where=under > 0)
    down = (p_b - l_b) ** 2 - 2 * phi * (p_b - l_b) * (u_a - p_a) + (u_a - p_a) ** 2
    up = (u_b - p_b) ** 2 - 2 * phi * (u_b - p_b) * (p_a - l_a) + (p_a - l_a) ** 2
    return p_b - p_a - np.sqrt(down), p_b - p_a + np.sqrt(up)


def two_systems(design: str, kind: str, N: int) -> Iterator[dict[str, Any]]:
    rng = stream(SEED, "bowyer", design, kind, str(N))
    a, b, true = answers(design, kind, N, TRIALS, rng)
    n = a.shape[1]
    d = (b - a).mean(axis=1)
    delta = d.mean(axis=1)
    found: dict[str, tuple[Array, Array]] = {}

    def around(name: str, reach: Array) -> None:
        found[name] = delta - reach, delta + reach

    flat = [x.reshape(TRIALS, -1) for x in (a, b)]
    around("CLT, answers independent", Z * np.sqrt(sum(x.var(1, ddof=1) for x in flat) / (n * N)))
    around("CLT, paired", Z * d.std(axis=1, ddof=1) / np.sqrt(N))
    counts = rng.multinomial(N, np.full(N, 1 / N), RESAMPLES).astype(np.float64)
    resampled = d @ counts.T / N
    found["percentile bootstrap, paired"] = tuple(np.percentile(resampled, [2.5, 97.5], axis=1))
    if n == 1:
        # without a second answer there is no V_int, so `crossed:scope=segments` is the paired t
        reach = stats.t.ppf(0.975, N - 1) * d.std(axis=1, ddof=1) / np.sqrt(N)
        around("`crossed:scope=segments`", reach)
        if kind.startswith("accuracy"):
            found["Newcombe's Wilson, paired"] = newcombe(a[:, 0], b[:, 0], N)
    for name, (low, high) in found.items():
        inside = (low <= true + 1e-12) & (high >= true - 1e-12)
        yield row(design, kind, N, name, inside.mean(), (high - low).mean(), TRIALS)
    if n > 1:
        cells = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
        summary = summarise(Batch(MeanMetric(), *cells))
        summary = replace(summary, b=summary.b - true)
        for name, scope in (("`crossed:scope=segments`", "segments"), ("`crossed`", "both")):
            with np.errstate(invalid="ignore", divide="ignore"):  # if all answers are equal
                parts = crossed_parts(summary, scope)  # type: ignore[arg-type]
                out = crossed_rejections(summary, parts, 0.05)
            yield row(design, kind, N, name, 1 - out.mean(), np.nan, TRIALS)


def main() -> None:
    rows = list(one_system())
    for design in ("one", "samples", "runs"):
        for kind in KINDS:
            for N in SIZES:
                rows += two_systems(design, kind, N)
        print(design, flush=True)
    write("bowyer", rows)


if __name__ == "__main__":
    main()
