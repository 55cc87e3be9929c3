"""`power` and `calibrate`: what the numbers are is tested in tests/significance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support import Ran


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two systems, six replicas, 80 segments of a mean metric."""
    rng = np.random.default_rng(1)
    rows = []
    for shift, system in enumerate("ab"):
        segments = rng.normal(0, 1, 80)
        for replica in range(6):
            scores = segments + rng.normal(0, 0.2) + rng.normal(0, 0.3, 80) + 0.1 * shift
            rows += [(system, f"run{replica}", i, score) for i, score in enumerate(scores)]
    path = tmp_path / "scores.parquet"
    pd.DataFrame(rows, columns=["system", "replica", "segment", "score"]).to_parquet(path)
    return path


def test_power_says_what_a_plan_would_detect(replitune: Callable[..., Ran], store: Path):
    out = store.parent / "power.parquet"
    ran = replitune("power", store, "--plans", "3x80", "6x500", "--delta", 0.5, "--out", out)
    assert ran.code == 0, ran.err
    assert "6 replicas and 500 segments would detect a difference of" in ran.out
    rows = pd.read_parquet(out)
    assert set(rows["n_a"]) == {3, 6}
    assert rows["power"].between(0, 1).all()
    assert ran.out == replitune("power", store, "--plans", "3x80", "6x500", "--delta", 0.5).out, (
        "same seed, same words"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plans", "3"], "REPLICASxSEGMENTS"),
        (["--plans", "1x80"], "two replicas"),
        (["--power", "1"], "less than 1"),
        (["--pairs", "a:c"], "no system is called 'c'"),
    ],
)
def test_mistakes(replitune: Callable[..., Ran], store: Path, arguments: list[str], message: str):
    ran = replitune("power", store, *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_calibrate_counts_rejections(replitune: Callable[..., Ran], store: Path):
    out = store.parent / "calibrate.parquet"
    ran = replitune(
        "calibrate", store, "--sizes", 3, "--trials", 20, "--samples", 99,
        "--methods", "crossed", "fu-ar", "clark:pairing=index,id=ci", "--out", out,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = pd.read_parquet(out)
    assert set(rows["method"]) == {"crossed", "fu-ar", "ci"}
    assert set(rows["study"]) == {"A/A", "coin flip", "simulation"}
    assert (rows["rejected"] <= rows["trials"]).all()
    assert rows["low"].le(rows["rate"]).all()


def test_too_few_replicas_to_calibrate(replitune: Callable[..., Ran], store: Path):
    ran = replitune("calibrate", store, "--sizes", 1, 9, "--trials", 5, "--samples", 9)
    assert ran.code in (0, 2)
    few = pd.read_parquet(store)
    few[few["replica"] == "run0"].to_parquet(store)
    ran = replitune("calibrate", store, "--sizes", 3)
    assert ran.code == 2
    assert "at least 6" in ran.err
