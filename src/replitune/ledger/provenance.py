"""What a number can depend on besides settings and inputs: versions and the processor."""

from __future__ import annotations

import contextlib
import hashlib
import math
import platform
from array import array
from functools import cache
from importlib import metadata
from pathlib import Path

from replitune import __version__

LIBRARIES = ("numpy", "numba", "scipy", "pandas", "pyarrow", "sacrebleu", "sil-thot", "snakemake")


@cache
def versions() -> dict[str, str]:
    """Versions of everything that can change a number."""
    by_name = {"replitune": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            by_name[name] = metadata.version(name)
    return by_name | {"libm": c_functions()}


def c_functions() -> str:
    """A hash of what the C library's exp, log and powers give, which kernels and scipy use: their last
    digits are all that a processor (with or without FMA) or an operating system can change in a result."""
    grid = [k / 37 for k in range(1, 200)]
    values = [f(x) for f in (math.exp, math.log, math.log1p, math.lgamma) for x in grid]
    values += [math.pow(x, y) for x, y in zip(grid, reversed(grid), strict=True)]
    return hashlib.sha256(array("d", values).tobytes()).hexdigest()[:8]


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
    """A word of a command as text, with bytes of a file name that are not UTF-8 as ``\\udcff``."""
    return name.encode("utf-8", "backslashreplace").decode()
