"""The settings that every system has. Imports little, because the Snakefile imports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from replitune.replicas import MOST_REPLICAS
from replitune.running.resources import Resources
from replitune.settings import Kind, Path_, Reading, Setting, Settings, about, mapping_schema, settings_of
from replitune.tuners import TUNERS

Number = Annotated[int, about("Number of runs.", ge=1, le=MOST_REPLICAS)]

Text = Annotated[str, about(min_length=1)]

Subset = Annotated[
    str,
    about(
        "Part of the training pairs: all, top or bottom half, odd or even lines, or a random half "
        "`rand1`, `rand2`, ...",
        pattern=r"^(all|top|bottom|odd|even|rand[0-9]{1,9})$(?!\n)",
    ),
]


SAID = {
    "sample": "Answers of a language model that are drawn independently: `design: samples`.",
    "prompt": "Prompts, each a run; with `sample`, that many samples of each prompt.",
}


class Counts(Kind):
    """Numbers of replicas by what they come from, in the given order; perhaps with other settings
    beside them."""

    def __init__(self, *beside: type[Settings]) -> None:
        self.beside = {name: one for given in beside for name, one in settings_of(given).items()}

    @property
    def known(self) -> dict[str, Setting]:
        said = {
            "seeds": "Training seeds: `seed-001`, `seed-002`, ... For systems that are not tuned.",
            **{name: f"Tuning runs by `{name}`." for name in TUNERS.names},
            **SAID,
        }
        kinds = {
            key: Setting(key, Annotated[Number, about(text)], None, text) for key, text in said.items()
        }
        return kinds | self.beside

    @property
    def words(self) -> str:  # type: ignore[override]
        kinds = [key for key in self.known if key not in self.beside]
        return f"numbers of runs by {', '.join(kinds)}: `seeds: 5`"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if not isinstance(value, Mapping) or not value:
            return reading.not_allowed(value, path, self.words)
        return reading.read_values(self.known, value, path)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return {**mapping_schema(self.known, definitions), "minProperties": 1}


ReplicaCounts = Annotated[dict[str, int], Counts()]
"""How often a system is made: by tuner (`mert: 3`) or by seed (`seeds: 5`)."""


class SystemSettings(Settings):
    """One system; a backend adds its own settings. A stage gets only some of them, so none is
    required here: the backend's `check` complains about those that are missing."""

    backend: Annotated[
        str,
        about(
            "What makes the system's translations: `phrase`, `hiero`, `marian`, `moses`, "
            "`command`, `endpoint`, `corruption`, `outputs` or `scores`, or a backend that another "
            "package brings (docs/extend.md)."
        ),
    ] = ""
    replicas: Annotated[
        ReplicaCounts | None, about("Number of runs; by default that of the experiment.")
    ] = None
    resources: Annotated[
        Resources,
        about("What each training, tuning and decoding job of the system asks for. Changes no result."),
    ] = Resources()


GENERAL = tuple(SystemSettings.__struct_fields__)
"""Settings that are not passed to any stage."""
