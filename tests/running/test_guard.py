"""Speed that must not be lost, as ratios of CPU time to sacrebleu in the same process.

The bounds are a fifth to a twentieth of what is measured on a quiet machine (docs/benchmarks.md),
and both sides run on the same texts at the same time, so load cannot cross them; a kernel that is
no longer compiled, or work that is done once per replica instead of once per output, can. The
best of several rounds counts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu

from replitune.metrics.registry import get_metric
from replitune.statistics.outputs import Outputs
from replitune.statistics.scoring import score_outputs

ROUNDS = 5


def texts(segments: int) -> tuple[list[str], list[str]]:
    """Hypotheses and references of Zipf-like words, 20 a segment."""
    rng = random.Random(7)
    words = [f"w{int(1000 * rng.random() ** 3)}" for _ in range(20 * segments)]
    refs = [" ".join(words[20 * i : 20 * i + 20]) for i in range(segments)]
    hyps = [" ".join(w if rng.random() < 0.7 else rng.choice(words) for w in ref.split()) for ref in refs]
    return hyps, refs


def ratio(ours: Callable[[], object], theirs: Callable[[], object]) -> float:
    """CPU time of theirs over ours, in turns; the best of each."""
    ours()  # loads compiled kernels
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for side, work in enumerate((ours, theirs)):
            start = time.thread_time()
            work()
            best[side] = min(best[side], time.thread_time() - start)
    return best[1] / best[0]


@pytest.mark.parametrize(
    ("spec", "peer", "segments", "bound"),
    [
        ("bleu:tokenize=none", lambda: sacrebleu.BLEU(tokenize="none", force=True), 600, 1.3),
        ("bleu", lambda: sacrebleu.BLEU(force=True), 600, 1.6),
        ("chrf", lambda: sacrebleu.CHRF(), 200, 5.0),
        ("ter", lambda: sacrebleu.TER(), 25, 5.0),
    ],
)
def test_statistics_stay_faster_than_sacrebleu(
    spec: str, peer: Callable[[], sacrebleu.metrics.base.Metric], segments: int, bound: float
):
    hyps, refs = texts(segments)
    many = -(-600 // segments)
    ours, ours_refs = hyps * many, refs * many

    def mine() -> object:
        return get_metric(spec).statistics(ours, [ours_refs])

    found = ratio(mine, lambda: peer()._extract_corpus_statistics(hyps, [refs])) * many
    assert found > bound, f"{spec}: {found:.1f} times sacrebleu"


def test_replicas_that_agree_are_scored_once():
    """20 replicas with the same output cost a little more than one, not 20 times as much."""
    hyps, refs = texts(1500)
    metric = get_metric("chrf")
    prepared = metric.prepare([refs])
    one, many = Outputs.from_replicas([hyps]), Outputs.from_replicas([hyps] * 20)
    found = ratio(
        lambda: score_outputs(metric, one, prepared), lambda: score_outputs(metric, many, prepared)
    )
    assert score_outputs(metric, many, prepared)[1] == score_outputs(metric, one, prepared)[1]
    assert found < 10, f"20 replicas cost {found:.1f} times one"


def test_exchanges_of_segments_stay_compiled():
    """10,000 exchanges of 5 x 1,000 segments, against one tenth of it in numpy."""
    from replitune.significance.base import Comparison
    from replitune.significance.tests.clark import clark
    from replitune.statistics.systems import SystemStatistics

    rng = np.random.default_rng(3)
    metric = get_metric("bleu")
    systems = [
        SystemStatistics(
            name,
            tuple(f"run-{r:03d}" for r in range(5)),
            (None,) * 5,
            rng.integers(0, 20, (5, 1000, len(metric.statistic_names)), dtype=np.int32),
        )
        for name in "ab"
    ]
    comparison = Comparison(metric, *systems, np.arange(1000, dtype=np.int32))
    delta = (systems[0].statistics - systems[1].statistics).reshape(5000, -1).astype(np.float64)

    def plain() -> object:
        draws = np.random.default_rng(1)
        return [np.where(draws.random(5000) < 0.5, 1.0, -1.0) @ delta for _ in range(1000)]

    found = 10 * ratio(lambda: clark(comparison, samples=10_000, rng=np.random.default_rng(1)), plain)
    assert found > 1, f"{found:.1f} times numpy"
