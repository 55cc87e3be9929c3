"""Miller (2024), Adding error bars to evals: questions about the same text are related, and standard
errors that ignore this are too small.

    PYTHONPATH=src python benchmarks/papers/miller.py

TRIALS test sets per cell, without a true difference. Cells, fixed before the run: 400 questions in 40
texts of 10, or in 20 of 20, and 40 texts of 2 to 28 (as in benchmarks/calibration); a correlation of
differences within a text (ICC) of 0, .1, .3; one answer of each system, or three runs of each, whose
effects add as much variance as the questions. Methods: CLT of paired differences (naive), the same with
Miller's clustered error, `crossed:scope=segments` and `crossed`, by segments and by documents. With one
run of each, `crossed:scope=segments` is the t test of paired differences, with documents weighted by their
size.

Claims: naive errors are too small by sqrt(1 + (m - 1) ICC) for texts of m questions; a clustered error
holds its level; so does `crossed` with documents, even with few of them. The rule: a method holds if it
rejects at most .06 at .05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats
from shared import SEED, write

from batch import Batch  # isort: skip  (of ../calibration)
from closed import crossed_parts, crossed_rejections, summarise  # isort: skip
from study import document_sizes  # isort: skip
from replitune.metrics.base import MeanMetric
from replitune.significance.studies.simulate import Design, mean_scores
from replitune.streams import stream

TRIALS = 4_000
ICCS = (0.0, 0.1, 0.3)
TEXTS = {"40 of 10": np.full(40, 10), "20 of 20": np.full(20, 20), "40 of 2 to 28": document_sizes()}
Z = float(stats.norm.ppf(0.975))


def cell(texts: str, icc: float, n: int) -> Iterator[dict[str, Any]]:
    sizes = TEXTS[texts]
    N, G = int(sizes.sum()), len(sizes)
    of = np.repeat(np.arange(G, dtype=np.int32), sizes)
    noise = 0.5  # standard deviation of one answer's noise
    within = 1 + 2 * noise**2 / n
    document = np.sqrt(icc / (1 - icc) * within)
    V_seg = (within + document**2 * (sizes.astype(float) ** 2).sum() / N) / N
    run = np.sqrt(V_seg * n / 2) if n > 1 else 0.0
    design = Design(n, n, N, run, run, noise_a=noise, noise_b=noise, document=document)
    rng = stream(SEED, "miller", texts, f"{icc:g}", str(n))
    a, b = mean_scores(design, TRIALS, rng, of)
    d = (b - a).mean(axis=1)
    delta = d.mean(axis=1)
    e = d - delta[:, np.newaxis]
    sums = np.add.reduceat(e, np.r_[0, np.cumsum(sizes)[:-1]], axis=1)
    errors = {
        "CLT, naive": np.sqrt((e**2).sum(axis=1) / (N - 1) / N),
        "CLT, clustered (Miller)": np.sqrt((sums**2).sum(axis=1)) / N,
    }
    said = {"texts": texts, "icc": icc, "runs": n, "trials": TRIALS}
    true = float(delta.std(ddof=1))
    for name, se in errors.items():
        yield {
            **said,
            "method": name,
            "rejects": float((np.abs(delta) > Z * se).mean()),
            "se": float(np.sqrt((se**2).mean()) / true),
        }
    cells = [np.stack([x, np.ones_like(x)], axis=-1) for x in (a, b)]
    if n == 1:  # a copy of each run: equal runs add nothing to `crossed:scope=segments`
        cells = [np.repeat(x, 2, axis=1) for x in cells]
    units = [np.add.reduceat(x, np.r_[0, np.cumsum(sizes)[:-1]], axis=2) for x in cells]
    batches = {"segment": Batch(MeanMetric(), *cells), "document": Batch(MeanMetric(), *units, sizes=sizes)}
    for unit, batch in batches.items():
        summary = summarise(batch)
        for scope in ("segments", "both") if n > 1 else ("segments",):
            parts = crossed_parts(summary, scope)  # type: ignore[arg-type]
            name = "`crossed`" if scope == "both" else "`crossed:scope=segments`"
            yield {
                **said,
                "method": f"{name}, {unit}s",
                "rejects": float(crossed_rejections(summary, parts, 0.05).mean()),
                "se": float(np.sqrt(parts.variance.mean()) / true),
            }


def main() -> None:
    rows = [row for texts in TEXTS for icc in ICCS for n in (1, 3) for row in cell(texts, icc, n)]
    write("miller", rows)


if __name__ == "__main__":
    main()
