"""Compile what an experiment needs, once, before its jobs start side by side.

Compiled code is kept in numba's cache; with a warm cache this takes a few seconds. It runs the
real code on a tiny language pair.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from replitune.experiment import stages
from replitune.registry import Entry
from replitune.running.files import atomic_open

TEXTLESS = ("meteor", "bleurt", "comet", "command", "external", "given", "mean")
"""Metrics without kernels of their own."""

SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "cube": ("phrase", {"stack": 20, "pop_limit": 20}),
    "hiero": ("hiero", {"pop_limit": 20}),
}
"""Backend and settings of each search that embedded decoders have (`Backend.search`)."""


def job(job: stages.Kernels, options: argparse.Namespace) -> None:
    from replitune.metrics.registry import METRICS
    from replitune.significance.registry import TESTS

    began = time.process_time()
    methods = [TESTS.entry(given) for given in job.methods]
    _metrics_and_tests([METRICS.entry(given) for given in job.metrics], methods)
    if job.tuners:
        with tempfile.TemporaryDirectory() as folder:
            _decoders(Path(folder), job.tuners, job.tuning_metric, job.searches)
    print(f"kernels are compiled ({time.process_time() - began:.0f} CPU-s)")
    with atomic_open(job.at.kernels) as handle:
        handle.write("compiled\n")


def _metrics_and_tests(metrics: list[Entry], methods: list[Entry]) -> None:
    from replitune.corpus.synthetic import synthetic_testset
    from replitune.replicas import replica_ids
    from replitune.results.comparing import compare
    from replitune.significance.settings import TestSettings
    from replitune.statistics.outputs import Outputs
    from replitune.statistics.scoring import Scorer

    testset = synthetic_testset(1, "kernels", 24)
    reference = testset.references[0]
    stores = []
    for entry in metrics:
        if entry.name in TEXTLESS:
            continue
        scorer = Scorer(entry, testset, "kernels")
        systems = []
        for shift, name in enumerate("ab", 1):
            outputs = Outputs(testset.segments)
            for replica in range(3):
                outputs.add([_spoilt(line, shift + replica + i) for i, line in enumerate(reference)])
            scored = scorer.score(name, replica_ids({"run": 3}), outputs)
            systems.append(scored)
        stores.append(scorer.statistics(systems))
    if stores:
        # a test may be asked for twice, in the experiment and in a study of it, and may name
        # replicas that are not here
        numbered = [
            Entry(
                method.name,
                {k: v for k, v in method.options.items() if not k.startswith("replica")},
                f"{method.name}-{number}",
            )
            for number, method in enumerate(methods)
        ]
        settings = TestSettings(methods=tuple(numbered), samples=64)
        compare(stores, settings, testset="kernels", seed=1)


def _spoilt(line: str, number: int) -> str:
    """A line with one of its words moved to the end."""
    tokens = line.split()
    if tokens:
        tokens.append(tokens.pop(number % len(tokens)))
    return " ".join(tokens)


def _decoders(folder: Path, algorithms: list[str], metric: str, searches: list[str]) -> None:
    """Decode with every search, and tune around it by every tuner."""
    from replitune.backends.interface import ReplicaJob
    from replitune.backends.registry import get_backend
    from replitune.corpus.synthetic import synthetic_testset, synthetic_train
    from replitune.phrase.backend import Embedded
    from replitune.replicas import Replica
    from replitune.tuners import get_tuner
    from replitune.tuning.settings import LoopSettings

    source, target = synthetic_train(1, 300)
    dev = synthetic_testset(1, "kernels", 12)
    for search in searches:
        name, settings = SEARCHES[search]
        backend = get_backend("kernels", {"search": settings}, name)
        assert isinstance(backend, Embedded)
        model = folder / name
        if not model.exists():
            backend.train_on(source, target, model)
        system = backend.load(model)
        system.translate(dev.source or [], system.layout.sensible())
        for algorithm in algorithms:
            if algorithm not in backend.prefixes:
                continue
            backend.tune(
                ReplicaJob(
                    seed=1,
                    model=model,
                    dev=dev,
                    out=folder / "weights.json",
                    replica=Replica(f"{algorithm}-001"),
                    work=folder / "work",
                    metric=metric,
                    nbest=20,
                    loop=LoopSettings(iterations=2),
                    tuner=get_tuner(algorithm),
                )
            )
