"""Replicas of a system take over the first decoding from each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from replitune.backends.interface import ReplicaJob
from replitune.backends.registry import get_backend
from replitune.corpus.synthetic import synthetic_testset, synthetic_train
from replitune.phrase.backend import Embedded
from replitune.phrase.dev_decoder import DevDecoder, FirstDecoding
from replitune.replicas import Replica
from replitune.tuners import get_tuner
from replitune.tuning.settings import LoopSettings

KEPT = {"mert": "lists", "mira": "lists", "pro": "lists"} | dict.fromkeys(
    ("mert-lattice", "mert-forest"), "graphs"
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for name in ("phrase", "hiero"):
        backend = get_backend("s", {"training": {"lm_order": 2}}, name)
        assert isinstance(backend, Embedded)
        backend.train_on(*synthetic_train(5, 250), folder / name)
    return folder


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each decoding of the dev set."""
    calls: list[str] = []
    for name in ("_lists", "_graphs"):
        inner = getattr(DevDecoder, name)

        def counting(self: Any, weights: Any, inner: Any = inner, name: str = name) -> Any:
            calls.append(name)
            return inner(self, weights)

        monkeypatch.setattr(DevDecoder, name, counting)
    return calls


def tune(
    models: Path, folder: Path, name: str, algorithm: str, common: bool, **more: Any
) -> tuple[str, list[Any]]:
    """The weights file, and what the history says apart from seconds."""
    import pyarrow.parquet as pq

    backend = get_backend("s", {}, name)
    out = folder / "weights.json"
    job = {"nbest": 20, "metric": "bleu", "seed": 3, "loop": LoopSettings(iterations=3), **more}
    backend.tune(
        ReplicaJob(
            model=models / name,
            dev=synthetic_testset(5, "dev", 15),
            out=out,
            replica=Replica(f"{algorithm}-001"),
            tuner=get_tuner(algorithm),
            history=folder / "history.parquet",
            common=folder / "common" if common else None,
            **job,
        )
    )
    history = pq.read_table(folder / "history.parquet").to_pydict()
    kept = {column: values for column, values in history.items() if "seconds" not in column}
    return out.read_text(), [kept]


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("phrase", "mert"),
        ("phrase", "pro"),
        ("phrase", "mert-lattice"),
        ("hiero", "mira"),
        ("hiero", "mert-forest"),
    ],
)
def test_the_second_replica_decodes_once_less_to_the_same_bytes(
    models: Path, tmp_path: Path, decoded: list[str], name: str, algorithm: str
):
    alone = tune(models, tmp_path, name, algorithm, common=False)
    count = len(decoded)
    assert tune(models, tmp_path, name, algorithm, common=True) == alone
    assert len(decoded) == 2 * count
    assert tune(models, tmp_path, name, algorithm, common=True) == alone
    assert len(decoded) == 3 * count - 1
    assert [p.name for p in (tmp_path / "common").iterdir()] == [f"first-{KEPT[algorithm]}.npz"]


@pytest.mark.parametrize(
    "more", [{"nbest": 21}, {"metric": "ter"}, {"loop": LoopSettings(iterations=3, init="random")}]
)
def test_another_decoding_is_not_taken_over(
    models: Path, tmp_path: Path, decoded: list[str], more: dict[str, Any]
):
    tune(models, tmp_path, "phrase", "mira", common=True)
    decoded.clear()
    alone = tune(models, tmp_path, "phrase", "mira", common=False, **more)
    count = len(decoded)
    assert tune(models, tmp_path, "phrase", "mira", common=True, **more) == alone
    assert len(decoded) == 2 * count


def test_of_a_damaged_file_nothing_is_taken_over(tmp_path: Path):
    weights = np.ones(3)
    first = FirstDecoding(tmp_path / "first.npz", weights, "mark")
    arrays = {"a": np.arange(50, dtype=np.int32), "b": np.linspace(0, 1, 40)}
    first.save(weights, arrays)
    whole = first.path.read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        first.path.write_bytes(damaged)
        assert first.load(weights) is None
    first.path.write_bytes(whole[:-30])
    assert first.load(weights) is None
    first.save(weights, arrays)
    found = first.load(weights)
    assert found is not None
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert first.load(weights + 1) is None
    assert FirstDecoding(first.path, weights, "another").load(weights) is None
