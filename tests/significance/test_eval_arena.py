"""Samples of a language model: the parts of `design: samples` are those of Wang (2025)."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "calibration"))

from eval_arena import ours, read, wang


@pytest.mark.parametrize("paired", [False, True])
def test_parts_of_crossed_are_those_of_eval_arena(paired):
    rng = np.random.default_rng(35)
    right = rng.beta(0.5, 0.5, (2, 60, 1))
    A, B = (rng.random((2, 60, 7)) < right).astype(float)
    other = B if paired else None
    mine, row = ours(A, other)
    assert mine == pytest.approx(wang(A, other), rel=1e-12)
    d = A.mean(axis=1) - (B.mean(axis=1) if paired else 0)
    assert row.se == pytest.approx(d.std(ddof=1) / np.sqrt(60), rel=1e-12)


def test_printed_standard_errors_of_cruxeval():
    """codellama-7b, CRUXEval-output, T = .2: Unpaired.from_samples of eval-arena."""
    folder = Path(os.environ.get("REPLITUNE_DATA") or "nowhere") / "cruxeval"
    if not folder.is_dir():
        pytest.skip("real data is not here: REPLITUNE_DATA names no folder with cruxeval")
    A = read(folder, "output")
    assert A.shape == (800, 10)
    assert A.mean() == 0.342125
    mine, _ = ours(A)
    printed = {
        "total_var": 0.01677332273190825,
        "var_E": 0.015770343384617535,
        "E_var": 0.00571319744101322,
    }
    assert {k: np.sqrt(v / 800) for k, v in mine.items()} == pytest.approx(printed, rel=1e-14)
