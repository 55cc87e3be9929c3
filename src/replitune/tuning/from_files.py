"""`replitune tune`: new weights from n-best files of any decoder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from replitune.errors import ReplituneError
from replitune.streams import stream
from replitune.tuners import TUNERS, get_tuner, list_tuners
from replitune.tuning.interface import TuningResult
from replitune.tuning.weights import Layout


def tune_files(
    nbest: Sequence[str | Path],
    references: Sequence[str | Path],
    *,
    algorithm: str,
    metric: str = "bleu",
    init: str | Path | None = None,
    seed: int = 0,
    out: str | Path,
    threads: int = 1,
    options: Mapping[str, Any] | None = None,
    log: Callable[[str], None] = print,
) -> TuningResult:
    """Optimise on n-best files and write the weights to `out` (.json, or .ini lines).

    Without `init` all weights start equal. The score is that of the choices from the pool.
    """
    from replitune.corpus.reader import read_testset
    from replitune.tuning.combination import get_objective
    from replitune.tuning.objective import Objective
    from replitune.tuning.weights import WeightsFile, read_weights, write_weights

    # All checks come before anything that takes long.
    tuner = get_tuner(algorithm, {**TUNERS[algorithm].on_files, **(options or {})})
    if tuner.needs_lattices:
        raise ReplituneError(
            "n-best files have no lattices", found=algorithm, expected=", ".join(list_tuners())
        )
    objective = Objective(get_objective(metric))
    named = read_weights(init) if init is not None else None
    texts = read_testset([str(path) for path in references]).references
    if not texts[0]:
        raise ReplituneError("no segments in the references", file=references[0])

    began = time.perf_counter()
    pool, layout, lines = read_pool(nbest, texts, objective)
    if named is not None:
        start = layout.to_vector(named, file=str(init))
    else:
        start = np.full(layout.dimension, 1.0 / layout.dimension)
    tuner = tuner.for_features(layout)
    before = objective.score(pool, start)
    log(
        f"read {lines:,} hypotheses of {pool.n_segments:,} segments, {len(pool):,} different, "
        f"in {time.perf_counter() - began:.1f} s; start {objective.metric.id} {before:.2f}"
    )
    began = time.perf_counter()
    result = tuner.tune(pool, objective, start, stream(seed, "tune", algorithm), threads)
    skipped = sum(row.get("segments_without_pairs", 0) for row in result.history)
    log(
        f"{algorithm}: {objective.metric.id} {result.score:.2f} "
        f"in {time.perf_counter() - began:.1f} s"
        + (f"; {skipped} segments without a pair were skipped" if skipped else "")
    )
    write_weights(
        out,
        WeightsFile(
            layout.to_weights(result.weights),
            dev_score=result.score,
            metric=objective.metric.id,
            algorithm=algorithm,
            seed=seed,
            iteration=0,
        ),
    )
    return result


def read_pool(
    nbest: Sequence[str | Path], references: Sequence[Sequence[str]], objective: Any
) -> tuple[Any, Layout, int]:
    """The pool of n-best files, its features, and the number of lines."""
    from replitune.tuning.hypothesis_statistics import Statistics
    from replitune.tuning.nbest_files import read_nbest
    from replitune.tuning.pool import Pool

    n = len(references[0])
    lists = read_nbest(nbest, n)
    metric = objective.metric
    statistics = Statistics(metric, references)(lists.texts, lists.segments)
    pool = Pool.empty(n, lists.layout.dimension, statistics.shape[1], integer=metric.integer_statistics)
    pool = pool.extend(lists.segments, lists.features, statistics)
    return pool, lists.layout, len(lists.texts)
