"""Follow a run: stages, tuning, time left, errors, and the verdict so far.

  replitune watch results/quickstart
  replitune watch results/quickstart --serve

This draws on the terminal until Ctrl-C or, with --serve, as a page for browsers on this machine
(elsewhere: ssh -L 8642:localhost:8642 HOST). It only reads, so it works beside a run, on any machine
that has the folder. The verdict is marked as not final until the tests are done.
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
        "--serve",
        nargs="?",
        type=int,
        const=None,
        default=False,
        metavar="PORT",
        help="a page on 127.0.0.1 instead of the terminal (without PORT: the first free one from "
        "8642 on; 0: any)",
    )
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
    from replitune.workflow.live.state import Live

    live = Live(results_folder(options))
    if options.serve is not False:
        from replitune.workflow.live.server import Server, serve

        server = Server(live, options.serve)
        print(f"{server.url}  (Ctrl-C ends it)", flush=True)
        serve(server)
        return
    from replitune.workflow.live.terminal import lines, printable, show

    if options.once or not sys.stdout.isatty():
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
        print("\n".join(map(printable, lines(live.look(wait=True), width))))
    else:
        show(live, options.every)
