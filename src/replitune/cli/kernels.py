"""Compile what an experiment needs, once, before its jobs start side by side.

Compiled code is kept in numba's cache; with a warm cache this takes a few seconds. It runs the
real code on a tiny language pair.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

from replitune.running.files import atomic_open

TEXTLESS = ("meteor", "external", "mean")
"""Metrics without kernels of their own."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--metrics", nargs="*", default=["bleu"], metavar="M", help="metrics to compile"
    )
    parser.add_argument(
        "--methods",
        nargs="*",
        default=["crossed", "clark"],
        metavar="TEST",
        help="tests to compile",
    )
    parser.add_argument(
        "--algorithms", nargs="*", default=[], metavar="A", help="tuners to compile"
    )
    parser.add_argument(
        "--tuning-metric", default="bleu", metavar="M", help="what the tuners tune for"
    )
    parser.add_argument("--search", nargs="*", default=["cube"], help="cube, stack")
    parser.add_argument("--out", metavar="FILE", help="written when done")


def run(options: argparse.Namespace) -> None:
    began = time.process_time()
    _metrics_and_tests(options.metrics, options.methods)
    if options.algorithms:
        with tempfile.TemporaryDirectory() as folder:
            _phrase(Path(folder), options.algorithms, options.tuning_metric, options.search)
    said = f"kernels are compiled ({time.process_time() - began:.0f} CPU-s)"
    print(said)
    if options.out is not None:
        with atomic_open(options.out) as handle:
            handle.write("compiled\n")


def _metrics_and_tests(metrics: list[str], methods: list[str]) -> None:
    from replitune.corpus.synthetic import synthetic_testset
    from replitune.replicas import replica_ids
    from replitune.results.comparing import compare
    from replitune.significance.registry import TESTS
    from replitune.significance.settings import TestSettings
    from replitune.statistics.scorer import Scorer
    from replitune.statistics.scoring import Outputs

    testset = synthetic_testset(1, "kernels", 24)
    reference = testset.references[0]
    scored = []
    for word in metrics:
        if word.partition(":")[0] in TEXTLESS:
            continue
        scorer = Scorer(word, testset, "kernels")
        systems = []
        for shift, name in enumerate("ab", 1):
            outputs = Outputs(testset.segments)
            for replica in range(3):
                outputs.add(
                    [_spoilt(line, shift + replica + i) for i, line in enumerate(reference)]
                )
            result, _ = scorer.score(name, replica_ids({"run": 3}), outputs)
            systems.append(result)
        scored.append(scorer.statistics(systems))
    if scored:
        settings = TestSettings(methods=tuple(TESTS.entries(methods)), samples=64)
        compare(scored, settings, testset="kernels", seed=1)


def _spoilt(line: str, number: int) -> str:
    """A line with one of its words moved to the end."""
    tokens = line.split()
    if tokens:
        tokens.append(tokens.pop(number % len(tokens)))
    return " ".join(tokens)


def _phrase(folder: Path, algorithms: list[str], metric: str, searches: list[str]) -> None:
    from replitune.corpus.synthetic import synthetic_testset, synthetic_train
    from replitune.phrase.decoder import Settings
    from replitune.phrase.system import PhraseSystem
    from replitune.phrase.train import train_phrase_system
    from replitune.phrase.train_settings import PhraseSettings
    from replitune.phrase.tuning import DevDecoder
    from replitune.streams import stream
    from replitune.tuning.combination import get_objective
    from replitune.tuning.from_files import make_tuner
    from replitune.tuning.loop import LoopSettings, run_loop
    from replitune.tuning.objective import Objective

    source, target = synthetic_train(1, 300)
    dev = synthetic_testset(1, "kernels", 12)
    train_phrase_system(source, target, PhraseSettings(), folder / "model")
    objective = Objective(get_objective(metric))
    for search in searches:
        system = PhraseSystem(
            folder / "model", None, Settings(search=search, stack=20, pop_limit=20)
        )
        start = system.layout.sensible()
        system.translate(dev.source or [], start)
        for algorithm in algorithms:
            tuner = make_tuner(algorithm, {})
            run_loop(
                DevDecoder(
                    system,
                    dev.source or [],
                    dev.references,
                    objective.metric,
                    20,
                    density=getattr(tuner, "density", None),
                ),
                tuner,
                objective,
                start,
                dev.segments,
                partial(stream, 1, "kernels", algorithm),
                LoopSettings(iterations=2),
                folder=folder / algorithm,
            )
