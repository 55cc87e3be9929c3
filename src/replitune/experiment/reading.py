"""Reads an experiment file: YAML -> chosen scale -> settings and defaults -> cross-checks.

All mistakes are reported at once, each with the file, the line, what was found, what is allowed, and
the nearest spelling.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from replitune.errors import did_you_mean
from replitune.experiment.checks import cross_check
from replitune.experiment.settings import ExperimentSettings
from replitune.experiment.yaml_file import Source, read_yaml, require_plain
from replitune.settings import WRONG, Mistake, Path_, Reading, settings_of

REPLACED = ("replicas", "pairs")
"""Mappings that a scale replaces instead of merging."""


def load(file: str | Path, **overrides: Any) -> ExperimentSettings:
    """Read and resolve an experiment file; `overrides` are the values given by `--config`."""
    data, source = read_yaml(file)
    given = {key: value for key, value in overrides.items() if value is not None}
    return resolve({**data, **given}, source)


def resolve(data: Mapping[str, Any], source: Source | None = None) -> ExperimentSettings:
    """The settings of an experiment: scale applied, everything checked, defaults filled in. If no scale
    is chosen, every scale is checked, too."""
    source = source or Source()
    plain = Reading()
    require_plain(plain, data)
    source.stop(plain.mistakes)
    given, chosen = data.get("scales") or {}, data.get("scale")
    scales = given if isinstance(given, Mapping) else {}
    if isinstance(chosen, str) and scales is given:
        override = scales.get(chosen)
        if override is None:
            source.stop([_unknown_scale(chosen, list(scales))])
        if isinstance(override, Mapping):
            settings, wrong = examine(merge(data, override))
            source.stop([_in_scale(mistake, chosen, override) for mistake in wrong])
            assert settings is not None
            return msgspec.structs.replace(settings, experiment=f"{settings.experiment}-{chosen}")
    settings, mistakes = examine(data)
    known = {(mistake.path, mistake.message) for mistake in mistakes}
    for name, override in scales.items():
        if isinstance(override, Mapping):  # otherwise reported for `scales`
            mistakes = mistakes + [
                _in_scale(mistake, name, override)
                for mistake in examine(merge(data, override))[1]
                if (mistake.path, mistake.message) not in known
            ]
    source.stop(mistakes)
    assert settings is not None
    return settings


def _unknown_scale(scale: str, scales: list[str]) -> Mistake:
    return Mistake(
        ("scales",),
        f"unknown scale {scale!r}",
        expected=", ".join(scales) or "no scale: this experiment defines none",
        fix=did_you_mean(scale, scales),
    )


def _in_scale(mistake: Mistake, name: str, override: Mapping[str, Any]) -> Mistake:
    """A mistake in the settings under a scale, placed in the scale if the scale caused it."""
    place: Any = override
    path: Path_ = ()
    for key in mistake.path:
        if not isinstance(place, Mapping) or key not in place:
            break
        place, path = place[key], (*path, key)
    where = ("scales", name, *path) if path else mistake.path
    message = f"scale {name}: {mistake.message}"
    return Mistake(where, message, mistake.found, mistake.expected, mistake.fix)


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """`base` overridden by `override`: mappings are merged, except `REPLACED`; everything else is
    replaced, and null removes a key."""
    merged = copy.deepcopy(dict(base))
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        if value is None:
            merged.pop(key, None)
        elif both and key not in REPLACED:
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def examine(data: Mapping[str, Any]) -> tuple[ExperimentSettings | None, list[Mistake]]:
    """The settings of an experiment without applying a scale, and all mistakes in them. Parts without
    mistakes of their own are checked together, whatever is wrong with the others."""
    reading = Reading()
    known = settings_of(ExperimentSettings)
    for key in data:
        if key not in known:
            reading.unknown(key, list(known), ())
    parts: dict[str, Any] = {}
    for key, setting in known.items():
        if key in data:
            parts[key] = reading.read(setting.type, data[key], (key,))
        elif setting.required:
            reading.wrong((), f"key `{key}` is missing in the experiment")
            parts[key] = WRONG
        else:
            parts[key] = setting.default
    cross_check(reading, parts)
    return (None if reading.mistakes else ExperimentSettings(**parts)), reading.mistakes
