"""What a backend is: the one place that says how a system's translations are made.

A backend is a subclass of `Backend`; an instance is one system with its settings. The methods in the
upper half describe the system; they are cheap, because the Snakefile calls them for every system. The
methods in the lower half do the work, and heavy imports belong inside them: each is called by one
command, such as `replitune train`, `tune` or `decode`, in one job. docs/extend.md explains how to
write a backend.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from replitune.backends.settings import GENERAL, SystemSettings
from replitune.errors import ReplituneError
from replitune.replicas import Replica
from replitune.settings import plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from replitune.corpus.testset import TestSet
    from replitune.tuning.interface import Tuner
    from replitune.tuning.loop import Decode
    from replitune.tuning.settings import LoopSettings
    from replitune.tuning.weights import Layout

Complain = Callable[..., Any]
"""``complain(("systems", name, key), message, found=..., expected=..., fix=...)`` notes a mistake
in an experiment file, and returns."""


Derivation = list[Any]
"""The parts of a translation, from left to right on the source side. Each is a list [begin, end,
source side, target side, parts]: a rule for the source words begin .. end - 1, with X1 and X2 on both
sides for its gaps, and the parts that fill the gaps, in source order."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every job is given. Paths of parts that the stage does not read are None."""

    seed: int
    """The experiment's seed."""
    threads: int = 1
    paired: bool = False
    """Whether the replicas with number k of all systems share their random streams."""
    model: Path | None = None
    """The folder models/<system>/."""
    train: tuple[Path, Path] | None = None
    """Source and target side of the parallel text, one segment a line."""
    table: Path | None = None
    """The output of the stage `table` for the text to translate."""
    dev: TestSet | None = None
    """The tuning set, with its source."""

    @property
    def dev_sha256(self) -> list[str]:
        """The hashes of the source and of each reference of the tuning set."""
        from replitune.running.files import sha256_lines

        sides = [self.dev.source or [], *self.dev.references] if self.dev else []
        return [sha256_lines(lines) for lines in sides]


@dataclass(frozen=True, kw_only=True)
class TrainJob(Job):
    """Make models/<system>/."""

    out: Path
    """A folder that does not exist yet; it must appear complete or not at all."""
    lm_text: Path | None = None
    """More text for a language model ..."""
    lm_arpa: Path | None = None
    """... or a ready one, for systems that have one."""


@dataclass(frozen=True, kw_only=True)
class TextJob(Job):
    """A job for one text."""

    testset: Path | None = None
    """The prepared test set ..."""
    text: Path | None = None
    """... or only its source, one segment a line."""

    @cached_property
    def source(self) -> list[str]:
        """The text to translate."""
        if self.text is not None:
            from replitune.running.files import read_lines

            return read_lines(self.text)
        return source_of(self.prepared, self.testset)

    @cached_property
    def prepared(self) -> TestSet:
        from replitune.corpus.testset import read_prepared

        if self.testset is None:
            raise ReplituneError("references are needed: give --testset")
        return read_prepared(self.testset)


@dataclass(frozen=True, kw_only=True)
class TableJob(TextJob):
    """Make the part of a model that one text can use."""

    out: Path
    """A folder that does not exist yet."""


@dataclass(frozen=True, kw_only=True)
class ReplicaJob(Job):
    """Make one replica, by tuning weights or by training with its own seed."""

    out: Path
    """`tune`: weights.json (or .ini lines). `train_replica`: a folder that does not exist yet."""
    replica: Replica
    work: Path | None = None
    """A folder for the checkpoint of a running job: not a declared output, so it survives a killed
    job. Empty or removed when the job is done."""
    common: Path | None = None
    """A folder for what the replicas of a system can reuse from each other; losing it costs only time."""
    history: Path | None = None
    """`tune`: where history.parquet goes."""
    metric: str = "bleu"
    """What to tune for: see `replitune.tuning.combination.get_objective`."""
    nbest: int = 100
    init: Path | None = None
    """Weights to start from."""
    loop: LoopSettings | None = None
    """When to stop tuning; None for the defaults."""
    tuner: Tuner | None = None
    """The tuner with its settings; None for a replica that is trained."""

    @property
    def algorithm(self) -> str:
        """The name of the tuner."""
        return "" if self.tuner is None else self.tuner.name


@dataclass(frozen=True, kw_only=True)
class DecodeJob(TextJob):
    """Translate one test set with one replica."""

    replica: Replica
    name: str
    """The name of the test set."""
    tuned: Path | None = None
    """The output of `tune` (a file) or `train_replica` (a folder)."""
    answers: Path | None = None
    """The answers of a server, as `ask` kept them."""
    nbest: int | None = None
    nbest_out: Path | None = None
    """If given, the `nbest` best translations are also written there, in Moses' format."""


@dataclass(frozen=True)
class Tunable:
    """A decoder that our tuners can tune: see `replitune.tuning.around.tune_around`."""

    layout: Layout
    start: NDArray[np.float64]
    """The weights (F,) to start from."""
    decode: Decode
    """From weights (F,) to n-best lists of dev with their statistics."""
    segments: int
    """Number of segments of dev."""
    inputs: Mapping[str, Any]
    """Hashes and settings that decide the result, besides those of dev, the tuner and the loop. If one
    changes, a checkpoint is started over."""


class Backend:
    """One system of an experiment."""

    name: ClassVar[str]
    """The name in `backend: NAME`."""
    version: ClassVar[int] = 1
    """To be raised when the same settings can give other bytes than before; its jobs then run again."""
    Settings: ClassVar[type[SystemSettings]] = SystemSettings
    """The settings of one system; a subclass of `SystemSettings`."""
    gives_texts: ClassVar[bool] = False
    """Whether its translations are on disk before any job runs."""

    def __init__(self, system: str, settings: Any) -> None:
        """`settings`: a `Settings` with all settings of the system, or those of one stage."""
        self.system = system
        self.settings = settings

    # ---- description: cheap, without disk access

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The keys of `replicas:` that this system uses; it ignores others in the experiment's general
        `replicas:`."""
        return ("seeds",)

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        """The stages that this system has, and the parts that each one reads.

        `train` makes models/<system>/. `table` extracts from it, for each text to translate, the part
        that the text can use. `tune` makes weights.json and history.parquet for a replica;
        `train_replica` makes a folder instead. `decode` makes translations. `derive` records how the
        median replica derived its translations. `ask` keeps the answers of a server, from which
        `decode` makes translations. Parts are `train` (parallel text), `dev`, `model`, `table`,
        `tuned` (the replica's weights.json or folder) and `answers`; `source` says that `table`,
        `decode` or `ask` reads the source side of test sets.
        """
        return {"decode": ("source",)}

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        """The settings that decide what this stage makes, in a form that JSON can write. A job gets
        these settings and no others, and runs again when they change."""
        return self.chosen_settings(set(type(self.settings).__struct_fields__) - {*GENERAL})

    def chosen_settings(self, names: Collection[str]) -> dict[str, Any]:
        """Some of the settings, in a form that JSON can write."""
        return {name: value for name, value in plain(self.settings).items() if name in names}

    def memory_mb(self, stage: str, train_mb: float, segments: int) -> int:
        """The most memory that a job of a stage takes, where `resources` does not say it. `train_mb` is
        the size of the training text, both sides together; `segments` the number of segments of dev,
        if the stage reads it, else of the largest test set."""
        return {"train": 4000, "train_replica": 4000, "tune": 2000}.get(stage, 1000)

    def disk_mb(self, stage: str, train_mb: float) -> int:
        """The disk space that a job of a stage needs while it runs, if it needs much."""
        return 0

    @property
    def warm_up_settings(self) -> Mapping[str, Any] | None:
        """The settings of a small system whose `warm_up` compiles the kernels that this system runs;
        None if nothing is compiled."""
        return None

    @property
    def uses_our_tuners(self) -> bool:
        """Whether `tune` runs our tuners."""
        return "tune" in self.stages

    @property
    def keeps_history(self) -> bool:
        """Whether each replica leaves a history.parquet with its dev scores, for the report."""
        return "tune" in self.stages

    @property
    def same_bytes(self) -> bool:
        """Whether a replica has the same bytes whenever and wherever it is made. If not, replicas of
        different looks may be unlike each other (docs/adaptive.md)."""
        return False

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        """`complain` once for each mistake that no single setting shows. `experiment` is the whole
        mapping with defaults filled in. The parts that stages read, and replicas, are checked already."""

    def kinds(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Numbers of replicas by prefix, from those by key of `replicas:`. With several samples of several
        prompts, each prompt makes a kind of replica."""
        if {*counts} != {"sample", "prompt"}:
            return dict(counts)
        return {f"prompt{k:03d}": counts["sample"] for k in range(1, counts["prompt"] + 1)}

    def missing(self) -> list[ReplituneError]:
        """Programs, extras and files that are missing on this machine, without which jobs would fail;
        each error says what to install. Called by `replitune check` and before the first job, but not
        in a dry run."""
        return []

    # ---- work: one method per job

    def warm_up(self, folder: Path, tuners: Sequence[str], metric: str) -> None:
        """Run once everything that is compiled, with each of these tuners; `folder` is empty, or holds
        what another system of this backend left there."""

    def train(self, job: TrainJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "train")

    def table(self, job: TableJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "table")

    def tune(self, job: ReplicaJob) -> None:
        """Write weights to `job.out`, and the history. By our tuners, unless overridden."""
        from replitune.tuning.around import tune_around

        tune_around(self, job)

    def tunable(self, job: ReplicaJob) -> Tunable:
        """The decoder with its dev set, for our tuners."""
        raise no_stage(self, "tune")

    def train_replica(self, job: ReplicaJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "train_replica")

    def ask(self, job: ReplicaJob, testset: str, source: Sequence[str]) -> None:
        """Write the answers to the segments of `source` to `job.out`; answers kept in `job.common` are
        not asked for again."""
        raise no_stage(self, "ask")

    def remarks(self, answers: Mapping[str, Path]) -> list[str]:
        """What a reader must know about files of answers, which are given by name."""
        return []

    def decode(self, job: DecodeJob) -> list[str]:
        """One line for each line of the source, or of the references; their number is checked."""
        raise no_stage(self, "decode")

    def derive(self, job: DecodeJob) -> list[Derivation]:
        """One derivation for each line of the source."""
        raise no_stage(self, "derive")


class Given(Backend):
    """Translations that exist on disk: the files are the replicas, and no stage makes them. One job per
    (system, test set) copies all its replicas into the experiment."""

    gives_texts = True

    @property
    def prefixes(self) -> tuple[str, ...]:
        return ()

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {}

    @property
    @abstractmethod
    def testsets(self) -> list[str]:
        """The test sets that have translations."""

    @abstractmethod
    def testset_settings(self, testset: str) -> Mapping[str, Any]:
        """The settings that decide what is copied for one test set."""

    @abstractmethod
    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        """The file of each replica. Called while an experiment is planned, so it may look for files
        but must not read them. Relative names start in `corpora`."""

    @abstractmethod
    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        """The lines of each replica, as many as the test set has segments."""


def replica_seed(system: str, replica: Replica, seed: int, *, paired: bool = False) -> int:
    """A seed from 1 to 2**31 - 1 for an external program. It differs between replicas, and is the same
    whenever a replica is made; with `paired` it is the same in all systems."""
    from replitune.streams import seed_sequence

    named = () if paired else (system,)
    sequence = seed_sequence(seed, "tune", *named, replica.prefix, replica.index, "program")
    return int(sequence.generate_state(1)[0]) % (2**31 - 1) + 1


T = TypeVar("T")


def needed(part: T | None, option: str) -> T:
    """The part, or an error that names the missing option."""
    if part is None:
        raise ReplituneError(f"this system needs --{option}", fix=f"give it as --{option}")
    return part


def source_of(testset: TestSet, file: str | Path | None = None) -> list[str]:
    """The source text of a test set, which must have one."""
    if testset.source is None:
        raise ReplituneError(
            "this test set has no source text to translate",
            file=file,
            fix="name it as `source` in the experiment's corpus",
        )
    return testset.source


def no_stage(backend: Backend, stage: str) -> ReplituneError:
    return ReplituneError(f"backend {backend.name} has no stage {stage}")
