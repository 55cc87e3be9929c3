"""Translate a test set with one run of a system, one line per segment.

  replitune decode --model model --weights weights.json --source test.de --out test.en

This decodes with a phrase-based system. For other systems: --backend NAME --settings JSON.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.backends.interface import DecodeJob
from replitune.backends.making import write_translations
from replitune.cli.options import add_seed, assignments, safe_name
from replitune.cli.parser import Parser
from replitune.cli.systems import add_replica_options, add_system_options, chosen_system, path_of
from replitune.errors import ReplituneError
from replitune.replicas import Replica


def add_arguments(parser: Parser) -> None:
    add_system_options(parser)
    add_replica_options(parser, "seed-001")
    parser.add_argument("--model", metavar="DIR", help="folder of a trained model")
    parser.add_one_of(
        ("--source", {"metavar": "FILE", "help": "source text, one segment a line"}),
        ("--testset", {"metavar": "FILE", "help": "prepared test set"}),
    )
    parser.add_argument(
        "--weights",
        metavar="PATH",
        help="what makes the run: weights.json, moses.ini lines, or the folder of its training",
    )
    parser.add_argument("--features", nargs="+", metavar="GROUP", help="feature groups in use")
    parser.add_argument(
        "--set",
        nargs="*",
        default=[],
        metavar="KEY=VALUE",
        help="search settings: stack, pop_limit, beam, distortion_limit, options",
    )
    parser.add_argument("--nbest", type=int, metavar="N", help="write the n best distinct translations")
    parser.add_argument("--nbest-out", metavar="FILE", help="where to write them, in Moses' format")
    parser.add_argument("--name", default="testset", metavar="NAME", help="name of the test set")
    add_seed(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the translations")


def run(options: argparse.Namespace) -> None:
    from replitune.phrase.settings import SearchSettings

    if (options.nbest is None) != (options.nbest_out is None):
        raise ReplituneError("--nbest and --nbest-out go together")
    search = assignments(options.set, SearchSettings, "--set")
    job = DecodeJob(
        seed=options.seed,
        threads=options.threads,
        paired=options.paired,
        model=path_of(options.model),
        replica=Replica(safe_name(options.replica, "--replica")),
        name=options.name,
        tuned=path_of(options.weights),
        testset=path_of(options.testset),
        text=path_of(options.source),
        nbest=options.nbest,
        nbest_out=path_of(options.nbest_out),
    )
    backend = chosen_system(options, {"features": options.features, "search": search})
    write_translations(backend, job, Path(options.out), allow_failure=options.allow_failure)
