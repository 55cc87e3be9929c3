"""How often does a test reject when there is nothing to find?

A test is a function (comparison, generator) -> p. Three kinds of null hypothesis:

- **A/A**: disjoint sets of replicas of one system. The systems are the same, so they are equally
  good on this test set and on every other. Exact by construction for tests that exchange whole
  replicas; it never shows *different* systems of equal quality.
- **coin flip**: for two real systems S and T, a coin per segment (or document). On heads A takes
  S's output and B takes T's, on tails the reverse. A and B differ, and are equally good over
  new segments; replicas of A and of B are disjoint. A replica of A is half S and half T, so
  tuner noise is about halved.
- **simulation**: a normal model with the variance components of a real comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import covariance
from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric
from replitune.registry import Entry
from replitune.significance.arguments import own_strata
from replitune.significance.base import Comparison
from replitune.significance.registry import TESTS
from replitune.significance.run import TestSetScores, run_tests
from replitune.statistics.systems import SystemStatistics
from replitune.streams import seed_sequence, stream

Test = Callable[[Comparison, np.random.Generator], float | None]
"""p of a comparison, or None where the test has none."""

EXACT_UNDER_A_A = ("replica-permutation", "fu-ar")
"""Tests that are: replicas of one system are exchangeable, and pairs in drawn order are random pairs."""


@dataclass(frozen=True)
class CalibrationRow:
    """Rejections of one test at one level: `studies/calibrate/<testset>/<metric>.parquet`."""

    study: str
    """A/A, coin flip, or simulation."""
    null: str
    """The null hypothesis: "same system", "next test set", or "this test set"."""
    pool: str
    """The system (or the two), or "all" for A/A over every pool."""
    n_a: int
    n_b: int
    unit: str
    method: str
    alpha: float
    trials: int
    without_p: int
    """Trials in which the test had no p; they count as not rejected."""
    rejected: int
    rate: float
    low: float
    high: float
    """Wilson interval: Monte-Carlo error only. One pool is one data set."""
    exact: bool
    """The level holds by construction."""
    note: str | None = None


def wilson(rejected: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's (1927) interval for a rate.

    >>> [round(limit, 4) for limit in wilson(5, 100)]
    [0.0215, 0.1118]
    """
    from scipy.special import ndtri

    z = float(ndtri(0.5 + confidence / 2))
    rate, scale = rejected / trials, 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + (z / (2 * trials)) ** 2) / scale
    return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Registered:
    """A test of the project, as `replitune test` runs it."""

    entry: Entry
    samples: int

    def __call__(self, comparison: Comparison, rng: np.random.Generator) -> float | None:
        a, b, metric = comparison.a, comparison.b, comparison.metric
        return run_tests(
            [TestSetScores({metric.id: (metric, {a.name: a, b.name: b})}, comparison.documents)],
            testset="",
            seed=int(rng.integers(2**63)),
            methods=[self.entry],
            samples=self.samples,
            correction="none",
        )[metric.id][0].p


def registered(methods: Sequence[str | Mapping[str, Any] | Entry], samples: int = 999) -> dict[str, Test]:
    """Tests of the project by id."""
    return {entry.id: Registered(entry, samples) for entry in TESTS.entries(methods)}


# -- drawing comparisons ------------------------------------------------------------------


def take(system: SystemStatistics, rows: NDArray[np.intp], name: str) -> SystemStatistics:
    """Replicas `rows` of a system under another name, without groups and with unique ids."""
    return _ungrouped(name, np.ascontiguousarray(system.statistics[rows]))


def _ungrouped(name: str, statistics: NDArray) -> SystemStatistics:
    ids = tuple(f"run-{k + 1:03d}" for k in range(len(statistics)))
    return SystemStatistics(name, ids, (None,) * len(ids), statistics)


def pools(system: SystemStatistics) -> list[SystemStatistics]:
    """One pool of exchangeable replicas per system and tuner."""
    strata = own_strata(system, "groups")
    if len(strata) == 1:
        return [system]
    return [take(system, rows, f"{system.name}/{system.groups[rows[0]] or 'none'}") for rows in strata]


def same_system(
    metric: Metric,
    pool: SystemStatistics,
    documents: NDArray[np.int32],
    n: int,
    trials: int,
    rng: np.random.Generator,
) -> Iterator[Comparison]:
    """A/A: two disjoint sets of n replicas, in random order."""
    if 2 * n > pool.n:
        raise ReplituneError(
            f"{pool.name} has too few runs for A/A",
            found=f"{pool.n} runs",
            expected=f"at least {2 * n} for n = {n}",
        )
    for _ in range(trials):
        drawn = rng.permutation(pool.n)[: 2 * n]
        yield Comparison(metric, take(pool, drawn[:n], "A"), take(pool, drawn[n:], "B"), documents)


def coin_flip(
    metric: Metric,
    s: SystemStatistics,
    t: SystemStatistics,
    documents: NDArray[np.int32],
    n: int,
    trials: int,
    rng: np.random.Generator,
    unit: str = "segment",
) -> Iterator[Comparison]:
    """A has S's output where B has T's, by a coin per unit shared by all replicas."""
    if 2 * n > min(s.n, t.n):
        raise ReplituneError(
            f"{s.name} and {t.name} have too few runs for the coin flip",
            found=f"{s.n} and {t.n} runs",
            expected=f"at least {2 * n} of each for n = {n}",
        )
    number = documents if unit == "document" else np.arange(len(documents))
    for _ in range(trials):
        heads = rng.integers(0, 2, int(number.max()) + 1).astype(bool)[number]
        of_s, of_t = rng.permutation(s.n)[: 2 * n], rng.permutation(t.n)[: 2 * n]
        made = []
        for name, own, side in (("A", slice(0, n), heads), ("B", slice(n, 2 * n), ~heads)):
            mixed = take(s, of_s[own], name)
            mixed.statistics[:, ~side] = t.statistics[of_t[own]][:, ~side]
            made.append(mixed)
        yield Comparison(metric, made[0], made[1], documents)


def simulated(
    comparison: Comparison, n: int, trials: int, rng: np.random.Generator, null: str = "next"
) -> Iterator[Comparison]:
    """Mean-metric comparisons of n replicas each with the variance components of a real one."""
    from replitune.significance.studies.pilot import pilot
    from replitune.significance.studies.simulate import Design, mean_scores

    model = pilot(comparison, unit="segment", strata="none").model
    sd = [math.sqrt(v) for v in (*model.replica, *model.interaction[:, 0])]
    design = Design(
        n,
        n,
        comparison.segments,
        sd[0],
        sd[1],
        difference=math.sqrt(model.segment[0]),
        segment=common_sd(comparison),
        noise_a=sd[2],
        noise_b=sd[3],
        null=null,
    )
    documents = np.arange(comparison.segments, dtype=np.int32)
    for _ in range(trials):
        made = []
        for name, x in zip("AB", mean_scores(design, 1, rng), strict=True):
            z = np.stack([x[0], np.ones_like(x[0])], axis=-1)
            made.append(_ungrouped(name, z))
        yield Comparison(MeanMetric(), made[0], made[1], documents)


def common_sd(comparison: Comparison) -> float:
    """Standard deviation of the effect of a segment that both systems share."""
    from replitune.significance.system_parts import linearise

    metric = comparison.metric
    La, Lb = (linearise(metric, s.statistics, s.sums)[0] for s in (comparison.a, comparison.b))
    shared = float(covariance(np.stack([La.mean(axis=0), Lb.mean(axis=0)]))[0, 1])
    return math.sqrt(max(shared, 0.0))


# -- counting rejections ------------------------------------------------------------------


def p_values(
    comparisons: Iterable[Comparison], tests: Mapping[str, Test], rng: np.random.Generator
) -> dict[str, list[float | None]]:
    """p by test, one per comparison; a test's randomness does not depend on the others."""
    seed = int(rng.integers(2**63))
    keys = {name: np.random.default_rng(seed_sequence(seed, "calibrate", name)) for name in tests}
    values: dict[str, list[float | None]] = {name: [] for name in tests}
    for comparison in comparisons:
        for name, test in tests.items():
            values[name].append(test(comparison, keys[name]))
    return values


def rows(
    p: Mapping[str, Sequence[float | None]],
    *,
    study: str,
    unit: str = "segment",
    alphas: Sequence[float] = (0.05, 0.01),
    exact: Sequence[str] = (),
    **columns: Any,
) -> list[CalibrationRow]:
    """Rejection rates (p <= alpha) with Wilson intervals. exact: ids of the tests whose level under A/A
    holds by construction; `columns` are those of the study."""
    rates = []
    for method, values in p.items():
        have = [value for value in values if value is not None]
        for alpha in alphas:
            rejected = sum(value <= alpha for value in have)
            low, high = wilson(rejected, len(values))
            rates.append(
                CalibrationRow(
                    study=study,
                    unit=unit,
                    method=method,
                    alpha=alpha,
                    trials=len(values),
                    without_p=len(values) - len(have),
                    rejected=rejected,
                    rate=rejected / len(values),
                    low=low,
                    high=high,
                    exact=study == "A/A" and method in exact,
                    **columns,
                )
            )
    return rates


def calibrate(
    metric: Metric,
    systems: Mapping[str, SystemStatistics],
    documents: NDArray[np.int32],
    tests: Mapping[str, Test],
    *,
    ns: Sequence[int] = (3, 5),
    trials: int = 300,
    alphas: Sequence[float] = (0.05, 0.01),
    unit: Literal["segment", "document"] = "segment",
    seed: int = 0,
) -> list[CalibrationRow]:
    """All three studies on the systems at hand, wherever their pools are large enough.

    unit: what a coin is flipped for. A study that no pool is large enough for has no rows.
    """
    rates: list[CalibrationRow] = []
    exact = [k for k, t in tests.items() if isinstance(t, Registered) and t.entry.name in EXACT_UNDER_A_A]
    for n in ns:
        rows_of = partial(rows, n_a=n, n_b=n, alphas=alphas, exact=exact)
        together: dict[str, list[float | None]] = {name: [] for name in tests}
        usable = [p for s in systems.values() for p in pools(s) if p.n >= 2 * n]
        for pool in usable:
            rng = stream(seed, "calibrate", "A/A", pool.name, n)
            p = p_values(same_system(metric, pool, documents, n, trials, rng), tests, rng)
            for name, values in p.items():
                together[name] += values
            rates += rows_of(p, study="A/A", null="same system", pool=pool.name)
        if len(usable) > 1:
            rates += rows_of(together, study="A/A", null="same system", pool="all")
        for s, t in combinations(systems.values(), 2):
            if min(s.n, t.n) >= 2 * n:
                rng = stream(seed, "calibrate", "coin flip", *sorted((s.name, t.name)), n)
                drawn = coin_flip(metric, s, t, documents, n, trials, rng, unit)
                rates += rows_of(
                    p_values(drawn, tests, rng),
                    study="coin flip",
                    null="next test set",
                    pool=f"{s.name}, {t.name}",
                    unit=unit,
                    note="tuner noise about halved",
                )
            if min(s.n, t.n) < 2:
                continue
            real = Comparison(metric, s, t, documents)
            for null in ("next", "this"):
                rng = stream(seed, "calibrate", "simulation", null, *sorted((s.name, t.name)), n)
                rates += rows_of(
                    p_values(simulated(real, n, trials, rng, null), tests, rng),
                    study="simulation",
                    null=f"{null} test set",
                    pool=f"{s.name}, {t.name}",
                    note="normal model of a mean with the variance components of the pair",
                )
    return rates
