"""Shared by `train`, `tune` and `decode`: the choice of a system."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replitune.backends.interface import Backend, needed
from replitune.backends.registry import get_backend
from replitune.errors import ReplituneError


def add_system_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", default="phrase", metavar="NAME", help="the system's backend (default %(default)s)"
    )
    parser.add_argument("--settings", metavar="JSON", help="the system's settings, as in experiments")
    parser.add_argument(
        "--system", default="system", metavar="NAME", help="name of the system; random numbers depend on it"
    )


def add_replica_options(parser: argparse.ArgumentParser, otherwise: str | None = None) -> None:
    parser.add_argument(
        "--replica", default=otherwise, metavar="ID", help="such as mert-003; random numbers depend on it"
    )
    parser.add_argument("--paired", action="store_true", help="run k of every system has the same seed")
    parser.add_argument(
        "--allow-failure",
        action="store_true",
        help="if this run cannot be made, write the reason in its place and exit with 0",
    )


def chosen_system(options: argparse.Namespace, otherwise: Mapping[str, Any]) -> Backend:
    """The system given by --backend and --settings; without --settings, `otherwise` are its settings."""
    settings = {key: value for key, value in otherwise.items() if value is not None}
    if options.settings is not None:
        try:
            settings = json.loads(options.settings)
        except ValueError as error:
            raise ReplituneError("--settings is not JSON", found=str(error)) from None
    return get_backend(options.system, settings, options.backend)


def parallel_text(
    source: str | None, target: str | None, names: tuple[str, str]
) -> tuple[Path, Path] | None:
    """Both sides of the parallel text, or None; `names` are the options for the two sides."""
    if not (source or target):
        return None
    return Path(needed(source, names[0])), Path(needed(target, names[1]))


def path_of(name: str | None) -> Path | None:
    return None if name is None else Path(name)
