"""A table of scores of two systems, three runs, forty segments; and what can be wrong with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def frame(runs: int = 3, segments: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    effect = rng.normal(0.74, 0.08, segments)
    rows = []
    for s, system in enumerate(["base", "new"]):
        for seed in range(1, runs + 1):
            run = rng.normal(0.02 * s, 0.003)
            noise = rng.normal(0, 0.03, segments)
            rows += [
                (system, seed, i, round(float(effect[i] + run + noise[i]), 5)) for i in range(segments)
            ]
    return pd.DataFrame(rows, columns=["system", "replica", "segment", "score"])


def write(table: pd.DataFrame, path: Path) -> Path:
    """As what its name says."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        table.to_parquet(path)
    elif kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return path
