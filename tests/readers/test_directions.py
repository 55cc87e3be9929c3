"""Whether more is better, by names."""

from __future__ import annotations

import pytest

from replitune.readers.directions import higher_is_better


@pytest.mark.parametrize(
    ("name", "higher"),
    [
        *(
            (name, False)
            for name in ("TER", "wer", "loss", "perplexity", "error_rate", "latency", "avgLoss")
        ),
        *((name, False) for name in ("ter-norm", "MetricX-23", "cost_usd")),
        *(
            (name, True)
            for name in ("BLEU", "chrF++", "chrf2", "wmt22-comet-da", "acc_norm", "exact_match")
        ),
        *((name, True) for name in ("score", "pass@1", "win_rate", "rougeL", "xCOMET", "f1")),
        *((name, None) for name in ("mqm", "water", "my_metric", "truthfulness", "loss_score")),
    ],
)
def test_names(name, higher):
    assert higher_is_better(name, 1.0) is higher


def test_errors_that_are_subtracted():
    """mt-metrics-eval turns MetricX round, so that more is better."""
    assert higher_is_better("MetricX-23", 0.0) is True
