"""The segment-statistics store: one Parquet file per (test set, metric, system).

Rows are (replica, segment); columns are ``system replica group document segment`` and one
column per statistic. One JSON object in the file's metadata, under the key ``replitune``,
says which metric, how it was computed, and on which texts. A file of
``system, replica, segment, score`` without metadata is a store, too: a mean metric for which
higher is better.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from replitune.statistics.columns import integers, statistics, strings
from replitune.statistics.lazy import StoredSystems
from replitune.statistics.systems import SystemStatistics

METADATA_KEY = b"replitune"
UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What pyarrow raises for files that are no Parquet, or damaged."""


@dataclass(frozen=True)
class StoreMetadata:
    """The metadata of one file of the store."""

    metric: str
    """The metric as :func:`get_metric` takes it: ``ter:id=ter-norm,normalized=true``."""
    id: str
    signature: str
    higher_is_better: bool
    testset: str
    reference_sha256: str
    decode_sha256: dict[str, dict[str, str]]
    """By system and replica, of the lines that were scored."""
    settings_sha256: str = ""
    """Hash of the settings of the score stage, paths not included."""
    missing: dict[str, dict[str, str]] = field(default_factory=dict)
    """Why replicas of the experiment are missing, by system and replica; usually empty."""

    def as_json(self) -> str:
        content = {key: value for key, value in asdict(self).items() if key != "missing" or value}
        return json.dumps(content, sort_keys=True, ensure_ascii=False)


@dataclass(frozen=True)
class SegmentStatistics:
    """All systems of one (test set, metric)."""

    testset: str
    metric: Metric
    signature: str
    systems: Mapping[str, SystemStatistics]
    """By name. Those of a large store are only in memory while they are used (see `lazy`)."""
    documents: NDArray[np.int32]
    """(N,) document number of each segment."""
    document_names: tuple[str, ...] | None
    """(G,), or None when each segment is its own document."""
    metadata: dict[str, StoreMetadata] = field(default_factory=dict)
    numbers: NDArray[np.int64] | None = None
    """(N,) number of each segment, as on disk; None: 0 to N - 1."""

    @property
    def segments(self) -> int:
        return len(self.documents)

    @property
    def n_documents(self) -> int:
        return int(self.documents.max(initial=-1)) + 1


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
    tables = [
        _table(system, metric, documents) for system in sorted(systems, key=lambda system: system.name)
    ]
    table = pa.concat_tables(tables).unify_dictionaries() if len(tables) > 1 else tables[0]
    text = metadata.as_json()
    table = table.combine_chunks().replace_schema_metadata({METADATA_KEY: text.encode()})
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def _table(system: SystemStatistics, metric: Metric, documents: Sequence[str] | None) -> pa.Table:
    """Rows of one system, by (replica, segment)."""
    order = sorted(range(system.n), key=lambda r: system.replicas[r])
    n, N, K = system.statistics.shape
    replicas = [system.replicas[r] for r in order]
    groups = sorted({g for g in system.groups if g is not None})
    group_code = [-1 if (g := system.groups[r]) is None else groups.index(g) for r in order]
    columns: dict[str, pa.Array] = {
        "system": _dictionary(np.zeros(n * N, np.int32), [system.name]),
        "replica": _dictionary(np.repeat(np.arange(n, dtype=np.int32), N), replicas),
        "group": _dictionary(np.repeat(np.asarray(group_code, np.int32), N), groups),
    }
    if documents is not None:
        names = list(dict.fromkeys(documents))
        columns["document"] = _dictionary(np.tile(codes(documents), n), names)
    columns["segment"] = pa.array(np.tile(np.arange(N, dtype=np.int32), n))
    kind = np.int32 if metric.integer_statistics else np.float64
    flat = system.statistics[order].reshape(n * N, K)
    for k, name in enumerate(metric.statistic_names):
        columns[name] = pa.array(np.ascontiguousarray(flat[:, k], dtype=kind))
    return pa.table(columns)


def _dictionary(codes: NDArray[np.int32], names: list[str]) -> pa.DictionaryArray:
    """Strings by number; a negative number is null."""
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array(names, type=pa.string())
    )


def read_metadata(path: str | Path) -> StoreMetadata | None:
    """The metadata of a file; None for a file without ours."""
    try:
        schema = pq.read_schema(path)
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
    """The Parquet files of a store: the file itself, or all below the folder, sorted."""
    store = Path(store)
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
    """(N,) their numbers."""
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
    try:
        table = parquet_file(path).read()
        names = table.column_names
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    for name in names:
        if names.count(name) > 1:
            raise ReplituneError(f"two columns are called `{name}`", file=path)
    for name in ("system", "replica", "segment"):
        if name not in table.column_names:
            raise ReplituneError(
                f"column `{name}` is missing",
                file=path,
                found=", ".join(table.column_names),
                expected="system, replica, segment and the statistics",
            )
    if table.num_rows == 0:
        raise ReplituneError("no rows", file=path, expected="one row per replica and segment")
    system_code, system_names = strings(table["system"], path, "system")
    replica_code, replica_names = strings(table["replica"], path, "replica")
    segment = integers(table["segment"], path, "segment")
    values = statistics(table, metric, path)
    group_code, group_names = (
        strings(table["group"], path, "group", nullable=True)
        if "group" in table.column_names
        else (np.full(len(segment), -1), [])
    )
    document_code, document_names = (
        strings(table["document"], path, "document") if "document" in table.column_names else (None, [])
    )

    order = np.lexsort((segment, replica_code, system_code))
    system_code, replica_code, segment = (x[order] for x in (system_code, replica_code, segment))
    cell = system_code * len(replica_names) + replica_code
    same = (cell[1:] == cell[:-1]) & (segment[1:] == segment[:-1])
    if same.any():
        at = int(np.flatnonzero(same)[0])
        raise ReplituneError(
            "a segment occurs twice",
            file=path,
            found=f"system {system_names[system_code[at]]}, replica "
            f"{replica_names[replica_code[at]]}, segment {segment[at]}",
            expected="each (system, replica, segment) once",
        )
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    ends = np.r_[starts[1:], len(cell)]
    N = int(ends[0] - starts[0])
    segments = segment[:N]
    if document_code is not None:
        document_code = document_code[order]
    blocks: dict[str, list[tuple[str, str | None, NDArray]]] = {}
    for start, end in zip(starts, ends, strict=True):
        name = system_names[system_code[start]]
        replica = replica_names[replica_code[start]]
        if end - start != N or not np.array_equal(segment[start:end], segments):
            raise ReplituneError(
                "replicas have different segments",
                file=path,
                found=f"{end - start} segments in replica {replica} of system {name}",
                expected=f"the {N} segments of replica {replica_names[replica_code[0]]}",
                fix="score every replica on the whole test set",
            )
        if document_code is not None and not np.array_equal(document_code[start:end], document_code[:N]):
            raise ReplituneError(
                "documents differ between replicas", file=path, found=f"replica {replica} of system {name}"
            )
        code = group_code[order[start]]
        group = None if code < 0 else group_names[code]
        blocks.setdefault(name, []).append((replica, group, values[order[start:end]]))
    systems = {
        name: SystemStatistics(
            name=name,
            replicas=tuple(replica for replica, _, _ in rows),
            groups=tuple(group for _, group, _ in rows),
            statistics=np.ascontiguousarray(np.stack([block for _, _, block in rows])),
        )
        for name, rows in blocks.items()
    }
    documents = None if document_code is None else [document_names[code] for code in document_code[:N]]
    return _File(path, metadata, systems, segments, documents)
