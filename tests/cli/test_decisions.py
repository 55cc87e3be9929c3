"""`--fail-unless`: exit codes and one line of JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support import Ran


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A base, one like it, one far better and one far worse: four runs of 60 segments."""
    rng = np.random.default_rng(4)
    effect = rng.normal(0, 1, 60)
    rows = [
        (system, run, i, effect[i] + shift + rng.normal(0, 0.02) + noise)
        for system, shift in (("base", 5), ("like", 5.001), ("good", 5.5), ("bad", 4.5))
        for run in range(4)
        for noise in [rng.normal(0, 0.005)]
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["system", "run", "segment", "score"]).to_csv(path, index=False)
    return path


def decide(replitune: Callable[..., Ran], table: Path, system: str, *words: object) -> Ran:
    return replitune(
        "compare",
        "--scores",
        table,
        "--pairs",
        f"base:{system}",
        "--methods",
        "crossed",
        "--intervals",
        "--fail-unless",
        *words,
    )


@pytest.mark.parametrize(
    ("rule", "margin", "codes"),
    [
        ("better", (), {"good": 0, "like": 3, "bad": 3}),
        ("not-worse", ("--margin", 0.2), {"good": 0, "like": 0, "bad": 3}),
        ("same", ("--margin", "score=0.2"), {"good": 3, "like": 0, "bad": 3}),
    ],
)
def test_exit_codes(replitune: Callable[..., Ran], table: Path, rule: str, margin: tuple, codes: dict):
    for system, code in codes.items():
        ran = decide(replitune, table, system, rule, *margin)
        assert ran.code == code, (system, ran.out, ran.err)
        said = json.loads(ran.out.splitlines()[-1])
        assert said["rule"] == rule
        assert said["ok"] is (code == 0)
        (pair,) = said["pairs"]
        assert (pair["a"], pair["b"], pair["metric"]) == ("base", system, "score")
        assert pair["ok"] is said["ok"]
        assert (pair["p"] <= 0.05) or not pair["ok"]


def test_all_systems_must_be_so(replitune: Callable[..., Ran], table: Path):
    ran = replitune(
        "compare",
        "--scores",
        table,
        "--baseline",
        "base",
        "--methods",
        "crossed",
        "--intervals",
        "--fail-unless",
        "not-worse",
        "--margin",
        0.2,
    )
    assert ran.code == 3
    said = json.loads(ran.out.splitlines()[-1])
    assert {pair["b"]: pair["ok"] for pair in said["pairs"]} == {"like": True, "good": True, "bad": False}


def test_a_run_unlike_all_others_decides_nothing_unless_that_is_allowed(
    replitune: Callable[..., Ran], tmp_path: Path
):
    """Six runs with an odd one in the base, which is far worse all the same."""
    rng = np.random.default_rng(5)
    rows = [
        (system, run, i, shift + rng.normal(0, 0.02) - 0.5 * ((system, run) == ("base", 2)))
        for system, shift in (("base", 5), ("good", 8))
        for run in range(6)
        for i in range(60)
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["system", "run", "segment", "score"]).to_csv(path, index=False)
    for more, code in (((), 3), (("--allow-odd-runs",), 0)):
        ran = decide(replitune, path, "good", "better", *more)
        assert ran.code == code
        (pair,) = json.loads(ran.out.splitlines()[-1])["pairs"]
        assert pair["p"] <= 0.05
        assert len(pair["odd_runs"]) == 1
        assert "robust standard deviations" in pair["odd_runs"][0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pairs", "base:like", "--fail-unless", "same"], "`same` needs a margin for score"),
        (["--fail-unless", "better"], "which system is to be judged?"),
        (["--pairs", "base:like", "--fail-unless", "same", "--margin", "-1"], "margin"),
        (["--pairs", "base:like", "--fail-unless", "equal"], "invalid choice"),
    ],
)
def test_mistakes_are_two(replitune: Callable[..., Ran], table: Path, words: list[str], message: str):
    ran = replitune("compare", "--scores", table, "--methods", "crossed", "--intervals", *words)
    assert ran.code == 2
    assert message in ran.err
