"""Test real runs against runs of the same system, and compare predictions with runs left out.

    REPLITUNE_DATA=DIR PYTHONPATH=src nice python benchmarks/calibration/halves.py halves.csv next.csv

DIR has multi30k/, multi30k-replicas/ (two phrase-based systems, 12 and 16 MERT runs) and flores-seeds/
(six neural systems, 5 seeds); the metric is BLEU.

**Halves.** Splits of a system's runs into two halves, 6 v 6, 8 v 8 or 2 v 3, between which there is no
difference, whatever a test says. Every split of the seeds (10 for each system); for dl2 (462 splits) and
dl6 (6,435), evenly spaced ones: 462 for tests with a closed form and 100 for those that resample; with
--every, all. Splits share their runs, so counts are given without intervals.

**Next runs.** 300 times, some runs are left out at random, and segments are dealt to two test sets.
`crossed` on the rest (3 of 5 seeds of all six systems together, which some ways of predicting use; 3 and 5
of dl2 and of dl6) predicts the next run on this test set (`superior`) and on a new one (`superior_new`).
This is compared with the share of pairs of left-out runs in which B was ahead there. Rows are by predicted
probability, for the side that was favoured.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from replicas import METHODS, read

from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.running.files import atomic_open, read_lines
from replitune.significance.base import Comparison
from replitune.significance.run import TestSetScores, run_tests
from replitune.significance.studies.calibrate import registered, take
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

SEED, DRAWS, SAMPLES = 2011, 300, 199
MOST = {"closed": 462, "resampled": 100}
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
CLOSED = [
    "crossed",
    {"name": "crossed", "id": "crossed-runs", "scope": "runs"},
    {"name": "crossed", "id": "crossed-segments", "scope": "segments"},
    {"name": "crossed", "id": "crossed-noise-ratio", "noise_ratio": 3.0},
]

Systems = Mapping[str, SystemStatistics]


def read_seeds(folder: Path) -> tuple[Metric, dict[str, SystemStatistics]]:
    metric = Bleu()
    own = folder / "flores-seeds" / "ne-en"
    refs = [read_lines(own / "reference.en.gz")]
    files = defaultdict(list)
    for file in sorted(own.glob("*.seed-*.gz")):
        files[file.name.split(".")[0]].append(file)
    systems = {}
    for name, of in files.items():
        z = np.stack([metric.statistics(read_lines(file), refs) for file in of])
        ids = tuple(file.name.split(".")[1] for file in of)
        systems[name] = SystemStatistics(name, ids, (None,) * len(ids), z)
    return metric, systems


def splits(n: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Every pair of halves; for an odd number, the smaller half comes first."""
    for chosen in combinations(range(n), n // 2):
        if n % 2 == 0 and 0 not in chosen:
            continue
        yield np.array(chosen), np.setdiff1d(np.arange(n), chosen)


def halves(metric: Metric, system: SystemStatistics, whole: bool) -> Iterator[dict[str, object]]:
    documents = np.arange(system.segments, dtype=np.int32)
    every = list(splits(system.n))
    resampling = [m for m in METHODS if isinstance(m, str) and m != "crossed"]
    resampling.append(
        {"name": "riezler", "id": "riezler-one-run", "replica_a": "run-001", "replica_b": "run-001"}
    )
    for methods, most in zip((CLOSED, resampling), MOST.values(), strict=True):
        step = 1 if whole else -(-len(every) // most)
        for id, test in registered(methods, SAMPLES).items():
            rng = stream(SEED, "halves", system.name, id)
            start = time.process_time()
            p = [
                test(Comparison(metric, take(system, x, "a"), take(system, y, "b"), documents), rng)
                for x, y in every[::step]
            ]
            known = np.array([np.nan if one is None else one for one in p])
            row = {
                "system": system.name,
                "n_a": system.n // 2,
                "n_b": system.n - system.n // 2,
                "method": id,
            }
            row |= {"splits": len(p), "without p": int(np.isnan(known).sum())}
            row |= {f"at {alpha}": int((known <= alpha).sum()) for alpha in (0.05, 0.01)}
            print(row, f"{time.process_time() - start:.1f} CPU-s", flush=True)
            yield row


def on(system: SystemStatistics, runs: NDArray[np.intp], segments: NDArray[np.intp]) -> SystemStatistics:
    ids = tuple(f"run-{k + 1:03d}" for k in range(len(runs)))
    z = np.ascontiguousarray(system.statistics[runs][:, segments])
    return SystemStatistics(system.name, ids, (None,) * len(ids), z)


def share_won(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """The share of pairs of runs in which B is ahead; ties count as half."""
    gain = b[:, np.newaxis] - a
    return float(((gain > 0).sum() + 0.5 * (gain == 0).sum()) / gain.size)


def next_runs(metric: Metric, systems: Systems, n: int, title: str) -> Iterator[dict[str, object]]:
    rng = stream(SEED, "next runs", title, n)
    N = next(iter(systems.values())).segments
    said: dict[str, list[tuple[float, float]]] = {"superior": [], "superior_new": []}
    for _ in range(DRAWS):
        order = rng.permutation(N)
        here, there = np.sort(order[: N // 2]), np.sort(order[N // 2 :])
        seen, left = {}, {}
        for name, system in systems.items():
            runs = rng.permutation(system.n)
            seen[name] = on(system, runs[:n], here)
            left[name] = (on(system, runs[n:], here), on(system, runs[n:], there))
        documents = np.arange(len(here), dtype=np.int32)
        rows = run_tests(
            [TestSetScores({"bleu": (metric, seen)}, documents)],
            testset="half",
            seed=SEED,
            methods=["crossed"],
            correction="none",
        )["bleu"]
        for row in rows:
            for place, column in enumerate(said):
                scores = [metric.score(left[name][place].sums) for name in (row.a, row.b)]
                won = share_won(*scores)
                said[column].append((row.details[column], won))
    for column, of in said.items():
        p, won = np.array(of).T
        favoured, came = np.maximum(p, 1 - p), np.where(p >= 0.5, won, 1 - won)
        place = np.clip(np.searchsorted(BINS, favoured, side="right") - 1, 0, len(BINS) - 2)
        for k in range(len(BINS) - 1):
            own = place == k
            if own.any():
                yield {
                    "runs": title,
                    "n": n,
                    "column": column,
                    "said from": BINS[k],
                    "to": BINS[k + 1],
                    "predictions": int(own.sum()),
                    "mean said": round(float(favoured[own].mean()), 4),
                    "came": round(float(came[own].mean()), 4),
                }


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with atomic_open(path) as handle:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("halves", type=Path)
    parser.add_argument("next", type=Path)
    parser.add_argument("--next-only", action="store_true")
    parser.add_argument("--every", action="store_true", help="every split")
    options = parser.parse_args()
    folder = Path(os.environ["REPLITUNE_DATA"])
    bleu, tuned = read(folder)
    seeds_bleu, seeds = read_seeds(folder)
    start = time.process_time()
    rows = [*next_runs(seeds_bleu, seeds, 3, "seeds")]
    for n in (3, 5):
        rows += next_runs(bleu, tuned, n, "dl2, dl6")
    write(options.next, rows)
    for row in rows:
        print(row)
    print(f"next runs: {time.process_time() - start:.0f} CPU-s", flush=True)
    if not options.next_only:
        found = [row for system in seeds.values() for row in halves(seeds_bleu, system, True)]
        found += [row for system in reversed(tuned.values()) for row in halves(bleu, system, options.every)]
        write(options.halves, found)
        print(f"all: {time.process_time() - start:.0f} CPU-s")


if __name__ == "__main__":
    main()
