"""What the tables of graham2016 leave out: how many pairs people tell apart by each of their tests, and
how often metrics agree with them on the whole test set instead of the judged segments.

    PYTHONPATH=src python benchmarks/papers/experts.py RESULTS    # RESULTS: results/graham2016
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from shared import write

import replitune
from replitune.meta.human_tests import agreement
from replitune.meta.rows import MetaRow
from replitune.results.rows import read_rows

ALPHAS = (0.05, 0.01, 0.001)
HUMAN_TESTS = ("rank-sum", "signed-rank", "permutation")
LOWER = ("ter",)
"""Metrics for which lower is better."""


def main() -> None:
    folder = Path(sys.argv[1])
    frame = replitune.read(folder).to_frame()
    rows: list[dict[str, Any]] = []
    for file in sorted((folder / "studies" / "meta").glob("*.parquet")):
        pairs = [row for row in read_rows(file, MetaRow) if row.study == "pair"]
        whole = frame[frame["testset"] == file.stem]
        for test in HUMAN_TESTS:
            people = {(row.a, row.b): row for row in pairs if row.method == test}
            for alpha in ALPHAS:
                outcomes = {pair: _outcome(row, alpha) for pair, row in people.items()}
                said = {"testset": file.stem, "human_test": test, "alpha": alpha}
                found = sum(outcome != 0 for outcome in outcomes.values())
                rows.append({**said, "metric": "", "method": "", "agree": found, "pairs": len(people)})
                for (metric, method), cell in whole.groupby(["metric", "method"]):
                    theirs, ours = [], []
                    for row in cell.to_dict("records"):
                        sign = (row["delta"] > 0) - (row["delta"] < 0)
                        sign = -sign if metric.split(":")[0] in LOWER else sign
                        ours.append(sign if row["p"] <= alpha else 0)
                        pair = row["a"], row["b"]
                        turned = pair not in outcomes
                        theirs.append(-outcomes[pair[::-1]] if turned else outcomes[pair])
                    agreed = agreement(theirs, ours)
                    rows.append(
                        {
                            **said,
                            "metric": metric,
                            "method": method,
                            "agree": agreed.agree,
                            "pairs": agreed.pairs,
                        }
                    )
    write("experts", rows)


def _outcome(row: MetaRow, alpha: float) -> int:
    """1 if b is better, -1 if a is, 0 for neither. The row has the outcome at the first level, .05."""
    assert row.p is not None
    return row.outcome or 0 if row.p <= alpha else 0


if __name__ == "__main__":
    main()
