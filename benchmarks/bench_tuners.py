"""Measure CPU time and quality of the tuners on one n-best file; prints a Markdown table.

  python benchmarks/bench_tuners.py NBEST REFS INIT [--seeds 5] [--threads 1]

NBEST is in Moses' format, REFS its references (tokenised), INIT the start weights (.json or .ini).
CPU seconds (user and system) of one thread, with compiled code cached: everything runs once before it
is timed. Reading is timed separately. BLEU is that of what each weight vector chooses from the full
lists, case-sensitive, without tokenising. With more threads, compare wall seconds with CPU seconds only
on a quiet machine. The memory of a large pool is measured in a separate process.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from functools import partial

import numpy as np
from measuring import timed

from replitune.metrics.bleu import Bleu
from replitune.running.files import read_lines
from replitune.streams import stream
from replitune.tuning.from_files import read_pool
from replitune.tuning.interface import Tuner
from replitune.tuning.mert import Mert
from replitune.tuning.mira import Mira
from replitune.tuning.objective import Objective
from replitune.tuning.pool import Pool
from replitune.tuning.pro import Pro
from replitune.tuning.weights import read_weights

WORK: dict[str, tuple[Tuner, str]] = {
    "MERT, 1 + 20 starts, all to convergence": (Mert(survivors=1.0), "90.7 s, 27.10"),
    "MERT, 1 + 20 starts, 70% go on (default of --nbest)": (Mert(survivors=0.7), "90.7 s, 27.10"),
    "MERT, 1 + 20 starts, 30% go on (default of --model)": (Mert(), "90.7 s, 27.10"),
    "MERT, 1 + 20 starts, Och's algorithm": (Mert(averaging=(), survivors=0.7), "90.7 s, 27.10"),
    "batch MIRA, 60 epochs": (Mira(), "2.5 s, 26.07"),
    "PRO, 5,000 samples, 50 kept (default)": (Pro(), "0.95 s, 26.23"),
    "PRO, the paper's, new weights alone": (Pro(interpolation=1.0, smooth_brevity=0.0), "0.95 s, 26.23"),
}
"""Name, tuner, and the time and BLEU of Moses' tools on an n-best file of 1,000 x 200."""


GROW = """
import resource
import numpy as np
from replitune.tuning.pool import Pool
rng = np.random.default_rng(0)
pool = Pool.empty(1000, 14, 10)
segments = np.repeat(np.arange(1000), 200)
for _ in range(10):
    features = rng.standard_normal((200_000, 14))
    pool = pool.absorb(segments, features, rng.integers(0, 30, (200_000, 10), dtype=np.int32))
arrays = (pool.features.nbytes + pool.statistics.nbytes) / 1e6
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{len(pool):,} hypotheses x 14 features: {arrays:.0f} MB of arrays, process {peak:.0f} MB")
"""
"""Builds a pool of 1,000 x 2,000 hypotheses from ten parts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("nbest")
    parser.add_argument("refs")
    parser.add_argument("init")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()

    references = [read_lines(options.refs)]
    objective = Objective(Bleu(tokenize="none"))
    read_pool([options.nbest], references, objective)  # compiles
    (pool, layout, lines), reading, _ = timed(lambda: read_pool([options.nbest], references, objective))
    start = layout.to_vector(read_weights(options.init))
    for tuner, _ in WORK.values():
        tuner.tune(_part(pool, 20), objective, start, np.random.default_rng(0))

    print(f"{lines:,} hypotheses of {pool.n_segments:,} segments, {len(pool):,} different;")
    print(f"{pool.n_features} features; BLEU of the start {objective.score(pool, start):.2f}\n")
    threads = options.threads
    if threads > 1:
        print(f"{threads} threads, load {os.getloadavg()[0]:.1f} at the start\n")
    print("| work | CPU s, median (worst) | wall s | BLEU, median (min, max) | Moses |")
    print("|---|---|---|---|---|")
    print(f"| reading, BLEU statistics and pooling | {reading:.2f} | | | 2.3 s, statistics only |")
    for name, (tuner, moses) in WORK.items():
        seconds, walls, scores = [], [], []
        for seed in range(options.seeds):
            rng = stream(seed, "bench", tuner.name)
            result, cpu, wall = timed(partial(tuner.tune, pool, objective, start, rng, options.threads))
            seconds.append(cpu)
            walls.append(wall)
            scores.append(result.score)
        print(
            f"| {name} | {statistics.median(seconds):.2f} ({max(seconds):.2f}) "
            f"| {statistics.median(walls):.2f} "
            f"| {statistics.median(scores):.2f} ({min(scores):.2f}, {max(scores):.2f}) | {moses} |"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory {peak:.0f} MB. {options.seeds} seeds. Moses: mert, kbmira, pro.")
    grown = subprocess.run([sys.executable, "-c", GROW], check=True, capture_output=True, text=True)
    print(grown.stdout.strip())


def _part(pool: Pool, segments: int) -> Pool:
    return pool.select(np.arange(min(segments, pool.n_segments)))


if __name__ == "__main__":
    main()
