"""Compiles what an experiment needs, once, before its jobs run in parallel.

Compiled code is kept in numba's cache; with a warm cache this takes a few seconds. It runs the
real code on a tiny language pair: metrics (`Metric.has_kernels`) and backends
(`Backend.warm_up`) know what there is to compile.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from replitune.experiment.stage import Conditions, Files, Stage
from replitune.registry import Entry
from replitune.settings import plain
from replitune.stages.meta import Meta
from replitune.stages.studies import STUDIES

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment

Step = tuple[str, Callable[[], object]]
"""What is compiled, and the function that compiles it."""


class Kernels(Stage):
    """Compile once what parallel jobs would each compile."""

    NAME = "kernels"
    MEMORY_MB = 430, 0.0
    LOG = "kernels/kernels"
    metrics: list[dict[str, Any]]
    methods: list[dict[str, Any]]
    tuners: list[str]
    tuning_metric: Any
    decoders: list[tuple[str, dict[str, Any]]]
    """Backend and settings of small systems."""

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> Self:
        """The job for the metrics and tests of the experiment and of its studies, each only once: numba
        compiles for types, which options do not change."""
        settings = experiment.settings
        methods = list(settings.tests.methods)
        for study in (*STUDIES, Meta):
            if study.names_in(experiment):
                methods += getattr(getattr(settings.studies, study.NAME), "methods", ())
        tuned = [backend for backend in experiment.backends.values() if backend.uses_our_tuners]
        groups = {r.group for backend in tuned for r in experiment.replicas(backend.system) if r.group}
        decoders: list[tuple[str, dict[str, Any]]] = []
        for backend in tuned:
            small = backend.warm_up_settings
            if small is not None and (backend.name, small) not in decoders:
                decoders.append((backend.name, dict(small)))
        return cls.create(
            experiment,
            metrics=[entry.mapping for entry in settings.metrics],
            methods=[*{entry.word: entry.mapping for entry in methods}.values()],
            tuners=sorted(groups),
            tuning_metric=plain(settings.tuning.metric),
            decoders=decoders,
        )

    @property
    def outputs(self) -> Files:
        return {"stamp": self.at.kernels}

    def run(self, conditions: Conditions) -> None:
        from concurrent.futures import ThreadPoolExecutor

        from replitune.metrics.registry import METRICS
        from replitune.running.files import atomic_open
        from replitune.running.supervisor import Program
        from replitune.significance.registry import TESTS

        began = sum(os.times()[:4])
        with tempfile.TemporaryDirectory() as folder:
            tuning = self._tuning(Path(folder))
            if tuning and self.metrics and conditions.threads > 1:
                # another process compiles those of tests: they share hardly any kernel with tuning
                tests = msgspec.structs.replace(self, folder=folder, tuners=[], decoders=[])
                command = [sys.executable, "-P", "-m", "replitune", "job", "kernels"]
                program = Program([*command, "--settings", tests.json], "kernels of tests")
                with ThreadPoolExecutor(1) as thread, program as other:
                    code = thread.submit(other.follow)
                    _compile("tuning", tuning)
                    other.check(code.result())
            else:
                metrics = [METRICS.entry(given) for given in self.metrics]
                methods = [TESTS.entry(given) for given in self.methods]  # ids may occur twice
                _compile("tests", steps_of_tests(metrics, methods))
                _compile("tuning", tuning)
        print(f"kernels are compiled ({sum(os.times()[:4]) - began:.0f} CPU-s)")
        with atomic_open(self.at.kernels) as handle:
            handle.write("compiled\n")

    def _tuning(self, folder: Path) -> list[Step]:
        """Steps that compile every decoder with every tuner."""
        from replitune.backends.registry import get_backend

        return [
            (f"{name}, {tuner}", partial(backend.warm_up, folder, [tuner], self.tuning_metric))
            for name, settings in self.decoders
            for backend in [get_backend("kernels", settings, name)]
            for tuner in self.tuners
        ]


def steps_of_tests(metrics: Sequence[Entry], methods: Sequence[Entry]) -> list[Step]:
    """Steps that score a tiny test set by every metric with kernels, and test it by every method."""
    from replitune.corpus.synthetic import synthetic_testset
    from replitune.metrics.registry import METRICS
    from replitune.replicas import replica_ids
    from replitune.results.comparing import compare
    from replitune.significance.settings import TestSettings
    from replitune.statistics.outputs import Outputs
    from replitune.statistics.scoring import Scorer

    testset = synthetic_testset(1, "kernels", 24)
    reference = testset.references[0]
    stores = []

    def score(metric: Entry) -> None:
        scorer = Scorer(metric, testset, "kernels")
        systems = []
        for shift, name in enumerate("ab", 1):
            outputs = Outputs(testset.segments)
            for replica in range(3):
                outputs.add([_spoilt(line, shift + replica + i) for i, line in enumerate(reference)])
            systems.append(scorer.score(name, replica_ids({"run": 3}), outputs))
        stores.append(scorer.statistics(systems))

    def test(method: Entry) -> None:
        # options may name replicas that do not exist here
        options = {k: v for k, v in method.options.items() if not k.startswith("replica")}
        settings = TestSettings(methods=(Entry(method.name, options),), samples=64)
        compare(stores, settings, testset="kernels", seed=1)

    kinds = [(metric, METRICS[metric.name]) for metric in metrics]
    scored = [metric for metric, kind in kinds if kind.has_kernels and kind.needs_text]
    return [
        *((metric.id, partial(score, metric)) for metric in scored),
        *((method.id, partial(test, method)) for method in methods if scored),
    ]


def _compile(purpose: str, steps: Sequence[Step]) -> None:
    for number, (what, step) in enumerate(steps, 1):
        print(f"compile {number} of {len(steps)} for {purpose}: {what}", flush=True)
        step()


def _spoilt(line: str, number: int) -> str:
    """A line with one of its words moved to the end."""
    tokens = line.split()
    if tokens:
        tokens.append(tokens.pop(number % len(tokens)))
    return " ".join(tokens)
