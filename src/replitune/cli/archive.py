"""Pack results into one file to publish, which can be run again.

  replitune archive results/quickstart --out quickstart.tar.gz

This packs settings, manifest, prepared test sets, weights, translations, statistics, tests, tables,
figures and the page, after comparing every file with the manifest. With the experiment.yaml in the
archive, its translations can be scored, tested and reported again, to the same bytes; its README.md
says how. The same results give the same archive, byte by byte.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.errors import ReplituneError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RESULTS", help="results/<experiment>")
    parser.add_argument(
        "--corpora", default=".", metavar="DIR", help="folder in which relative names of inputs start"
    )
    parser.add_argument("--out", required=True, metavar="FILE.tar.gz", help="the archive")


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.archiving import write_archive

    if not options.out.endswith((".tar.gz", ".tgz")):
        raise ReplituneError("--out is not allowed", found=options.out, expected="FILE.tar.gz")
    members = write_archive(Path(options.folder), Path(options.out), Path(options.corpora))
    size = Path(options.out).stat().st_size / 1e6
    print(f"{options.out}: {len(members)} files, {size:.1f} MB")
