"""The level of Clark et al.'s test where there is no difference: equation (6) of the paper."""

from __future__ import annotations

import math
from statistics import NormalDist

import pandas as pd
from paper.type_i_error.sources import Sources, study, where

OUTPUTS = 2.0
"""Of the mean cells: E / D is this / n, since single outputs vary as much as segments do (sd 1)."""


def level(n: float, ratio: float, segments: int, null: str, alpha: float = 0.05) -> float:
    """With n runs a side, R / D = ratio, on the next test set or on this one."""
    D, E, R = 1.0, OUTPUTS / n, ratio
    kept = D / (2 * n - 1) + E + R / segments
    whole = (D if null == "next" else 0.0) + E + R
    normal = NormalDist()
    return 2 * normal.cdf(normal.inv_cdf(alpha / 2) * math.sqrt(kept / whole))


def cells(sources: Sources) -> pd.DataFrame:
    """Simulated cells of the law's model: `found`, `law`, and their distance in binomial sd."""
    at = where(sources.plain, metric="mean", noise="equal", shift=0, method="clark")
    at = at[at["n_a"] == at["n_b"]]
    usual = study().SEGMENTS["mean"]
    law = [level(row.n_a, row.ratio, int(row.segments) or usual, row.null) for row in at.itertuples()]
    found = at.assign(law=law, found=at["rate 0.05"])
    sd = (found["law"] * (1 - found["law"]) / found["trials"]) ** 0.5
    return found.assign(distance=(found["found"] - found["law"]).abs() / sd)
