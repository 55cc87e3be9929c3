"""What `train`, `tune` and `decode` share: the backend that they call, and words for its job."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replitune.backends.interface import Backend
from replitune.backends.registry import get_backend
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.failures import Failure


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", default="phrase", metavar="NAME", help="what makes the system (phrase)"
    )
    parser.add_argument(
        "--settings", metavar="JSON", help="of the system, as in an experiment file"
    )
    parser.add_argument(
        "--system",
        default="system",
        metavar="NAME",
        help="name of the system; it names random streams",
    )


def chosen_backend(options: argparse.Namespace, otherwise: Mapping[str, Any]) -> Backend:
    """The system of --backend and --settings; without --settings, with `otherwise`."""
    settings = dict(otherwise)
    if options.settings is not None:
        try:
            settings = json.loads(options.settings)
        except ValueError as error:
            raise ReplituneError("--settings is not JSON", found=str(error)) from None
    return get_backend(options.system, settings, options.backend)


def add_failure_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-failure", action="store_true",
        help="where this replica alone cannot be made, write that instead, and end well",
    )  # fmt: skip


def noted(error: ReplicaError, stage: str, options: argparse.Namespace) -> Failure:
    """The record of a failure; without --allow-failure, the failure itself."""
    if not options.allow_failure:
        raise error
    failure = Failure(stage, options.system, options.replica, " ".join(str(error).split()))
    print(f"warning: going on without {options.system} {options.replica}", file=sys.stderr)
    print(f"replitune: {error}", file=sys.stderr)
    return failure


def path(name: str | None) -> Path | None:
    return None if name is None else Path(name)
