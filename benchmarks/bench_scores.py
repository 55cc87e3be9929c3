"""Measure comparisons of tables of scores, ours and by evalstats and evalsig; prints Markdown.

    python benchmarks/bench_scores.py [--peers PYTHON] [--segments 1000 20000] [--large]

CPU seconds (user + system) of a whole command on the same CSV: two systems, five runs. They differ in
what they say about runs: docs/evidence.md. PYTHON is that of an environment with evalstats and evalsig;
without it they are left out, with a note. `--large` adds a million segments of ten runs of two systems,
as Parquet and as JSON lines, for ours only.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

RUNS = 5
OURS = [sys.executable, "-m", "replitune", "compare", "--threads", "1", "--scores"]
FAST = ["--methods", "crossed", "--intervals"]

EVALSTATS = """
import sys, warnings
warnings.simplefilter("ignore")
import pandas as pd, evalstats as es
es.compare(es.load_from(pd.read_csv(sys.argv[1])), factors="model").to_dict()
"""
EVALSIG = """
import sys
import pandas as pd
from evalsig.compare import compare
from evalsig.types import ItemResult, RunFrame
table = pd.read_csv(sys.argv[1])
frames = [
    RunFrame(name, name, "t", "m", [
        ItemResult(str(i), s, epoch=int(r)) for r, i, s in zip(own.run, own.item, own.score)
    ])
    for name, own in table.groupby("model")
]
compare(*frames)
"""


def seconds(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds, and the most memory in GB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, after.ru_maxrss / 1e6


def table(segments: int, runs: int) -> pa.Table:
    rng = np.random.default_rng(1)
    effect = rng.normal(0.7, 0.1, segments)
    scores = np.concatenate([effect + rng.normal(0, 0.05, segments) for _ in range(2 * runs)]).round(4)
    return pa.table(
        {
            "model": np.repeat(["a", "b"], runs * segments),
            "run": np.tile(np.repeat(np.arange(runs), segments), 2),
            "item": np.tile(np.arange(segments), 2 * runs),
            "score": scores,
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=os.environ.get("EVAL_PEERS", ""))
    parser.add_argument("--segments", type=int, nargs="+", default=[1000, 20_000])
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if not options.peers:
        print("evalstats and evalsig are not here (`--peers PYTHON`), left out\n")
    print("| segments x runs x systems | program | CPU-s |\n|---|---|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for segments in options.segments:
            path = str(Path(folder) / f"{segments}.csv")
            pyarrow.csv.write_csv(table(segments, RUNS), path)
            size = f"{segments:,} x {RUNS} x 2"
            rows = [
                ("replitune, `--methods crossed --intervals`", [*OURS, path, *FAST]),
                ("replitune, all of its defaults", [*OURS, path]),
            ]
            if options.peers:
                rows += [
                    ("evalstats", [options.peers, "-c", EVALSTATS, path]),
                    ("evalsig", [options.peers, "-c", EVALSIG, path]),
                ]
            for name, command in rows:
                print(f"| {size} | {name} | {min(seconds(command)[0] for _ in range(2)):.1f} |")
        if options.large:
            large(Path(folder))


def large(folder: Path) -> None:
    """Print rows for a million segments."""
    whole = table(1_000_000, 10)
    pq.write_table(whole, folder / "large.parquet")
    with open(folder / "large.jsonl", "w", encoding="utf-8") as handle:
        for batch in whole.to_batches(100_000):
            columns = [column.to_pylist() for column in batch.columns]
            handle.writelines(
                f'{{"model": "{m}", "run": {r}, "item": {i}, "score": {s}}}\n'
                for m, r, i, s in zip(*columns, strict=True)
            )
    for kind in ("parquet", "jsonl"):
        used, memory = seconds([*OURS, str(folder / f"large.{kind}"), *FAST])
        print(f"| 1,000,000 x 10 x 2, {kind} | replitune | {used:.1f} ({memory:.1f} GB) |")


if __name__ == "__main__":
    main()
