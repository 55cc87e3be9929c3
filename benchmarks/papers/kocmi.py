"""Kocmi, Zouhar, Federmann and Post (2024), Navigating the metrics maze: which differences people
notice, and which are significant, on the 56 pairs of graham2016.

    pip install '.[notice]'
    PYTHONPATH=src python benchmarks/papers/kocmi.py RESULTS      # RESULTS: results/graham2016

Written before the run. BLEU and chrF with one reference, for which mt-thresholds has thresholds; p is
that of `riezler` on the whole test set; people are experts (MQM: the sign of the difference of means, and
its paired permutation test). Questions: of the pairs whose difference people should notice with
probability x, how many are significant (p <= .05), and in how many do the experts rank the systems as the
metric does (the package predicts the mean of its accuracies)? What is the smallest difference above which
every pair is significant, and at which difference do half of the pairs become significant?
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mt_thresholds
import numpy as np
from scipy import stats
from shared import write

import replitune
from replitune.meta.human_tests import clopper_pearson
from replitune.meta.rows import MetaRow
from replitune.results.rows import read_rows

METRICS = ("bleu", "chrf")
TESTSETS = ("en-de", "zh-en")
BANDS = ((0.0, 60.0), (60.0, 70.0), (70.0, 80.0), (80.0, 100.0))
"""Ranges of the percentage of people who notice."""


def pairs(folder: Path) -> list[dict[str, Any]]:
    frame = replitune.read(folder).to_frame()
    frame = frame[(frame["method"] == "riezler") & frame["metric"].isin(METRICS)]
    experts = {
        (testset, row.a, row.b): row
        for testset in TESTSETS
        for row in read_rows(folder / "studies" / "meta" / f"{testset}.parquet", MetaRow)
        if (row.study, row.method) == ("pair", "permutation")
    }
    found = []
    for row in frame[frame["testset"].isin(TESTSETS)].to_dict("records"):
        key = row["testset"], row["a"], row["b"]
        turn = 1 if key in experts else -1
        human = experts[key if turn == 1 else (row["testset"], row["b"], row["a"])]
        assert human.value is not None
        said = mt_thresholds.accuracy(abs(row["delta"]), row["metric"])
        found.append(
            {
                "testset": row["testset"],
                "metric": row["metric"],
                "a": row["a"],
                "b": row["b"],
                "delta": row["delta"],
                "p": row["p"],
                "people": max(50.0, float(said)),
                "experts": turn * human.value,
                "p_experts": human.p,
                "agree": int(turn * human.value * row["delta"] > 0),
            }
        )
    return found


def summary(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = []
    for metric in METRICS:
        of_metric = [row for row in every if row["metric"] == metric]
        for low, high in (*BANDS, (0.0, 100.0)):
            some = [
                row
                for row in of_metric
                if low <= row["people"] < high or (high == 100.0 and low <= row["people"])
            ]
            if not some:
                continue
            agree = sum(row["agree"] for row in some)
            ends = clopper_pearson(agree, len(some))
            at = [mt_thresholds.delta(x / 100, metric) if 50 < x < 100 else np.nan for x in (low, high)]
            rows.append(
                {
                    "metric": metric,
                    "people_from": low,
                    "people_to": high,
                    "delta_from": float(at[0]),
                    "delta_to": float(at[1]),
                    "pairs": len(some),
                    "significant": sum(row["p"] <= 0.05 for row in some),
                    "significant_experts": sum(row["p_experts"] <= 0.05 for row in some),
                    "predicted": float(np.mean([row["people"] for row in some])) / 100,
                    "experts_agree": agree / len(some),
                    "ci_low": ends[0],
                    "ci_high": ends[1],
                }
            )
    return rows


def limits(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By test set, the differences that are significant, and how many people should notice them."""
    rows = []
    for metric in METRICS:
        for testset in TESTSETS:
            some = [r for r in every if (r["metric"], r["testset"]) == (metric, testset)]
            delta = np.array([abs(row["delta"]) for row in some])
            p = np.array([row["p"] for row in some])
            # normal theory: |delta| / z(p) is the standard error of each pair
            known = (p < 0.99) & (p > 2e-4)
            se = float(np.median(delta[known] / stats.norm.isf(p[known] / 2)))
            middle = 1.96 * se
            missed, yes = delta[p > 0.05], delta[p <= 0.05]
            rows.append(
                {
                    "metric": metric,
                    "testset": testset,
                    "pairs": len(some),
                    "significant": int((p <= 0.05).sum()),
                    "smallest_significant": float(yes.min()),
                    "largest_not": float(missed.max()),
                    "typical": middle,
                    "people_at_typical": max(50.0, mt_thresholds.accuracy(middle, metric)),
                    "delta_of_80": mt_thresholds.delta(0.8, metric),
                }
            )
    return rows


def main() -> None:
    every = pairs(Path(sys.argv[1]))
    write("kocmi-pairs", every)
    write("kocmi", summary(every))
    write("kocmi-limits", limits(every))


if __name__ == "__main__":
    main()
