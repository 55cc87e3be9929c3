"""Replicated tuning experiments for machine translation, with significance tests that hold."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replitune.api import compare, read, scores, test
    from replitune.errors import ReplituneError

__version__ = "0.1.0"

__all__ = ["ReplituneError", "compare", "read", "scores", "test"]

_PLACES = dict.fromkeys(__all__, "replitune.api") | {"ReplituneError": "replitune.errors"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import replitune` alone costs nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'replitune' has no attribute {name!r}")
    from importlib import import_module

    globals()[name] = value = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
