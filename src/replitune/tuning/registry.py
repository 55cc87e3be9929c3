"""From the name of a tuner to its class; other packages bring theirs as entry points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replitune.registry import Registry
from replitune.settings import read
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
    accepts=lambda found: isinstance(found, type) and issubclass(found, Tuner),
    expected="a subclass of replitune.tuning.interface.Tuner",
)


def get_tuner(name: str, settings: Mapping[str, Any] | None = None) -> Tuner:
    """The tuner of a name with its settings; the first mistake is raised."""
    tuner: Tuner = read(TUNERS[name], settings or {}, name)
    return tuner


def list_tuners() -> tuple[str, ...]:
    """Those that need no more than n-best lists."""
    return tuple(name for name in TUNERS.names if not TUNERS[name].needs_lattices)
