"""Hagmann, Meier and Riezler (2023), Towards inferential reproducibility: their mixed model on their
data, the same with runs as a random effect, and `crossed`.

    PYTHONPATH=src python benchmarks/papers/hagmann.py DIR        # DIR/hagmann2023/ter.csv.gz

TER of 1,041 sentences by Baseline (1 run), Marking (3) and PostEdit (3); lower is better. The paper's
model is ter ~ system + (1 | sentence), with Tukey's contrasts of three systems.
"""

from __future__ import annotations

import csv
import gzip
import math
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from shared import write

from replitune.metrics.base import MeanMetric
from replitune.significance.base import Comparison
from replitune.significance.interface import Context
from replitune.significance.tests.crossed import Crossed
from replitune.significance.tests.lmem import Lmem, likelihood_ratio, reml, sums_of_squares
from replitune.statistics.systems import SystemStatistics

PAPER = {
    ("chi2", ""): "34.09",
    ("p of chi2", ""): "3.96e-08",
    ("difference", "Marking - PostEdit"): "-.003 [-.006, .001]",
    ("p (Tukey)", "Marking - PostEdit"): ".163",
}


def scores(file: Path) -> dict[str, NDArray[np.float64]]:
    """TER (n, 1041) of each system."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    place = {name: i for i, name in enumerate(dict.fromkeys(r["sentence_id"] for r in rows))}
    runs = {"Baseline": 1, "Marking": 3, "PostEdit": 3}
    found = {name: np.full((n, len(place)), np.nan) for name, n in runs.items()}
    for row in rows:
        at = int(row["replication"]) - 1, place[row["sentence_id"]]
        found[row["system"]][at] = float(row["ter"])
    assert not any(np.isnan(x).any() for x in found.values())
    return found


def comparison(ter: dict[str, NDArray[np.float64]], a: str, b: str) -> Comparison:
    def system(name: str) -> SystemStatistics:
        x = ter[name]
        cells = np.stack([x, np.ones_like(x)], axis=-1)
        return SystemStatistics(
            name, tuple(f"run-{i}" for i in range(len(x))), (None,) * len(x), np.ascontiguousarray(cells)
        )

    documents = np.arange(ter[a].shape[1], dtype=np.int32)
    return Comparison(MeanMetric(higher_is_better=False), system(a), system(b), documents)


def main() -> None:
    ter = scores(Path(sys.argv[1]) / "hagmann2023" / "ter.csv.gz")
    names = list(ter)
    means = [x.mean(axis=1) for x in ter.values()]
    table = sums_of_squares(means, [x - x.mean(axis=1, keepdims=True) for x in ter.values()])
    rows: list[dict[str, str]] = []

    def say(what: str, of: str, ours: str, model: str) -> None:
        paper = PAPER.get((what, of), "") if model == PLAIN else ""
        rows.append({"what": what, "of": of, "model": model, "paper": paper, "ours": ours})

    chi2, p = likelihood_ratio(table)
    say("chi2", "", f"{chi2:.2f}", PLAIN)
    say("p of chi2", "", f"{p:.3g}", PLAIN)
    for runs, model in ((False, PLAIN), (True, RUNS)):
        fit = reml(table, runs=runs)
        for i, j in combinations(range(len(names)), 2):
            of = f"{names[i]} - {names[j]}"
            delta, se = fit.table.means[i] - fit.table.means[j], fit.se(i, j)
            reach = stats.studentized_range.ppf(0.95, 3, fit.df) / math.sqrt(2) * se
            p = stats.studentized_range.sf(math.sqrt(2) * abs(delta) / se, 3, fit.df)
            say("difference", of, f"{delta:.4f} [{delta - reach:.4f}, {delta + reach:.4f}]", model)
            say("p (Tukey)", of, f"{p:.3g}", model)
    pair = comparison(ter, "Marking", "PostEdit")
    for model, found in (
        ("lmem, runs=false, two systems", Lmem(runs=False).run(Context([pair]))),
        ("lmem, two systems", Lmem().run(Context([pair]))),
        ("crossed", Crossed().run(Context([pair]))),
    ):
        # delta is PostEdit - Marking
        ends = f"{-found.delta:.4f} [{-found.ci_high:.4f}, {-found.ci_low:.4f}]"
        say("difference", "Marking - PostEdit", ends, model)
        say("p", "Marking - PostEdit", f"{found.p:.3g}", model)
    write("hagmann", rows)


PLAIN = "system + (1 | sentence)"
RUNS = "system + (1 | sentence) + (1 | run)"

if __name__ == "__main__":
    main()
