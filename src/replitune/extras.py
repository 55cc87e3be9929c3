"""Packages that only some of the work needs, and the one message of whoever lacks them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from replitune.errors import ReplituneError


@dataclass(frozen=True)
class Extra:
    """What `pip install 'replitune[NAME]'` adds."""

    purpose: str
    packages: tuple[str, ...]
    """As they are imported."""


EXTRAS = {
    "workflow": Extra("running whole experiments", ("snakemake",)),
    "phrase": Extra("training phrase-based systems", ("thot",)),
    "plots": Extra("figures and pages", ("matplotlib", "jinja2")),
    "nmt": Extra("neural systems by Marian", ("pymarian", "sentencepiece")),
    "notice": Extra("how often people notice a difference", ("mt_thresholds",)),
    "meteor": Extra("METEOR", ("pycocoevalcap",)),
    "slurm": Extra("Slurm clusters", ("snakemake_executor_plugin_slurm",)),
}
"""Of pyproject.toml, those that people ask for; `all` has all of them but `notice`,
which adds a column to reports."""


def lacking(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [name for name in EXTRAS[extra].packages if importlib.util.find_spec(name) is None]


def missing(
    extra: str, what: str = "", *, packages: tuple[str, ...] = (), fix: str = ""
) -> list[ReplituneError]:
    """An error when an extra is not installed. `what` needs it, or only some of its `packages`;
    `fix` is what would help as well."""
    lacks = [name for name in lacking(extra) if name in (packages or EXTRAS[extra].packages)]
    if not lacks:
        return []
    return [
        ReplituneError(
            f"{what or EXTRAS[extra].purpose}: the extra `{extra}` is not installed",
            found=f"no package {', '.join(lacks)}",
            fix=f"pip install 'replitune[{extra}]'{fix}",
        )
    ]


def needs(extra: str, what: str = "", fix: str = "") -> None:
    """Refuse to go on without an extra."""
    for error in missing(extra, what, fix=fix):
        raise error
