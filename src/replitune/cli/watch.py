"""Follow a run: stages, runs, time left, errors, and what the first tests say.

  replitune watch results/quickstart

This draws on the terminal until Ctrl-C. It only reads, so it works beside a run, on any machine that
has the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys

from replitune.cli.options import add_results, results_folder
from replitune.errors import ReplituneError

THREADS = None
WIDTH = 100
"""Number of columns if the output is not a terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser)
    parser.add_argument(
        "--once", action="store_true", help="print everything once; the default without a terminal"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="seconds between updates of the terminal (default %(default)s)",
    )


def run(options: argparse.Namespace) -> None:
    if options.every <= 0:
        raise ReplituneError("--every is not allowed", found=str(options.every), expected="more than 0")
    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        _watch(options)


def _watch(options: argparse.Namespace) -> None:
    from replitune.workflow.watching import Watch, show

    watch = Watch(results_folder(options))
    if options.once or not sys.stdout.isatty():
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        print("\n".join(watch.lines(width)))
    else:
        show(watch, options.every)
