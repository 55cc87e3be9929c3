"""From the name of a backend to its class; third parties add theirs as entry points."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from replitune.backends.interface import Backend
from replitune.errors import ReplituneError, nearest

ENTRY_POINTS = "replitune.backends"

BACKENDS = {
    "phrase": "replitune.phrase.backend:Phrase",
    "corruption": "replitune.backends.corruption_backend:Corruption",
    "command": "replitune.backends.command:Command",
    "moses": "replitune.backends.moses:Moses",
    "marian": "replitune.backends.marian.backend:Marian",
    "outputs": "replitune.backends.outputs:OutputFiles",
}
"""Name -> module:Class. The modules are light."""


@cache
def _points() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def backend_names() -> list[str]:
    """Every backend that can be named, entry points included."""
    return list(dict.fromkeys([*BACKENDS, *_points()]))


def backend_class(name: str) -> type[Backend]:
    """The class of a backend."""
    if name in BACKENDS:
        module, _, attribute = BACKENDS[name].partition(":")
        found: type[Backend] = getattr(import_module(module), attribute)
        return found
    if name in _points():
        point = _points()[name]
        loaded = point.load()
        if not (isinstance(loaded, type) and issubclass(loaded, Backend)):
            raise ReplituneError(
                f"entry point {name} of {ENTRY_POINTS} is not a backend",
                found=point.value,
                expected="a subclass of replitune.backends.interface.Backend",
            )
        return loaded
    close = nearest(name, backend_names())
    raise ReplituneError(
        f"unknown backend {name!r}",
        expected=", ".join(backend_names()),
        fix=f"did you mean `{close}`?" if close else None,
    )


def get_backend(system: str, settings: Mapping[str, Any], name: str | None = None) -> Backend:
    """A system with its settings; the name of the backend is among them, or `name`."""
    return backend_class(name or str(settings["backend"]))(system, settings)
