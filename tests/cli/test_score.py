from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from replitune.statistics.store import read_metadata, read_stores
from support import Ran


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "ref.txt").write_text("the cat sat down\na dog ran away\nit rains a lot\n")
    (tmp_path / "docs.txt").write_text("one\none\ntwo\n")
    (tmp_path / "mert-001.txt").write_text("the cat sat\na dog ran away\nit rains\n")
    (tmp_path / "mert-002.txt").write_text("the cat sat\na dog walked away\nit rains\n")
    (tmp_path / "list.tsv").write_text(
        f"a\tmira-001\t{tmp_path}/mert-001.txt\na\tmira-002\t{tmp_path}/mert-002.txt\n"
    )
    return tmp_path


def score(replitune: Callable[..., Ran], texts: Path, *more: object) -> Ran:
    return replitune("score", "--refs", texts / "ref.txt", *more)


def hyps(texts: Path) -> list[object]:
    return ["--hyps", f"a={texts}/mert-001.txt", texts / "mert-002.txt"]


def test_a_folder_by_metric_and_system(replitune: Callable[..., Ran], texts: Path):
    out = texts / "stats"
    ran = score(
        replitune,
        texts,
        *hyps(texts),
        "--metrics",
        "bleu",
        "chrf",
        "ter:normalized=true,id=t",
        "--docs",
        texts / "docs.txt",
        "--testset",
        "flickr",
        "--out",
        out,
    )
    assert ran.code == 0, ran.err
    assert "4 distinct outputs scored" in ran.out
    stores = {store.metric.id: store for store in read_stores(out)}
    assert set(stores) == {"bleu", "chrf", "t"}
    assert stores["t"].testset == "flickr"
    assert stores["t"].documents.tolist() == [0, 0, 1]
    metadata = read_metadata(out / "t" / "a.parquet")
    assert metadata is not None
    assert "norm:yes" in metadata.signature


def test_one_file_and_a_list_and_a_folder_say_the_same(replitune: Callable[..., Ran], texts: Path):
    folder = ["--hyps-from", texts, "--system", "a", "--replicas", "mert=2"]
    listed = ["--hyps-from", texts / "list.tsv"]
    found = {}
    for name, given in {"hyps": hyps(texts), "folder": folder, "list": listed}.items():
        out = texts / f"{name}.parquet"
        assert score(replitune, texts, *given, "--out", out).code == 0
        (store,) = read_stores(out)
        found[name] = store.systems["a"]
    np.testing.assert_array_equal(found["hyps"].statistics, found["folder"].statistics)
    np.testing.assert_array_equal(found["hyps"].statistics, found["list"].statistics)
    assert found["folder"].groups == ("mert", "mert")
    assert found["list"].replicas == ("mira-001", "mira-002")
    assert found["hyps"].groups == (None, None)


def test_unchanged_replicas_are_taken_over_and_changed_ones_are_not(
    replitune: Callable[..., Ran], texts: Path
):
    out = texts / "stats"
    assert score(replitune, texts, *hyps(texts), "--out", out).code == 0
    before = (out / "bleu" / "a.parquet").read_bytes()
    again = score(replitune, texts, *hyps(texts), "--out", out)
    assert "rows of 2 runs taken over" in again.out
    assert (out / "bleu" / "a.parquet").read_bytes() == before
    (texts / "mert-002.txt").write_text("the cat\na dog\nit rains\n")
    changed = score(replitune, texts, *hyps(texts), "--out", out)
    assert "rows of 1 runs taken over" in changed.out
    (texts / "ref.txt").write_text("the cat sat up\na dog ran away\nit rains a lot\n")
    other = score(replitune, texts, *hyps(texts), "--out", out)
    assert "rows of 0 runs taken over" in other.out


def test_anybody_can_write_a_store_and_test_it(replitune: Callable[..., Ran], texts: Path):
    path = texts / "da.parquet"
    duckdb.sql(
        "copy (select 'sys' || s as system, 'run' || r as replica, i as segment, "
        "  (hash(s * 1000 + r * 100 + i) % 100) / 100.0 + s as score "
        "from range(2) a(s), range(4) b(r), range(30) c(i)) "
        f"to '{path}' (format parquet)"
    )
    ran = replitune("test", path, "--samples", 99)
    assert ran.code == 0, ran.err
    assert "sys1 over sys0" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hyps-from", "missing.tsv"], "no such file"),
        (["--hyps", "a"], "--hyps NAME=FILE"),
        (["--hyps-from", "folder", "--system", "a"], "--replicas"),
        (["--hyps-from", "folder", "--system", "a", "--replicas", "mert"], "mert=20"),
        ([], "either --hyps or --hyps-from"),
    ],
)
def test_mistakes(replitune: Callable[..., Ran], texts: Path, arguments: list[str], message: str):
    ran = score(replitune, texts, *arguments, "--out", texts / "out")
    assert ran.code == 2
    assert message in ran.err
    assert not (texts / "out").exists()


def test_a_line_of_a_list_that_is_none(replitune: Callable[..., Ran], texts: Path):
    (texts / "list.tsv").write_text("a\tx\ty\tz\n")
    ran = score(replitune, texts, "--hyps-from", texts / "list.tsv", "--out", texts / "out")
    assert ran.code == 2
    assert "list.tsv:1:" in ran.err


def test_several_test_sets_must_be_told_apart(replitune: Callable[..., Ran], texts: Path):
    for name in ("one", "two"):
        out = texts / "stats" / name
        score(replitune, texts, *hyps(texts), "--testset", name, "--out", out)
    ran = replitune("test", texts / "stats")
    assert ran.code == 2
    assert "one, two" in ran.err
