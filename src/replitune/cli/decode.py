"""Translations of one replica of a system, one line per segment, to the file --out.

  replitune decode --model model --weights weights.json --source test.de --out test.en

decodes with a phrase-based system; another one: --backend NAME --settings JSON. Where the
translations are on disk (--backend outputs), all replicas are checked and copied at once, to the
folder --out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune.backends.interface import Backend, DecodeJob, Given
from replitune.cli import words
from replitune.cli.jobs import (
    add_backend_options,
    add_failure_option,
    chosen_backend,
    noted,
    path,
)
from replitune.errors import ReplicaError, ReplituneError
from replitune.replicas import Replica
from replitune.running.failures import read_failure, write_failure
from replitune.running.files import write_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_backend_options(parser)
    add_failure_option(parser)
    parser.add_argument("--model", metavar="DIR", help="folder of a trained model")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--source", metavar="FILE", help="source text, one segment a line")
    text.add_argument("--testset", metavar="FILE", help="prepared test set")
    parser.add_argument(
        "--weights", metavar="PATH",
        help="what makes the replica: weights.json, moses.ini lines, or the folder of its training",
    )  # fmt: skip
    parser.add_argument("--features", nargs="+", metavar="GROUP", help="feature groups in use")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=VALUE",
        help="search settings: search, stack, pop_limit, beam, distortion_limit, options",
    )  # fmt: skip
    parser.add_argument("--nbest", type=int, metavar="N", help="n best distinct translations")
    parser.add_argument("--nbest-out", metavar="FILE", help="in Moses' format")
    parser.add_argument("--replica", default="seed-001", metavar="ID", help="such as seed-001")
    parser.add_argument("--name", default="testset", metavar="NAME", help="of the test set")
    parser.add_argument("--base", default=".", metavar="DIR", help="where names of outputs start")
    parser.add_argument("--seed", type=int, default=2011, help="the experiment's seed")
    parser.add_argument(
        "--paired", action="store_true", help="replica k of all systems has one seed"
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="PATH",
        help="file, or with --outputs folder, of the translations",
    )


def run(options: argparse.Namespace) -> None:
    if (options.nbest is None) != (options.nbest_out is None):
        raise ReplituneError("--nbest and --nbest-out go together")
    backend = chosen_backend(
        options,
        {"features": options.features, "search": words.assignments(options.set, "--set")},
    )
    job = DecodeJob(
        seed=options.seed,
        threads=options.threads,
        paired=options.paired,
        model=path(options.model),
        replica=Replica(words.checked_name(options.replica, "--replica")),
        name=options.name,
        tuned=path(options.weights),
        testset=path(options.testset),
        text=path(options.source),
        nbest=options.nbest,
        nbest_out=path(options.nbest_out),
    )
    if isinstance(backend, Given):
        found = backend.collect(options.name, Path(options.base), job.prepared.segments)
        # all files are read and checked before the first one is written
        for replica, lines in found.items():
            write_lines(Path(options.out) / f"{replica.id}.txt", lines)
        return
    before = read_failure(job.tuned) if job.tuned is not None else None
    if before is not None:
        if not options.allow_failure:
            raise before.error(options.weights)
        write_failure(options.out, before)
        return
    try:
        write_lines(options.out, _translated(backend, job, options))
    except ReplicaError as error:
        write_failure(options.out, noted(error, f"decode {options.name}", options))


def _translated(backend: Backend, job: DecodeJob, options: argparse.Namespace) -> list[str]:
    """As many lines as there are segments."""
    lines = backend.decode(job)
    expected = job.prepared.segments if job.testset is not None else len(job.source)
    if len(lines) != expected:
        raise ReplicaError(
            f"{options.system} {options.replica} gave a wrong number of translations of "
            f"{options.name}",
            found=f"{len(lines)} lines",
            expected=f"{expected}, one for each segment",
        )
    return lines
