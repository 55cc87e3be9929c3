"""What a backend is: the one place that says how a system's translations are made.

A backend is a subclass of `Backend`; an object of it is one system with its settings. The upper
half of its methods describe: they are light, because the Snakefile calls them for every system
(heavy imports stand inside the lower half). The lower half work: each is called by one command,
`replitune train`, `tune` or `decode`, in one job. docs/extend.md explains it to third parties.
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
    from replitune.tuning.layout import Layout
    from replitune.tuning.loop import Decode
    from replitune.tuning.settings import LoopSettings

Complain = Callable[..., Any]
"""``complain(("systems", name, key), message, found=..., expected=..., fix=...)`` notes a mistake
of an experiment file and goes on."""


Derivation = list[Any]
"""What a translation is made of, from left to right on the source side, each part a list of
[begin, end, source side, target side, parts]: a rule over the source words begin .. end - 1, with
X1 and X2 on both sides for its gaps, and what stands in them in the order of the source."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every job knows. Paths of parts that the stage does not read are None."""

    seed: int
    """The experiment's."""
    threads: int = 1
    paired: bool = False
    """Replica k of every system shares its random streams."""
    model: Path | None = None
    """models/<system>/"""
    train: tuple[Path, Path] | None = None
    """Source and target side of the parallel text, one segment a line."""
    table: Path | None = None
    """What the stage `table` made for the text that is to be translated."""
    dev: TestSet | None = None
    """The tuning set, with its source."""

    @property
    def dev_sha256(self) -> list[str]:
        """Of the source and of each reference of the tuning set."""
        from replitune.running.files import sha256_lines

        sides = [self.dev.source or [], *self.dev.references] if self.dev else []
        return [sha256_lines(lines) for lines in sides]


@dataclass(frozen=True, kw_only=True)
class TrainJob(Job):
    """Make models/<system>/."""

    out: Path
    """A folder, which does not exist yet; it must appear whole or not at all."""
    lm_text: Path | None = None
    """More text for a language model ..."""
    lm_arpa: Path | None = None
    """... or a ready one, for systems that have one."""


@dataclass(frozen=True, kw_only=True)
class TextJob(Job):
    """Something for one text."""

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
    """Make what of a model is of use for one text."""

    out: Path
    """A folder, which does not exist yet."""


@dataclass(frozen=True, kw_only=True)
class ReplicaJob(Job):
    """Make one replica, by tuning weights or by training with its own seed."""

    out: Path
    """`tune`: weights.json (or .ini lines). `train_replica`: a folder, which does not exist yet."""
    replica: Replica
    work: Path | None = None
    """For the checkpoint of a running job: outside declared outputs, kept when a job
    is killed. Empty or removed when the job is done."""
    common: Path | None = None
    """A folder for what replicas of the system can reuse from each other; losing it costs only time."""
    history: Path | None = None
    """`tune`: where history.parquet goes."""
    metric: str = "bleu"
    """What to tune for: see `replitune.tuning.combination.get_objective`."""
    nbest: int = 100
    init: Path | None = None
    """Weights to start from."""
    loop: LoopSettings | None = None
    """How long to go on; None for the defaults."""
    tuner: Tuner | None = None
    """With its settings; None of a replica that is trained."""

    @property
    def algorithm(self) -> str:
        """The name of the tuner."""
        return "" if self.tuner is None else self.tuner.name


@dataclass(frozen=True, kw_only=True)
class DecodeJob(TextJob):
    """Translate one test set by one replica."""

    replica: Replica
    name: str
    """Of the test set."""
    tuned: Path | None = None
    """What `tune` (a file) or `train_replica` (a folder) made."""
    answers: Path | None = None
    """What `ask` kept of a server's answers."""
    nbest: int | None = None
    nbest_out: Path | None = None
    """Also write so many best translations there, in Moses' format."""


@dataclass(frozen=True)
class Tunable:
    """A decoder that our tuners can tune: see `replitune.tuning.around.tune_around`."""

    layout: Layout
    start: NDArray[np.float64]
    """(F,) the weights to start from."""
    decode: Decode
    """From weights (F,) to n-best lists of dev with their statistics."""
    segments: int
    """Of dev."""
    inputs: Mapping[str, Any]
    """Hashes and settings that decide the result, beside dev, the tuner's and the loop's: another
    value starts a checkpoint over."""


class Backend:
    """One system of an experiment."""

    name: ClassVar[str]
    """As in `backend: NAME`."""
    version: ClassVar[int] = 1
    """Raised when the same settings can give other bytes than before: its jobs run again."""
    Settings: ClassVar[type[SystemSettings]] = SystemSettings
    """The settings of one system; a subclass of `SystemSettings`."""

    def __init__(self, system: str, settings: Any) -> None:
        """`settings`: a `Settings`, of the system in the experiment or of one stage."""
        self.system = system
        self.settings = settings

    # ---- description: light, without disk access

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The keys of `replicas:` that this system has a use for; it ignores others in the experiment's
        general `replicas:`."""
        return ("seeds",)

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        """The stages that this system has, and the parts that each one reads.

        `train` makes models/<system>/. `table` makes of it, for each text that is translated, what
        that text can use. `tune` makes weights.json and history.parquet of a
        replica, `train_replica` instead a folder for each one. `decode` makes translations.
        `derive` says how the median replica came to its own. `ask` keeps the answers of a server, of
        which `decode` makes translations. Parts are `train` (parallel text), `dev`, `model`, `table`,
        `tuned` (the replica's weights.json or folder) and `answers`; `source` says that `table`,
        `decode` or `ask` reads the source side of test sets.
        """
        return {"decode": ("source",)}

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        """The settings that decide what this stage makes, as JSON can write them. A job's system
        is made of these and no others, and it runs again when they change."""
        return self.chosen_settings(set(type(self.settings).__struct_fields__) - {*GENERAL})

    def chosen_settings(self, names: Collection[str]) -> dict[str, Any]:
        """Some of the settings, as JSON can write them."""
        return {name: value for name, value in plain(self.settings).items() if name in names}

    def memory_mb(self, stage: str, train_mb: float, segments: int) -> int:
        """The most memory that a job of a stage takes, where `resources` do not say it: with so many MB
        of training text, both sides together, and segments of dev where it is read, or of the largest test
        set."""
        return {"train": 4000, "train_replica": 4000, "tune": 2000}.get(stage, 1000)

    def disk_mb(self, stage: str, train_mb: float) -> int:
        """Room on the disk that a job of a stage needs while it runs, where that is much."""
        return 0

    @property
    def warm_up_settings(self) -> Mapping[str, Any] | None:
        """The settings of a small system that compiles, by `warm_up`, what this one runs; None:
        nothing is compiled."""
        return None

    @property
    def uses_our_tuners(self) -> bool:
        """Whether `tune` runs our tuners."""
        return "tune" in self.stages

    @property
    def keeps_history(self) -> bool:
        """Whether each replica leaves history.parquet with its dev scores, for the report."""
        return "tune" in self.stages

    @property
    def same_bytes(self) -> bool:
        """Whether a replica has the same bytes whenever and wherever it is made. If not, what makes
        replicas may change from look to look (docs/adaptive.md)."""
        return False

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        """`complain` once for each mistake that single settings cannot show. `experiment` is the whole
        mapping, defaults filled in. Parts that stages read, and replicas, are checked already."""

    def kinds(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Replicas by prefix, of what `replicas:` asks for."""
        return dict(counts)

    def missing(self) -> list[ReplituneError]:
        """Programs, extras and files of the site without which jobs would fail; each error says
        what to install. Asked by `replitune check` and before the first job, not in a dry run."""
        return []

    # ---- work: one method per job

    def warm_up(self, folder: Path, tuners: Sequence[str], metric: str) -> None:
        """Run once what is compiled, and each of these tuners around it; `folder` is empty, or has
        what another system of this backend left there."""

    def train(self, job: TrainJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "train")

    def table(self, job: TableJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "table")

    def tune(self, job: ReplicaJob) -> None:
        """Write weights to `job.out` and the history: by our tuners, unless overridden."""
        from replitune.tuning.around import tune_around

        tune_around(self, job)

    def tunable(self, job: ReplicaJob) -> Tunable:
        """The decoder with its dev set, for our tuners."""
        raise no_stage(self, "tune")

    def train_replica(self, job: ReplicaJob) -> None:
        """Write the folder `job.out`."""
        raise no_stage(self, "train_replica")

    def ask(self, job: ReplicaJob, testset: str, source: Sequence[str]) -> None:
        """Write the answers to `source` to `job.out`; those that are kept in `job.common` cost
        nothing."""
        raise no_stage(self, "ask")

    def remarks(self, answers: Mapping[str, Path]) -> list[str]:
        """What a reader must know of files of answers, by what they are of."""
        return []

    def decode(self, job: DecodeJob) -> list[str]:
        """One line for each line of the source, or of the references; the number is checked."""
        raise no_stage(self, "decode")

    def derive(self, job: DecodeJob) -> list[Derivation]:
        """One derivation for each line of the source."""
        raise no_stage(self, "derive")


class Given(Backend):
    """Translations that exist on disk: the files are the replicas, and no stage makes them. One job per
    (system, test set) takes over all replicas."""

    gives_texts = True
    """Scores are taken over as lines, too."""

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
        """The settings that decide what is taken over for one test set."""

    @abstractmethod
    def files(self, testset: str, corpora: Path) -> dict[Replica, Path]:
        """The file of each replica; asked while an experiment is planned, so it may look for
        files but does not read them. Relative names start in `corpora`."""

    @abstractmethod
    def collect(self, testset: str, corpora: Path, segments: int) -> dict[Replica, list[str]]:
        """The lines of each replica, as many as the test set has segments."""


def replica_seed(system: str, replica: Replica, seed: int, *, paired: bool = False) -> int:
    """A seed, 1 to 2**31 - 1, for a program that takes one: another for every replica, the same
    in every run; with `paired` the same in all systems."""
    from replitune.streams import seed_sequence

    named = () if paired else (system,)
    sequence = seed_sequence(seed, "tune", *named, replica.prefix, replica.index, "program")
    return int(sequence.generate_state(1)[0]) % (2**31 - 1) + 1


T = TypeVar("T")


def needed(part: T | None, option: str) -> T:
    """A part that this job cannot do without."""
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
