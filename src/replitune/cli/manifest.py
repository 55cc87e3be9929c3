"""manifest.json: an experiment's settings, the sha256 of every file, and what made it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RESULTS", help="results/<experiment>")
    parser.add_argument("--settings", required=True, metavar="JSON", help="the experiment")
    parser.add_argument("--out", required=True, metavar="FILE", help="the file to write")


def run(options: argparse.Namespace) -> None:
    from replitune.ledger.manifest import make_manifest
    from replitune.ledger.records import check_results
    from replitune.running.files import atomic_open

    check_results(Path(options.folder).absolute())
    manifest = make_manifest(Path(options.folder), json.loads(options.settings))
    with atomic_open(options.out) as handle:
        json.dump(manifest, handle, indent=1, ensure_ascii=False)
        handle.write("\n")
