"""How a file came to be: versions, processor, command, times."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from replitune import __version__
from replitune.ledger.records import made, remove_remains, results_of
from replitune.running.files import atomic_open

LIBRARIES = ("numpy", "numba", "scipy", "pandas", "pyarrow", "sacrebleu", "sil-thot", "snakemake")


def versions() -> dict[str, str]:
    """Versions of everything that can change a number."""
    found = {"replitune": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def cpu_type() -> str:
    """The processor's name, with the vector extensions that compiled kernels use."""
    name, flags = platform.machine(), ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            if key.strip() == "flags":
                kept = [f for f in ("avx2", "avx512f", "fma") if f in value.split()]
                flags = " ".join(kept)
                break
    return f"{name} ({flags})" if flags else name


def printable(name: str) -> str:
    """A word of a command as text: bytes of a file's name that are no UTF-8 as ``\\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode()


@contextlib.contextmanager
def recording(
    path: str | Path, arguments: Sequence[str], inputs: Mapping[str, str]
) -> Iterator[None]:
    """Write a record of what runs inside, when it has succeeded. `inputs`: sha256 by name."""
    started, clock = datetime.now(UTC), time.perf_counter()
    yield
    used = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    record: dict[str, Any] = {
        "command": ["replitune", *map(printable, arguments)],
        "versions": versions(),
        "cpu": cpu_type(),
        "platform": platform.platform(),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 3),
        "cpu_seconds": round(
            used.ru_utime + used.ru_stime + children.ru_utime + children.ru_stime, 3
        ),
        "peak_rss_mb": round(max(used.ru_maxrss, children.ru_maxrss) / 1024, 1),
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "python_executable": Path(sys.executable).name,
        "inputs": dict(inputs),
        "outputs": made(results_of(path)),
    }
    with atomic_open(path) as handle:
        json.dump(record, handle, indent=1, ensure_ascii=False)
        handle.write("\n")
    remove_remains()
