"""What arithmetic decides, in small: weights by three tuners, and scores, p and intervals of tests.

`python tests/decided.py` prints a line for each, to the last digit: the same on every processor.
"""

from __future__ import annotations

import numpy as np

from replitune.metrics.bleu import Bleu
from replitune.significance.base import SystemStatistics
from replitune.significance.run import TestSetScores, run_tests
from replitune.tuning.mert import Mert
from replitune.tuning.mira import Mira
from replitune.tuning.objective import Objective
from replitune.tuning.pro import Pro
from tuning.conftest import draw

TUNERS = {"mert": Mert(restarts=2), "mira": Mira(), "pro": Pro(samples=200)}
METHODS = ["crossed", "clark", "fu-bootstrap", "lmem", "replica-permutation"]


def main() -> None:
    objective = Objective(Bleu(tokenize="none"))
    pool = draw(1, n_segments=30, most=20, n_features=11, whole=False).pool()
    for name, tuner in TUNERS.items():
        tuned = tuner.tune(pool, objective, np.ones(11) / 11, np.random.default_rng(2))
        print(name, tuned.score, tuned.weights.tolist())
    systems = {}
    for k, name in enumerate("abc"):
        runs = [draw(10 * k + r, 60, 1, 1, whole=True).statistics for r in range(5)]
        replicas = tuple(f"mert-{r:03d}" for r in range(1, 6))
        systems[name] = SystemStatistics(name, replicas, ("mert",) * 5, np.stack(runs))
    testset = TestSetScores({"bleu": (Bleu(), systems)}, np.arange(60, dtype=np.int32) // 3)
    rows = run_tests([testset], testset="t", seed=1, samples=500, methods=METHODS)["bleu"]
    for row in rows:
        print(row.method, row.a, row.b, row.delta, row.p, row.p_adjusted, row.se, row.ci_low, row.details)


if __name__ == "__main__":
    main()
