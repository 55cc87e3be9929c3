"""Make one run: tune a system on its dev set, train it with a seed of its own, or tune weights on
n-best lists of any decoder.

  replitune tune --model model --testset dev.jsonl --algorithm mert --seed 7 --out weights.json
  replitune tune --nbest run1.gz run2.gz --refs dev.en --algorithm pro --out weights.ini

--nbest takes Moses' format, `id ||| text ||| Name= v v ... ||| score`; several files form one pool.
For systems that are not phrase-based: --backend NAME --settings JSON. A system that is trained once
per run takes --source-text and --target-text, and --out is then a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from replitune.cli.options import add_seed, assignments, safe_name
from replitune.cli.systems import (
    add_replica_options,
    add_system_options,
    chosen_system,
    parallel_text,
    path_of,
)
from replitune.errors import ReplituneError
from replitune.replicas import Replica
from replitune.tuners import TUNERS, get_tuner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_system_options(parser)
    add_replica_options(parser)
    parser.add_argument("--model", metavar="DIR", help="folder of a trained model")
    parser.add_argument("--nbest", nargs="+", metavar="F", help="n-best files, plain or gz")
    parser.add_argument("--source-text", metavar="FILE", help="source side of the text to train on")
    parser.add_argument("--target-text", metavar="FILE", help="its target side")
    parser.add_argument("--refs", nargs="+", metavar="R", help="references of the n-best files")
    parser.add_argument("--testset", metavar="FILE", help="prepared dev set, with its source")
    parser.add_argument("--source", metavar="FILE", help="source of the dev set, with --refs")
    parser.add_argument("--algorithm", choices=TUNERS.names, help="the tuner")
    parser.add_argument("--metric", default="bleu", metavar="M", help="what to tune for")
    parser.add_argument("--init", metavar="FILE", help="weights to start from")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="tuner settings")
    parser.add_argument(
        "--loop",
        nargs="*",
        default=[],
        metavar="KEY=VALUE",
        help="iterations, patience, min_gain, init, init_range, resample_dev",
    )
    parser.add_argument(
        "--nbest-size",
        type=int,
        default=100,
        metavar="N",
        help="distinct translations of each segment per iteration (default %(default)s)",
    )
    parser.add_argument("--features", nargs="+", metavar="GROUP", help="feature groups in use")
    parser.add_argument("--search", nargs="*", default=[], metavar="KEY=VALUE", help="decoder settings")
    add_seed(parser)
    parser.add_argument("--work", metavar="DIR", help="checkpoint; a killed run goes on from it")
    parser.add_argument("--history", metavar="FILE.parquet", help="a row per iteration")
    parser.add_argument("--out", required=True, metavar="FILE", help="weights, .json or .ini")


def run(options: argparse.Namespace) -> None:
    if options.nbest is not None:
        _tune_files(options)
    else:
        _tune_system(options)


def _tune_files(options: argparse.Namespace) -> None:
    from replitune.running.progress import say
    from replitune.tuning.from_files import tune_files

    if not options.refs or not options.algorithm:
        raise ReplituneError("--nbest needs --refs and --algorithm")
    tune_files(
        options.nbest,
        options.refs,
        algorithm=options.algorithm,
        metric=options.metric,
        init=options.init,
        seed=options.seed,
        out=options.out,
        threads=options.threads,
        options=assignments(options.set, TUNERS[options.algorithm], "--set"),
        log=say,
    )


def _tune_system(options: argparse.Namespace) -> None:
    from replitune.backends.interface import ReplicaJob, needed
    from replitune.backends.making import make_replica
    from replitune.phrase.settings import SearchSettings
    from replitune.tuning.settings import LoopSettings

    backend = chosen_system(
        options,
        {"features": options.features, "search": assignments(options.search, SearchSettings, "--search")},
    )
    seeded = "train_replica" in backend.stages
    algorithm = options.algorithm or ("" if seeded else needed(None, "algorithm"))
    texts = options.source_text, options.target_text
    named = options.replica or f"{algorithm or 'seed'}-001"
    tuner = None
    if algorithm:
        tuner = get_tuner(algorithm, assignments(options.set, TUNERS[algorithm], "--set"))
    job = ReplicaJob(
        seed=options.seed,
        threads=options.threads,
        model=path_of(options.model),
        train=parallel_text(*texts, ("source-text", "target-text")),
        dev=_dev_set(options),
        out=Path(options.out),
        replica=Replica(safe_name(named, "--replica")),
        paired=options.paired,
        work=path_of(options.work),
        history=path_of(options.history),
        metric=options.metric,
        nbest=options.nbest_size,
        init=path_of(options.init),
        loop=LoopSettings(**assignments(options.loop, LoopSettings, "--loop")),
        tuner=tuner,
    )
    make_replica(backend, job, allow_failure=options.allow_failure)


def _dev_set(options: argparse.Namespace) -> Any:
    """The dev set with its source, prepared or from two files; None if none is given."""
    from dataclasses import replace

    from replitune.corpus.reader import read_testset
    from replitune.running.files import read_lines

    if options.testset is None and options.refs is None:
        return None
    if options.testset is not None and options.refs is not None:
        raise ReplituneError("give the dev set as --testset, or as --source and --refs")
    dev = read_testset([options.testset] if options.testset else options.refs)
    source = read_lines(options.source) if options.source else dev.source
    if source is None or len(source) != dev.segments:
        raise ReplituneError(
            "the dev set needs a source line for each reference",
            file=options.source or options.testset,
            found="none" if source is None else f"{len(source)} lines",
            expected=f"{dev.segments} lines",
        )
    return replace(dev, source=source)
