"""An experiment: its names, and what follows from its settings.

Imports little, because the Snakefile imports it. Nothing here reads data, except that files are
looked up on the disk for patterns of the `outputs` backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from replitune.backends.interface import Backend, Given
from replitune.corpus.settings import files_of, list_testsets
from replitune.errors import ReplituneError
from replitune.experiment.checks import backends_of, design_of, looks_of, replica_counts
from replitune.experiment.places import Places
from replitune.experiment.settings import ExperimentSettings
from replitune.experiment.stage import STAGES, Stage
from replitune.metrics.score_files import has_scores, output_file, scores_file, scores_named
from replitune.registry import Entry
from replitune.replicas import Design, Replica, counts_of, replica_ids
from replitune.settings import plain
from replitune.significance.looks.plan import make_plan
from replitune.significance.looks.record import Plan, Record, read_record
from replitune.significance.looks.settings import LookSettings
from replitune.significance.settings import pairs_of_systems


class Experiment:
    """Settings (see :mod:`replitune.experiment.reading`) with what follows from them."""

    def __init__(
        self,
        settings: ExperimentSettings,
        results: str | Path = "results",
        record: Record | None = None,
        outputs: Mapping[str, Mapping[str, Iterable[str]]] | None = None,
    ) -> None:
        """With a `record` of looks, the replicas are those that the looks have asked for. With
        `outputs` (ids of replicas by system and test set), the files of systems whose outputs are
        given need not be on this machine."""
        self.settings = settings
        self.record = record
        self._given = outputs
        if outputs is not None:
            self.outputs = {
                system: {testset: {Replica(id): Path(id) for id in ids} for testset, ids in files.items()}
                for system, files in outputs.items()
            }
        self.name = settings.experiment
        self.seed = settings.seed
        self.folder = Path(results) / self.name
        self.at = Places(str(self.folder))

    @cached_property
    def plain(self) -> dict[str, Any]:
        """All settings with defaults filled in, as in an experiment file."""
        settings: dict[str, Any] = plain(self.settings)
        return settings

    # ---- names

    @property
    def systems(self) -> list[str]:
        return list(self.settings.systems)

    @property
    def tests(self) -> list[str]:
        """The test sets on which systems are tested."""
        return list(self.settings.corpus.tests)

    @cached_property
    def suites(self) -> dict[str, dict[str, float]]:
        """Weights of the test sets of each suite."""
        tests = self.settings.tests
        return {name: tests.suite(name, self.tests) for name in tests.suites}

    @property
    def tested(self) -> list[str]:
        """Test sets and suites; each has a folder below tests/."""
        return [*self.tests, *self.suites]

    @property
    def testsets(self) -> list[str]:
        """Test sets that are decoded and scored; dev, if there is one, comes first."""
        return list_testsets(self.settings.corpus)

    @property
    def corpora(self) -> Path:
        """The folder in which relative names of data files start."""
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
        """The backend of each system."""
        return backends_of(self.settings.systems)

    def resources(self, system: str) -> dict[str, int]:
        """The threads, GPUs, memory and minutes that a system sets for its jobs."""
        return _set_in(self.settings.systems[system].resources)

    def metric_resources(self, id: str) -> dict[str, int]:
        """The same, as a metric sets them for its jobs."""
        return _set_in(self.metric(id).options.get("resources"))

    def asked(self, names: Mapping[str, str]) -> dict[str, int]:
        """The same for the job with these names; scoring does not need the system's GPU."""
        asked = self.resources(names["system"]) if "system" in names else {}
        if {"system", "metric"} <= {*names}:
            asked = {**asked, "gpu": 0, **self.metric_resources(names["metric"])}
        return asked

    def missing(self, systems: Sequence[str]) -> list[ReplituneError]:
        """Programs, extras and files that are missing for these systems, each named once."""
        errors = [error for system in systems for error in self.backends[system].missing()]
        return list({str(error): error for error in errors}.values())

    def systems_with(self, stage: str) -> list[str]:
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
        given: dict[str, dict[str, dict[Replica, Path]]] = {}
        for system, backend in self.backends.items():
            if not isinstance(backend, Given):
                continue
            given[system] = {testset: backend.files(testset, self.corpora) for testset in backend.testsets}
            first, *others = given[system].items()
            for testset, files in others:
                if list(files) != list(first[1]):
                    raise ReplituneError(
                        f"system {system} has different runs on different test sets",
                        found=f"{len(files)} files for {testset}",
                        expected=f"{len(first[1])}, as for {first[0]}",
                        fix="give the output of every run on every test set",
                    )
        return given

    @property
    def given_outputs(self) -> list[tuple[str, str]]:
        """(system, test set) of translations that are on disk."""
        return [(system, testset) for system, testsets in self.outputs.items() for testset in testsets]

    # ---- texts

    @property
    def corpus_parts(self) -> list[str]:
        """The parts of the corpus that this experiment uses."""
        trains = any(
            "train" in parts for backend in self.backends.values() for parts in backend.stages.values()
        )
        return (["train"] if trains else []) + self.testsets

    def corpus_files(self, part: str) -> list[Path]:
        """Data files that a part of the corpus is made from."""
        return [self.corpora / name for name in files_of(self.settings.corpus, part)]

    # ---- scores computed elsewhere

    def scored(self, id: str, testset: str) -> bool:
        """Whether a metric scores a test set. Only scores from files may leave one out: dev, where no
        file is named for it."""
        scores = scores_named(self.metric(id))
        return not scores or testset in self.tests or has_scores(scores, testset)

    def score_files(self, id: str, testset: str, system: str) -> list[Path]:
        """The files from which a metric reads scores of a system."""
        if not scores_named(self.metric(id)):
            return []
        file = self.metric_on(id, testset).options["file"]
        named = [output_file(file, system, replica.id) for replica in self.replicas(system)]
        return list(dict.fromkeys(named))

    def metric_on(self, id: str, testset: str) -> Entry:
        """A metric, with the files from which it reads the scores of a test set."""
        entry = self.metric(id)
        scores = scores_named(entry)
        if not scores:
            return entry
        file = str(self.corpora / scores_file(scores, testset))
        return Entry(entry.name, {**entry.options, "file": file}, entry.id)

    def all_score_files(self, id: str) -> list[Path]:
        """The files from which a metric reads scores, for all systems and test sets."""
        paths = (
            path
            for testset in self.testsets
            if self.scored(id, testset)
            for system in self.decoding(testset)
            for path in self.score_files(id, testset, system)
        )
        return list(dict.fromkeys(paths))

    # ---- tests

    @property
    def design(self) -> Design:
        """What replicas are: runs, samples, or samples of runs."""
        return design_of(self.settings.systems, self.settings.replicas)

    @property
    def families(self) -> int:
        """How many families of pairs are corrected together."""
        return self.settings.tests.families(len(self.metrics), len(self.tested))

    # ---- looks

    @property
    def looks(self) -> LookSettings | None:
        """The settings of looks, if the experiment decides how many replicas it needs; None if the
        numbers are fixed."""
        return looks_of(self.settings.replicas)

    @property
    def looks_given(self) -> Path | None:
        """The record whose looks are repeated, if one is given."""
        record = None if self.looks is None else self.looks.record
        return None if record is None else self.corpora / record

    @cached_property
    def known_looks(self) -> Record | None:
        """The looks that were made, or else those that are repeated."""
        if self.record is not None or self.looks_given is None:
            return self.record
        return read_record(self.looks_given)

    @cached_property
    def plan(self) -> Plan:
        """What is fixed before the first look."""
        if self.record is not None:
            return self.record.plan
        looks = self.looks
        assert looks is not None
        testset = looks.testset or self.tests[0]
        return make_plan(
            self.settings.tests,
            looks,
            self.design,
            testset=testset,
            metric=looks.metric or self.metrics[0],
            suite=self.suites.get(testset, {}),
            families=self.families,
            **(
                self._limits(self.decoding(testset))
                if self.looks_given is None
                else limits_of(self.looks_given, self.decoding(testset))
            ),
        )

    def _limits(self, systems: Sequence[str]) -> dict[str, Any]:
        """The most replicas of systems, and how they are made, as `make_plan` takes it."""
        counts, made = self.settings.replicas, [name for name in systems if name not in self.outputs]
        return {
            "most": {
                name: replica_counts(self.backends[name], counts)
                if name in made
                else {"run": len(self.replicas(name))}
                for name in systems
            },
            "fixed": [name for name in systems if name not in made],
            "together": not all(self.backends[name].same_bytes for name in made),
        }

    def after(self, record: Record) -> Experiment:
        """The same experiment with the replicas that the looks of a record have asked for."""
        experiment = Experiment(self.settings, self.folder.parent, record, self._given)
        return experiment.in_folder(self.folder)

    def in_folder(self, folder: Path) -> Experiment:
        """This experiment, changed to have its results in a folder of any name."""
        self.folder, self.at = folder, Places(str(folder))
        return self

    def after_looks(self) -> Experiment:
        """The same experiment with the replicas that the looks on disk have asked for."""
        if self.looks is None:
            return self
        last = None
        while Path(path := self.at.look(1 if last is None else len(last.looks) + 1)).exists():
            last = read_record(path)
            if last.settled:
                break
        return self if last is None else self.after(last)

    def is_decided(self, testset: str, metric: str) -> bool:
        """Whether the tests of this metric on this test set decided the numbers of replicas."""
        return self.record is not None and (testset, metric) == (
            self.record.plan.testset,
            self.record.plan.metric,
        )

    @property
    def last_look(self) -> int | msgspec.UnsetType:
        """The number of the last look; unset if there are none."""
        return msgspec.UNSET if self.record is None else len(self.record.looks)

    def batches(self, testset: str, metric: str, system: str) -> list[int]:
        """The numbers of replicas of each kind at which looks scored a system; empty unless this metric
        on this test set decides."""
        record = self.record
        if record is None or system not in record.plan.sizes:
            return []
        if metric != self.plan.metric or testset not in (self.plan.suite or (self.plan.testset,)):
            return []
        return [n for n in record.plan.sizes[system] if n <= record.wanted[system]]

    # ---- studies

    def studied(self, study: str) -> list[str]:
        """Ids of the metrics that a study uses."""
        chosen = getattr(self.settings.studies, study).metrics
        return self.metrics if chosen == "all" else self.metrics[:1] if chosen == "first" else [*chosen]

    @property
    def judged(self) -> list[str]:
        """Test sets with human scores."""
        return [testset for testset in self.tests if self.human_files(testset)]

    def human_files(self, testset: str) -> dict[str, str]:
        """The files of human scores for a test set: `human`, and perhaps `fluency`."""
        meta = self.settings.studies.meta
        files: dict[str, str] = {}
        for key in ("human", "fluency"):
            given = getattr(meta, key, None)
            if isinstance(given, str):
                given = {self.tests[0]: given}
            if given and testset in given:
                files[key] = str(self.corpora / given[testset])
        return files if "human" in files else {}

    @cached_property
    def sharpened(self) -> dict[str, str]:
        """Files of judgements that metrics sharpen, by test set."""
        human = self.settings.tests.human
        given = {} if human is None else human.judgements
        if isinstance(given, str):
            given = {self.tests[0]: given}
        return {testset: str(self.corpora / file) for testset, file in given.items()}

    def judgement_files(self, testset: str) -> list[str]:
        """All files of human scores and judgements for a test set."""
        files = self.human_files(testset).values()
        return list(dict.fromkeys([*files, *filter(None, [self.sharpened.get(testset)])]))

    @property
    def numbers_given(self) -> Iterator[tuple[str, Path]]:
        """All files of scores and of judgements, each after a description."""
        for id in self.metrics:
            for path in self.all_score_files(id):
                yield f"scores of {id}", path
        for testset in self.tests:
            for file in self.judgement_files(testset):
                yield "judgements", Path(file)

    def stage(self, name: str, **names: str) -> Stage:
        """The job of a stage: ``stage("decode", system="a", replica="mert-001")``."""
        return STAGES[name].from_experiment(self, **names)


def limits_of(file: Path, systems: Sequence[str]) -> dict[str, Any]:
    """The same, as it was for the looks of a record."""
    known = read_record(file).plan
    if {*known.most} != {*systems}:
        raise ReplituneError(
            "these looks were at other systems",
            file=file,
            found=", ".join(known.most),
            expected=", ".join(systems),
        )
    return {
        "most": known.most,
        "fixed": [name for name, sizes in known.sizes.items() if len(sizes) == 1],
        "together": known.together is True,
    }


def _set_in(resources: Any) -> dict[str, int]:
    return {name: n for name, n in plain(resources or {}).items() if n is not None}
