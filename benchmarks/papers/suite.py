"""Test the three years of fu2016's test set as a suite: one verdict of `crossed` over test sets.

    python suite.py RESULTS      # results/fu2016

Segment statistics are taken from its store, so nothing is decoded again. Writes suite.csv: for each
metric and pair, p for each year, for the suite, and for the joined test set.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from shared import SEED, write

from replitune.corpus.testset import read_prepared
from replitune.significance.base import TestResult
from replitune.significance.run import TestSetScores, run_tests
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.store import read_stores
from replitune.statistics.systems import SystemStatistics

JOINED = "flickr"


def years(results: Path, store: SegmentStatistics) -> dict[str, TestSetScores]:
    """The joined test set, split into its parts."""
    parts = np.array(read_prepared(results / "corpus" / f"{JOINED}.jsonl").parts)
    cut = {}
    for name in dict.fromkeys(parts.tolist()):
        own = np.flatnonzero(parts == name)
        systems = {
            s.name: SystemStatistics(s.name, s.replicas, s.groups, s.statistics[:, own])
            for s in store.systems.values()
        }
        cut[name] = TestSetScores({"": (store.metric, systems)}, np.arange(len(own), dtype=np.int32))
    return cut


def crossed(name: str, *testsets: TestSetScores) -> list[TestResult]:
    """Results of `crossed` on these test sets together, with equal weights."""
    weights = [1 / len(testsets)] * len(testsets)
    return run_tests(testsets, weights, testset=name, seed=SEED, methods=["crossed"], correction="none")[""]


def main(results: Path) -> None:
    rows: list[dict[str, Any]] = []
    for store in read_stores(results / "stats" / JOINED):
        cut = years(results, store)
        found = {name: crossed(name, scores) for name, scores in cut.items()}
        found["suite"] = crossed("years", *cut.values())
        joined = TestSetScores({"": (store.metric, store.systems)}, store.documents)
        found["joined"] = crossed(JOINED, joined)
        for same in zip(*found.values(), strict=True):
            row: dict[str, Any] = {"metric": store.metric.name, "a": same[0].a, "b": same[0].b}
            for column, result in zip(found, same, strict=True):
                assert (result.a, result.b) == (row["a"], row["b"])
                row |= {f"delta {column}": result.delta, f"p {column}": result.p}
            rows.append(row)
    write("suite", rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
