"""How a command starts: fast, by skipping work that libraries do when imported and that no command
needs; and with a folder for compiled kernels.

Many jobs of the workflow take longer to start than to run, and there are thousands of them.

numba keeps kernels in a writable folder without damaged files. It unpickles them, so whoever can write
there can run code as the user who reads them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from replitune import probes


def start_lightly() -> None:
    """Skip such work for the rest of this process."""
    if probes.allowed() and not any(isinstance(finder, _After) for finder in sys.meta_path):
        sys.meta_path.insert(0, _After())


def _cache_first(_: ModuleType) -> None:
    from replitune.probes.numba import look_first

    look_first()


def _without_pandas(pyarrow: ModuleType) -> None:
    from replitune.probes.pyarrow import know_pandas, look_for_no_pandas

    if look_for_no_pandas(pyarrow):
        _After.waiting["pandas"] = know_pandas


class _After:
    """A finder that calls a function after the import of a module."""

    waiting: ClassVar[dict[str, Callable[[ModuleType], object]]] = {
        "numba": _cache_first,
        "pyarrow": _without_pandas,
    }

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        act = self.waiting.pop(name, None)
        spec = importlib.util.find_spec(name) if act is not None else None
        if act is None or spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            act(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


PACKAGE = Path(__file__).parents[1]
CACHE = "NUMBA_CACHE_DIR"


def cache_folder() -> Path:
    """The configured folder, or else the first of these that can be written: the package, the user's
    cache, a temporary folder that no other user can write to."""
    if named := os.environ.get(CACHE):
        return Path(named)
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    there = next(one for one in (user, *user.parents) if one.exists())
    if can_be_written(PACKAGE) or can_be_written(there):
        return PACKAGE if can_be_written(PACKAGE) else user
    own = Path(tempfile.gettempdir(), f"replitune-kernels-{os.getuid()}")
    own.mkdir(mode=0o700, exist_ok=True)
    state = own.lstat()
    if own.is_symlink() or state.st_uid != os.getuid() or state.st_mode & 0o077:
        own = Path(tempfile.mkdtemp(prefix="replitune-kernels-"))
    os.environ[CACHE] = str(own)  # numba would not look there by itself
    return own


def can_be_written(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def prepare_cache() -> list[Path]:
    """Before numba is imported, choose the folder and remove empty files from it, which a power failure
    can leave and on which numba would fail every time. Returns the removed files."""
    folder = cache_folder()
    empty = []
    for place, _, files in os.walk(folder):
        if folder == PACKAGE and not place.endswith("__pycache__"):
            continue
        for name in files:
            path = Path(place, name)
            if name.endswith((".nbi", ".nbc")) and path.stat().st_size == 0:
                path.unlink(missing_ok=True)
                empty.append(path)
    return empty
