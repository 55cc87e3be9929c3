"""One thread for sums in BLAS, whose order, hence last digit, depends on the number of threads.

Commands say so in the environment before numpy is imported. A program or a notebook that calls the
library has imported it long before, with as many threads as there are cores.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")
"""Of the functions of OpenBLAS, as numpy and others build it."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """For as long as it lasts. Of other libraries than OpenBLAS nothing is known, nor changed."""
    found = _functions()
    before = [get() for get, _ in found]
    try:
        for _, put in found:
            put(1)
        yield
    finally:
        for (_, put), threads in zip(found, before, strict=True):
            put(threads)


@cache
def _functions() -> list[tuple[Callable[[], int], Callable[[int], Any]]]:
    """What tells and sets the number of threads of each OpenBLAS that comes with numpy."""
    import numpy

    package = Path(numpy.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs", package / ".libs")
    found = []
    for path in sorted(path for folder in folders for path in folder.glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for name in NAMES:
            with contextlib.suppress(AttributeError):
                found.append((getattr(library, name.format("get")), getattr(library, name.format("set"))))
                break
    return found
