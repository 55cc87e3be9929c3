"""Zmigrod, Vieira and Cotterell (2022), Exact paired-permutation testing for structured test
statistics: exact p by counting sums, compared with sampled exchanges and with enumeration.

    PYTHONPATH=src python benchmarks/papers/zmigrod.py            # simulated data; seconds
    PYTHONPATH=src python benchmarks/papers/zmigrod.py STATS      # also TER of graham2016

STATS is results/graham2016/stats. Cells, fixed before the run: two systems with accuracies .75 and .78
that are right together in most cases, N = 16 (all 65,536 exchanges), 100, 1,000 and 10,000; and integer
scores 0 to 30 (edits). Claims: `riezler:exact=true` equals enumeration (up to rounding), and for
accuracies the two-sided sign test (scipy.stats.binomtest); sampled p, (count + 1) / (R + 1), scatter around
it as binomial shares do; and exact p costs less than 20,000 exchanges (in the paper, a tenth).
"""

from __future__ import annotations

import sys
import time
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from shared import SEED, write

from replitune.metrics.base import MeanMetric
from replitune.significance.base import Comparison
from replitune.significance.interface import Context
from replitune.significance.tests.randomisation import Riezler
from replitune.statistics.store import read_stores
from replitune.statistics.systems import SystemStatistics
from replitune.streams import stream

SAMPLES, REPEATED = 20_000, 20
CELLS = [(kind, N) for kind in ("right or wrong", "edits") for N in (16, 100, 1_000, 10_000)]


def scores(kind: str, N: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = stream(SEED, "zmigrod", kind, str(N))
    hard = rng.standard_normal(N)
    a, b = (hard + 0.6 * rng.standard_normal(N) for _ in range(2))
    if kind == "edits":
        return np.floor(30 * stats.norm.cdf(a)), np.floor(30 * stats.norm.cdf(b + 0.03))
    limits = (stats.norm.ppf(x) * np.sqrt(1.36) for x in (0.75, 0.78))
    return tuple((x < limit).astype(np.float64) for x, limit in zip((a, b), limits, strict=True))  # type: ignore[return-value]


def comparison(a: NDArray[np.float64], b: NDArray[np.float64]) -> Comparison:
    def system(name: str, x: NDArray[np.float64]) -> SystemStatistics:
        cells = np.stack([x, np.ones_like(x)], axis=-1)[np.newaxis]
        return SystemStatistics(name, ("run-001",), (None,), np.ascontiguousarray(cells))

    return Comparison(MeanMetric(), system("a", a), system("b", b), np.arange(len(a), dtype=np.int32))


def enumerated(d: NDArray[np.float64]) -> float:
    """p by enumeration of all 2^N signs."""
    signs = 1 - 2.0 * ((np.arange(2 ** len(d))[:, np.newaxis] >> np.arange(len(d))) & 1)
    return float((np.abs(signs @ d) >= abs(d.sum()) - 1e-9).mean())


def both(compared: Comparison, repeated: int, *key: str) -> dict[str, Any]:
    """p and CPU seconds, exact and sampled, and how far sampled p are from the exact one."""
    start = time.process_time()
    exact = Riezler(exact=True).run(Context([compared]))
    exact_seconds = time.process_time() - start
    start = time.process_time()
    sampled = [
        Riezler().run(Context([compared], samples=SAMPLES, stream=partial(stream, SEED, *key, str(r)))).p
        for r in range(repeated)
    ]
    seconds = (time.process_time() - start) / repeated
    p = exact.p
    return {
        "delta": exact.delta,
        "p_exact": p,
        "p_sampled": float(np.mean(sampled)),
        "rms_error": float(np.sqrt(np.mean((np.array(sampled) - p) ** 2))),
        "binomial_error": float(np.sqrt(p * (1 - p) / SAMPLES)),
        "seconds_exact": exact_seconds,
        "seconds_sampled": seconds,
    }


def main() -> None:
    both(comparison(*scores("edits", 100)), 1, "warm")  # compiles the kernels
    rows: list[dict[str, Any]] = []
    for kind, N in CELLS:
        a, b = scores(kind, N)
        d = b - a
        found = both(comparison(a, b), REPEATED, kind, str(N))
        oracle = ""
        if N == 16:
            oracle = f"enumeration {enumerated(d):.6g}"
        elif kind == "right or wrong":
            wins = int((d > 0).sum())
            n = wins + int((d < 0).sum())
            oracle = f"sign test {stats.binomtest(wins, n).pvalue:.6g}"
        rows.append({"data": kind, "N": N, "pairs": 1, **found, "oracle": oracle})
    write("zmigrod", rows)
    if len(sys.argv) > 1:
        write("zmigrod-ter", list(of_ter(sys.argv[1])))


def of_ter(folder: str) -> list[dict[str, Any]]:
    """All pairs of systems of the two test sets with one reference: TER counts edits."""
    found = []
    for store in read_stores(folder):
        if store.metric.name != "ter" or store.testset not in ("en-de", "zh-en"):
            continue
        for one, other in combinations(store.systems, 2):
            compared = Comparison(store.metric, store.systems[one], store.systems[other], store.documents)
            said = both(compared, 1, "ter", store.testset, one, other)
            found.append({"testset": store.testset, "a": one, "b": other, **said})
    return found


if __name__ == "__main__":
    main()
