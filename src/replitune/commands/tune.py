"""Tune weights: a phrase-based system on its dev set, or n-best files of any decoder.

  replitune tune --model model --testset dev.jsonl --algorithm mert --seed 7 --out weights.json
  replitune tune --nbest run1.gz run2.gz --refs dev.en --algorithm pro --out weights.ini

--nbest takes Moses' format, `id ||| text ||| Name= v v ... ||| score`; several files form one pool.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from replitune import words
from replitune.errors import ReplituneError
from replitune.experiment import Replica


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from replitune.tuners.command import ALGORITHMS

    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", metavar="DIR", help="folder of a trained model")
    what.add_argument("--nbest", nargs="+", metavar="F", help="n-best files, plain or gz")
    parser.add_argument("--refs", nargs="+", metavar="R", help="references of the n-best files")
    parser.add_argument("--testset", metavar="FILE", help="prepared dev set, with its source")
    parser.add_argument("--source", metavar="FILE", help="source of the dev set, with --refs")
    parser.add_argument("--algorithm", required=True, choices=ALGORITHMS)
    parser.add_argument("--metric", default="bleu", metavar="M", help="what to tune for")
    parser.add_argument("--init", metavar="FILE", help="weights to start from")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=VALUE", help="of the algorithm"
    )
    parser.add_argument(
        "--loop", nargs="*", default=[], metavar="KEY=VALUE",
        help="iterations, patience, min_gain, init, init_range, resample_dev",
    )  # fmt: skip
    parser.add_argument("--nbest-size", type=int, default=100, metavar="N")
    parser.add_argument("--features", nargs="+", metavar="GROUP", help="feature groups in use")
    parser.add_argument(
        "--search", nargs="*", default=[], metavar="KEY=VALUE", help="of the decoder"
    )
    parser.add_argument("--system", default="system", metavar="NAME")
    parser.add_argument(
        "--replica", metavar="ID", help="such as mert-003; names the random streams"
    )
    parser.add_argument(
        "--paired", action="store_true", help="replica k of all systems has one seed"
    )
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("--work", metavar="DIR", help="checkpoint; a killed run goes on from it")
    parser.add_argument("--history", metavar="FILE.parquet", help="a row per iteration")
    parser.add_argument("--out", required=True, metavar="FILE", help="weights, .json or .ini")


def run(options: argparse.Namespace) -> None:
    settings = words.assignments(options.set, "--set")
    if options.nbest is not None:
        from replitune.tuners.command import tune_files

        if not options.refs:
            raise ReplituneError("--nbest needs --refs")
        tune_files(
            options.nbest, options.refs, algorithm=options.algorithm, metric=options.metric,
            init=options.init, seed=options.seed, out=options.out, threads=options.threads,
            options=settings, log=_say,
        )  # fmt: skip
        return
    _tune_system(options, settings)


def _tune_system(options: argparse.Namespace, settings: dict[str, Any]) -> None:
    from replitune.backends.phrase.decoder import Settings
    from replitune.backends.phrase.system import PhraseSystem
    from replitune.backends.phrase.tuning import DevDecoder
    from replitune.commands.scoring import load_testset
    from replitune.files import read_lines, sha256_file, sha256_lines
    from replitune.streams import stream
    from replitune.tuners.combination import get_objective
    from replitune.tuners.command import make_tuner
    from replitune.tuners.layout import Layout
    from replitune.tuners.loop import LoopResult, LoopSettings, run_loop, write_history
    from replitune.tuners.objective import Objective
    from replitune.tuners.weights import WeightsFile, read_weights, write_weights

    loop = LoopSettings(**words.settings_words(options.loop, LoopSettings, "--loop"))
    search = Settings(**words.settings_words(options.search, Settings, "--search"))
    objective = Objective(get_objective(options.metric))
    system = PhraseSystem(options.model, options.features, search)
    tuner = make_tuner(
        options.algorithm, settings, Layout(*map(tuple, zip(*system.layout.features, strict=True)))
    )
    if (options.testset is None) == (options.refs is None):
        raise ReplituneError("give the dev set as --testset, or as --source and --refs")
    dev = load_testset([options.testset] if options.testset else options.refs)
    source = read_lines(options.source) if options.source else dev.source
    if source is None or len(source) != dev.segments:
        raise ReplituneError(
            "the dev set needs a source line for each reference",
            file=options.source or options.testset,
            found="none" if source is None else f"{len(source)} lines",
            expected=f"{dev.segments} lines",
        )
    start = (
        system.layout.vector(read_weights(options.init)) if options.init
        else system.layout.sensible()
    )  # fmt: skip
    replica = Replica(
        words.checked_name(options.replica or f"{options.algorithm}-001", "--replica")
    )
    named = () if options.paired else (options.system,)

    def finish(result: LoopResult) -> None:
        if options.history is not None:
            write_history(options.history, result.history)
        write_weights(
            options.out,
            WeightsFile(
                system.layout.mapping(result.weights),
                dev_score=result.dev_score,
                metric=objective.metric.id,
                algorithm=options.algorithm,
                seed=options.seed,
                iteration=result.iteration,
            ),
        )

    run_loop(
        DevDecoder(
            system,
            source,
            dev.references,
            objective.metric,
            options.nbest_size,
            options.threads,
            density=getattr(tuner, "density", None),
        ),
        tuner,
        objective,
        start,
        dev.segments,
        partial(stream, options.seed, "tune", *named, options.algorithm, replica.index),
        loop,
        folder=options.work,
        inputs={
            "model": sha256_file(f"{options.model}/model.json"),
            "source": sha256_lines(source),
            "references": [sha256_lines(lines) for lines in dev.references],
            "features": list(system.layout.groups),
            "search": repr(search),
            "nbest": options.nbest_size,
        },
        finish=finish,
        log=_say,
        threads=options.threads,
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr if sys.stderr.isatty() else sys.stdout, flush=True)
