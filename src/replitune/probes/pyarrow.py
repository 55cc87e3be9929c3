"""When pyarrow looks for pandas."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _NoPandas:
    @staticmethod
    def find_spec(name: str, path: object, target: object = None) -> None:
        if name == "pandas":
            raise ImportError(name)


def look_for_no_pandas(pyarrow: Any) -> bool:
    """Make pyarrow look for pandas now, and find none: it would import pandas (0.1 s) with the first
    list that it is given. False if pandas is imported already. `know_pandas` is for after its import."""
    if "pandas" in sys.modules:
        return False
    sys.meta_path.insert(0, _NoPandas)
    try:
        pyarrow.array([])
    finally:
        sys.meta_path.remove(_NoPandas)
    return True


def know_pandas(_: ModuleType) -> None:
    import pyarrow

    pyarrow.table({}).to_pandas()
