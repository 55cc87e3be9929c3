"""The segment-statistics store: one Parquet file per (test set, metric, system).

Rows are (replica, segment); columns are ``system replica group document segment`` and one
column per statistic. One JSON object in the file's metadata, under the key ``replitune``,
says which metric, how it was computed, and on which texts. A file of
``system, replica, segment, score`` without metadata is a store, too: a mean metric for which
higher is better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from replitune.corpus.testset import codes
from replitune.errors import ReplituneError
from replitune.metrics.base import MeanMetric, Metric
from replitune.metrics.registry import get_metric
from replitune.running.files import atomic_path
from replitune.running.parquet import parquet_file
from replitune.statistics.columns import Names, integers, require_lengths, statistics
from replitune.statistics.lazy import StoredSystems
from replitune.statistics.segments import SegmentStatistics, StoreMetadata
from replitune.statistics.systems import SystemStatistics

METADATA_KEY = b"replitune"
NAMED = ("system", "replica", "group", "document")
"""Columns of names."""
ROWS = 1 << 18
"""Rows that are read at once."""
ROW_GROUP = 1 << 20
"""Rows that are written at once."""
UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for files that are not Parquet, or damaged."""


def write_store(
    path: str | Path,
    systems: Sequence[SystemStatistics],
    metric: Metric,
    metadata: StoreMetadata,
    documents: Sequence[str] | None = None,
) -> None:
    """Write the statistics of one system, or of several, to one file.

    Rows are sorted by (system, replica, segment); `documents` has the document id of each
    of the N segments.
    """
    ordered = sorted(systems, key=lambda system: system.name)
    groups = [sorted({g for g in system.groups if g is not None}) for system in ordered]
    names = {
        "system": [system.name for system in ordered],
        "replica": [name for system in ordered for name in sorted(system.replicas)],
        "group": [name for of_system in groups for name in of_system],
        "document": [] if documents is None else documents,
    }
    numbers = {column: {name: k for k, name in enumerate(dict.fromkeys(names[column]))} for column in names}
    of_segments = None if documents is None else codes(documents)
    tables = (
        _table(system, replicas, metric, numbers, of_segments)
        for system in ordered
        for replicas in _ordered_replicas(system)
    )
    with atomic_path(path) as temporary:
        row_groups = _row_groups(tables)
        first = next(row_groups)
        schema = first.schema.with_metadata({METADATA_KEY: metadata.as_json().encode()})
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for table in itertools.chain([first], row_groups):
                writer.write_table(table.replace_schema_metadata(schema.metadata))


def _ordered_replicas(system: SystemStatistics) -> Iterator[list[int]]:
    """Sorted by name, in lists with the rows of one row group each; at least one list."""
    order = sorted(range(system.n), key=lambda r: system.replicas[r])
    step = max(1, ROW_GROUP // max(system.segments, 1))
    for start in range(0, max(system.n, 1), step):
        yield order[start : start + step]


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, in tables of `ROW_GROUP` rows."""
    waiting = None
    for table in tables:
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while waiting.num_rows > ROW_GROUP:
            yield waiting[:ROW_GROUP].combine_chunks()
            waiting = waiting[ROW_GROUP:]
    if waiting is not None:
        yield waiting.combine_chunks()


def _table(
    system: SystemStatistics,
    rows: list[int],
    metric: Metric,
    numbers: Mapping[str, Mapping[str, int]],
    documents: NDArray[np.int32] | None,
) -> pa.Table:
    """These replicas of one system, with the numbers that names have in the file."""
    n, N = len(rows), system.segments

    def named(column: str, names: Sequence[str | None]) -> pa.DictionaryArray:
        own = [-1 if name is None else numbers[column][name] for name in names]
        return _dictionary(np.repeat(np.asarray(own, np.int32), N), [*numbers[column]])

    columns: dict[str, pa.Array] = {
        "system": named("system", [system.name] * n),
        "replica": named("replica", [system.replicas[r] for r in rows]),
        "group": named("group", [system.groups[r] for r in rows]),
    }
    if documents is not None:
        columns["document"] = _dictionary(np.tile(documents, n), [*numbers["document"]])
    columns["segment"] = pa.array(np.tile(np.arange(N, dtype=np.int32), n))
    kind = np.int32 if metric.integer_statistics else np.float64
    flat = system.statistics[rows].reshape(n * N, system.statistics.shape[2])
    for k, name in enumerate(metric.statistic_names):
        columns[name] = pa.array(np.ascontiguousarray(flat[:, k], dtype=kind))
    return pa.table(columns)


def _dictionary(codes: NDArray[np.int32], names: list[str]) -> pa.DictionaryArray:
    """Strings by number; a negative number is null."""
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array(names, type=pa.string())
    )


def read_metadata(path: str | Path) -> StoreMetadata | None:
    """The metadata of a file; None for a file that does not have ours."""
    try:
        schema = parquet_file(path).schema_arrow
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    raw = (schema.metadata or {}).get(METADATA_KEY)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=StoreMetadata)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReplituneError(
            "the `replitune` metadata is damaged",
            file=path,
            found=str(error),
            fix="write the file again with `replitune score`",
        ) from None


def _unreadable(path: str | Path, error: Exception) -> ReplituneError:
    return ReplituneError(
        "not a readable Parquet file",
        file=path,
        found=str(error).split("\n")[0][:200],
        expected="segment statistics as written by `replitune score`",
    )


def find_files(store: str | Path) -> list[Path]:
    """The Parquet files of a store: the file itself, or all below the folder, sorted; of the results of an
    experiment, those of its statistics."""
    store = Path(store)
    if (store / "manifest.json").is_file() and (store / "stats").is_dir():
        store /= "stats"
    if store.is_dir():
        files = sorted(p for p in store.rglob("*.parquet") if not p.name.startswith("."))
        if not files:
            raise ReplituneError(
                "no .parquet file in this folder", file=store, fix="make one with `replitune score`"
            )
        return files
    if not store.exists():
        raise ReplituneError("no such store", file=store, fix="make it with `replitune score`")
    return [store]


def read_stores(store: str | Path) -> list[SegmentStatistics]:
    """Everything in a store, one item per (test set, metric), sorted by name."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in find_files(store):
        metadata = read_metadata(path)
        key = (metadata.testset, metadata.id) if metadata else ("", "mean")
        groups.setdefault(key, []).append(path)
    return [read_systems(groups[key]) for key in sorted(groups)]


class _File(NamedTuple):
    """What one file holds."""

    path: Path
    metadata: StoreMetadata | None
    systems: dict[str, SystemStatistics]
    segments: NDArray[np.int64]
    """(N,) numbers of the segments."""
    documents: list[str] | None
    """The document id of each segment."""


def read_systems(paths: Iterable[str | Path]) -> SegmentStatistics:
    """Read the files of one (test set, metric); refuse what does not fit together."""
    metric: Metric | None = None
    systems = StoredSystems(lambda path: _read_file(path, metric or MeanMetric(), None).systems)
    described: dict[str, StoreMetadata] = {}
    first: _File | None = None
    for path in map(Path, paths):
        metadata = read_metadata(path)
        if metric is None:
            metric = get_metric(metadata.metric) if metadata else MeanMetric()
        file = _read_file(path, metric, metadata)
        first = first or file
        _check_same(first, file)
        systems.add(path, file.systems)
        if metadata is not None:
            described.update(dict.fromkeys(file.systems, metadata))
    if metric is None or first is None:
        raise ReplituneError("no files in this store")
    metadata, segments, documents = first.metadata, first.segments, first.documents
    return SegmentStatistics(
        testset=metadata.testset if metadata else "",
        metric=metric,
        signature=metadata.signature if metadata else metric.signature(),
        systems=systems,
        documents=codes(range(len(segments)) if documents is None else documents),
        document_names=None if documents is None else tuple(dict.fromkeys(documents)),
        metadata=described,
        numbers=segments,
    )


def _check_same(first: _File, other: _File) -> None:
    """Refuse two files that differ in segments, documents, references or metric."""
    path, metadata, _, segments, documents = first
    path2, metadata2, _, segments2, documents2 = other
    if (metadata is None) != (metadata2 is None):
        raise ReplituneError(
            "a file with metadata and one without in the same store",
            file=path2,
            expected=f"as {path}",
            fix="keep them in separate folders",
        )
    if metadata is not None and metadata2 is not None:
        for what, x, y in (
            ("metric", metadata.signature, metadata2.signature),
            ("test set", metadata.testset, metadata2.testset),
            ("references", metadata.reference_sha256, metadata2.reference_sha256),
        ):
            if x != y:
                raise ReplituneError(
                    f"{what} differs between systems",
                    file=path2,
                    found=y,
                    expected=f"{x}, as in {path}",
                    fix="score all systems in the same way",
                )
    if not np.array_equal(segments, segments2):
        raise ReplituneError(
            "segments differ between systems",
            file=path2,
            found=f"{len(segments2)} segments",
            expected=f"the {len(segments)} of {path}",
            fix="score all systems on the same segments",
        )
    if documents != documents2:
        raise ReplituneError(
            "documents differ between systems",
            file=path2,
            expected=f"those of {path}",
            fix="score all systems with the same document file",
        )


def _read_file(path: Path, metric: Metric, metadata: StoreMetadata | None) -> _File:
    """Read batch by batch, into columns as narrow as possible: a store may take most of the memory."""
    names = {name: Names(path, name, nullable=name == "group") for name in NAMED}
    try:
        file = parquet_file(path)
        rows, columns = file.metadata.num_rows, file.schema_arrow.names
        _check_columns(columns, path)
        if rows == 0:
            raise ReplituneError("no rows", file=path, expected="one row per run and segment")
        numbers = {name: np.empty(rows, np.int32) for name in NAMED if name in columns}
        segments, values = np.empty(rows, np.int64), np.empty((0, 0), np.int16)
        first, at = 0, slice(0, 0)
        for batch in file.iter_batches(ROWS):
            at = slice(first, first + batch.num_rows)
            if at.stop > rows:
                break
            for name, column in numbers.items():
                column[at] = names[name].numbers(batch[name])
            segments[at] = integers(batch["segment"], path, "segment")
            of_batch = statistics(batch, metric, path, first)
            if first == 0:
                values = np.empty((rows, of_batch.shape[1]), of_batch.dtype)
            values = values.astype(np.result_type(values, of_batch), copy=False)
            values[at] = of_batch
            first = at.stop
        if at.stop != rows:
            raise pa.ArrowInvalid(f"it declares {rows} rows but has {at.stop} or more")
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    pa.default_memory_pool().release_unused()
    known = {name: names[name].sorted(numbers[name]) for name in ("system", "replica")}
    system, replica = (numbers[name] for name in known)
    same = (system[1:] == system[:-1]) & (replica[1:] == replica[:-1])
    later = (system[1:] > system[:-1]) | ((system[1:] == system[:-1]) & (replica[1:] > replica[:-1]))
    if not (later | (same & (segments[1:] > segments[:-1]))).all():
        order = np.lexsort((segments, replica, system))
        system, replica, segments, values = system[order], replica[order], segments[order], values[order]
        numbers = {name: column[order] for name, column in numbers.items()}
        same = (system[1:] == system[:-1]) & (replica[1:] == replica[:-1])
        twice = np.flatnonzero(same & (segments[1:] == segments[:-1]))
        if len(twice):
            row = int(twice[0])
            raise ReplituneError(
                "a segment occurs twice",
                file=path,
                found=f"system {known['system'][system[row]]}, run "
                f"{known['replica'][replica[row]]}, segment {segments[row]}",
                expected="each (system, run, segment) once",
            )
    starts = [0, *(np.flatnonzero(~same) + 1).tolist()]
    N = [*starts, rows][1]
    of_segments = numbers["document"][:N] if "document" in numbers else None
    members: dict[str, list[tuple[int, str, str | None]]] = {}
    for start, end in itertools.pairwise([*starts, rows]):
        name, id = known["system"][system[start]], known["replica"][replica[start]]
        if end - start != N or not np.array_equal(segments[start:end], segments[:N]):
            raise ReplituneError(
                "runs have different segments",
                file=path,
                found=f"{end - start} segments in run {id} of system {name}",
                expected=f"the {N} segments of run {known['replica'][replica[0]]}",
                fix="score every run on the whole test set",
            )
        if of_segments is not None and not np.array_equal(numbers["document"][start:end], of_segments):
            raise ReplituneError(
                "documents differ between runs", file=path, found=f"run {id} of system {name}"
            )
        code = numbers["group"][start] if "group" in numbers else -1
        group = None if code < 0 else str(names["group"].keys[code])
        members.setdefault(name, []).append((start, id, group))
    systems = {}
    for name, of_system in members.items():
        (begin, *_), replicas, groups = zip(*of_system, strict=True)
        counts = values[begin : begin + N * len(replicas)].reshape(len(replicas), N, -1)
        require_lengths(counts, replicas, metric, path)
        systems[name] = SystemStatistics(name, replicas, groups, counts)
    texts = [str(key) for key in names["document"].keys]
    documents = None if of_segments is None else [texts[code] for code in of_segments]
    return _File(path, metadata, systems, segments[:N].copy(), documents)


def _check_columns(columns: Sequence[str], path: Path) -> None:
    for name in columns:
        if columns.count(name) > 1:
            raise ReplituneError(f"two columns are called `{name}`", file=path)
    for name in ("system", "replica", "segment"):
        if name not in columns:
            raise ReplituneError(
                f"column `{name}` is missing",
                file=path,
                found=", ".join(columns),
                expected="system, replica, segment and the statistics",
            )
