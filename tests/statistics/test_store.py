from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.metrics.registry import get_metric
from replitune.statistics.segments import StoreMetadata
from replitune.statistics.store import read_metadata, read_stores, read_systems, write_store
from replitune.statistics.systems import SystemStatistics

BLEU = get_metric("bleu")


def metadata(metric: Metric = BLEU, **changes: object) -> StoreMetadata:
    fields = {
        "metric": metric.id,
        "id": metric.id,
        "signature": metric.signature(),
        "direction": 1,
        "testset": "t",
        "reference_sha256": "r",
        "decode_sha256": {},
    }
    return StoreMetadata(**{**fields, **changes})


def system(name: str = "a", n: int = 3, N: int = 5, seed: int = 0) -> SystemStatistics:
    rng = np.random.default_rng(seed)
    return SystemStatistics(
        name,
        tuple(f"mert-{r:03d}" for r in range(1, n + 1)),
        ("mert",) * n,
        # matches, n-grams, words: no more matches than n-grams, no more n-grams than words
        np.sort(rng.integers(0, 2**31 - 1, (n, N, len(BLEU.statistic_names)), dtype=np.int32)),
    )


def frame(**columns: object) -> pd.DataFrame:
    rows = {"system": ["a"] * 4, "replica": ["r1", "r1", "r2", "r2"], "segment": [0, 1, 0, 1]}
    return pd.DataFrame({**rows, "score": [0.1, 0.2, 0.3, 0.4], **columns})


@settings(deadline=None, derandomize=True, max_examples=25)
@given(n=st.integers(1, 4), N=st.integers(1, 6), documented=st.booleans(), seed=st.integers(0, 99))
def test_what_is_written_is_read_back(tmp_path_factory, n: int, N: int, documented: bool, seed: int):
    path = tmp_path_factory.mktemp("store") / "a.parquet"
    documents = [f"d{i // 2}" for i in range(N)] if documented else None
    written = system(n=n, N=N, seed=seed)
    write_store(path, [written], BLEU, metadata(), documents)
    read = read_systems([path])
    assert read.systems["a"].replicas == written.replicas
    assert read.systems["a"].groups == written.groups
    np.testing.assert_array_equal(read.systems["a"].statistics, written.statistics)
    assert read.systems["a"].statistics.dtype == np.int32
    expected = [i // 2 for i in range(N)] if documented else list(range(N))
    assert read.documents.tolist() == expected
    assert read.metric.signature() == BLEU.signature()


def test_the_same_statistics_are_the_same_bytes(tmp_path: Path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    a = system()
    shuffled = SystemStatistics("a", a.replicas[::-1], a.groups, np.ascontiguousarray(a.statistics[::-1]))
    write_store(one, [a], BLEU, metadata())
    write_store(two, [shuffled], BLEU, metadata())
    assert one.read_bytes() == two.read_bytes()


def test_columns_types_order_and_compression_are_as_documented(tmp_path: Path):
    path = tmp_path / "a.parquet"
    write_store(path, [system()], BLEU, metadata(), ["d"] * 5)
    schema = pq.read_schema(path)
    assert schema.names == ["system", "replica", "group", "document", "segment", *BLEU.statistic_names]
    for name in ("system", "replica", "group", "document"):
        assert pa.types.is_dictionary(schema.field(name).type)
    assert {schema.field(name).type for name in ("segment", *BLEU.statistic_names)} == {pa.int32()}
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"
    rows = pd.read_parquet(path)
    assert rows[["replica", "segment"]].apply(tuple, axis=1).is_monotonic_increasing
    assert read_metadata(path) == metadata()


def test_pandas_and_duckdb_read_it(tmp_path: Path):
    path = tmp_path / "a.parquet"
    a = system()
    write_store(path, [a], BLEU, metadata())
    expected = a.statistics[..., 0].astype(np.int64).sum(axis=1).tolist()
    by_pandas = pd.read_parquet(path).groupby("replica", observed=True)["match_1"].sum().tolist()
    query = f"select sum(match_1) from '{path}' group by replica order by replica"
    by_duckdb = [row[0] for row in duckdb.sql(query).fetchall()]
    assert by_pandas == expected
    assert by_duckdb == expected


def test_several_systems_in_one_file(tmp_path: Path):
    path = tmp_path / "all.parquet"
    systems = [system("b", 2, seed=1), system("a", 3, seed=2)]
    write_store(path, systems, BLEU, metadata())
    read = read_systems([path]).systems
    assert list(read) == ["a", "b"]
    np.testing.assert_array_equal(read["b"].statistics, systems[0].statistics)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_store_is_read_batch_by_batch(tmp_path: Path, monkeypatch, shuffled: bool):
    """A batch ends within a replica, a system and a document; only the last has a large count."""
    path = tmp_path / "a.parquet"
    systems = [system("b", 2, N=7), system("a", 3, N=7, seed=2)]
    for one in systems:
        one.statistics[:] //= 2**21
    systems[0].statistics[1, 6, -2:] = 2**15
    monkeypatch.setattr("replitune.statistics.store.ROW_GROUP", 10)
    write_store(path, systems, BLEU, metadata(), ["d", "d", "e", "e", "f", "d", "g"])
    written = pq.read_table(path)
    assert [pq.ParquetFile(path).metadata.row_group(k).num_rows for k in range(4)] == [10, 10, 10, 5]
    rows = np.random.default_rng(0).permutation(35) if shuffled else np.arange(35)
    pq.write_table(written.take(rows), path, row_group_size=9)
    monkeypatch.setattr("replitune.statistics.store.ROWS", 4)
    read = read_systems([path])
    assert read.documents.tolist() == [0, 0, 1, 1, 2, 0, 3]
    for one in systems:
        assert read.systems[one.name].replicas == one.replicas
        assert read.systems[one.name].groups == one.groups
        np.testing.assert_array_equal(read.systems[one.name].statistics, one.statistics)


def test_row_groups_are_those_of_a_table_that_is_written_whole(tmp_path: Path):
    """Parquet readers skip by row groups, and the bytes are those of pyarrow's own choice."""
    path, whole = tmp_path / "a.parquet", tmp_path / "whole.parquet"
    one = system("a", 7, N=170_000)
    write_store(path, [one], BLEU, metadata(), [f"d{i // 9}" for i in range(170_000)])
    pq.write_table(pq.read_table(path).combine_chunks(), whole, compression="zstd")
    assert path.read_bytes() == whole.read_bytes()
    assert pq.ParquetFile(path).metadata.num_row_groups == 2


def test_the_results_of_an_experiment_are_a_store(tmp_path: Path):
    """Of which other files with our metadata are no part."""
    written = tmp_path / "stats" / "t" / "bleu" / "a.parquet"
    write_store(written, [system()], BLEU, metadata(BLEU))
    other = pa.table({"a": [1]}).replace_schema_metadata({b"replitune": b"{}"})
    (tmp_path / "tests").mkdir()
    pq.write_table(other, tmp_path / "tests" / "bleu.parquet")
    with pytest.raises(ReplituneError, match="metadata is damaged"):
        read_stores(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    (store,) = read_stores(tmp_path)
    assert list(store.systems) == ["a"]


def test_a_file_of_scores_without_metadata_is_a_store(tmp_path: Path):
    path = tmp_path / "scores.parquet"
    frame().to_parquet(path)
    (store,) = read_stores(path)
    assert store.metric.direction == 1
    a = store.systems["a"]
    assert a.replicas == ("r1", "r2")
    np.testing.assert_allclose(store.metric.score(a.sums), [0.15, 0.35])


def test_foreign_types_and_orders_are_accepted(tmp_path: Path):
    plain = tmp_path / "plain.parquet"
    odd = tmp_path / "odd.parquet"
    frame(replica=[1, 1, 2, 2]).to_parquet(plain)
    rows = frame(replica=pd.array([1, 1, 2, 2], "int64"), segment=pd.array([0, 1, 0, 1], "uint8"))
    rows["system"] = rows["system"].astype("category")
    rows.iloc[[2, 0, 3, 1], [3, 2, 0, 1]].to_parquet(odd)
    np.testing.assert_array_equal(
        read_systems([plain]).systems["a"].statistics, read_systems([odd]).systems["a"].statistics
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (frame(segment=[0, 0, 0, 1]), "occurs twice"),
        (frame(score=[0.1, None, 0.3, 0.4]), "without nulls|not finite"),
        (frame(score=[0.1, np.inf, 0.3, 0.4]), "not finite"),
        (frame(segment=[0, 1, 0, 2]), "different segments"),
        (frame().iloc[:3], "different segments"),
        (frame().drop(columns="score"), "`score` is missing"),
        (frame().drop(columns="segment"), "`segment` is missing"),
        (frame(document=["d", "e", "d", "d"]), "documents differ"),
        (frame(system=[None, "a", "a", "a"]), "null in column `system`"),
        (frame(score=["x", "y", "z", "w"]), "must hold numbers"),
        (frame(segment=[0.0, 1.0, 0.0, 1.0]), "whole numbers"),
        (frame().iloc[:0], "no rows"),
    ],
)
def test_what_could_mislead_is_refused(tmp_path: Path, rows: pd.DataFrame, message: str):
    path = tmp_path / "bad.parquet"
    rows.to_parquet(path)
    with pytest.raises(ReplituneError, match=message) as error:
        read_systems([path])
    assert error.value.file == str(path)


@pytest.mark.parametrize(
    ("column", "change", "expected"),
    [
        ("match_2", lambda values: values.__setitem__(slice(None), values * 1000), "at most `total_2`"),
        ("match_1", lambda values: values.__setitem__(0, -1), "`match_1` of at least 0"),
        ("total_1", lambda values: values.__setitem__(0, 2**31 - 1), "at most `hyp_len`"),
        ("ref_len", lambda values: values.fill(0), "a `ref_len` above 0"),
    ],
)
def test_statistics_that_no_text_has_are_refused(tmp_path: Path, column: str, change, expected: str):
    one = Bleu()
    counts = one.statistics(["a b c d e", "a c"], [["a b c d f", "a b c"]])[None]
    change(counts[0, :, one.statistic_names.index(column)])
    written = SystemStatistics("a", ("run-001",), (None,), counts)
    write_store(tmp_path / "a.parquet", [written], one, metadata())
    with pytest.raises(ReplituneError, match="impossible statistics of bleu") as refused:
        read_systems([tmp_path / "a.parquet"])
    assert expected in str(refused.value)


def test_a_negative_score_is_possible_and_a_negative_count_is_not(tmp_path: Path):
    path = tmp_path / "a.parquet"
    frame(score=[-0.1, 0.2, -0.3, 0.4], count=[1, 1, 1, 1]).to_parquet(path)
    assert read_systems([path]).systems["a"].statistics.min() == -0.3
    frame(count=[1, 1, 1, -1]).to_parquet(path)
    with pytest.raises(ReplituneError, match="`count` of at least 0"):
        read_systems([path])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signature": "other"}, "metric differs"),
        ({"testset": "u"}, "test set differs"),
        ({"reference_sha256": "s"}, "references differs"),
    ],
)
def test_systems_that_were_scored_differently_are_refused(tmp_path: Path, changes: dict, message: str):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    write_store(one, [system("a")], BLEU, metadata())
    write_store(two, [system("b")], BLEU, metadata(**changes))
    with pytest.raises(ReplituneError, match=message) as error:
        read_systems([one, two])
    assert str(one) in str(error.value)
    assert str(two) in str(error.value)


def test_different_segments_and_documents_between_systems_are_refused(tmp_path: Path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    write_store(one, [system("a", N=5)], BLEU, metadata())
    write_store(two, [system("b", N=4)], BLEU, metadata())
    with pytest.raises(ReplituneError, match="segments differ"):
        read_systems([one, two])
    write_store(two, [system("b", N=5)], BLEU, metadata(), ["d"] * 5)
    with pytest.raises(ReplituneError, match="documents differ"):
        read_systems([one, two])


def test_a_damaged_file_and_an_empty_folder_are_refused(tmp_path: Path):
    path = tmp_path / "a.parquet"
    write_store(path, [system()], BLEU, metadata())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ReplituneError, match="not a readable Parquet"):
        read_stores(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReplituneError, match=r"no \.parquet file"):
        read_stores(tmp_path / "empty")


def test_names_that_are_no_utf8_are_refused(tmp_path: Path):
    path = tmp_path / "a.parquet"
    names = pa.array([b"a", b"\x9d"] * 2, pa.binary()).view(pa.string())
    pq.write_table(pa.table({**frame(), "replica": names}), path)
    with pytest.raises(ReplituneError, match="column `replica` that is not UTF-8") as error:
        read_systems([path])
    assert error.value.file == str(path)
