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


READERS: Registry[type[Reader]] = Registry(
    "reader of scores",
    {
        "lm-eval": "replitune.readers.lm_eval:LmEval",
        "every-eval-ever": "replitune.readers.eee:EveryEvalEver",
        "inspect": "replitune.readers.inspect_logs:Inspect",
        "promptfoo": "replitune.readers.promptfoo:Promptfoo",
        "wmt": "replitune.readers.wmt:Wmt",
        "mt-metrics-eval": "replitune.readers.mt_metrics_eval:MtMetricsEval",
        "comet": "replitune.readers.comet:Comet",
        "generations": "replitune.readers.generations:Generations",
        "numbers": "replitune.readers.numbers:Numbers",
        "parquet": "replitune.readers.parquet:Parquet",
        "json": "replitune.readers.json_array:JsonArray",
        "jsonl": "replitune.readers.json_lines:JsonLines",
        "separated": "replitune.readers.separated:Separated",
    },
    group="replitune.readers",
    base="replitune.readers.interface:Reader",
)


def read_scores(
    paths: Sequence[str | Path],
    names: ColumnNames,
    systems: Sequence[str | None] | None = None,
    metrics: Sequence[str] = (),
) -> list[ScoreRows]:
    """Every file by the reader that knows it. `systems`: of each file, where it is known.

    Files of one system without runs are its runs, in their order; where several files name no system,
    it is taken from the names of the files.
    """
    files = [read_file(path, names, metrics) for path in paths]
    if systems is not None:
        files = [
            rows if system is None else rows.of_system(system)
            for rows, system in zip(files, systems, strict=True)
        ]
    elif len(files) > 1 and not any(_has_role(rows, "system") for rows in files):
        files = _named_by_files(files)
    return runs_in_order(files)


def runs_in_order(files: Sequence[ScoreRows]) -> list[ScoreRows]:
    """Number the files of one system that have no runs as its runs."""
    seen: Counter[tuple[str, str | None]] = Counter()
    numbered = []
    for rows in files:
        system = rows.whole.get("system")
        if system is not None and not _has_role(rows, "replica"):
            key = system, rows.whole.get("testset")
            seen[key] += 1
            rows = rows.with_whole("replica", str(seen[key]))
        numbered.append(rows)
    return numbered


def read_file(path: str | Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
    """One file, or folder, by the reader that knows it."""
    from replitune.readers.interface import Beginning

    beginning = Beginning.from_file(path)
    # those of other packages first: ours take any table
    order = sorted(READERS.names, key=lambda name: name in READERS.own)
    reader = next((r for r in map(READERS.__getitem__, order) if r.recognises(beginning)), None)
    if reader is None:
        raise ReplituneError(
            "not a file of scores",
            file=path,
            found=_shown(beginning.data),
            expected="a table as CSV, TSV, JSON lines or Parquet, with a column `score`",
        )
    return reader.read(beginning.path, names, metrics)


def _has_role(rows: ScoreRows, role: str) -> bool:
    return role in {*rows.columns, *rows.whole}


def _named_by_files(tables: Sequence[ScoreRows]) -> list[ScoreRows]:
    """`new.run2.csv` is run 2 of new; where files have runs, each is a system."""
    from dataclasses import replace

    from replitune.readers.interface import brief
    from replitune.readers.names import runs_of_files, system_and_run

    files = [rows.name for rows in tables]
    named: dict[str, tuple[str, str | None]] = {}
    if any(_has_role(rows, "replica") for rows in tables):
        named |= {file: (system_and_run(file)[0], None) for file in files}
    else:
        named |= runs_of_files(files)
    if len(set(named.values())) == len(files) == len({name for name, _ in named.values()}):
        note = f"each file is a system: {', '.join(name for name, _ in named.values())}"
    else:
        listed = [f"{system} {run}" for system, run in named.values()]
        note = f"systems and runs by the names of files: {brief(listed, separator=', ')}"
    renamed = []
    for rows in tables:
        system, run = named[rows.name]
        rows = rows.with_whole("system", system)
        rows = rows if run is None else rows.with_whole("replica", run)
        renamed.append(replace(rows, read_as=(*rows.read_as, note)))
    return renamed


def _shown(data: bytes) -> str:
    return repr(data[:16].decode("utf-8", "backslashreplace")) if data else "nothing"
