"""Results as one file to publish, with an experiment that makes them again.

  replitune archive results/quickstart --out quickstart.tar.gz

packs settings, manifest, prepared test sets, weights, translations, statistics, tests, tables,
figures and the page. The archive's experiment.yaml scores, tests and reports its own
translations, to the same bytes; its README.md says how. Every file is compared with the manifest
first. The same results give the same archive, byte by byte.
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
    parser.add_argument("--out", required=True, metavar="FILE.tar.gz", help="the archive")


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.archiving import write_archive

    if not options.out.endswith((".tar.gz", ".tgz")):
        raise ReplituneError("--out is not allowed", found=options.out, expected="FILE.tar.gz")
    members = write_archive(Path(options.folder), Path(options.out), Path(options.corpora))
    size = Path(options.out).stat().st_size / 1e6
    print(f"{options.out}: {len(members)} files, {size:.1f} MB")
