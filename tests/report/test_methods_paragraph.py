"""The paragraph cites what was done."""

from __future__ import annotations

import numpy as np

from replitune.metrics.base import MeanMetric
from replitune.report.material import Material
from replitune.report.methods_paragraph import methods
from replitune.results.result import Result
from replitune.significance.one_system import summarise
from replitune.significance.registry import TESTS
from significance.exchange_models import system
from significance.one_testset import run_tests


def paragraph(*words: str) -> str:
    draw = np.random.default_rng(1)
    systems = {
        name: system(name, np.stack([draw.integers(0, 2, (2, 60)), np.ones((2, 60))], -1) * 1.0)
        for name in "ab"
    }
    documents = np.arange(60, dtype=np.int32)
    given = {"m": (MeanMetric(), systems)}
    rows = run_tests(given, documents, testset="t", seed=1, methods=words)["m"]
    spread = {
        name: summarise(MeanMetric(), s, documents, testset="t", seed=1, samples=20)
        for name, s in systems.items()
    }
    cell = Result("t", "m", "mean", "s", 1, 0.05, rows[0].method, spread, tuple(rows))
    return methods(Material("small", 1, 0.05, "pairs", 10_000, [cell]))[0]


def test_every_test_is_cited():
    assert all(TESTS[name].cited for name in TESTS.own)


def test_an_exact_p_of_exchanges_is_said_and_cited():
    assert "Zmigrod" not in paragraph("riezler", "lmem")
    assert "Hagmann et al., 2023" in paragraph("lmem")
    said = "(Riezler and Maxwell, 2005), exact over all exchanges (Zmigrod et al., 2022)"
    assert said in paragraph("riezler:exact=true")
