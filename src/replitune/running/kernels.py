"""Where numba keeps compiled kernels: a writable folder without damaged files.

numba unpickles them, so whoever can write there can run code as the user who reads them.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

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
