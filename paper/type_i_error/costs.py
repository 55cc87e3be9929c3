"""CPU time of runs, and the differences that they detect."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
from paper.type_i_error.sources import COSTS, DETECTABLE, Sources, where

SIZES = (3, 5, 10, 20)
STUDIES = ["calibrate", "replication"]


@dataclass(frozen=True)
class Cost:
    """CPU seconds of an experiment, by stage."""

    stages: pd.DataFrame

    def of(self, stage: str, column: str = "cpu_seconds") -> float:
        return float(self.stages.loc[stage, column])

    def share(self, *stages: str) -> float:
        """Of what the experiment takes without its studies of tests."""
        studies = self.stages["cpu_seconds"].reindex(STUDIES).sum()
        return sum(map(self.of, stages)) / (self.of("all") - studies)

    def system(self, n: int) -> float:
        """Training once; tuning, and decoding of dev and test set, n times."""
        runs = self.of("tune", "jobs")
        return self.of("train", "mean") + n * (self.of("tune") + self.of("decode")) / runs


def cost(sources: Sources, experiment: str) -> Cost:
    return Cost(sources.csv(COSTS[experiment]).set_index("stage"))


def pair(sources: Sources, name: str) -> pd.DataFrame:
    """BLEU plans of the first pair."""
    plans = where(sources.csv(DETECTABLE[name]), metric="bleu")
    first = plans.iloc[0]
    return where(plans, a=first["a"], b=first["b"])


def detectable(sources: Sources, name: str) -> dict[int, float]:
    """By runs of each system, on the segments at hand: what has a power of .8."""
    plans = pair(sources, name)
    segments = int(plans["segments"].iloc[0])
    at = where(plans, segments=segments, tuners=1)
    at = at[(at["n_a"] == at["n_b"]) & at["asked"].isna()]
    found = {int(row.n_a): float(row.detectable) for row in at.itertuples()}
    return {n: found[n] for n in SIZES}
