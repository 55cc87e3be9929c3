"""numba's cache and its counting of references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replitune import probes

TRIED = ((0, 61), (0, 68))
"""The oldest and the newest numba of which this is known."""


def is_known() -> bool:
    import numba  # whose import calls `look_first`

    version = tuple(map(int, numba.__version__.split(".")[:2]))
    if not TRIED[0] <= version <= TRIED[1]:
        probes.failed("numba")
        return False
    return probes.allowed()


def uncounted() -> dict[str, bool]:
    """Options of `njit` for a kernel that makes no array."""
    return {"_nrt": False} if is_known() else {}


def look_first() -> None:
    """numba registers all that it can compile, scipy's BLAS among it (0.2 s), before it looks for
    compiled code in its cache. Here it looks first; if it finds none, all goes its usual way."""
    if not is_known():
        return
    from numba.core.caching import Cache

    usual = Cache.load_overload

    def load_overload(cache: Any, signature: Any, context: Any) -> Any:
        from numba.core.runtime import rtsys

        try:
            rtsys.initialize(context)
            compiled = cache._load_overload(signature, context)
        except (AttributeError, ImportError):
            # the index names a class of an earlier version of this package, and can never be read
            Path(cache._cache_file._index_path).unlink(missing_ok=True)
            compiled = None
        except Exception:
            compiled = None
        return usual(cache, signature, context) if compiled is None else compiled

    Cache.load_overload = load_overload
