"""Made-up systems, and the situations of which docs/reading-the-report.md says what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import replitune
from replitune.metrics.base import MeanMetric
from replitune.results.comparing import Results, compare
from replitune.results.result import Result
from replitune.results.settling import settle
from replitune.significance.registry import TESTS
from replitune.significance.settings import TestSettings
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.systems import SystemStatistics
from significance.crossed_models import mean_statistics, two_way


def results(
    *shifts: float,
    prefix: str = "run",
    n: int = 4,
    noise: float = 0.5,
    rep: float = 0.1,
    testsets: int = 1,
    design: str = "runs",
    lower: bool = False,
    odd: float = 0.0,
    copies: bool = False,
    seed: int = 3,
    **settings: Any,
) -> Results:
    """Systems s0, s1, ... that are better by so much, on 80 segments; `odd`: how far the last run
    of s1 is from the others; `copies`: all runs of s1 are one."""
    rng = np.random.default_rng(seed)
    runs = [rng.normal(0, rep, (n, 1)) for _ in shifts]
    ids = tuple(f"{prefix}-{r + 1:03d}" for r in range(n))
    group = None if prefix in ("seed", "run") else prefix
    stores = []
    for t in range(testsets):
        effect = rng.normal(50, 1, 80)
        systems = {}
        for i, (run, shift) in enumerate(zip(runs, shifts, strict=True)):
            values = run + shift + two_way(rng, n, 80, 0.0, effect, noise)
            if i == 1:
                values[-1] += odd
                values = values[:1].repeat(n, axis=0) if copies else values
            systems[f"s{i}"] = SystemStatistics(f"s{i}", ids, (group,) * n, mean_statistics(values))
        documents = np.arange(80, dtype=np.int32)
        metric = MeanMetric("points", higher_is_better=not lower)
        stores.append(SegmentStatistics(f"t{t}", metric, "sig", systems, documents, None))
    methods = tuple(TESTS.entries(settings.pop("methods", ["crossed"])))
    chosen = TestSettings(methods=methods, samples=500, intervals=(), **settings)
    suite = {store.testset: 1 / testsets for store in stores} if testsets > 1 else {}
    return compare(stores, chosen, testset="all" if suite else "t0", suite=suite, seed=1, design=design)


def result(*shifts: float, **how: Any) -> Result:
    (one,) = results(*shifts, **how).metrics.values()
    return one


def looked() -> Results:
    """Settled early by looks."""
    from dataclasses import replace

    found = results(0.0, 1.5, n=10, seed=7)
    (cell,) = found.metrics.values()
    rng = np.random.default_rng(3)
    scores = {f"s{i}": rng.normal(50 + 1.5 * i, 0.1, (10, 80)) for i in (0, 1)}
    record = replitune.test(scores, methods=["crossed"]).looks([3, 5, 10])
    return replace(found, metrics={"points": replace(cell, tests=tuple(settle(cell.tests, record)))})


SINGLE = {"n": 1, "methods": ["crossed:scope=segments"]}
SITUATIONS: dict[str, Callable[[], Results]] = {
    "one run each": lambda: results(0.0, 1.0, **SINGLE),
    "two runs each": lambda: results(0.0, 1.0, n=2, rep=0.3),
    "three runs each": lambda: results(0.0, 1.0, n=3),
    "ten runs each": lambda: results(0.0, 1.0, n=10, seed=7),
    "better by less than the margin": lambda: results(0.0, 0.4, n=10, seed=7, margin={"points": 1.0}),
    "the same within a margin": lambda: results(0.0, 0.02, rep=0.05, noise=0.1, margin={"points": 0.5}),
    "identical runs": lambda: results(0.0, 1.0, copies=True),
    "one odd run": lambda: results(0.0, 1.0, n=8, odd=-3.0),
    "lower is better": lambda: results(1.0, 0.0, lower=True),
    "samples that are whole runs": lambda: results(0.0, 1.0, rep=0.5, design="samples"),
    "a suite of test sets": lambda: results(0.0, 1.0, testsets=3),
    "many pairs": lambda: results(0.0, 0.1, 0.5, 1.0, 1.2, 2.0),
    "many systems, one run each": lambda: results(0.0, 0.1, 0.5, 1.0, **SINGLE),
    "adaptive replication": looked,
}


def table() -> str:
    """Of what each situation says, as docs/reading-the-report.md has it."""
    rows = ["| situation | state | colour | what is said |", "|---|---|---|---|"]
    for name, make in SITUATIONS.items():
        found = make()
        (cell,) = found.metrics.values()
        states = " ".join(dict.fromkeys(answer.state for answer in cell.answers))
        (headline,) = found.summary.headlines
        grave = " ".join(f"! {caveat.sentence}" for caveat in found.summary.grave)
        rows.append(f"| {name} | {states} | {headline.tone} | {headline.sentence} {grave}".rstrip() + " |")
    return "\n".join(rows) + "\n"
