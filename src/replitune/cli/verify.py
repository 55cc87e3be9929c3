"""Check that results are still what the workflow made.

  replitune verify results/quickstart

This compares the sha256 of every file with manifest.json (changed, missing, extra), checks that the
inputs on this machine are those that were used and that the statistics were made from these
translations, and computes all tests from the statistics again. It works on an unpacked archive,
too. Exit code 0: everything is as recorded; 2: see the list. Numbers that differ only in their last
digits, as they may with another C library, are listed as `numerical` and do not count.

  replitune verify results/quickstart --against FOLDER

This compares translations, statistics, tests and tables of two folders, byte by byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RESULTS", help="results/<experiment>")
    parser.add_argument(
        "--corpora", default=".", metavar="DIR", help="where relative names of inputs start"
    )
    parser.add_argument("--against", metavar="FOLDER", help="the results of another run")


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.verifying import compare_runs, verify

    folder = Path(options.folder)
    if options.against is not None:
        checked = compare_runs(folder, Path(options.against))
        last = f"{checked.files} files: " + (
            f"{checked.differences} differ"
            if checked.differences
            else f"the same{' but for last digits' if checked.findings else ' bytes'}"
        )
        lines = [*checked.lines()[:-1], last]
    else:
        checked = verify(folder, Path(options.corpora), options.threads)
        lines = checked.lines()
    print("\n".join(lines))
    if checked.differences:
        raise ReplituneError(
            f"{checked.differences} differences, listed above",
            file=folder,
            fix="restore these files, or run the workflow again"
            if options.against is None
            else "check that both runs have the same settings and versions: manifest.json",
        )
