"""Starts commands faster, by skipping work that libraries do when imported and that no command needs.

Many jobs of the workflow take longer to start than to run, and there are thousands of them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
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
