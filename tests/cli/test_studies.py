"""`power` and `calibrate`: what the numbers are is tested in tests/significance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from replitune.ledger.prices import prices_of
from replitune.significance.studies.cheapest import Prices
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
    assert "6 runs and 500 segments would detect a difference of" in ran.out
    rows = pd.read_parquet(out)
    assert set(rows["n_a"]) == {3, 6}
    assert rows["power"].between(0, 1).all()
    assert rows["power_low"].le(rows["power_high"]).all()
    assert rows["detectable"].between(rows["detectable_low"], rows["detectable_high"]).all()
    assert ran.out == replitune("power", store, "--plans", "3x80", "6x500", "--delta", 0.5).out


def test_power_says_whether_equal_systems_would_be_shown_to_be(replitune: Callable[..., Ran], store: Path):
    ran = replitune("power", store, "--plans", "6x500", "--margin", 0.3)
    assert ran.code == 0, ran.err
    assert "the same within 0.3 with probability" in ran.out


def test_power_finds_the_cheapest_plan_at_given_prices(replitune: Callable[..., Ran], store: Path):
    ran = replitune("power", store, "--delta", 0.5, "--cpu-per-run", 600, "--cpu-per-segment", 0.1)
    assert ran.code == 0, ran.err
    assert "cheapest to detect 0.5 (power 0.8, alpha 0.05): " in ran.out
    assert "more expensive" in ran.out


def test_prices_come_from_the_manifest(replitune: Callable[..., Ran], store: Path):
    """Tuning of 100 s and decoding of 2 s for 100 segments, of each run of each system."""
    jobs = {f"score/t/bleu/{system}": {"cpu_seconds": 6.0} for system in "ab"}
    for system in "ab":
        for run in range(3):
            jobs[f"tune/{system}/run{run}"] = {"cpu_seconds": 100.0}
            parts = {"t": 1.5, "dev": 9.5}  # and half a second each to start
            jobs[f"decode/{system}/run{run}"] = {"cpu_seconds": 12.0, "parts": parts}
    manifest = store.parent / "results" / "manifest.json"
    manifest.parent.mkdir()
    told = {
        "files": {},
        "settings": {},
        "outputs_given": {},
        "inputs": {name: {"segments": 100} for name in ("dev", "t", "train")},
        "jobs": jobs,
    }
    manifest.write_text(json.dumps(told), "utf-8")
    found = prices_of(manifest, "ab")
    assert (found.run, found.segment) == (pytest.approx(220), pytest.approx(0.08))
    assert prices_of(manifest.parent, "ab", "t") == found
    assert prices_of(manifest, "a", run=7, segment=1) == Prices(7, 1)
    by_manifest = replitune("power", store, "--delta", 0.5, "--manifest", manifest)
    assert by_manifest.code == 0, by_manifest.err
    given = replitune("power", store, "--delta", 0.5, "--cpu-per-run", 110, "--cpu-per-segment", 0.04)
    assert by_manifest.out == given.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plans", "3"], "RUNSxSEGMENTS"),
        (["--plans", "1x80"], "two runs"),
        (["--power", "1"], "less than 1"),
        (["--unit", "document"], "no documents"),
        (["--margin", "0"], "more than 0"),
        (["--cpu-per-run", "9"], "--delta"),
        (["--delta", "1", "--cpu-per-run", "9"], "--cpu-per-segment"),
        (["--delta", "1", "--manifest", "nowhere"], "no such folder"),
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
        "calibrate",
        store,
        "--sizes",
        3,
        "--trials",
        20,
        "--samples",
        99,
        "--methods",
        "crossed",
        "fu-ar",
        "clark:pairing=index,id=ci",
        "--out",
        out,
    )
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
