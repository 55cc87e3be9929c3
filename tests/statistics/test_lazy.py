"""A store that is larger than the memory gives the same tests as one that is not."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric
from replitune.significance.draws import named_draws
from replitune.statistics import lazy
from replitune.statistics.lazy import ChosenSystems, StoredSystems
from replitune.statistics.segments import StoreMetadata
from replitune.statistics.store import read_stores, write_store
from replitune.statistics.systems import SystemStatistics


@pytest.fixture
def store(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    for name in ("c", "a", "b", "d"):
        scores = rng.random((3, 20, 1))
        statistics = np.concatenate([scores, np.ones_like(scores)], axis=2)
        ids = ("seed-001", "seed-002", "seed-003")
        metadata = StoreMetadata("mean", "mean", "s", 1, "t", "0", {name: dict.fromkeys(ids, "")})
        system = SystemStatistics(name, ids, (None,) * 3, statistics)
        write_store(tmp_path / "stats" / f"{name}.parquet", [system], MeanMetric(), metadata)
    return tmp_path / "stats"


def test_tests_do_not_depend_on_what_is_kept(store: Path, tmp_path: Path, replitune, monkeypatch):
    def run(name: str, *more: str) -> list[bytes]:
        out = tmp_path / name / "t.parquet"
        ran = replitune(
            "test",
            store,
            "--samples",
            199,
            "--methods",
            "crossed",
            "clark",
            "clark-bootstrap",
            "--out",
            out,
            *more,
        )
        assert ran.code == 0, ran.err
        return [path.read_bytes() for path in sorted(out.iterdir())]

    whole = run("whole")
    monkeypatch.setattr(lazy, "KEPT_BYTES", 1)
    assert run("one at a time") == whole
    assert run("with threads", "--threads", "3") == whole
    monkeypatch.setattr("replitune.significance.run.PAIRS", 1)
    assert run("pair by pair") == whole
    monkeypatch.setattr("replitune.statistics.store.ROWS", 7)
    assert run("rows") == whole


def test_only_what_was_used_last_is_kept(store: Path):
    files = {name: store / f"{name}.parquet" for name in "abcd"}
    found = dict(read_stores(store)[0].systems.items())
    read = []

    def load(path: Path) -> dict[str, SystemStatistics]:
        read.append(path.stem)
        return {path.stem: found[path.stem]}

    systems = StoredSystems(load, kept_bytes=2 * found["a"].statistics.nbytes)
    for name in "dbca":
        systems.add(files[name], {name: found[name]})
    assert list(systems) == list("abcd")
    assert [systems[name].name for name in "acac"] == list("acac")
    assert read == []
    assert [systems[name].name for name in "babdb"] == list("babdb")
    assert read == ["b", "a", "d"]
    assert "x" not in systems
    with pytest.raises(ReplituneError, match="more than one file"):
        systems.add(store / "e.parquet", {"a": found["a"]})
    chosen = ChosenSystems(systems, ["d", "a"])
    assert list(chosen) == ["d", "a"]
    assert "b" not in chosen


def test_draws_are_forgotten_with_the_statistics_that_they_are_of(store: Path):
    system = SystemStatistics("x", ("r",), (None,), np.ones((1, 5, 2)))
    metric, documents = MeanMetric(), np.arange(5, dtype=np.int32)
    draws = named_draws("t", 1)
    first = draws.segments.scores(metric, system, documents, unit="segment", samples=9)
    again = draws.segments.scores(metric, system, documents, unit="segment", samples=9)
    assert again.base is first.base or again is first
    gone, kept = weakref.ref(system), weakref.ref(first.base if first.base is not None else first)
    del system, first, again
    gc.collect()
    assert gone() is None
    assert kept() is None
