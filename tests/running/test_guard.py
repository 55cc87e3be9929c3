"""Speed that must not be lost, as calls of Python functions, beside those of sacrebleu on the same
texts: a kernel that is no longer compiled, or work that is done once per replica instead of once
per output, makes many more. The bounds leave room; how long it takes is in docs/benchmarks.md.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu

from replitune.metrics.registry import get_metric
from replitune.statistics.scoring import score_outputs
from support import outputs_of


def texts(segments: int) -> tuple[list[str], list[str]]:
    """Hypotheses and references of Zipf-like words, 20 a segment."""
    rng = random.Random(7)
    words = [f"w{int(1000 * rng.random() ** 3)}" for _ in range(20 * segments)]
    refs = [" ".join(words[20 * i : 20 * i + 20]) for i in range(segments)]
    hyps = [" ".join(w if rng.random() < 0.7 else rng.choice(words) for w in ref.split()) for ref in refs]
    return hyps, refs


def calls(work: Callable[[], object]) -> int:
    """Functions that Python calls, its own and those in C; of compiled kernels the first only."""
    work()  # loads compiled kernels
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("spec", "peer", "segments", "bound"),
    [
        ("bleu:tokenize=none", lambda: sacrebleu.BLEU(tokenize="none", force=True), 60, 15),
        ("bleu", lambda: sacrebleu.BLEU(force=True), 60, 30),
        ("chrf", lambda: sacrebleu.CHRF(), 40, 18),
        ("ter", lambda: sacrebleu.TER(), 20, 25),
    ],
)
def test_statistics_take_fewer_calls_than_those_of_sacrebleu(
    spec: str, peer: Callable[[], sacrebleu.metrics.base.Metric], segments: int, bound: float
):
    hyps, refs = texts(segments)
    ours = calls(lambda: get_metric(spec).statistics(hyps, [refs]))
    theirs = calls(lambda: peer()._extract_corpus_statistics(hyps, [refs]))
    assert theirs > bound * ours, f"{spec}: {ours} calls, sacrebleu {theirs}"


def test_replicas_that_agree_are_scored_once():
    hyps, refs = texts(100)
    metric = get_metric("chrf")
    prepared = metric.prepare([refs])
    one, many = outputs_of([hyps]), outputs_of([hyps] * 20)
    assert score_outputs(metric, many, prepared)[1] == score_outputs(metric, one, prepared)[1]
    once = calls(lambda: score_outputs(metric, one, prepared))
    assert calls(lambda: score_outputs(metric, many, prepared)) < once + 10 * 20


def test_exchanges_of_segments_stay_compiled():
    """10,000 exchanges of 5 x 200 segments without a call for each."""
    from replitune.significance.base import Comparison
    from replitune.statistics.systems import SystemStatistics
    from significance.calls import clark

    rng = np.random.default_rng(3)
    metric = get_metric("bleu")
    systems = [
        SystemStatistics(
            name,
            tuple(f"run-{r:03d}" for r in range(5)),
            (None,) * 5,
            rng.integers(0, 20, (5, 200, len(metric.statistic_names)), dtype=np.int32),
        )
        for name in "ab"
    ]
    comparison = Comparison(metric, *systems, np.arange(200, dtype=np.int32))
    assert calls(lambda: clark(comparison, samples=10_000, rng=np.random.default_rng(1))) < 9000
