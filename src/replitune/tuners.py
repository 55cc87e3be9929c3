"""Finds the class of a tuner by its name; other packages add theirs by entry points. The names are
also needed to read the names of replicas: `mert-007` is a run of `mert`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replitune.registry import Registry
from replitune.settings import read

if TYPE_CHECKING:
    from replitune.tuning.interface import Tuner

TUNERS: Registry[type[Tuner]] = Registry(
    "tuner",
    {
        "mert": "replitune.tuning.mert:Mert",
        "mert-lattice": "replitune.tuning.mert_lattice:MertLattice",
        "mert-forest": "replitune.tuning.mert_lattice:MertForest",
        "mira": "replitune.tuning.mira:Mira",
        "pro": "replitune.tuning.pro:Pro",
    },
    group="replitune.tuners",
    base="replitune.tuning.interface:Tuner",
)


def get_tuner(name: str, settings: Mapping[str, Any] | None = None) -> Tuner:
    """The tuner with this name and these settings; the first mistake is raised."""
    tuner: Tuner = read(TUNERS[name], settings or {}, name)
    return tuner


def list_tuners() -> tuple[str, ...]:
    """The names of the tuners that need only n-best lists."""
    return tuple(name for name in TUNERS.names if not TUNERS[name].needs_lattices)
