"""numba's cache, its reference counting, and prefetching, for which it has no function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replitune import probes

TRIED = ((0, 61), (0, 68))
"""The oldest and the newest numba with which this module was tried."""


def is_known() -> bool:
    import numba  # this import calls `look_first`

    version = tuple(map(int, numba.__version__.split(".")[:2]))
    if not TRIED[0] <= version <= TRIED[1]:
        probes.failed("numba")
        return False
    return probes.allowed()


def uncounted() -> dict[str, bool]:
    """Options of `njit` for a kernel that makes no array."""
    return {"_nrt": False} if is_known() else {}


def prefetcher() -> Any:
    """A function of a vector and an index, for kernels, that prefetches the element there into the
    cache without waiting for it; with an untried numba it does nothing."""
    from llvmlite import ir
    from numba import njit, types
    from numba.core import cgutils
    from numba.extending import intrinsic

    if not is_known():
        return njit(_nothing)

    def prefetch(typing: Any, array: Any, i: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, (byte, number) = signature.args[0], (ir.IntType(8).as_pointer(), ir.IntType(32))
            values = context.make_array(kind)(context, builder, arguments[0])
            at = cgutils.get_item_pointer(context, builder, kind, values, [arguments[1]])
            form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            call = builder.module.declare_intrinsic("llvm.prefetch", [byte], form)
            # for reading; into all levels of the cache; data
            builder.call(call, [builder.bitcast(at, byte), number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.none(array, types.intp), generate

    return intrinsic(prefetch)


def _nothing(array: Any, i: int) -> None:
    pass


def look_first() -> None:
    """Make numba look for compiled code in its cache before it registers all that it can compile,
    including scipy's BLAS (0.2 s). If there is no such code, it goes on as usual."""
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
