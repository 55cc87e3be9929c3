"""Readers of scores by name: our own, and those that other packages provide as entry points.

The first that recognises a file reads it; the general ones come last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
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
        "helm": "replitune.readers.helm:Helm",
        "deepeval": "replitune.readers.deepeval:DeepEval",
        "terminal-bench": "replitune.readers.terminal_bench:TerminalBench",
        "wmt": "replitune.readers.wmt:Wmt",
        "mt-metrics-eval": "replitune.readers.mt_metrics_eval:MtMetricsEval",
        "sacrebleu": "replitune.readers.sacrebleu:Sacrebleu",
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
    """Read every file by the reader that recognises it. `systems`: of each file, where it is known.

    Files of one system that name no runs are its runs, in their order. If none of several files names
    a system, systems are taken from the names of the files.
    """
    files = [read_file(path, names, metrics) for path in paths]
    if systems is not None:
        files = [
            rows if system is None else rows.of_system(system)
            for rows, system in zip(files, systems, strict=True)
        ]
    elif len(files) > 1 and not any(rows.has("system") for rows in files):
        files = _named_by_files(files)
    return runs_in_order(files)


def runs_in_order(files: Sequence[ScoreRows]) -> list[ScoreRows]:
    """Number the files of one system that name no runs as its runs, and the runs or samples of an
    evaluation after those of earlier evaluations. A single file of samples is no run."""
    seen: Counter[tuple[str | None, str | None]] = Counter()
    files_of = Counter((rows.whole.get("system"), rows.whole.get("testset")) for rows in files)
    before: dict[tuple[str, ...], dict[str, int]] = {}
    numbered = []
    for rows in files:
        if (id := rows.evaluation) is not None:
            # the number of runs or samples of each earlier evaluation, by its id
            role = "sample" if rows.has("sample") else "replica"
            known = before.setdefault((*rows.ids("system"), "", *rows.ids("testset")), {})
            if known and id not in known:
                rows = _numbered_on(rows, role, sum(known.values()))
            known.setdefault(id, len(rows.ids(role)))
        key = rows.whole.get("system"), rows.whole.get("testset")
        samples = rows.has("sample") and (files_of[key] == 1 or rows.evaluation is not None)
        if key[0] is not None and not samples and not rows.has("replica"):
            seen[key] += 1
            rows = rows.with_whole("replica", str(seen[key]))
        numbered.append(rows)
    return numbered


def _numbered_on(rows: ScoreRows, role: str, start: int) -> ScoreRows:
    """The same rows with runs, or samples, numbered from start + 1."""
    import pyarrow as pa

    ids = sorted(rows.ids(role), key=lambda id: (len(id), id))
    number = {id: str(start + n) for n, id in enumerate(ids, start=1)}
    column = pa.array([number[id] for id in rows.columns[role].to_pylist()])
    return replace(rows, columns={**rows.columns, role: pa.chunked_array([column.dictionary_encode()])})


def read_file(path: str | Path, names: ColumnNames, metrics: Sequence[str] = ()) -> ScoreRows:
    """Read one file or folder by the reader that recognises it."""
    from replitune.readers.interface import Beginning

    beginning = Beginning.from_file(path)
    # those of other packages first: ours take any table
    order = sorted(READERS.names, key=lambda name: name in READERS.own)
    reader = next((r for r in map(READERS.__getitem__, order) if r.recognises(beginning)), None)
    if reader is None and beginning.path.is_dir():
        raise ReplituneError(
            "is a folder", file=path, fix="name the files of scores in it, such as DIR/*.eval"
        )
    if reader is None:
        raise ReplituneError(
            "not a file of scores",
            file=path,
            found=_shown(beginning.data),
            expected="a table as CSV, TSV, JSON lines or Parquet, with a column `score`",
        )
    return reader.read(beginning.path, names, metrics)


def _named_by_files(tables: Sequence[ScoreRows]) -> list[ScoreRows]:
    """`new.run2.csv` is run 2 of new; if the files themselves name runs, each file is a system."""
    from replitune.readers.interface import brief
    from replitune.readers.names import runs_of_files

    files = [rows.name for rows in tables]
    named: dict[str, tuple[str, str | None]] = {**runs_of_files(files)}
    if any(rows.has("replica") for rows in tables):
        named = {file: (system, None) for file, (system, _) in named.items()}
    if len(set(named.values())) == len(files) == len({name for name, _ in named.values()}):
        note = f"each file is a system: {', '.join(name for name, _ in named.values())}"
        note += " (if they are runs of one system: NAME=FILE FILE ...)"
        if any(rows.has("sample") for rows in tables):  # and its samples are no samples of a run
            named = {file: (system, None) for file, (system, _) in named.items()}
    else:
        listed = [f"{system} {run}" for system, run in named.values()]
        note = f"systems and runs are taken from the names of files: {brief(listed, separator=', ')}"
    renamed = []
    for rows in tables:
        system, run = named[rows.name]
        rows = rows.with_whole("system", system)
        rows = rows if run is None else rows.with_whole("replica", run)
        renamed.append(replace(rows, read_as=(*rows.read_as, note)))
    return renamed


def _shown(data: bytes) -> str:
    return repr(data[:16].decode("utf-8", "backslashreplace")) if data else "nothing"
