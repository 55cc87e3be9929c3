"""Prepare the texts of an experiment: training pairs, or one test set, or the account of all.

The workflow calls it with the experiment's `corpus` settings; what is written is the text that
is really used, and beside it the sha256 of every input file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "part", metavar="PART", help="train, dev, the name of a test set, or `inputs`"
    )
    parser.add_argument("--settings", required=True, metavar="JSON", help="the corpus settings")
    parser.add_argument("--seed", type=int, default=2011, help="the experiment's seed")
    parser.add_argument("--base", default=".", metavar="DIR", help="where relative names start")
    parser.add_argument("--out", required=True, metavar="DIR", help="the corpus folder")


def inputs(options: argparse.Namespace) -> list[Path]:
    """The account of all texts is made from the prepared parts."""
    if options.part != "inputs":
        return []
    return [path for path in Path(options.out).iterdir() if path.name != "inputs.json"]


def run(options: argparse.Namespace) -> None:
    from replitune.corpus.prepare import prepare_testset, prepare_train, write_inputs

    corpus = json.loads(options.settings)
    if options.part == "inputs":
        for warning in write_inputs(corpus, options.out, seed=options.seed):
            print(f"warning: {warning}", file=sys.stderr)
    elif options.part == "train":
        prepare_train(corpus, options.out, seed=options.seed, base=options.base)
    else:
        prepare_testset(corpus, options.part, options.out, seed=options.seed, base=options.base)
