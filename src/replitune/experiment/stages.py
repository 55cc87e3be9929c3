"""The stages of the workflow: what each job is told, what it reads and what it writes.

A rule passes one of these as JSON, `replitune job STAGE --settings JSON`, and the command reads it
back; there is no other way from the rules to the library. The settings are those that decide what
the job writes, defaults filled in, so that a changed setting runs again what depends on it and
nothing else. `VERSION` is raised by hand when a stage can write other bytes for the same settings:
Snakemake does not see changes of library code.

Light on purpose: the Snakefile imports it, and so does every job.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from replitune.experiment.places import TESTS, Places
from replitune.metrics.score_files import output_file
from replitune.replicas import Replica, replica_ids
from replitune.settings import Settings
from replitune.significance.looks.record import Plan

Counts = dict[str, int]
"""Replicas by what they come from: ``{"mert": 20}`` is mert-001 to mert-020. Paths of replicas
follow from it, and do not travel one by one: a command has room for 128 KB."""

Files = dict[str, str | list[str]]
"""Paths by what they are to the job."""


class Stage(Settings):
    """What one job is told."""

    NAME: ClassVar[str]
    VERSION: ClassVar[int] = 1
    KEPT: ClassVar[bool] = False
    """Whether what it made before stays where it is when all that it depends on is as it was."""
    folder: str
    """results/<experiment>"""
    seed: int
    """The experiment's."""
    version: str
    """Of the stage, and of the backend where there is one; only for a change to be seen."""

    @property
    def at(self) -> Places:
        return Places(self.folder)

    @property
    def json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def inputs(self) -> Files:
        return {}

    @property
    def outputs(self) -> Files:
        return {}

    @property
    def pieces(self) -> Mapping[str, Stage]:
        """What is done one after the other, by name, and each stays as it is when nothing that it
        depends on has changed."""
        return {"": self}

    @property
    def planned(self) -> Files:
        """The inputs that Snakemake is to know: what other jobs make, and data files that are
        there. When they are not, the job itself says so; a dry run needs no data."""
        return {
            name: [path for path in paths if self._is_made(path) or Path(path).exists()]
            if isinstance(paths, list)
            else paths
            for name, paths in self.inputs.items()
        }

    def _is_made(self, path: str) -> bool:
        return path.startswith(f"{self.folder}/")


class Corpus(Stage):
    """Prepare the training pairs, dev, or a test set."""

    NAME = "corpus"
    part: str
    corpus: dict[str, Any]
    """What decides this part."""
    base: str
    """Where relative names of files start."""
    files: list[str]
    """The data files."""

    @property
    def inputs(self) -> Files:
        return {"files": self.files}

    @property
    def outputs(self) -> Files:
        account = self.at.account(self.part)
        if self.part == "train":
            source, target = self.at.train
            return {"source": source, "target": target, "account": account}
        return {"testset": self.at.testset(self.part), "account": account}


class Account(Stage):
    """The account of all texts."""

    NAME = "account"
    corpus: dict[str, Any]
    parts: list[str]

    @property
    def inputs(self) -> Files:
        return {"accounts": [self.at.account(part) for part in self.parts]}

    @property
    def outputs(self) -> Files:
        return {"account": self.at.inputs}


class SystemStage(Stage):
    """A stage of one system, whose backend does the work."""

    system: str
    backend: str
    settings: dict[str, Any]
    """What the backend says decides this stage."""
    reads: list[str]
    """What it reads: train, dev, model, tuned, source."""
    tuned: str
    """Of one that reads `tuned`: whether that is `weights` or a `folder`."""

    def texts(self) -> Files:
        """The files that it reads beside its own replica's."""
        found: Files = {}
        if "train" in self.reads:
            found["source"], found["target"] = self.at.train
        if "dev" in self.reads:
            found["dev"] = self.at.testset("dev")
        if "model" in self.reads:
            found["model"] = self.at.model(self.system)
        return found


class Train(SystemStage):
    """What the replicas of a system share."""

    NAME = "train"
    VERSION = 2

    @property
    def inputs(self) -> Files:
        return self.texts()

    @property
    def outputs(self) -> Files:
        return {"model": self.at.model(self.system)}


class ReplicaStage(SystemStage):
    """One replica of a system."""

    replica: str
    paired: bool

    @property
    def inputs(self) -> Files:
        own: Files = {}
        if "tuned" in self.reads:
            folder = self.tuned == "folder"
            place = self.at.replica if folder else self.at.weights
            own["tuned"] = place(self.system, self.replica)
        return {**self.texts(), **own}


class Tune(ReplicaStage):
    """Tune the weights of one replica on dev."""

    NAME = "tune"
    VERSION = 3
    tuning: dict[str, Any]
    """Metric, size of n-best lists, the loop's settings, and those of the replica's tuner."""

    @property
    def outputs(self) -> Files:
        return {
            "weights": self.at.weights(self.system, self.replica),
            "history": self.at.history(self.system, self.replica),
        }


class TrainReplica(ReplicaStage):
    """Train one replica with its own seed."""

    NAME = "train_replica"
    VERSION = 2
    tuning: dict[str, Any]
    """The metric that dev is scored by."""

    @property
    def outputs(self) -> Files:
        return {"replica": self.at.replica(self.system, self.replica)}


class Decode(ReplicaStage):
    """Translate test sets by one replica."""

    NAME = "decode"
    VERSION = 3
    KEPT = True
    testsets: list[str]

    @property
    def pieces(self) -> Mapping[str, Decode]:
        return {name: msgspec.structs.replace(self, testsets=[name]) for name in self.testsets}

    @property
    def inputs(self) -> Files:
        return {**super().inputs, "testsets": [self.at.testset(name) for name in self.testsets]}

    @property
    def outputs(self) -> Files:
        made = [self.at.decode(name, self.system, self.replica) for name in self.testsets]
        return {"decodes": made}


class Collect(Stage):
    """Take over the outputs of a system that are on disk."""

    NAME = "collect"
    VERSION = 2
    system: str
    backend: str
    settings: dict[str, Any]
    testset: str
    base: str
    """Where relative names of files start."""
    replicas: Counts

    @property
    def inputs(self) -> Files:
        return {"testset": self.at.testset(self.testset)}

    @property
    def outputs(self) -> Files:
        return {"decodes": decodes(self.at, self.testset, self.system, self.replicas)}


class Score(Stage):
    """Segment statistics of all replicas of a system."""

    NAME = "score"
    KEPT = True
    testset: str
    system: str
    metric: dict[str, Any]
    id: str
    """Of the metric."""
    replicas: Counts
    batches: list[int] | msgspec.UnsetType = msgspec.UNSET
    """Numbers of replicas of each kind at which looks have scored them already."""

    @property
    def members(self) -> list[Replica]:
        return replica_ids(self.replicas)

    @property
    def decodes(self) -> list[str]:
        return [self.at.decode(self.testset, self.system, one.id) for one in self.members]

    @property
    def scores(self) -> list[str]:
        """The files of scores that something else computed."""
        file = self.metric.get("file")
        named = [str(output_file(file, self.system, one.id)) for one in self.members if file]
        return list(dict.fromkeys(named))

    @property
    def scored(self) -> Files:
        """Statistics that looks have made already, and whose rows are taken over."""
        known = self.batches or []
        made = [self.at.batch(self.testset, self.id, self.system, n) for n in known]
        return {"batches": made} if made else {}

    @property
    def inputs(self) -> Files:
        return {
            "testset": self.at.testset(self.testset),
            "decodes": self.decodes,
            "scores": self.scores,
            **self.scored,
        }

    @property
    def outputs(self) -> Files:
        return {"store": self.at.store(self.testset, self.id, self.system)}


class Derive(SystemStage):
    """The derivations of a system's median replica, for the report."""

    NAME = "derive"
    testset: str
    metric: dict[str, Any]
    id: str
    """Of the metric that says which replica is the median."""
    replicas: Counts

    @property
    def inputs(self) -> Files:
        weights = [self.at.weights(self.system, one.id) for one in replica_ids(self.replicas)]
        return {
            **self.texts(),
            "tuned": weights,
            "testset": self.at.testset(self.testset),
            "store": self.at.store(self.testset, self.id, self.system),
        }

    @property
    def outputs(self) -> Files:
        return {"derivations": self.at.derivations(self.testset, self.system)}


class Batch(Score, kw_only=True):
    """Segment statistics of the replicas that a look wants on top of those of the look before."""

    NAME = "batch"
    n: int
    """Of each kind, with them."""
    after: Counts
    """Those that there are without them."""

    @property
    def members(self) -> list[Replica]:
        known = {*replica_ids(self.after)}
        return [one for one in replica_ids(self.replicas) if one not in known]

    @property
    def outputs(self) -> Files:
        return {"store": self.at.batch(self.testset, self.id, self.system, self.n)}


class Look(Stage):
    """One look at all pairs: what is settled, and which systems get more replicas."""

    NAME = "look"
    number: int
    plan: Plan
    wanted: Counts
    """By system, replicas of each kind at this look."""

    @property
    def testsets(self) -> list[str]:
        return [*self.plan.suite] or [self.plan.testset]

    def stores(self, testset: str) -> list[str]:
        return [
            self.at.batch(testset, self.plan.metric, system, size)
            for system, n in self.wanted.items()
            for size in self.plan.sizes[system]
            if size <= n
        ]

    @property
    def inputs(self) -> Files:
        stores = [path for testset in self.testsets for path in self.stores(testset)]
        former = [self.at.look(self.number - 1)] if self.number > 1 else []
        return {"stores": stores, "former": former}

    @property
    def outputs(self) -> Files:
        number = self.number
        return {"record": self.at.look(number), "rows": self.at.look(number, ".parquet")}


class StoreStage(Stage):
    """A stage that reads segment statistics of one metric on one test set."""

    testset: str
    metric: str
    systems: list[str]
    suite: dict[str, float]
    """Weights of the test sets, where `testset` is the name of a suite."""

    def stores(self, testset: str) -> list[str]:
        return [self.at.store(testset, self.metric, system) for system in self.systems]

    @property
    def inputs(self) -> Files:
        testsets = self.suite or [self.testset]
        return {"stores": [path for testset in testsets for path in self.stores(testset)]}


class Test(StoreStage):
    """All tests of all pairs, and the intervals of each system."""

    NAME = "test"
    VERSION = 8
    KEPT = True
    tests: dict[str, Any]
    design: str
    """What replicas are."""
    families: int
    """How many families like this one are corrected together."""
    dev: list[str]
    """The systems with scores on dev."""
    looks: int | msgspec.UnsetType = msgspec.UNSET
    """The last look, where these scores have decided how many replicas there are."""

    @property
    def inputs(self) -> Files:
        dev = [self.at.store("dev", self.metric, system) for system in self.dev]
        looks: Files = {"looks": self.at.look(self.looks)} if self.looks else {}
        return {**super().inputs, "dev": dev, **looks}

    @property
    def outputs(self) -> Files:
        return {
            kind.removeprefix(".") or "tests": self.at.tests(self.testset, self.metric, kind)
            for kind in TESTS
        }


class Study(StoreStage):
    """What the replicas of one metric say beyond the tests of pairs."""

    KEPT = True

    settings: dict[str, Any]
    tests: dict[str, Any]
    """Those of the experiment's tests that this study depends on."""

    @property
    def outputs(self) -> Files:
        return {"rows": self.at.study(self.NAME, self.testset, self.metric)}


class Power(Study):
    """What n replicas and N segments would detect."""

    NAME = "power"
    VERSION = 2


class Replication(Study):
    """What fewer replicas could have shown."""

    NAME = "replication"


class Calibrate(Study):
    """How often each test finds a difference where there is none."""

    NAME = "calibrate"
    VERSION = 2


class Meta(Stage):
    """How well metrics and their tests agree with people."""

    NAME = "meta"
    testset: str
    metrics: list[str]
    systems: list[str]
    settings: dict[str, Any]
    human: dict[str, str]
    """Files of judgements: `human`, and perhaps `fluency`."""

    @property
    def inputs(self) -> Files:
        stores = [
            self.at.store(self.testset, metric, system)
            for metric in self.metrics
            for system in self.systems
        ]
        return {"stores": stores, "human": [*self.human.values()]}

    @property
    def outputs(self) -> Files:
        return {"rows": self.at.study("meta", self.testset)}


class Report(Stage):
    """Tables, figures and the page."""

    NAME = "report"
    VERSION = 9
    systems: dict[str, Counts]
    """The replicas of each."""
    decoded: dict[str, list[str]]
    """The systems with translations of each test set."""
    derived: list[str]
    """Those that say how they came to them."""
    suites: list[str]
    histories: dict[str, str]
    """The systems that keep a history: in the `folder` of a replica, or beside its `weights`."""
    trained: bool
    """Whether there is a training text."""
    metrics: list[str]
    studies: dict[str, list[tuple[str, str]]]
    """(test set, metric) of the studies."""
    judged: list[str]
    """Test sets that people judged."""
    baseline: str | None
    methods: list[dict[str, Any]]
    alpha: float
    family: str
    samples: int
    looks: int | msgspec.UnsetType = msgspec.UNSET
    """The last look, where looks have decided how many replicas there are."""

    @property
    def tested(self) -> list[str]:
        """Test sets and suites."""
        return [*self.decoded, *self.suites]

    @property
    def numbers(self) -> list[str]:
        """The tests and the studies."""
        at = self.at
        found = [
            at.tests(testset, metric, kind)
            for testset in self.tested
            for metric in self.metrics
            for kind in TESTS
        ]
        found += [at.study(study, *cell) for study, cells in self.studies.items() for cell in cells]
        return [*found, *(at.study("meta", testset) for testset in self.judged)]

    @property
    def texts(self) -> list[str]:
        """Test sets, outputs and statistics of the segments that the report shows."""
        found = [self.at.train[1]] if self.trained else []
        for testset, systems in self.decoded.items():
            found.append(self.at.testset(testset))
            for system in systems:
                found += [self.at.store(testset, metric, system) for metric in self.metrics]
                found += decodes(self.at, testset, system, self.systems[system])
                if system in self.derived:
                    found.append(self.at.derivations(testset, system))
        return found

    @property
    def runs(self) -> list[str]:
        """What tuning or training wrote down."""
        return [
            (self.at.replica if kept == "folder" else self.at.history)(system, replica.id)
            for system, kept in self.histories.items()
            for replica in replica_ids(self.systems[system])
        ]

    @property
    def inputs(self) -> Files:
        looks: Files = {"looks": self.at.look(self.looks)} if self.looks else {}
        return {
            "account": self.at.inputs,
            "numbers": self.numbers,
            "texts": self.texts,
            "runs": self.runs,
            **looks,
        }

    @property
    def outputs(self) -> Files:
        return {"page": self.at.page, "tables": self.at.tables, "figures": self.at.figures}


class Manifest(Stage):
    """The settings, versions and hashes of everything."""

    NAME = "manifest"
    experiment: dict[str, Any]

    @property
    def inputs(self) -> Files:
        return {"page": self.at.page}

    @property
    def outputs(self) -> Files:
        return {"manifest": self.at.manifest}


class Kernels(Stage):
    """Compile once what jobs would compile side by side."""

    NAME = "kernels"
    metrics: list[dict[str, Any]]
    methods: list[dict[str, Any]]
    tuners: list[str]
    tuning_metric: Any
    searches: list[str]

    @property
    def outputs(self) -> Files:
        return {"stamp": self.at.kernels}


STAGES: dict[str, type[Stage]] = {
    stage.NAME: stage
    for stage in (
        Corpus,
        Account,
        Kernels,
        Train,
        Tune,
        TrainReplica,
        Decode,
        Collect,
        Batch,
        Look,
        Score,
        Derive,
        Test,
        Power,
        Replication,
        Calibrate,
        Meta,
        Report,
        Manifest,
    )
}
"""By name, in the order of the workflow."""


def decodes(at: Places, testset: str, system: str, replicas: Counts) -> list[str]:
    return [at.decode(testset, system, replica.id) for replica in replica_ids(replicas)]
