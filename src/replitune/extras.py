"""Packages that only some tasks need, and the one message when they are missing."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from replitune.errors import ReplituneError


@dataclass(frozen=True)
class Extra:
    """What installing `replitune[NAME]` adds."""

    purpose: str
    packages: tuple[str, ...]
    """By the names under which they are imported."""


EXTRAS = {
    "tables": Extra("tables of scores, statistics of segments on disk, DataFrames", ("pyarrow", "pandas")),
    "workflow": Extra("running whole experiments", ("snakemake",)),
    "phrase": Extra("word alignment by fast_align or eflomal", ("thot",)),
    "plots": Extra("figures and pages", ("matplotlib", "jinja2", "fontTools")),
    "nmt": Extra("neural systems by Marian", ("pymarian", "sentencepiece")),
    "notice": Extra("how often people notice a difference", ("mt_thresholds",)),
    "meteor": Extra("METEOR", ("pycocoevalcap",)),
    "slurm": Extra("Slurm clusters", ("snakemake_executor_plugin_slurm",)),
}
"""The extras of pyproject.toml that users ask for; `all` includes every one except `notice`, which
adds a column to reports."""


def to_install(*extras: str) -> str:
    """The command that adds extras to this installation. It may have come from a clone, a file or an
    index, which pip records (PEP 610)."""
    import json
    from importlib import metadata
    from urllib.parse import unquote

    try:
        written = metadata.distribution("replitune").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # not installed: imported from its sources
        written = None
    origin = json.loads(written or "{}")
    named = f"replitune[{','.join(extras)}]"
    url, options = origin.get("url", ""), ""
    if url.startswith("file://") and "vcs_info" not in origin:
        named = unquote(url.removeprefix("file://")) + named.removeprefix("replitune")
        options = "-e " if origin.get("dir_info", {}).get("editable") else ""
    elif url:
        revision = origin.get("vcs_info", {})
        url = f"{revision['vcs']}+{url}@{revision['commit_id']}" if revision else url
        named = f"{named} @ {url}"
    beside = Path(shutil.which("pip") or "").parent == Path(sys.executable).parent
    pip = "pip" if beside else f"{shlex.quote(sys.executable)} -m pip"
    return f"{pip} install {options}'{named}'"


def lacking(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [name for name in EXTRAS[extra].packages if importlib.util.find_spec(name) is None]


def missing(
    extra: str, what: str = "", *, packages: tuple[str, ...] = (), fix: str = ""
) -> list[ReplituneError]:
    """An error if an extra is not installed. `what` needs the extra, or only the given `packages` of
    it; `fix` is added to the command that installs it."""
    lacks = [name for name in lacking(extra) if name in (packages or EXTRAS[extra].packages)]
    if not lacks:
        return []
    return [
        ReplituneError(
            f"{what or EXTRAS[extra].purpose}: the extra `{extra}` is not installed",
            found=f"no package {', '.join(lacks)}",
            fix=f"{to_install(extra)}{fix}",
        )
    ]


def without(error: BaseException) -> ReplituneError | None:
    """One message for an import that failed because an extra is not installed; None otherwise."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    extras = (extra for extra, one in EXTRAS.items() if name in one.packages)
    return next((found for extra in extras for found in missing(extra)), None)


def needs(extra: str, what: str = "", fix: str = "") -> None:
    """Raise an error if an extra is not installed."""
    for error in missing(extra, what, fix=fix):
        raise error
