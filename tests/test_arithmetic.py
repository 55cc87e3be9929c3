"""Sums and functions against 64-bit mantissas and LAPACK, and on processors other than this one."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from replitune.arithmetic import covariance, eigen, exp, gram, log, log1p, log10, power, product, solve
from support import ROOT

OTHER = " ".join(np.show_config(mode="dicts")["SIMD Extensions"]["found"])
"""What numpy has code for beside what every processor can do."""

PROCESSORS = {
    "an old one": {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": OTHER},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}


def test_what_arithmetic_decides_is_the_same_on_every_processor():
    command = [sys.executable, str(ROOT / "tests" / "decided.py")]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    said = {
        name: subprocess.check_output(command, env={**environment, **processor}, text=True).splitlines()
        for name, processor in {"this": {}, **PROCESSORS}.items()
    }
    assert len(said["this"]) == 3 + 3 * 5
    for lines in said.values():
        assert lines == said["this"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def ulps(value: np.ndarray, exact: np.ndarray) -> float:
    """The largest error, in units of the last place; `exact` has 64 bits."""
    return float((np.abs(value.astype(np.longdouble) - exact) / np.spacing(np.abs(value))).max())


def test_functions_are_right_to_the_last_place(rng):
    x = np.concatenate([rng.uniform(-700, 700, 20_000), rng.uniform(-2, 2, 20_000), [0.0]])
    assert ulps(exp(x), np.exp(x.astype(np.longdouble))) < 1
    y = np.concatenate([np.exp(x[:20_000]), rng.uniform(0.5, 2, 20_000)])
    assert ulps(log(y), np.log(y.astype(np.longdouble))) < 1
    assert ulps(log10(y), np.log10(y.astype(np.longdouble))) < 2
    z = 10 ** rng.uniform(-18, 5, 20_000)
    assert ulps(log1p(z), np.log1p(z.astype(np.longdouble))) < 2
    np.testing.assert_allclose(power(y, 0.25), y**0.25, rtol=1e-13)


def test_functions_at_their_ends():
    assert exp([-np.inf, -800, 0, 710, np.inf]).tolist() == [0, 0, 1, np.inf, np.inf]
    assert log([0.0, 1.0]).tolist() == [-np.inf, 0.0]
    assert np.isnan(exp(np.nan))
    assert np.isnan(log(np.nan))
    assert np.isnan(log(-1.0))
    assert power([0.0, 0.0, 2.0], [0.5, 0.0, 3.0]).tolist() == [0.0, 1.0, 8.0]
    assert exp(np.zeros((2, 3))).shape == (2, 3)
    assert exp(np.zeros((0, 3))).shape == (0, 3)


def test_products(rng):
    a, b = rng.normal(size=(4, 5, 3)), rng.normal(size=(3, 2))
    np.testing.assert_allclose(product(a, b), a @ b, rtol=1e-12)
    np.testing.assert_allclose(product(a, b[:, 0]), a @ b[:, 0], rtol=1e-12)
    rows = rng.normal(size=(3, 50))
    np.testing.assert_allclose(gram(rows), rows @ rows.T, rtol=1e-12)
    np.testing.assert_allclose(covariance(rows), np.cov(rows), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_systems_and_eigenvalues(rng, size):
    factor = rng.normal(size=(size, size))
    positive = factor @ factor.T + np.eye(size)
    right = rng.normal(size=size)
    np.testing.assert_allclose(solve(positive, right), np.linalg.solve(positive, right), rtol=1e-9)
    for matrix in (positive, factor + factor.T, np.zeros((size, size))):
        values, vectors = eigen(matrix)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-12)
        np.testing.assert_allclose(vectors * values @ vectors.T, matrix, atol=1e-12)
