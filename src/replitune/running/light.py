"""A light start of commands: what libraries do at their import, and no command needs, is left out.

A job of the workflow takes longer to start than many a job to run, and there are thousands.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar


def start_lightly() -> None:
    """For this process, from here on."""
    if not any(isinstance(finder, _After) for finder in sys.meta_path):
        sys.meta_path.insert(0, _After())


def _cache_first(caching: Any) -> None:
    """numba registers all that it can compile, scipy's BLAS among it (0.2 s), before it looks for
    compiled code in its cache. Here it looks first; where there is none, all goes its usual way."""
    usual = caching.Cache.load_overload

    def load_overload(cache: Any, signature: Any, context: Any) -> Any:
        from numba.core.runtime import rtsys

        try:
            rtsys.initialize(context)
            found = cache._load_overload(signature, context)
        except Exception:
            found = None
        return usual(cache, signature, context) if found is None else found

    caching.Cache.load_overload = load_overload


def _without_pandas(pyarrow: Any) -> None:
    """pyarrow imports pandas (0.1 s) with the first list that it is given, to know pandas' own.
    It finds none, until something else imports pandas."""
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pyarrow.array([])
    finally:
        sys.meta_path.remove(_NoPandas)
    _After.waiting["pandas"] = lambda _: pyarrow.table({}).to_pandas()


class _After:
    """Does something after the import of a module."""

    waiting: ClassVar[dict[str, Callable[[ModuleType], object]]] = {
        "numba.core.caching": _cache_first,
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


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ImportError(name)
