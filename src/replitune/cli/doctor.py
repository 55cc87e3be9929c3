"""Say what is installed, and what is missing for each kind of work.

  replitune doctor

This prints versions, extras, programs, the machine and whether results can be written here; and for
each kind of work, whether it can be done or what to install first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from replitune import probes
from replitune.errors import ReplituneError
from replitune.extras import EXTRAS, lacking, missing, to_install
from replitune.running.start import cache_folder, can_be_written

PROGRAMS = {
    "java": "METEOR",
    "moses": "Moses, where `moses` names no folder",
    "marian": "Marian of your own, where `binary` names it",
    "sbatch": "Slurm",
}


THREADS = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.provenance import versions
    from replitune.probes.numba import is_known

    is_known()
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    section("extras", ((name, *_extra(name)) for name in EXTRAS))
    section("programs", ((p, shutil.which(p) or "not on the PATH", use) for p, use in PROGRAMS.items()))
    section("machine", _machine())
    if lost := probes.notes():
        section("slower", ([note] for note in lost))
    if brought := list(_brought()):
        section("from other packages", brought)
    section("what can be done", (row for kind, look in KINDS.items() for row in _ready(kind, look())))


def section(title: str, rows: Iterable[Sequence[str]]) -> None:
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)][:-1]
    print(f"\n{title}")
    for *cells, last in table:
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
        print("  " + "  ".join([*padded, last]).rstrip())


def _extra(name: str) -> tuple[str, str]:
    lacks = lacking(name)
    if not lacks:
        return "installed", EXTRAS[name].purpose
    return "missing", f"{EXTRAS[name].purpose}: {to_install(name)}"


def _brought() -> Iterator[tuple[str, str, str]]:
    """What other packages add by entry points, and whether it can be loaded."""
    from replitune.backends.registry import BACKENDS
    from replitune.metrics.registry import METRICS
    from replitune.readers.registry import READERS
    from replitune.report.contents import FIGURES, TABLES
    from replitune.significance.registry import INTERVALS, TESTS
    from replitune.tuners import TUNERS

    for registry in (METRICS, TESTS, INTERVALS, TUNERS, BACKENDS, READERS, TABLES, FIGURES):
        for name in registry.names[len(registry.own) :]:
            try:
                registry[name]
                text = "installed"
            except ReplituneError as error:
                text = f"BROKEN: {error.message}; {error.found}"
            yield registry.kind, name, text


def _ready(kind: str, errors: Sequence[ReplituneError]) -> list[tuple[str, str, str]]:
    """The row of a kind of work, and one more for each further thing that is missing; each piece of
    advice is given once."""
    if not errors:
        return [(kind, "yes", "")]
    fixes = dict.fromkeys(error.fix for error in errors if error.fix)
    first, *others = [error.message for error in errors] + [f"to do: {fix}" for fix in fixes]
    return [(kind, "no", first), *(("", "", other) for other in others)]


# ---- the machine


def _machine() -> list[tuple[str, str]]:
    from replitune.ledger.provenance import cpu_type
    from replitune.running.files import memory

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("processor", cpu_type()),
        ("cores", str(cores)),
        ("memory", _size(memory())),
        ("kernels' cache", _cache()),
        ("results", _folder(Path.cwd())),
        ("temporary files", _folder(Path(tempfile.gettempdir()))),
    ]


def _size(number: float) -> str:
    return f"{number / 1e9:,.1f} GB"


def _folder(path: Path) -> str:
    text = "can be written" if can_be_written(path) else "CANNOT BE WRITTEN"
    return f"{path}: {text}, {_size(shutil.disk_usage(path).free)} free"


def _cache() -> str:
    folder = cache_folder()
    compiled = len(list(folder.rglob("*.nbc"))) if folder.is_dir() else 0
    text = f"{compiled} compiled kernels" if compiled else "empty; the first run compiles"
    if folder.is_dir() and folder.stat().st_mode & 0o002:
        text += "; OTHERS CAN WRITE THERE, and what they write is executed"
    return f"{folder}: {text}"


# ---- kinds of work


def _workflow() -> list[ReplituneError]:
    return missing("workflow") or missing("plots")


def _system(backend: str) -> list[ReplituneError]:
    from replitune.backends.registry import get_backend

    return [*_workflow(), *get_backend("it", {}, backend).missing()]


def _meteor() -> list[ReplituneError]:
    from replitune.metrics.meteor_jar import find_jar, find_java

    errors = []
    for look in (find_java, find_jar):
        try:
            look()
        except ReplituneError as error:
            errors.append(error)
    return errors


def _slurm() -> list[ReplituneError]:
    from replitune.running.programs import missing_program

    sbatch = missing_program("sbatch", "work on a machine that submits to Slurm")
    return [*_workflow(), *missing("slurm"), *sbatch]


KINDS: dict[str, Callable[[], list[ReplituneError]]] = {
    "compare texts": list,
    "compare scores, score, test": lambda: missing("tables"),
    "pages: compare --html": lambda: missing("plots"),
    "METEOR": _meteor,
    "experiments with outputs you have": _workflow,
    "phrase-based systems": lambda: _system("phrase"),
    "neural systems": lambda: _system("marian"),
    "Moses": lambda: _system("moses"),
    "Slurm": _slurm,
}
