"""What a job read and what it made, by sha256: nothing is computed from a file that has changed.

The record of a job, ``logs/<stage>/….json``, lists its inputs and outputs. A job looks up the
record of whatever made its inputs, and refuses a file with another content: a bit that flipped, a
copy that was cut off, a line edited by hand. The records of a whole experiment show whether every
result was made from the present version of its inputs, whatever the clock said.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from replitune.errors import ReplituneError
from replitune.running.files import atomic_open, sha256_file, written

STAGES = {
    "corpus": ("corpus",),
    "models": ("train",),
    "tuning": ("tune", "train"),
    "decodes": ("decode",),
    "stats": ("score",),
    "tests": ("test",),
    "studies": ("",),
    "tables": ("report",),
    "figures": ("report",),
    "report.html": ("report",),
}
"""Stages that write below a folder of results, and so where their records are; a study names its
own folder."""

WRITTEN = ("out", "history", "work", "log", "record", "nbest_out")
"""Options that name what a command writes."""


def results_of(record: str | Path) -> Path:
    """The folder ``results/<experiment>`` of a record in its ``logs``."""
    parts = Path(record).absolute().parts
    last = len(parts) - 1 - parts[::-1].index("logs") if "logs" in parts else len(parts) - 1
    return Path(*parts[:last])


def inputs_of(options: argparse.Namespace) -> list[Path]:
    """Files and folders that the options of a command name to be read."""
    words = [
        word
        for name, value in vars(options).items()
        if name not in WRITTEN
        for word in (value if isinstance(value, list) else [value])
        if isinstance(word, str)
    ]
    return [Path(word) for word in words if os.path.exists(word)]


def checked(results: Path, paths: Iterable[Path]) -> dict[str, str]:
    """sha256 of the files of this experiment among `paths`, by name; refuses what has changed."""
    found = {}
    for name in dict.fromkeys(_names(results, paths)):
        found[name] = sha256 = sha256_file(results / name)
        made = _recorded(results, name)
        if made is not None and sha256 != made:
            raise ReplituneError(
                "is not what the workflow made",
                file=os.path.relpath(results / name),
                found=f"sha256 {sha256}",
                expected=f"sha256 {made}, as when it was made",
                fix=f"rm -r {os.path.relpath(_whole(results, name))}, and run again; "
                "it is made anew, and all that depends on it",
            )
    return found


def check_results(results: Path) -> None:
    """Refuse to account for results of which a file has changed since it was made."""
    checked(results, [results / name for name in STAGES if (results / name).exists()])
    check_origins(results)


def as_noted(record: str | Path, path: Path) -> bool:
    """Whether a file that is to be used once more is as `note` found it. Snakemake removes the
    record of a job before the job begins."""
    try:
        return _note(record, path).read_text(encoding="utf-8") == sha256_file(path)
    except (OSError, ValueError):
        return False


def note(record: str | Path, path: Path) -> None:
    """Write down the sha256 of an output of the job with this record, apart from the results."""
    sha256 = sha256_file(path)
    with atomic_open(_note(record, path)) as handle:
        handle.write(sha256)


def _note(record: str | Path, path: Path) -> Path:
    results = results_of(record)
    return results / ".noted" / os.path.relpath(path, results)


def made(results: Path) -> dict[str, str]:
    """sha256 of what this process has written to the results, by name."""
    return {name: sha256_file(results / name) for name in _names(results, written)}


def remove_remains() -> None:
    """Remove half-made copies, of runs that were killed, of what this process has written."""
    import shutil

    for path in written:
        for remains in path.parent.glob(f".{_literal(path.name)}.*.*"):
            if remains.suffix in (".tmp", ".old"):
                shutil.rmtree(remains) if remains.is_dir() else remains.unlink(missing_ok=True)


def check_origins(results: Path) -> None:
    """Refuse results that were not made from the present version of their inputs.

    Snakemake goes by the age of files. When the clock was put back between two runs, of which
    the second was interrupted, something made from old inputs can look new.
    """
    todo, seen = [results / "logs" / "report" / "report.json"], set()
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name, sha256 in _read(path).get("inputs", {}).items():
            maker = _maker(results, name)
            # curves are drawn of every replica that is there, in use or not
            if maker is None or name.endswith("/history.parquet"):
                continue
            todo.append(maker)
            if _read(maker)["outputs"][name] != sha256:
                user = path.relative_to(results / "logs").with_suffix("").as_posix()
                outputs = [os.path.relpath(results / o) for o in _read(path).get("outputs", {})]
                raise ReplituneError(
                    f"the results are not of one piece: {user} was made from another version "
                    f"of {name}",
                    file=os.path.relpath(results / name),
                    found="files whose times do not tell their order: was the clock put back?",
                    fix=f"rm {' '.join(outputs[:3])}{' ...' if outputs[3:] else ''}, and run again",
                )


def _names(results: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Names, in the results, of files and of what is in folders; a hidden file is no result."""
    for path in paths:
        path = path.absolute()
        if not path.is_relative_to(results):
            continue
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(results)
            if name.parts[0] in STAGES and not _hidden(name) and file.is_file():
                yield name.as_posix()


def _hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _maker(results: Path, name: str) -> Path | None:
    """The record that lists `name` as an output: the nearest one of its stage."""
    first, *rest = Path(name).parts
    for stage in STAGES.get(first, ()):
        stem = "/".join(rest)
        if stage == "report":
            stem = "report"
        while stem:
            path = results / "logs" / stage / f"{stem}.json"
            if name in _read(path).get("outputs", {}):
                return path
            folder, slash, last = stem.rpartition("/")
            stem = folder + slash + last.rpartition(".")[0] if "." in last else folder
    return None


def _recorded(results: Path, name: str) -> str | None:
    maker = _maker(results, name)
    return None if maker is None else str(_read(maker)["outputs"][name])


WHOLE = {"models": 2, "tuning": 3, "tables": 1, "figures": 1}
"""Parts of the names of folders that are made whole."""


def _whole(results: Path, name: str) -> Path:
    """What Snakemake makes again as a whole: the folder of a model, of a replica, of all tables."""
    parts = Path(name).parts
    return results / Path(*parts[: WHOLE.get(parts[0], len(parts))])


_cache: dict[Path, Mapping[str, Any]] = {}


def _read(path: Path) -> Mapping[str, Any]:
    """A record; what is not there or damaged says nothing."""
    if path not in _cache:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        _cache[path] = found if isinstance(found, dict) else {}
    return _cache[path]


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
