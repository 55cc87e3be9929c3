"""Whether results still are what the workflow made.

  replitune verify results/quickstart

computes the sha256 of every file again and compares it with manifest.json (changed, missing,
extra), looks whether inputs that are here are those that were used and whether the statistics
were made from these translations, and derives all tests from the statistics once more. It works
on an unpacked archive, too. Exit code 0: everything is as recorded; 2: see the list. Numbers that
differ in their last digits alone, as by another C library, are `numerical`, and no difference.

  replitune verify results/quickstart --against FOLDER

compares translations, statistics, tests and tables of two runs, byte by byte.
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
        found = compare_runs(folder, Path(options.against))
        last = f"{found.files} files: " + (
            f"{found.differences} differ"
            if found.differences
            else f"the same{' but for last digits' if found.findings else ' bytes'}"
        )
        lines = [*found.lines()[:-1], last]
    else:
        found = verify(folder, Path(options.corpora), options.threads)
        lines = found.lines()
    print("\n".join(lines))
    if found.differences:
        raise ReplituneError(
            f"{found.differences} differences, listed above",
            file=folder,
            fix="restore these files, or run the workflow again"
            if options.against is None
            else "check that both runs have the same settings and versions: manifest.json",
        )
