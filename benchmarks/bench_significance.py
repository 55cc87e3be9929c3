"""Measure what the tests cost, and sacrebleu in the same run; prints Markdown tables.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_significance.py [--data DIR] [--threads N]
                                                                  [--only PART ...]

CPU seconds of this process (all its threads), the best of three runs; compiled kernels are loaded
before the clock starts. DIR holds `multeval-example`; more replicas than it has are made by taking
each segment's output from one of its three runs at random, more segments by repeating them.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measuring import cpu

from replitune.metrics.base import Metric
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines
from replitune.significance.base import Comparison
from replitune.significance.draws import named_draws
from replitune.significance.one_system import summarise
from replitune.significance.registry import TESTS
from replitune.significance.run import TestSetScores, run_tests
from replitune.statistics.systems import SystemStatistics

SPECS = ("bleu:tokenize=none", "nist:tokenize=none", "ter", "chrf")
SAMPLES = 10_000
SOURCES = ("baseline", "sys1", "sys2")


def texts(data: Path) -> tuple[dict[str, list[list[str]]], list[str]]:
    folder = data / "multeval-example"
    runs = {
        name: [read_lines(folder / f"hyps.lc.tok.en.{name}.opt{r}.gz") for r in range(3)]
        for name in SOURCES
    }
    return runs, read_lines(folder / "refs.test2010.lc.tok.en.0.gz")


def replicas(name: str, runs: np.ndarray, n: int, N: int, seed: int) -> SystemStatistics:
    """n replicas of N segments, each segment's output from one of the runs (3, N', K)."""
    rng = np.random.default_rng(seed)
    segment = np.arange(N) % runs.shape[1]
    statistics = np.stack([runs[rng.integers(0, len(runs), N), segment] for _ in range(n)])
    ids = tuple(f"run-{r + 1:03d}" for r in range(n))
    return SystemStatistics(name, ids, (None,) * n, np.ascontiguousarray(statistics))


def tested(
    metric: Metric, a: SystemStatistics, b: SystemStatistics, method: str | dict[str, Any], samples: int
) -> Callable[[], Any]:
    """A function that runs one test of one pair, without reusing earlier draws."""
    given = TestSetScores(
        {metric.id: (metric, {a.name: a, b.name: b})}, np.arange(a.segments, dtype=np.int32)
    )
    return lambda: run_tests([given], testset="t", seed=1, methods=[method], samples=samples)


def sizes(metric: Metric, base: np.ndarray, other: np.ndarray) -> Iterator[str]:
    """The cost of each method at the sizes of published experiments."""
    index = {"name": "clark", "pairing": "index", "id": "clark-index"}
    mean = {"name": "clark", "aggregation": "mean", "id": "clark-mean"}
    yield "| method | 1 v 1 x 2,489 | 20 v 20 x 2,489 | 60 v 60 x 3,064 |"
    yield "|---|---|---|---|"
    pairs = [
        (replicas("a", base, n, N, 1), replicas("b", other, n, N, 2))
        for n, N in ((1, 2489), (20, 2489), (60, 3064))
    ]
    for method in (*TESTS.names, index, mean):
        name = method if isinstance(method, str) else method["id"]
        cells = [f"{cpu(tested(metric, *pair, method, SAMPLES)):.3f}" for pair in pairs]
        yield f"| {name} | " + " | ".join(cells) + " |"


def curves(metric: Metric, base: np.ndarray, other: np.ndarray) -> Iterator[str]:
    """The cost by numbers of segments, replicas or samples, with the other two held fixed."""
    steps: list[tuple[str, list[tuple[int, int, int]]]] = [
        ("segments", [(10, N, 10_000) for N in (1000, 2000, 4000, 8000)]),
        ("replicas", [(n, 2000, 10_000) for n in (10, 20, 40, 80)]),
        ("samples", [(10, 2000, R) for R in (5000, 10_000, 20_000, 40_000)]),
    ]
    methods: list[str | dict[str, Any]] = [
        "clark",
        {"name": "clark", "pairing": "index", "id": "index"},
        "clark-bootstrap",
        "multi-bootstrap",
    ]
    yield "| grows | to | clark, free | clark, index | clark-bootstrap | multi-bootstrap |"
    yield "|---|---|---|---|---|---|"
    for what, points in steps:
        for n, N, R in points:
            a, b = replicas("a", base, n, N, 1), replicas("b", other, n, N, 2)
            cells = [f"{cpu(tested(metric, a, b, method, R), 2):.3f}" for method in methods]
            size = {"segments": N, "replicas": n, "samples": R}[what]
            yield f"| {what} | {size:,} | " + " | ".join(cells) + " |"


def seven_systems(
    metrics: list[Metric], runs: dict[str, list[np.ndarray]]
) -> tuple[dict[str, tuple[Metric, dict[str, SystemStatistics]]], np.ndarray]:
    """Seven systems of 60 replicas and 3,064 segments, by metric; and documents of one segment."""
    given = {}
    for k, metric in enumerate(metrics):
        systems = {f"s{s}": replicas(f"s{s}", runs[SOURCES[s % 3]][k], 60, 3064, s) for s in range(7)}
        given[metric.id] = (metric, systems)
    return given, np.arange(3064, dtype=np.int32)


def everything(metrics: list[Metric], runs: dict[str, list[np.ndarray]], threads: int) -> Iterator[str]:
    """Seven systems of 60 replicas, 3,064 segments, 21 pairs, all metrics and methods."""
    given, documents = seven_systems(metrics, runs)
    start, wall = time.process_time(), time.perf_counter()
    draws = named_draws("t", 1)
    rows = run_tests(
        [TestSetScores(given, documents)],
        testset="t",
        seed=1,
        methods=TESTS.names,
        threads=threads,
        draws=draws,
    )
    tests = sum(len(found) for found in rows.values())
    yield (
        f"21 pairs x {len(metrics)} metrics x {len(TESTS.names)} methods ({tests:,} tests), "
        f"60 v 60 x 3,064, 10,000 samples, {threads} threads: "
        f"{time.process_time() - start:.1f} CPU-s, {time.perf_counter() - wall:.1f} s"
    )
    start = time.process_time()
    for metric, systems in given.values():
        for system in systems.values():
            summarise(metric, system, documents, testset="t", seed=1, draws=draws)
    yield f"summaries of the 7 systems under each metric: {time.process_time() - start:.1f} CPU-s"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"peak memory: {peak:,.0f} MB"


def answers(metrics: list[Metric], runs: dict[str, list[np.ndarray]]) -> Iterator[str]:
    """`crossed` with all that it reports besides p, for seven systems: 21 pairs, corrected together."""
    given, documents = seven_systems(metrics, runs)
    margins = dict.fromkeys(given, 0.5)
    scores = TestSetScores(given, documents)
    seconds = cpu(lambda: run_tests([scores], testset="t", seed=1, methods=["crossed"], margins=margins))
    yield (
        f"crossed, margins, next run, variance table, p without each run, max-t: 21 pairs x "
        f"{len(metrics)} metrics x 60 v 60 x 3,064: {seconds:.2f} CPU-s"
    )


def sacrebleus(hyps: list[str], others: list[str], ref: list[str]) -> Iterator[str]:
    """The peer, without its start-up."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    yield "| sacrebleu, BLEU, 10,000 samples | CPU-s |"
    yield "|---|---|"
    for kind in ("ar", "bs"):
        seconds = cpu(
            lambda kind=kind: PairedTest(  # type: ignore[misc]
                [("a", hyps), ("b", others)],
                {"BLEU": BLEU(tokenize="none", force=True)},
                references=[ref],
                test_type=kind,
                n_samples=10_000,
            )(),
            1,
        )
        yield f"| --paired-{kind}, statistics included | {seconds:.2f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA", ""))
    parser.add_argument("--threads", type=int, default=2)
    parts = ("sizes", "curves", "answers", "peer", "all")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    options = parser.parse_args()
    if not (Path(options.data) / "multeval-example").is_dir():
        print("no folder multeval-example: name its parent with --data", file=sys.stderr)
        return 2
    outputs, ref = texts(Path(options.data))
    metrics = [get_metric(spec) for spec in SPECS]
    runs = {
        name: [np.stack([metric.statistics(hyps, [ref]) for hyps in outputs[name]]) for metric in metrics]
        for name in SOURCES
    }
    bleu, base, other = metrics[0], runs["baseline"][0], runs["sys1"][0]
    small = Comparison(
        bleu, replicas("a", base, 8, 99, 1), replicas("b", other, 8, 99, 2), np.arange(99, dtype=np.int32)
    )
    for method in TESTS.names:  # load every kernel
        for pair in ((small.a, small.b), (replicas("a", base, 1, 99, 1), small.b)):
            tested(bleu, *pair, method, 100)()
    tables = {
        "sizes": sizes(bleu, base, other),
        "curves": curves(bleu, base, other),
        "answers": answers(metrics, runs),
        "peer": sacrebleus(outputs["baseline"][0], outputs["sys1"][0], ref),
        "all": everything(metrics, runs, options.threads),
    }
    for part in options.only:
        for line in tables[part]:
            print(line, flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
