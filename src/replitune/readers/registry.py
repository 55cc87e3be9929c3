"""Readers of scores by name: ours, and those that other packages bring as entry points.

Each is asked in turn whether it knows a file, the general ones last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replitune.errors import ReplituneError
from replitune.registry import Registry

if TYPE_CHECKING:
    from replitune.readers.interface import Reader, ScoreRows
    from replitune.readers.settings import ColumnNames


def _is_reader(brought: object) -> bool:
    from replitune.readers.interface import Reader

    return isinstance(brought, type) and issubclass(brought, Reader)


READERS: Registry[type[Reader]] = Registry(
    "reader of scores",
    {
        "lm-eval": "replitune.readers.lm_eval:LmEval",
        "comet": "replitune.readers.comet:Comet",
        "parquet": "replitune.readers.parquet:Parquet",
        "jsonl": "replitune.readers.json_lines:JsonLines",
        "separated": "replitune.readers.separated:Separated",
    },
    group="replitune.readers",
    accepts=_is_reader,
    expected="a subclass of replitune.readers.interface.Reader",
)


def read_scores(
    paths: Sequence[str | Path], names: ColumnNames, systems: Sequence[str | None] | None = None
) -> list[ScoreRows]:
    """Every file by the reader that knows it. `systems`: of each file, where it is known.

    Files of one system that do not tell their runs are its runs, in their order.
    """
    from replitune.readers.interface import Beginning

    found = []
    # those of other packages first: ours take any table
    order = sorted(READERS.names, key=lambda name: name in READERS.own)
    for path, system in zip(paths, systems or [None] * len(paths), strict=True):
        beginning = Beginning.of(path)
        reader = next((r for r in map(READERS.__getitem__, order) if r.recognises(beginning)), None)
        if reader is None:
            raise ReplituneError(
                "not a file of scores", file=path, found=_shown(beginning.data),
                expected="a table as CSV, TSV, JSON lines or Parquet, with a column `score`",
            )  # fmt: skip
        rows = reader.read(beginning.path, names)
        found.append(rows if system is None else rows.of_system(system))
    runs: Counter[tuple[str, str | None]] = Counter()
    for i, rows in enumerate(found):
        system = rows.whole.get("system")
        if system is not None and "replica" not in {*rows.columns, *rows.whole}:
            runs[system, rows.whole.get("testset")] += 1
            found[i] = rows.with_whole("replica", str(runs[system, rows.whole.get("testset")]))
    return found


def _shown(data: bytes) -> str:
    return repr(data[:16].decode("utf-8", "backslashreplace")) if data else "nothing"
