"""An experiment's names: systems, replicas, test sets, and where their files are.

Light on purpose: the Snakefile imports it. Nothing here reads data, except that patterns of
the `outputs` backend look on the disk.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from replitune.backends.interface import Backend, Given
from replitune.backends.registry import get_backend
from replitune.errors import ReplituneError
from replitune.experiment.configuration import entry_id, replicas_wanted, test_names
from replitune.experiment.studies import BY_METRIC, Studies
from replitune.metrics.score_files import has_scores, output_file, scores_file, scores_named
from replitune.replicas import Replica, replica_ids

LOOP = ("iterations", "patience", "min_gain", "init", "init_range", "resample_dev")
"""Settings of the outer loop of tuning."""


class Experiment:
    """Resolved settings with names derived from them."""

    def __init__(self, settings: Mapping[str, Any], results: str | Path = "results") -> None:
        self.settings = dict(settings)
        self.name: str = settings["experiment"]
        self.seed: int = settings["seed"]
        self.folder = Path(results) / self.name

    @property
    def systems(self) -> list[str]:
        return list(self.settings["systems"])

    @property
    def tests(self) -> list[str]:
        """Test sets that are tested."""
        return test_names(self.settings)

    @property
    def testsets(self) -> list[str]:
        """Test sets that are decoded and scored: dev, when there is one, comes first."""
        corpus = self.settings["corpus"]
        return (["dev"] if corpus.get("dev") else []) + self.tests

    @property
    def trains(self) -> bool:
        """Whether some system reads the experiment's parallel text."""
        return any(
            "train" in parts for backend in self.backends.values()
            for parts in backend.stages.values()
        )  # fmt: skip

    @property
    def corpus_parts(self) -> list[str]:
        """The parts of the corpus that this experiment uses."""
        return (["train"] if self.trains else []) + self.testsets

    @property
    def corpus_used(self) -> dict[str, Any]:
        """The corpus settings of these parts."""
        corpus = dict(self.settings["corpus"])
        if not self.trains:
            corpus.pop("train", None)
        return corpus

    def corpus_settings(self, part: str) -> dict[str, Any]:
        """The corpus settings that decide one part, and nothing else."""
        corpus = self.settings["corpus"]
        if part in ("train", "dev"):
            return {"kind": corpus["kind"], part: corpus.get(part)}
        return {"kind": corpus["kind"], "tests": {part: corpus["tests"][part]}}

    def corpus_files(self, part: str) -> list[Path]:
        """Data files that a part of the corpus is made from."""
        corpus = self.settings["corpus"]
        if corpus["kind"] != "files" or (part == "train" and "train" not in corpus):
            return []
        whole = corpus[part] if part in ("train", "dev") else corpus["tests"][part]
        keys = ("source", "target", "references", "documents")
        named = [
            given.get(key) for given in whole.get("parts", {"": whole}).values() for key in keys
        ]
        names = [
            name for item in named for name in ([item] if isinstance(item, str) else item or [])
        ]
        return [self.corpora / name for name in names if not name.startswith("sacrebleu:")]

    @property
    def metrics(self) -> list[str]:
        """Ids of the metrics."""
        return [entry_id(entry) for entry in self.settings["metrics"]]

    def metric(self, id: str, testset: str | None = None) -> str:
        """The metric as it is given on a command line, for a test set (or else the first)."""
        entry = self.settings["metrics"][self.metrics.index(id)]
        scores = scores_named(entry)
        if not scores:
            return argument(entry)
        file = str(self.corpora / scores_file(scores, testset or self.tests[0]))
        if isinstance(entry, str):
            return entry.replace(f"file={scores}", f"file={file}")
        kept = {key: value for key, value in entry.items() if key != "options"}
        return argument({**kept, **entry.get("options", {}), "file": file})

    def scored(self, id: str, testset: str) -> bool:
        """Whether a metric scores a test set: all of them, but for scores from files, which dev
        has only where it is named."""
        scores = scores_named(self.settings["metrics"][self.metrics.index(id)])
        return not scores or testset in self.tests or has_scores(scores, testset)

    def score_files(self, id: str, testset: str, system: str) -> list[Path]:
        """The files that a metric reads its scores of a system from."""
        scores = scores_named(self.settings["metrics"][self.metrics.index(id)])
        if not scores:
            return []
        file = str(self.corpora / scores_file(scores, testset))
        named = [output_file(file, system, replica.id) for replica in self.replicas(system)]
        return list(dict.fromkeys(named))

    def all_score_files(self, id: str) -> list[Path]:
        """The files that a metric reads scores from, of all systems on all test sets."""
        found = (
            path
            for testset in self.testsets
            if self.scored(id, testset)
            for system in self.systems
            if testset in self.decoded(system)
            for path in self.score_files(id, testset, system)
        )
        return list(dict.fromkeys(found))

    @property
    def methods(self) -> list[str]:
        """The tests as they are given on a command line."""
        return [argument(entry) for entry in self.settings["tests"]["methods"]]

    @property
    def intervals(self) -> list[str]:
        """The intervals of each system's score, likewise."""
        return [argument(entry) for entry in self.settings["tests"]["intervals"]]

    @property
    def pairs(self) -> str:
        """The pairs as they are given on a command line: ``all``, ``baseline=A``, ``A:B C:D``."""
        pairs = self.settings["tests"]["pairs"]
        if isinstance(pairs, Mapping):
            return f"baseline={pairs['baseline']}"
        return pairs if isinstance(pairs, str) else " ".join(f"{a}:{b}" for a, b in pairs)

    @cached_property
    def studies(self) -> Studies:
        """What the experiment does with its replicas beside testing pairs."""
        return Studies(self)

    @property
    def kernel_words(self) -> str:
        """What has to be compiled, as options of `replitune kernels`."""
        words = ["--metrics", *map(shlex.quote, map(self.metric, self.metrics))]
        methods = dict.fromkeys([*self.methods, *self.studies.kernel_methods])
        words += ["--methods", *map(shlex.quote, methods)]
        tuned = [system for system in self.systems if self.backends[system].uses_our_tuners]
        groups = {r.group: None for system in tuned for r in self.replicas(system)}
        if groups:
            metric = shlex.quote(self.tuning_metric)
            searches = dict.fromkeys(filter(None, (self.backends[s].search for s in tuned)))
            words += ["--algorithms", *filter(None, groups), "--tuning-metric", metric]
            words += ["--search", *map(shlex.quote, searches)]
        return " ".join(words)

    @property
    def report_settings(self) -> dict[str, Any]:
        """What the report needs to know beside the rows of the tests."""
        tests = self.settings["tests"]
        pairs = tests["pairs"]
        return {
            "experiment": self.name,
            "seed": self.seed,
            "systems": self.systems,
            "tests": self.tests,
            "metrics": self.metrics,
            "baseline": pairs["baseline"] if isinstance(pairs, Mapping) else None,
            "methods": self.methods,
            "studies": {name: self.studies.cells(name) for name in BY_METRIC},
            "judged": self.studies.judged,
            **{key: tests[key] for key in ("alpha", "correction", "samples")},
        }

    @cached_property
    def backends(self) -> dict[str, Backend]:
        """What makes each system."""
        return {
            system: get_backend(system, settings)
            for system, settings in self.settings["systems"].items()
        }

    def resources(self, system: str) -> dict[str, int]:
        """Threads, GPUs, memory and minutes that a system's jobs ask for, where it says so."""
        return dict(self.settings["systems"][system].get("resources") or {})

    def missing(self, systems: Sequence[str]) -> list[ReplituneError]:
        """Programs, extras and files that these systems lack, each named once."""
        found = [error for system in systems for error in self.backends[system].missing()]
        return list({str(error): error for error in found}.values())

    def having(self, stage: str) -> list[str]:
        """The systems that have a stage."""
        return [system for system, backend in self.backends.items() if stage in backend.stages]

    @property
    def with_history(self) -> list[str]:
        """The systems whose replicas leave a history of dev scores."""
        return [system for system, backend in self.backends.items() if backend.keeps_history]

    def reads(self, system: str, stage: str, part: str) -> bool:
        """Whether a stage of a system reads a part: train, dev, model, tuned."""
        return part in self.backends[system].stages.get(stage, ())

    def stage_version(self, system: str) -> str:
        """Name and version of the backend, for a change of which its jobs run again."""
        backend = self.backends[system]
        return f"{backend.name} {backend.version}"

    def job_words(self, system: str, stage: str) -> str:
        """What makes a system in a stage, as options of a command."""
        backend = self.backends[system]
        settings = json.dumps(backend.stage_settings(stage), sort_keys=True, ensure_ascii=False)
        return (
            f"--backend {shlex.quote(backend.name)} --system {shlex.quote(system)}"
            f" --settings {shlex.quote(settings)}"
        )

    @property
    def corpora(self) -> Path:
        """Folder in which relative names of data files start."""
        return Path(self.settings["corpora"] or ".")

    @property
    def tuning_metric(self) -> str:
        """What systems are tuned for, as it is given on a command line."""
        return argument(self.settings["tuning"]["metric"])

    def tuning_words(self, replica: str) -> str:
        """The tuning settings that decide one replica, as options of `replitune tune`."""
        tuning = self.settings["tuning"]
        algorithm = replica.rpartition("-")[0]
        metric = shlex.quote(self.tuning_metric)
        loop = {key: tuning[key] for key in LOOP if tuning[key] is not None}
        return (
            f"--algorithm {algorithm} --metric {metric} --nbest-size {tuning['nbest']}"
            f" --loop {assignments(loop)} --set {assignments(tuning[algorithm])}"
        )

    def replicas(self, system: str) -> list[Replica]:
        if system in self.outputs:
            some_testset = next(iter(self.outputs[system]))
            return list(self.outputs[system][some_testset])
        return replica_ids(replicas_wanted(self.settings, system, self.backends[system]))

    def replica_counts(self, system: str) -> dict[str, int]:
        """Number of replicas by prefix, as commands take it: ``mert=20``."""
        counts: dict[str, int] = {}
        for replica in self.replicas(system):
            counts[replica.prefix] = counts.get(replica.prefix, 0) + 1
        return counts

    def decoded(self, system: str) -> list[str]:
        """The test sets on which this system has translations."""
        if system in self.outputs:
            return [name for name in self.testsets if name in self.outputs[system]]
        return self.testsets

    @cached_property
    def outputs(self) -> dict[str, dict[str, dict[Replica, Path]]]:
        """Files of systems that are on disk: system -> test set -> replica -> file."""
        found: dict[str, dict[str, dict[Replica, Path]]] = {}
        for system, backend in self.backends.items():
            if not isinstance(backend, Given):
                continue
            found[system] = {
                testset: backend.files(testset, self.corpora) for testset in backend.testsets
            }
            first, *others = found[system].items()
            for testset, files in others:
                if list(files) != list(first[1]):
                    raise ReplituneError(
                        f"system {system} has different replicas on different test sets",
                        found=f"{len(files)} files for {testset}",
                        expected=f"{len(first[1])}, as for {first[0]}",
                        fix="give the output of every replica on every test set",
                    )
        return found


def argument(entry: str | Mapping[str, Any]) -> str:
    """A metric or method as one command-line word: ``NAME:key=value,key=value``.

    >>> argument({"name": "ter", "id": "ter-norm", "normalized": True})
    'ter:id=ter-norm,normalized=true'
    """
    if isinstance(entry, str):
        return entry
    options: dict[str, Any] = {}
    for key, value in entry.items():
        if key == "options":
            options.update(value)
        elif key != "name":
            options[key] = value
    if options.get("id") == entry["name"]:
        del options["id"]
    words = [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in options.items()
    ]
    return f"{entry['name']}:{','.join(words)}" if words else str(entry["name"])


def assignments(settings: Mapping[str, Any]) -> str:
    """``key=value key=value`` with each word quoted for a shell."""
    words = (
        f"{key}={value if isinstance(value, str) else json.dumps(value)}"
        for key, value in settings.items()
    )
    return " ".join(shlex.quote(word) for word in words)
