"""What a job read and what it made, by sha256: nothing is computed from a file that has changed.

The record of a job, ``logs/<stage>/….json``, says how it ran and lists its inputs and outputs. For
each output, ``.made/<its name>.json`` has the sha256 and names the record, so that whoever reads
the output finds both. A job refuses an input whose content has changed: a flipped bit, a truncated
copy, a line edited by hand. All records together show whether every result was made from the
present version of its inputs, whatever the clock said.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from replitune.errors import ReplituneError
from replitune.ledger.provenance import cpu_type, printable, versions
from replitune.running.files import (
    atomic_open,
    bytes_of,
    remove,
    sha256_file,
    together,
    write_json,
    written,
)

FOLDERS = (
    "corpus",
    "models",
    "options",
    "tuning",
    "answers",
    "decodes",
    "derivations",
    "looks",
    "stats",
    "tests",
    "studies",
    "tables",
    "figures",
)
PAGE = "report.html"
"""Results are the files in these folders, and the page; names that begin with a dot are not."""

MADE = ".made"
"""The folder that says which job made each result."""

LAST = "report/report"
"""The record from which all others can be reached by following inputs."""

LARGE = 1 << 22
"""An input of at least this many bytes is not read again by a job if its size and times are unchanged
since it was made: every job of a system has the model as an input. The manifest and `verify` read all.
(Snakemake touches single files after their job, so these are read again, but not files in a folder.)"""


class Maker(NamedTuple):
    """Which job made an output, and when it can be kept."""

    sha256: str
    """Hash of the output when it was made."""
    record: str
    """Name of the record, below ``logs`` and without its suffix."""
    origin: str = ""
    """Hash of everything the output depends on, if it is kept while that is unchanged."""
    cpu_seconds: float = 0.0
    """CPU time of the part of the job that made it."""
    stamp: Sequence[int] = ()
    """Size and times of a large file, when it was made."""


@dataclass
class Work:
    """A running job."""

    results: Path
    read: Mapping[str, str]
    """sha256 of its inputs by name."""
    parts: dict[str, float] = field(default_factory=dict)
    """CPU seconds by the name of a part, in this job or in the earlier one that made the part."""
    origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By output: the hash of what it depends on, and its part."""

    def is_made(
        self, part: str, settings: str | None, inputs: Iterable[Path], outputs: Sequence[Path]
    ) -> bool:
        """Whether the outputs of a part are there, unchanged, and were made with the same settings,
        versions and type of processor from the same inputs. If so, they are touched, so that Snakemake
        takes them for new. Always false without settings."""
        read = [(name, self.read[name]) for name in names(self.results, inputs)]
        read += [(str(p), sha256_file(p)) for p in inputs if p.is_file() and not self._has(p)]
        dependencies = json.dumps([settings, versions(), cpu_type(), read])
        origin = "" if settings is None else hashlib.sha256(dependencies.encode()).hexdigest()
        named = [os.path.relpath(path, self.results) for path in outputs]
        self.origins |= dict.fromkeys(named, (origin, part))
        for name, path in zip(named, outputs, strict=True):
            made = maker(self.results, name) if origin and path.is_file() else None
            if made is None or made.origin != origin or made.sha256 != sha256_file(path):
                return False
            self.parts[part] = made.cpu_seconds
        for path in outputs:
            path.touch()
        return True

    def _has(self, path: Path) -> bool:
        return path.absolute().is_relative_to(self.results)

    @contextlib.contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Time the making of a part."""
        before = cpu_seconds()
        yield
        self.parts[part] = round(cpu_seconds() - before, 3)


@contextlib.contextmanager
def recording(
    record: str | Path, *, command: Sequence[str], inputs: Iterable[Path], outputs: Iterable[Path]
) -> Iterator[Work]:
    """Refuse inputs that have changed; when the work inside has succeeded, write how it ran and what it
    made. `inputs` and `outputs` are files and folders; those that are not results are left out, and
    `outputs` is read after the work."""
    results = results_of(record)
    read = checked(results, inputs)
    started, clock = datetime.now(UTC), time.perf_counter()
    work = Work(results.absolute(), read)
    yield work
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    stamps = {name: _stamp(results / name) for name in names(results, outputs)}
    made = {name: sha256_file(results / name) for name in stamps}
    account = {
        "command": ["replitune", *map(printable, command)],
        "versions": versions(),
        "cpu": cpu_type(),
        "platform": platform.platform(),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
        "cpu_seconds": round(cpu_seconds(), 3),
        "peak_rss_mb": round(max(peak_of_this_process(), children.ru_maxrss) / 1024, 1),
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "python_executable": Path(sys.executable).name,
        **({"parts": work.parts} if len(work.parts) > 1 else {}),
        "inputs": read,
        "outputs": made,
    }
    with together():
        write_json(record, account)
        _write_benchmark(results, _name(results, record), account)
        for name, sha256 in made.items():
            origin, part = work.origins.get(name, ("", ""))
            seconds = work.parts.get(part, 0.0)
            _note(results, name, Maker(sha256, _name(results, record), origin, seconds, stamps[name]))
    for path in written:
        remove_remains(path)


def _note(results: Path, name: str, made: Maker) -> None:
    with atomic_open(_index(results, name)) as handle:
        json.dump({key: value for key, value in made._asdict().items() if value != []}, handle)


def index(results: Path) -> None:
    """Write ``.made`` for the results that are here from the records that are here: results that
    Snakemake fetches from a storage come with their records."""
    with together():
        for record, account in records(results).items():
            outputs = account.get("outputs") or {}
            for name in names(results, (results / name for name in outputs)):
                made = maker(results, name)
                if made is None or (made.sha256, made.record) != (outputs[name], record):
                    _note(results, name, Maker(outputs[name], record))


def cpu_seconds() -> float:
    """CPU time of this process and of the children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_of_this_process() -> int:
    """Peak memory in KB. `ru_maxrss` would include the parent process."""
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
        if match := re.search(r"VmHWM:\s+(\d+) kB", status):
            return int(match[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _write_benchmark(results: Path, name: str, account: Mapping[str, Any]) -> None:
    """The same seconds and memory in the form of Snakemake's benchmarks."""
    row = {
        "s": account["seconds"],
        "h:m:s": timedelta(seconds=int(account["seconds"])),
        "max_rss": account["peak_rss_mb"],
        "cpu_time": account["cpu_seconds"],
    }
    with atomic_open(results / "benchmarks" / f"{name}.tsv") as handle:
        handle.write("\t".join(row) + "\n" + "\t".join(map(str, row.values())) + "\n")


def results_of(record: str | Path) -> Path:
    """The folder ``results/<experiment>`` of a record in its ``logs``."""
    parts = Path(record).absolute().parts
    last = len(parts) - 1 - parts[::-1].index("logs") if "logs" in parts else len(parts) - 1
    return Path(*parts[:last])


def records(results: Path) -> dict[str, dict[str, Any]]:
    """All records by name."""
    logs = results / "logs"
    by_name = {_name(results, path): _read(path) for path in sorted(logs.rglob("*.json"))}
    return {name: record for name, record in by_name.items() if record}


def sha256_in(record: object, name: str) -> str | None:
    """The hash that the record of a job has for one of its outputs."""
    outputs = record.get("outputs") if isinstance(record, dict) else None
    return outputs.get(name) if isinstance(outputs, dict) else None


def names(results: Path, paths: Iterable[Path]) -> list[str]:
    """Names of the results among these files and inside these folders."""
    unique: dict[str, None] = {}
    for path in paths:
        path = path.absolute()
        if not path.is_relative_to(results):
            continue  # such as the folder that holds the results
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(results)
            hidden = any(part.startswith(".") for part in name.parts)
            if name.as_posix().partition("/")[0] in (*FOLDERS, PAGE) and not hidden and file.is_file():
                unique[name.as_posix()] = None
    return list(unique)


def result_files(results: Path) -> list[str]:
    """Every result by its name."""
    return names(results.absolute(), [results / name for name in (*FOLDERS, PAGE)])


def maker(results: Path, name: str) -> Maker | None:
    """Which job made a result; None if its file in ``.made`` is missing or damaged."""
    try:
        return Maker(**_read(_index(results, name)))
    except TypeError:
        return None


def is_as_made(record: str | Path, path: Path) -> bool:
    """Whether an output that the job with this record made earlier can be used again.
    (Snakemake has removed that record by then.)"""
    results = results_of(record)
    made = maker(results, os.path.relpath(path, results))
    return made is not None and path.is_file() and sha256_file(path) == made.sha256


def _stamp(path: Path) -> list[int]:
    """Size, mtime and ctime (which cannot be set) of a large file; empty for a smaller one."""
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    return stamp if status.st_size >= LARGE else []


def checked(results: Path, paths: Iterable[Path], read_all: bool = False) -> dict[str, str]:
    """sha256 of the results among `paths`, by name; refuses what has changed. Large files with
    unchanged size and times are read only with `read_all`."""
    hashes = {}
    for name in names(results, paths):
        made = maker(results, name)
        as_it_was = made is not None and made.stamp and made.stamp == _stamp(results / name)
        known = made.sha256 if made is not None and as_it_was and not read_all else None
        hashes[name] = sha256 = known or sha256_file(results / name)
        if made is None or sha256 != made.sha256:
            raise ReplituneError(
                "is not what the workflow made" if made else "nothing says that the workflow made it",
                file=os.path.relpath(results / name),
                found=f"sha256 {sha256}" if made else f"no record of it in {_index(results, name).parent}",
                expected=f"sha256 {made.sha256}, as when it was made" if made else None,
                fix=f"rm -r {os.path.relpath(_whole(results, name))}, and run again; "
                "it and all that depends on it are then made again",
            )
    return hashes


def check_results(results: Path, files: Iterable[str]) -> dict[str, str]:
    """sha256 of these results by name; refuses them if any has changed since it was made."""
    hashes = checked(results, [results / name for name in files], read_all=True)
    check_origins(results)
    return hashes


def check_origins(results: Path) -> None:
    """Refuse results that were not made from the present version of their inputs.

    Snakemake compares the ages of files. If the clock was put back between two runs and the
    second one was interrupted, something made from old inputs can look new.
    """
    todo, seen = [LAST], set()
    stale: dict[str, str] = {}
    while todo:
        user = todo.pop()
        if user in seen:
            continue
        seen.add(user)
        record = _read(results / "logs" / f"{user}.json")
        for name, sha256 in record.get("inputs", {}).items():
            made = maker(results, name)
            # curves are drawn for all replicas, in use or not
            if made is None or name.endswith("/history.parquet"):
                continue
            todo.append(made.record)
            if made.sha256 != sha256:
                stale[user] = name
    if stale:
        user, name = next(iter(stale.items()))
        changed = [os.path.relpath(results / one) for one in dict.fromkeys(stale.values())]
        shown = " ".join(changed[:10]) + (" ..." if changed[10:] else "")
        raise ReplituneError(
            f"the results do not belong together: {user} was made from another version of {name}",
            file=os.path.relpath(results / name),
            found="files whose times do not tell their order: was the clock put back?",
            fix=f"touch {shown}, and run again",
        )


def _name(results: Path, record: str | Path) -> str:
    return Path(os.path.relpath(record, results / "logs")).with_suffix("").as_posix()


def _index(results: Path, name: str) -> Path:
    return results / MADE / f"{name}.json"


WHOLE = {"models": 2, "options": 3, "tuning": 3, "tables": 1, "figures": 1}
"""How many parts of a result's name lead to the folder that is made as a whole."""


def _whole(results: Path, name: str) -> Path:
    """What Snakemake makes again as a whole: the folder of a model, replica or all tables, or the file."""
    parts = Path(name).parts
    return results / Path(*parts[: WHOLE.get(parts[0], len(parts))])


def _read(path: Path) -> dict[str, Any]:
    """A record; empty if it is missing or damaged."""
    try:
        record = json.loads(bytes_of(path))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def remove_remains(path: Path) -> None:
    """Remove half-written copies of an output, left by runs that were killed."""
    literal = "".join(f"[{c}]" if c in "*?[" else c for c in path.name)
    for remains in path.parent.glob(f".{literal}.*.*"):
        if remains.suffix in (".tmp", ".old"):
            remove(remains)
