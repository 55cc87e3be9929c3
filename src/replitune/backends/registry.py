"""Finds the class of a backend by its name; other packages add theirs by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replitune.registry import Registry
from replitune.settings import read

if TYPE_CHECKING:
    from replitune.backends.interface import Backend

BACKENDS: Registry[type[Backend]] = Registry(
    "backend",
    {
        "phrase": "replitune.phrase.backend:Phrase",
        "hiero": "replitune.hiero.backend:Hiero",
        "corruption": "replitune.backends.corruption:Corruption",
        "command": "replitune.backends.command:Command",
        "moses": "replitune.backends.moses:Moses",
        "marian": "replitune.backends.marian.backend:Marian",
        "endpoint": "replitune.backends.endpoint.backend:Endpoint",
        "outputs": "replitune.backends.outputs:OutputFiles",
        "scores": "replitune.backends.scores:ScoreFiles",
    },
    group="replitune.backends",
    base="replitune.backends.interface:Backend",
)
"""These modules must import little."""


def get_backend(system: str, settings: Mapping[str, Any], name: str | None = None) -> Backend:
    """A system from its settings, as an experiment or a job has them; the first mistake is raised.
    The name of the backend is `name`, or one of the settings."""
    backend = BACKENDS[name or str(settings["backend"])]
    return backend(system, read(backend.Settings, settings, system))
