"""Power of `crossed` and of `crossed: {noise_ratio: 3}`: one pair, and families of 3, 5 and 10 systems.

    PYTHONPATH=src nice python benchmarks/calibration/power_families.py power_families.csv

Whole data of 200 segments through the library. All systems' runs vary alike, V_rep/V_seg of a pair is 1 or
10, n = 3, 5, 10 runs of each, and the first system is three standard errors of a pair better than the
others. Counted is the share of its pairs in which it is found better at .05: `alone`, by the pair's own
p; `family`, by the p that is adjusted for all pairs (max-t). Trials: 1,000 of a pair, 400 of three
systems, 200 of five, 60 of ten; families with V_rep/V_seg 1 alone.
"""

from __future__ import annotations

import csv
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
from independent import system

from replitune.metrics.base import MeanMetric
from replitune.running.files import atomic_open
from replitune.significance.run import TestSetScores, run_tests
from replitune.streams import stream

SEED, SEGMENTS, SHIFT, NOISE, ALPHA = 2011, 200, 3.0, 0.3, 0.05
TRIALS = {2: 1_000, 3: 400, 5: 200, 10: 60}
METHODS = ["crossed", {"name": "crossed", "id": "noise_ratio", "noise_ratio": 3.0}]


def found(S: int, n: int, ratio: float) -> dict[str, float]:
    rng = stream(SEED, "power of families", S, n, ratio)
    yes = {f"{id}, {what}": 0 for id in ("crossed", "noise_ratio") for what in ("alone", "family")}
    V_seg = 1 / SEGMENTS  # of two systems whose segments have a deviation of sqrt(1/2) each
    run_sd = np.sqrt(ratio * V_seg * n / 2)
    shift = SHIFT * np.sqrt((1 + ratio) * V_seg + 2 * NOISE**2 / (n * SEGMENTS))
    for _ in range(TRIALS[S]):
        segments = rng.standard_normal(SEGMENTS)
        systems = {}
        for s in range(S):
            own = segments + np.sqrt(0.5) * rng.standard_normal(SEGMENTS)
            x = own + run_sd * rng.standard_normal((n, 1)) + NOISE * rng.standard_normal((n, SEGMENTS))
            systems[f"s{s}"] = system(f"s{s}", x + shift * (s == 0))
        rows = run_tests(
            [TestSetScores({"mean": (MeanMetric(), systems)}, np.arange(SEGMENTS, dtype=np.int32))],
            testset="made up",
            seed=SEED,
            methods=METHODS,
            pairs="all",
        )["mean"]
        for row in rows:
            better = "s0" in (row.a, row.b) and row.delta * (1 if row.b == "s0" else -1) > 0
            for what, p in (("alone", row.p), ("family", row.p_adjusted)):
                yes[f"{row.method}, {what}"] += bool(better and p is not None and p <= ALPHA)
    return {name: count / (TRIALS[S] * (S - 1)) for name, count in yes.items()}


def main() -> None:
    started = time.process_time()
    rows = []
    for S, n, ratio in product(TRIALS, (3, 5, 10), (1.0, 10.0)):
        if S > 2 and ratio > 1:
            continue
        shares = {name: f"{share:.4f}" for name, share in found(S, n, ratio).items()}
        rows.append({"systems": S, "n": n, "ratio": ratio, "trials": TRIALS[S], **shares})
        print(rows[-1], f"{time.process_time() - started:.0f} CPU-s", flush=True)
    with atomic_open(Path(sys.argv[1])) as handle:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
