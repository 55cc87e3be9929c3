"""Length ratio: multeval's printed values, and the definition by hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from replitune.errors import ReplituneError
from replitune.metrics.bleu import Bleu
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines

from .oracles import central_differences, corpora


@pytest.mark.realdata
@pytest.mark.parametrize(("system", "printed"), [("baseline", "107.5"), ("sys1", "107.7")])
def test_multeval_prints_the_same(system, printed):
    folder = os.environ.get("REPLITUNE_DATA")
    if not folder:
        pytest.skip("REPLITUNE_DATA names no folder")
    data = Path(folder) / "multeval-example"
    refs = [read_lines(data / "refs.test2010.lc.tok.en.0.gz")]
    metric = get_metric("length:tokenize=none")
    runs = [read_lines(data / f"hyps.lc.tok.en.{system}.opt{r}.gz") for r in range(3)]
    scores = [metric.score(metric.statistics(hyps, refs).sum(axis=0)) for hyps in runs]
    assert f"{np.mean(scores):.1f}" == printed


@settings(deadline=None, derandomize=True, max_examples=50)
@given(corpora())
def test_lengths_are_bleu_s_lengths(corpus):
    hyps, refs = corpus
    for option in ("closest", "shortest"):
        found = get_metric(f"length:ref_length={option}").statistics(hyps, refs)
        np.testing.assert_array_equal(found, Bleu(ref_length=option).statistics(hyps, refs)[:, -2:])


def test_score_by_hand_and_without_reference_tokens():
    metric = get_metric("length")
    assert metric.score(np.array([[9, 12], [0, 5], [4, 0], [0, 0]])).tolist() == [75, 0, 0, 0]
    assert np.isfinite(metric.gradient(np.zeros(2))).all()


def test_gradient_equals_finite_differences():
    metric = get_metric("length")
    for row in np.random.default_rng(5).uniform(10, 1000, (20, 2)):
        np.testing.assert_allclose(metric.gradient(row), central_differences(metric.score, row), rtol=1e-5)


def test_a_wrong_reference_length_says_what_is_allowed():
    with pytest.raises(ReplituneError, match="closest, shortest"):
        get_metric("length:ref_length=longest")
