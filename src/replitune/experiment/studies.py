"""The studies of an experiment: which it asks for and allows, as commands and files.

Light on purpose: the Snakefile imports it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from replitune.errors import nearest
from replitune.experiment.configuration import entry_id, test_names
from replitune.experiment.plain_values import Source

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment

BY_METRIC = ("power", "replication", "calibrate")
"""Studies with a job and a file for each (test set, metric); `meta` has one for a test set."""

FEWEST = 3
"""Replicas of two systems, below which there is nothing to study."""


def check(settings: Mapping[str, Any], source: Source) -> None:
    """What a schema cannot say of `studies`."""
    metrics = [entry_id(entry) for entry in settings["metrics"]]
    tests = test_names(settings)

    def known(name: str, names: list[str], what: str, *path: str) -> None:
        if name not in names:
            close = nearest(name, names)
            raise source.error(
                ("studies", *path),
                f"unknown {what} {name!r} in studies.{'.'.join(path)}",
                expected=", ".join(names),
                fix=f"did you mean {close!r}?" if close else None,
            )

    for name, study in settings["studies"].items():
        if not study:
            continue
        if isinstance(study["metrics"], list):
            for id in study["metrics"]:
                known(id, metrics, "metric", name, "metrics")
        labels = [entry_id(entry) for entry in study.get("methods", [])]
        for label in labels:
            if labels.count(label) > 1:
                path = ("studies", name, "methods")
                raise source.error(
                    path, f"two methods are called {label!r}", fix="give one of them an `id`"
                )
        for key in ("human", "fluency"):
            given = study.get(key)
            for testset in given if isinstance(given, Mapping) else ():
                known(testset, tests, "test set", name, key)


class Studies:
    """The studies of one experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.settings: dict[str, Any] = experiment.settings["studies"]

    def cells(self, name: str) -> list[tuple[str, str]]:
        """(test set, metric) of each job of a study in `BY_METRIC`; none when it is not asked
        for, or the replicas do not allow it."""
        if not self.settings[name]:
            return []
        return [
            (testset, metric)
            for testset in self.experiment.tests
            if self._allowed(name, testset)
            for metric in self.metrics(name)
        ]

    def files(self) -> list[str]:
        """Paths of all studies below the experiment's folder."""
        found = [
            f"studies/{name}/{testset}/{metric}.parquet"
            for name in BY_METRIC
            for testset, metric in self.cells(name)
        ]
        return [*found, *(f"studies/meta/{testset}.parquet" for testset in self.judged)]

    def metrics(self, name: str) -> list[str]:
        """Ids of the metrics that a study looks at."""
        chosen = self.settings[name]["metrics"]
        every = self.experiment.metrics
        return chosen if isinstance(chosen, list) else every if chosen == "all" else every[:1]

    @property
    def judged(self) -> list[str]:
        """Test sets with human scores."""
        return [testset for testset in self.experiment.tests if self.human_files(testset)]

    def human_files(self, testset: str) -> dict[str, str]:
        """Files of human scores of a test set: `human`, and perhaps `fluency`."""
        meta = self.settings["meta"] or {}
        found: dict[str, str] = {}
        for key in ("human", "fluency"):
            given = meta.get(key)
            if isinstance(given, str):
                given = {self.experiment.tests[0]: given}
            if given and testset in given:
                found[key] = str(self.experiment.corpora / given[testset])
        return found if "human" in found else {}

    def systems(self, testset: str) -> list[str]:
        """Systems with outputs on a test set."""
        every = self.experiment.systems
        return [system for system in every if testset in self.experiment.decoded(system)]

    def _allowed(self, name: str, testset: str) -> bool:
        systems = self.systems(testset)
        n = {system: len(self.experiment.replicas(system)) for system in systems}
        if name == "calibrate":
            smallest = 2 * min(self.settings[name]["sizes"])
            return sum(k > 1 for k in n.values()) > 1 or max(n.values(), default=0) >= smallest
        return any(min(n[a], n[b]) >= FEWEST for a, b in self._pairs(systems))

    def _pairs(self, systems: list[str]) -> list[tuple[str, str]]:
        pairs = self.experiment.settings["tests"]["pairs"]
        if isinstance(pairs, Mapping):
            one = pairs["baseline"]
            return [(one, other) for other in systems if other != one and one in systems]
        if isinstance(pairs, list):
            return [(a, b) for a, b in pairs if a in systems and b in systems]
        return list(combinations(systems, 2))

    def methods(self, name: str) -> list[str]:
        """The tests of a study as they are given on a command line."""
        from replitune.experiment.experiment import argument

        if not self.settings[name]:
            return []
        given = self.settings[name].get("methods", [])
        own = [argument(entry) for entry in given]
        return own or (self.experiment.methods if name == "calibrate" else [])

    @property
    def kernel_methods(self) -> list[str]:
        """Tests that have to be compiled for studies that take place."""
        names = [name for name in BY_METRIC if self.cells(name)]
        names += ["meta"] if self.judged else []
        return [method for name in names for method in self.methods(name)]

    def words(self, name: str, testset: str) -> str:
        """The options of a study's command, without files."""
        study, tests = self.settings[name], self.experiment.settings["tests"]
        words = ["--testset", testset, "--seed", self.experiment.seed]
        if name == "meta":
            words += self._meta_words(study)
        else:
            words += ["--systems", *self.systems(testset)]
        if self.methods(name):
            words += ["--methods", *self.methods(name)]
        if name in ("power", "replication"):
            words += ["--pairs", *self.experiment.pairs.split(), "--alpha", tests["alpha"]]
        if name == "power":
            words += ["--replicas", *study["replicas"], "--power", study["power"]]
            words += ["--segments", *study["segments"]] if study["segments"] else []
            words += ["--delta", study["delta"]] if study["delta"] is not None else []
            words += ["--paired-replicas"] if tests["paired_replicas"] else []
        if name == "replication":
            words += ["--sizes", *study["sizes"], "--repeats", study["repeats"]]
        if name == "calibrate":
            words += ["--ns", *study["sizes"], "--trials", study["trials"], "--unit", study["unit"]]
        words += ["--samples", study["samples"]] if "samples" in study else []
        return " ".join(shlex.quote(str(word)) for word in words)

    def _meta_words(self, study: Mapping[str, Any]) -> list[Any]:
        words: list[Any] = ["--metrics", *self.metrics("meta")]
        words += ["--ci-samples", study["ci_samples"], "--resample", study["resample"]]
        words += ["--alphas", *study["alphas"], "--correction", study["correction"]]
        words += ["--first-segment", study["first_segment"]]
        words += ["--standardise"] if study["standardise"] else []
        for key in ("score_column", "human_alpha"):
            if study.get(key) is not None:
                words += [f"--{key.replace('_', '-')}", study[key]]
        words += ["--exclude", *study["exclude"]] if study["exclude"] else []
        return words
