"""An experiment's names: systems, replicas, test sets, and where their files are.

Light on purpose: the Snakefile imports it. Nothing here reads data, except that patterns of
the `outputs` backend look on the disk.
"""

from __future__ import annotations

import glob
import itertools
import json
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from replitune.configuration import entry_id, test_names
from replitune.errors import ReplituneError

TRAINED: tuple[str, ...] = ("phrase",)
"""Backends that need parallel text."""

LOOP = ("iterations", "patience", "min_gain", "init", "init_range", "resample_dev")
"""Settings of the outer loop of tuning."""

MOST_REPLICAS = 999
"""Of one tuner: their numbers have three digits."""

UNGROUPED = ("seed", "run")
"""Replica prefixes that are not the name of a tuner."""


@dataclass(frozen=True, order=True)
class Replica:
    """One tuning run or training seed of a system."""

    id: str
    """`mert-007`: what it came from, and a number from 1."""

    @property
    def group(self) -> str | None:
        """The tuner it came from, or None."""
        prefix = self.id.rpartition("-")[0]
        return None if prefix in UNGROUPED else prefix

    @property
    def index(self) -> int:
        return int(self.id.rpartition("-")[2])


def replica_ids(counts: Mapping[str, int]) -> list[Replica]:
    """Replicas by name of tuner: ``{"mert": 2}`` gives mert-001 and mert-002."""
    return [
        Replica(f"{prefix}-{number:03d}")
        for group, count in counts.items()
        for prefix in ("seed" if group == "seeds" else group,)
        for number in range(1, count + 1)
    ]


class Experiment:
    """Resolved settings (see :mod:`replitune.configuration`) with names derived from them."""

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
        """Whether some system is trained on the experiment's parallel text."""
        return any(self.backend(system) in TRAINED for system in self.systems)

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
        given = corpus[part] if part in ("train", "dev") else corpus["tests"][part]
        named = [given.get(key) for key in ("source", "target", "references", "documents")]
        names = [
            name for item in named for name in ([item] if isinstance(item, str) else item or [])
        ]
        return [self.corpora / name for name in names if not name.startswith("sacrebleu:")]

    @property
    def metrics(self) -> list[str]:
        """Ids of the metrics."""
        return [entry_id(entry) for entry in self.settings["metrics"]]

    def metric(self, id: str) -> str:
        """The metric as it is given on a command line."""
        return argument(self.settings["metrics"][self.metrics.index(id)])

    @property
    def methods(self) -> list[str]:
        """The tests as they are given on a command line."""
        return [argument(entry) for entry in self.settings["tests"]["methods"]]

    @property
    def pairs(self) -> str:
        """The pairs as they are given on a command line: ``all``, ``baseline=A``, ``A:B C:D``."""
        pairs = self.settings["tests"]["pairs"]
        if isinstance(pairs, Mapping):
            return f"baseline={pairs['baseline']}"
        return pairs if isinstance(pairs, str) else " ".join(f"{a}:{b}" for a, b in pairs)

    @property
    def kernel_words(self) -> str:
        """What has to be compiled, as options of `replitune kernels`."""
        words = ["--metrics", *map(shlex.quote, map(self.metric, self.metrics))]
        words += ["--methods", *map(shlex.quote, self.methods)]
        trained = [system for system in self.systems if self.backend(system) in TRAINED]
        groups = {r.group: None for system in trained for r in self.replicas(system)}
        if groups:
            metric = shlex.quote(argument(self.settings["tuning"]["metric"]))
            systems = self.settings["systems"]
            searches = {systems[s]["search"].get("search", "cube"): None for s in trained}
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
            "figures": self.figures,
            **{key: tests[key] for key in ("alpha", "correction", "samples")},
        }

    @property
    def figures(self) -> list[str]:
        """File names, without suffix, of the figures that this experiment allows."""
        names = []
        for testset in self.tests:
            systems = [system for system in self.systems if testset in self.decoded(system)]
            replicas = [self.replica_counts(system) for system in systems]
            kinds = ["replicas", "intervals"]
            if any(sum(counts.values()) > 1 for counts in replicas):
                kinds.append("fits")
            if len(systems) > 1:
                kinds.append("distributions")
            if len(systems) > 2:
                kinds += ["heatmap", "differences"]
            if any(len(set(counts) - set(UNGROUPED)) > 1 for counts in replicas):
                kinds.append("tuners")
            names += [f"{testset}.{metric}.{kind}" for metric in self.metrics for kind in kinds]
        return names + (["tuning.convergence"] if self.trains else [])

    def backend(self, system: str) -> str:
        return str(self.settings["systems"][system]["backend"])

    @property
    def corpora(self) -> Path:
        """Folder in which relative names of data files start."""
        return Path(self.settings["corpora"] or ".")

    def training_words(self, system: str) -> str:
        """Settings of training as ``key=value ...``."""
        return assignments(self.settings["systems"][system]["training"])

    def search_words(self, system: str) -> str:
        """Settings of the decoder as ``key=value ...``."""
        return assignments(self.settings["systems"][system]["search"])

    def tuning_words(self, replica: str) -> str:
        """The tuning settings that decide one replica, as options of `replitune tune`."""
        tuning = self.settings["tuning"]
        algorithm = replica.rpartition("-")[0]
        metric = shlex.quote(argument(tuning["metric"]))
        loop = {key: tuning[key] for key in LOOP if tuning[key] is not None}
        return (
            f"--algorithm {algorithm} --metric {metric} --nbest-size {tuning['nbest']}"
            f" --loop {assignments(loop)} --set {assignments(tuning[algorithm])}"
        )

    def replicas(self, system: str) -> list[Replica]:
        if self.backend(system) == "outputs":
            some_testset = next(iter(self.outputs[system]))
            return list(self.outputs[system][some_testset])
        counts = self.settings["systems"][system].get("replicas") or self.settings["replicas"]
        return replica_ids(counts)

    def replica_counts(self, system: str) -> dict[str, int]:
        """Number of replicas by prefix, as commands take it: ``mert=20``."""
        counts: dict[str, int] = {}
        for replica in self.replicas(system):
            prefix = replica.id.rpartition("-")[0]
            counts[prefix] = counts.get(prefix, 0) + 1
        return counts

    def decoded(self, system: str) -> list[str]:
        """The test sets on which this system has translations."""
        if self.backend(system) == "outputs":
            return [name for name in self.testsets if name in self.outputs[system]]
        return self.testsets

    @cached_property
    def outputs(self) -> dict[str, dict[str, dict[Replica, Path]]]:
        """Files of the `outputs` systems: system -> test set -> replica -> file."""
        found: dict[str, dict[str, dict[Replica, Path]]] = {}
        for system, settings in self.settings["systems"].items():
            if settings["backend"] != "outputs":
                continue
            found[system] = {
                testset: output_files(f"system {system}, test set {testset}", given, self.corpora)
                for testset, given in settings["files"].items()
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


def output_files(what: str, given: Any, base: Path) -> dict[Replica, Path]:
    """Files of an `outputs` system on one test set: a pattern, a list, or {group: these}."""
    groups = given if isinstance(given, Mapping) else {"run": given}
    files: dict[Replica, Path] = {}
    for prefix, patterns in groups.items():
        listed = [patterns] if isinstance(patterns, str) else patterns
        paths = [path for pattern in listed for path in expand(pattern, base)]
        if not paths:
            raise ReplituneError(
                f"no file for {what}",
                found=f"no match for {', '.join(listed)}",
                fix=f"check the pattern; it starts at {base.resolve()}",
            )
        require_countable(what, len(paths))
        for number, path in enumerate(paths, 1):
            files[Replica(f"{prefix}-{number:03d}")] = path
    return files


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


def expand(pattern: str, base: Path) -> list[Path]:
    """Files of a pattern: `{1..20}` and `{a,b}` in the order written, `* ? [` from the disk
    in natural order (run2 before run10)."""
    paths: list[Path] = []
    for word in _braces(pattern):
        if any(character in word for character in "*?["):
            found = glob.glob(str(base / word), recursive=True)
            paths += [Path(name) for name in sorted(found, key=natural)]
        else:
            paths.append(base / word)
    return paths


def _braces(pattern: str) -> list[str]:
    pieces: list[list[str]] = []
    for part in re.split(r"(\{[^{}]*\})", pattern):
        inner = part[1:-1] if part.startswith("{") and part.endswith("}") else None
        numbers = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", inner) if inner else None
        if numbers:
            low, high = int(numbers[1]), int(numbers[2])
            require_countable(pattern, high - low + 1)
            width = len(numbers[1]) if numbers[1].startswith("0") else 0
            pieces.append([str(number).zfill(width) for number in range(low, high + 1)])
        elif inner is not None and "," in inner:
            pieces.append(inner.split(","))
        else:
            pieces.append([part])
    require_countable(pattern, math.prod(map(len, pieces)))
    return ["".join(choice) for choice in itertools.product(*pieces)]


def require_countable(what: str, number: int) -> None:
    """Replicas have three digits."""
    if number > MOST_REPLICAS:
        raise ReplituneError(
            f"too many outputs: {what}", found=f"{number} files", expected="at most 999"
        )


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key under which run2 stands before run10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
