"""The gate of `design: nested`: samples of prompts, where prompts are the runs.

    PYTHONPATH=src python benchmarks/calibration/nested.py nested.csv

Written down before it was run:

- **Model.** The score of system s on segment i by sample j of prompt k is the sum of effects of the
  segment on both systems (sd 1), the segment on this system (sd .5), the prompt (sd P), the prompt on the
  segment (sd .5), and the sample (sd 1), all normal and independent; both systems are equal in
  expectation. The metric is a mean; p is that of `crossed`, which `compare` reports.
- **Cells.** 3, 5 and 10 prompts for each system, and 3 v 10; 2 and 5 samples of each prompt; 100
  segments; P such that prompts contribute 0, .1, 1 and 10 times as much to the variance of the
  difference as segments. *paired*: both systems have the same prompts, whose effects correlate by .8.
- **Trials.** 2,000 per cell. **Limits.** .055 at .05 and .0155 at .01; a cell fails if the 99%
  interval (Wilson) of its rate lies wholly above the limit.
- **Reported.** The same outputs treated as samples without runs, and as runs (each sample one).
"""

from __future__ import annotations

import csv
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from replitune.metrics.base import MeanMetric
from replitune.significance.base import Comparison
from replitune.significance.interface import Context
from replitune.significance.studies.calibrate import wilson
from replitune.significance.tests.crossed import Crossed
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

SEED, TRIALS, CORRELATION = 2011, 2_000, 0.8
TASTE, ON_SEGMENT, SAMPLE = 0.5, 0.5, 1.0
ALPHAS, LIMITS = (0.05, 0.01), (0.055, 0.0155)
PROMPTS = ((3, 3), (5, 5), (10, 10), (3, 10))
SAMPLES, SEGMENTS, RATIOS = (2, 5), (100,), (0.0, 0.1, 1.0, 10.0)


def outputs(
    prompts: tuple[int, int], samples: int, N: int, sd: float, paired: bool, rng: np.random.Generator
) -> Comparison:
    segment = rng.standard_normal(N)
    common = rng.standard_normal(max(prompts)) * np.sqrt(CORRELATION if paired else 0)
    systems = []
    for name, K in zip("AB", prompts, strict=True):
        effect = common[:K] + rng.standard_normal(K) * np.sqrt(1 - CORRELATION if paired else 1)
        x = segment + TASTE * rng.standard_normal(N) + sd * effect[:, None]
        x = x + ON_SEGMENT * rng.standard_normal((K, N))
        x = x[:, None, :] + SAMPLE * rng.standard_normal((K, samples, N))
        ids = tuple(f"prompt{k:03d}-{j:03d}" for k in range(1, K + 1) for j in range(1, samples + 1))
        groups = tuple(id.partition("-")[0] for id in ids)
        scores = x.reshape(-1, N)
        systems.append(SystemStatistics(name, ids, groups, np.stack([scores, np.ones_like(scores)], -1)))
    return Comparison(MeanMetric(), *systems, np.arange(N, dtype=np.int32))


def cells() -> list[dict[str, Any]]:
    every = product(PROMPTS, SAMPLES, SEGMENTS, RATIOS, (False, True))
    return [
        {"prompts": p, "samples": m, "segments": N, "ratio": r, "paired": paired}
        for p, m, N, r, paired in every
        if not paired or p[0] == p[1]
    ]


def measure(prompts: tuple[int, int], samples: int, segments: int, ratio: float, paired: bool) -> dict:
    of_prompts = (1 / prompts[0] + 1 / prompts[1]) * (1 - CORRELATION if paired else 1)
    sd = float(np.sqrt(ratio * 2 * TASTE**2 / segments / of_prompts))
    rng = stream(SEED, "nested", *prompts, samples, segments, str(ratio), str(paired))
    p = np.ones((3, TRIALS))
    for t in range(TRIALS):
        both = outputs(prompts, samples, segments, sd, paired, rng)
        p[0, t] = Crossed(paired=paired).run(Context([both], design="nested")).p
        if t < TRIALS // 8 and not paired:
            p[1, t] = Crossed(strata="none").run(Context([both], design="samples")).p
            p[2, t] = Crossed(strata="none").run(Context([both])).p
    row = {f"nested {alpha}": float((p[0] <= alpha).mean()) for alpha in ALPHAS}
    if not paired:
        row |= {
            name: float((p[i, : TRIALS // 8] <= 0.05).mean())
            for i, name in ((1, "as samples"), (2, "as runs"))
        }
    return row


def main() -> None:
    rows = []
    for cell in cells():
        rows.append({**cell, "prompts": "{} v {}".format(*cell["prompts"]), **measure(**cell)})
        print(rows[-1], flush=True)
    with open(Path(sys.argv[1]), "w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for alpha, limit in zip(ALPHAS, LIMITS, strict=True):
        rates = [row[f"nested {alpha}"] for row in rows]
        fails = [r for r in rates if wilson(round(r * TRIALS), TRIALS, 0.99)[0] > limit]
        print(
            f"{alpha}: {len(fails)} of {len(rows)} cells fail; "
            f"largest {max(rates)}, mean {np.mean(rates):.4f}"
        )


if __name__ == "__main__":
    main()
