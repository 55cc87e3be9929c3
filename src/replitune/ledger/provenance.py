"""What a number can depend on beside settings and inputs: versions and the processor."""

from __future__ import annotations

import contextlib
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

from replitune import __version__

LIBRARIES = ("numpy", "numba", "scipy", "pandas", "pyarrow", "sacrebleu", "sil-thot", "snakemake")


@cache
def versions() -> dict[str, str]:
    """Versions of everything that can change a number."""
    found = {"replitune": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


@cache
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
    """A word of a command as text: bytes of a file name that are not UTF-8 as ``\\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode()
