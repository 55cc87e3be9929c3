"""An experiment: its names, and what each of its jobs is told.

Light on purpose: the Snakefile imports it. Nothing here reads data, except that patterns of the
`outputs` backend look on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from replitune.backends.interface import Backend, Given
from replitune.corpus.settings import files_of, list_testsets, only
from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.experiment.checks import backends_of, looks_of, replica_counts
from replitune.experiment.places import Places
from replitune.experiment.settings import ExperimentSettings
from replitune.experiment.stages import Stage
from replitune.metrics.score_files import has_scores, output_file, scores_file, scores_named
from replitune.registry import Entry
from replitune.replicas import Replica, replica_ids
from replitune.settings import plain
from replitune.significance.looks.plan import make_plan
from replitune.significance.looks.record import Plan, Record, read_record
from replitune.significance.looks.settings import LookSettings
from replitune.significance.pairs import pairs_of_systems

BY_METRIC = ("power", "replication", "calibrate")
"""Studies with a job and a file for each (test set, metric); `meta` has one for a test set."""

FEWEST = 3
"""Replicas of two systems, below which there is nothing to study."""


class Experiment:
    """Settings (see :mod:`replitune.experiment.reading`) with what follows from them."""

    def __init__(
        self,
        settings: ExperimentSettings,
        results: str | Path = "results",
        record: Record | None = None,
        outputs: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    ) -> None:
        """With a `record` of looks, the replicas are those that looks have asked for. With
        `outputs`, ids of replicas by system and test set, files of systems that are on disk need
        not be here."""
        self.settings = settings
        self.record = record
        self._given = outputs
        if outputs is not None:
            self.outputs = {
                system: {testset: {Replica(id): Path(id) for id in ids} for testset, ids in found.items()}
                for system, found in outputs.items()
            }
        self.name = settings.experiment
        self.seed = settings.seed
        self.folder = Path(results) / self.name
        self.at = Places(str(self.folder))

    @cached_property
    def plain(self) -> dict[str, Any]:
        """All settings, defaults filled in, as they would stand in a file."""
        found: dict[str, Any] = plain(self.settings)
        return found

    # ---- names

    @property
    def systems(self) -> list[str]:
        return list(self.settings.systems)

    @property
    def tests(self) -> list[str]:
        """Test sets that are tested."""
        return list(self.settings.corpus.tests)

    @cached_property
    def suites(self) -> dict[str, dict[str, float]]:
        """Weights of the test sets of each suite."""
        tests = self.settings.tests
        return {name: tests.suite(name, self.tests) for name in tests.suites}

    @property
    def tested(self) -> list[str]:
        """Test sets and suites: what has a folder below tests/."""
        return [*self.tests, *self.suites]

    @property
    def testsets(self) -> list[str]:
        """Test sets that are decoded and scored: dev, when there is one, comes first."""
        return list_testsets(self.settings.corpus)

    @property
    def corpora(self) -> Path:
        """Folder in which relative names of data files start."""
        return Path(self.settings.corpora or ".")

    @property
    def metrics(self) -> list[str]:
        """Ids of the metrics."""
        return [entry.id for entry in self.settings.metrics]

    def metric(self, id: str) -> Entry:
        return self.settings.metrics[self.metrics.index(id)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs (A, B) that are tested."""
        return pairs_of_systems(self.settings.tests.pairs, self.systems)

    # ---- systems

    @cached_property
    def backends(self) -> dict[str, Backend]:
        """What makes each system."""
        return backends_of(self.settings.systems)

    def resources(self, system: str) -> dict[str, int]:
        """Threads, GPUs, memory and minutes that a system's jobs ask for, where it says so."""
        asked = self.settings.systems[system].resources
        return {} if asked is None else {k: n for k, n in plain(asked).items() if n is not None}

    def metric_resources(self, id: str) -> dict[str, int]:
        """The same of the jobs of a metric, where it says so."""
        asked = self.metric(id).options.get("resources")
        return {} if asked is None else {k: n for k, n in plain(asked).items() if n is not None}

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

    def replicas(self, system: str) -> list[Replica]:
        if system in self.outputs:
            return list(next(iter(self.outputs[system].values())))
        if self.record is not None and system in self.record.plan.sizes:
            return replica_ids(self.record.counts[system])
        return replica_ids(replica_counts(self.backends[system], self.settings.replicas))

    def replica_counts(self, system: str) -> dict[str, int]:
        """Number of replicas by prefix: ``{"mert": 20}``."""
        return counts_of(self.replicas(system))

    def decoded(self, system: str) -> list[str]:
        """The test sets on which this system has translations."""
        if system in self.outputs:
            return [name for name in self.testsets if name in self.outputs[system]]
        return self.testsets

    def decoding(self, testset: str) -> list[str]:
        """The systems with translations of a test set, or of all test sets of a suite."""
        wanted = {*self.suites.get(testset, (testset,))}
        return [system for system in self.systems if wanted <= {*self.decoded(system)}]

    @cached_property
    def outputs(self) -> dict[str, dict[str, dict[Replica, Path]]]:
        """Files of systems that are on disk: system -> test set -> replica -> file."""
        found: dict[str, dict[str, dict[Replica, Path]]] = {}
        for system, backend in self.backends.items():
            if not isinstance(backend, Given):
                continue
            found[system] = {testset: backend.files(testset, self.corpora) for testset in backend.testsets}
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

    @property
    def given_outputs(self) -> list[tuple[str, str]]:
        """(system, test set) of translations that are on disk."""
        return [(system, testset) for system, found in self.outputs.items() for testset in found]

    # ---- texts

    @property
    def corpus_parts(self) -> list[str]:
        """What this experiment uses of its corpus."""
        trains = any(
            "train" in parts for backend in self.backends.values() for parts in backend.stages.values()
        )
        return (["train"] if trains else []) + self.testsets

    def corpus_files(self, part: str) -> list[Path]:
        """Data files that a part of the corpus is made from."""
        return [self.corpora / name for name in files_of(self.settings.corpus, part)]

    # ---- scores that something else computed

    def scored(self, id: str, testset: str) -> bool:
        """Whether a metric scores a test set: all of them, but for scores from files, which dev
        has only where it is named."""
        scores = scores_named(self.metric(id))
        return not scores or testset in self.tests or has_scores(scores, testset)

    def score_files(self, id: str, testset: str, system: str) -> list[Path]:
        """The files that a metric reads its scores of a system from."""
        scores = scores_named(self.metric(id))
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
            for system in self.decoding(testset)
            for path in self.score_files(id, testset, system)
        )
        return list(dict.fromkeys(found))

    # ---- tests

    @property
    def design(self) -> str:
        """What replicas are: runs, or samples."""
        design: str = self.settings.replicas.get("design", "runs")
        return design

    @property
    def families(self) -> int:
        """How many families of pairs are corrected together."""
        return self.settings.tests.families(len(self.metrics), len(self.tested))

    # ---- looks

    @property
    def looks(self) -> LookSettings | None:
        """Those of an experiment that decides how many replicas it needs; None: the numbers are
        fixed."""
        return looks_of(self.settings.replicas)

    @cached_property
    def plan(self) -> Plan:
        """What is fixed before the first look."""
        looks, counts = self.looks, self.settings.replicas
        assert looks is not None
        testset = looks.testset or self.tests[0]
        systems = self.decoding(testset)
        return make_plan(
            self.settings.tests,
            looks,
            self.design,
            testset=testset,
            metric=looks.metric or self.metrics[0],
            suite=self.suites.get(testset, {}),
            families=self.families,
            most={
                name: {"run": len(self.replicas(name))}
                if name in self.outputs
                else replica_counts(self.backends[name], counts)
                for name in systems
            },
            fixed=[name for name in systems if name in self.outputs],
        )

    def after(self, record: Record) -> Experiment:
        """The same with the replicas that looks have asked for."""
        found = Experiment(self.settings, self.folder.parent, record, self._given)
        return found.in_folder(self.folder)

    def in_folder(self, folder: Path) -> Experiment:
        """With results in this folder, whatever it is called."""
        self.folder, self.at = folder, Places(str(folder))
        return self

    def as_looked(self) -> Experiment:
        """The same with the replicas that the looks on disk have asked for."""
        if self.looks is None:
            return self
        last = None
        while Path(path := self.at.look(1 if last is None else len(last.looks) + 1)).exists():
            last = read_record(path)
            if last.settled:
                break
        return self if last is None else self.after(last)

    # ---- studies

    def studied(self, study: str) -> list[str]:
        """Ids of the metrics that a study looks at."""
        chosen = getattr(self.settings.studies, study).metrics
        return self.metrics if chosen == "all" else self.metrics[:1] if chosen == "first" else [*chosen]

    def study_cells(self, study: str) -> list[tuple[str, str]]:
        """(test set, metric) of each job of a study in `BY_METRIC`; none when it is not asked
        for, or the replicas do not allow it."""
        if getattr(self.settings.studies, study) is None:
            return []
        if study == "power" and self.design == "samples":
            return []  # plans are of runs
        return [
            (testset, metric)
            for testset in (self.tested if study == "power" else self.tests)
            if self._allows(study, testset)
            for metric in self.studied(study)
        ]

    def _allows(self, study: str, testset: str) -> bool:
        n = {system: len(self.replicas(system)) for system in self.decoding(testset)}
        if study == "calibrate":
            smallest = 2 * min(self.settings.studies.calibrate.sizes)
            return sum(k > 1 for k in n.values()) > 1 or max(n.values(), default=0) >= smallest
        return any(min(n.get(a, 0), n.get(b, 0)) >= FEWEST for a, b in self.pairs)

    @property
    def judged(self) -> list[str]:
        """Test sets with human scores."""
        return [testset for testset in self.tests if self.human_files(testset)]

    def human_files(self, testset: str) -> dict[str, str]:
        """Files of human scores of a test set: `human`, and perhaps `fluency`."""
        meta = self.settings.studies.meta
        found: dict[str, str] = {}
        for key in ("human", "fluency"):
            given = getattr(meta, key, None)
            if isinstance(given, str):
                given = {self.tests[0]: given}
            if given and testset in given:
                found[key] = str(self.corpora / given[testset])
        return found if "human" in found else {}

    # ---- what each job is told

    def stage(self, name: str, **names: str) -> Stage:
        """The job of a stage: ``stage("decode", system="a", replica="mert-001")``."""
        build = getattr(self, f"_{name}", None) or self._study(name)
        kind = stages.STAGES[name]
        told: dict[str, Any] = build(**names)
        version = " ".join(filter(None, (str(kind.VERSION), told.pop("version", ""))))
        return kind(folder=str(self.folder), seed=self.seed, version=version, **told)

    def _corpus(self, part: str) -> dict[str, Any]:
        files = [str(path) for path in self.corpus_files(part)]
        corpus = plain(only(self.settings.corpus, part), sparse=True)
        return {"part": part, "corpus": corpus, "base": str(self.corpora), "files": files}

    def _account(self) -> dict[str, Any]:
        corpus = only(self.settings.corpus, *self.corpus_parts)
        return {"corpus": plain(corpus, sparse=True), "parts": self.corpus_parts}

    def _kernels(self) -> dict[str, Any]:
        """Metrics and tests of the experiment and of its studies, each in one way only: numba
        compiles for types, which options do not change."""
        settings = self.settings
        methods = list(settings.tests.methods)
        for study in (*BY_METRIC, "meta"):
            if self.judged if study == "meta" else self.study_cells(study):
                methods += getattr(getattr(settings.studies, study), "methods", ())
        tuned = [self.backends[system] for system in self.systems]
        tuned = [backend for backend in tuned if backend.uses_our_tuners]
        groups = {r.group for backend in tuned for r in self.replicas(backend.system) if r.group}
        return {
            "metrics": [entry.mapping for entry in settings.metrics],
            "methods": [*{entry.word: entry.mapping for entry in methods}.values()],
            "tuners": sorted(groups),
            "tuning_metric": plain(settings.tuning.metric),
            "searches": list(dict.fromkeys(filter(None, (b.search for b in tuned)))),
        }

    def _of_system(self, stage: str, system: str) -> dict[str, Any]:
        backend = self.backends[system]
        return {
            "system": system,
            "backend": backend.name,
            "settings": plain(backend.stage_settings(stage)),
            "reads": list(backend.stages[stage]),
            "tuned": "weights" if "tune" in backend.stages else "folder",
            "version": f"{backend.name} {backend.version}",
        }

    def _of_replica(self, stage: str, system: str, replica: str) -> dict[str, Any]:
        return {
            **self._of_system(stage, system),
            "replica": replica,
            "paired": self.settings.tests.paired_replicas,
        }

    def _train(self, system: str) -> dict[str, Any]:
        return self._of_system("train", system)

    def _tune(self, system: str, replica: str) -> dict[str, Any]:
        tuning = self.settings.tuning.of(Replica(replica).prefix)
        return {**self._of_replica("tune", system, replica), "tuning": tuning}

    def _train_replica(self, system: str, replica: str) -> dict[str, Any]:
        tuning = {"metric": plain(self.settings.tuning.metric)}
        return {**self._of_replica("train_replica", system, replica), "tuning": tuning}

    def _decode(self, system: str, replica: str) -> dict[str, Any]:
        return {**self._of_replica("decode", system, replica), "testsets": self.testsets}

    def _collect(self, testset: str, system: str) -> dict[str, Any]:
        backend = self.backends[system]
        assert isinstance(backend, Given)
        files = self.outputs[system][testset]
        return {
            "system": system,
            "backend": backend.name,
            "settings": plain(backend.testset_settings(testset)),
            "testset": testset,
            "base": str(self.corpora),
            "replicas": counts_of(files),
            "version": f"{backend.name} {backend.version}",
        }

    def _score(self, testset: str, metric: str, system: str) -> dict[str, Any]:
        entry = self.metric(metric)
        scores = scores_named(entry)
        if scores:
            file = str(self.corpora / scores_file(scores, testset))
            entry = Entry(entry.name, {**entry.options, "file": file}, entry.id)
        return {
            "testset": testset,
            "system": system,
            "id": metric,
            "metric": entry.mapping,
            "replicas": self.replica_counts(system),
            **self._batches(testset, metric, system),
        }

    def _derive(self, testset: str, system: str) -> dict[str, Any]:
        return {
            **self._of_system("derive", system),
            "testset": testset,
            "id": self.metrics[0],
            "metric": self.metric(self.metrics[0]).mapping,
            "replicas": self.replica_counts(system),
        }

    def _batches(self, testset: str, metric: str, system: str) -> dict[str, Any]:
        """Of the scores that decide: what looks have made of them."""
        record = self.record
        if record is None or system not in record.plan.sizes or not self._decides(testset, metric):
            return {}
        sizes = record.plan.sizes[system]
        return {"batches": [n for n in sizes if n <= record.wanted[system]]}

    def _decides(self, testset: str, metric: str) -> bool:
        plan = self.plan
        return metric == plan.metric and testset in (plan.suite or (plan.testset,))

    def _batch(self, testset: str, metric: str, system: str, n: str) -> dict[str, Any]:
        size = int(n)
        return {
            **self._score(testset, metric, system),
            "replicas": self.plan.counts(system, size),
            "after": self.plan.counts(system, self.plan.before(system, size)),
            "n": size,
        }

    def _look(self, look: str) -> dict[str, Any]:
        number, wanted = int(look), self.plan.first
        if number > 1:
            wanted = read_record(self.at.look(number - 1)).wanted
        return {"number": number, "plan": self.plan, "wanted": wanted}

    def _of_stores(self, testset: str, metric: str) -> dict[str, Any]:
        return {
            "testset": testset,
            "metric": metric,
            "systems": self.decoding(testset),
            "suite": self.suites.get(testset, {}),
        }

    def _test(self, testset: str, metric: str) -> dict[str, Any]:
        tests = self.settings.tests
        on_dev = testset not in self.suites and "dev" in self.testsets and self.scored(metric, "dev")
        own = {key: value for key, value in plain(tests).items() if key not in ("suites", "family")}
        return {
            **self._of_stores(testset, metric),
            "tests": own,
            "design": self.design,
            "families": self.families,
            "dev": self.decoding("dev") if on_dev else [],
            **(self._last_look() if self.is_decided(testset, metric) else {}),
        }

    def is_decided(self, testset: str, metric: str) -> bool:
        """Whether these tests are those that decided the numbers of replicas."""
        return self.record is not None and (testset, metric) == (
            self.record.plan.testset,
            self.record.plan.metric,
        )

    def _last_look(self) -> dict[str, Any]:
        return {} if self.record is None else {"looks": len(self.record.looks)}

    def _study(self, name: str) -> Any:
        """Of a study: its settings, and of the experiment's tests what it depends on."""

        def build(testset: str, metric: str) -> dict[str, Any]:
            settings = plain(getattr(self.settings.studies, name))
            tests = plain(self.settings.tests)
            if name == "calibrate" and not settings["methods"]:
                settings["methods"] = tests["methods"]
            wanted = {
                "power": ("pairs", "alpha", "paired_replicas", "margin"),
                "replication": ("pairs", "alpha"),
            }.get(name, ())
            return {
                **self._of_stores(testset, metric),
                "settings": settings,
                "tests": {key: tests[key] for key in wanted},
            }

        return build

    def _meta(self, testset: str) -> dict[str, Any]:
        return {
            "testset": testset,
            "metrics": self.studied("meta"),
            "systems": self.decoding(testset),
            "settings": plain(self.settings.studies.meta),
            "human": self.human_files(testset),
        }

    def _report(self) -> dict[str, Any]:
        tests = self.settings.tests
        return {
            "systems": {system: self.replica_counts(system) for system in self.systems},
            "decoded": {testset: self.decoding(testset) for testset in self.tests},
            "derived": self.having("derive"),
            "suites": [*self.suites],
            "histories": {
                system: "weights" if "tune" in self.backends[system].stages else "folder"
                for system in self.with_history
            },
            "trained": "train" in self.corpus_parts,
            "metrics": self.metrics,
            "studies": {study: self.study_cells(study) for study in BY_METRIC},
            "judged": self.judged,
            "baseline": getattr(tests.pairs, "baseline", None),
            "methods": [entry.mapping for entry in tests.methods],
            "alpha": tests.alpha,
            "family": tests.family,
            "samples": tests.samples,
            **self._last_look(),
        }

    def _manifest(self) -> dict[str, Any]:
        return {"experiment": plain(self.settings, sparse=True)}


def counts_of(replicas: Iterable[Replica]) -> dict[str, int]:
    """Number of replicas by prefix, as `replica_ids` takes it."""
    counts: dict[str, int] = {}
    for replica in replicas:
        counts[replica.prefix] = counts.get(replica.prefix, 0) + 1
    return counts
