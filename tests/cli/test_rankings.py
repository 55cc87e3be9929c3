from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support import Ran, validate

SYSTEMS = {"low": 0.0, "high": 3.0, "middle": 0.02, "top": 3.01}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two systems about as good as each other, and two that are far better; three runs each."""
    rng = np.random.default_rng(1)
    rows = [
        (name, f"run-{r + 1:03d}", i, mean + rng.normal(0, 0.3))
        for name, mean in SYSTEMS.items()
        for r in range(3)
        for i in range(60)
    ]
    names = ("system", "replica", "segment", "score")
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        tmp_path / "scores.parquet",
    )
    return tmp_path / "scores.parquet"


def test_clusters_are_printed_and_in_the_json(replitune: Callable[..., Ran], store: Path):
    out = store.with_suffix(".json")
    ran = replitune("test", store, "--methods", "crossed", "riezler", "--samples", 400, "--json", out)
    assert ran.code == 0, ran.err
    assert "clusters (each system beats all after a >)" in ran.out
    said = json.loads(out.read_text())
    validate(said)
    for method in ("crossed", "riezler"):
        ranking = said["metrics"]["mean"]["rankings"][method]
        first, second = ranking["clusters"]
        assert set(first) == {"high", "top"}
        assert set(second) == {"low", "middle"}
        assert ranking["systems"] == [*first, *second]
        assert np.array(ranking["wins"]).tolist() == [
            [False, False, True, True],
            [False, False, True, True],
            [False] * 4,
            [False] * 4,
        ]
    assert f"riezler: {', '.join(first)} > {', '.join(second)}" in ran.out
    table = [line.split() for line in ran.out.splitlines() if line[:12].strip().isdecimal()]
    assert [row[:3] for row in table] == [
        [str(cluster), ranks, name]
        for cluster, ranks, names in ((1, "1-2", first), (2, "3-4", second))
        for name in names
    ]


def test_pairs_with_a_baseline_only_leave_no_clusters(replitune: Callable[..., Ran], store: Path):
    out = store.with_suffix(".json")
    ran = replitune("test", store, "--methods", "crossed", "--pairs", "baseline=low", "--json", out)
    assert ran.code == 0, ran.err
    assert "clusters" not in ran.out
    ranking = json.loads(out.read_text())["metrics"]["mean"]["rankings"]["crossed"]
    assert ranking["clusters"] is None
    assert "no p for" in ranking["notes"][0]["text"]
