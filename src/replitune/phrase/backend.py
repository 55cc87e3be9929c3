"""`backend: phrase`: the embedded phrase-based system, and what all embedded ones have in common.
Light; everything else is imported late."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from replitune import extras
from replitune.backends.interface import (
    Backend,
    DecodeJob,
    ReplicaJob,
    TableJob,
    TrainJob,
    Tunable,
    needed,
    source_of,
)
from replitune.errors import ReplituneError
from replitune.phrase.settings import PhraseSystemSettings
from replitune.settings import plain
from replitune.tuners import TUNERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from replitune.corpus.testset import TestSet
    from replitune.phrase.decoder import PhraseSystem, TrainedSystem
    from replitune.phrase.dev_decoder import FirstDecoding
    from replitune.phrase.train import ModelKind

BLOCK = 500
"""Lines between two reports of progress; sentences are translated one by one, so this does not affect
translations."""

LINKED_MB = 21.5
"""MB of memory per MB of training text, for a job that reads all of the linked text."""

MODEL_DISK_MB = 15
"""MB on disk per MB of training text, for a model without its tables."""

Growth = tuple[tuple[float, float], ...]
"""Lines of (MB to start with, MB per MB of training text), of which the lowest counts."""


def grown(text: float, growth: Growth) -> float:
    return min(start + slope * text for start, slope in growth)


TRAINING, TRANSLATING = ("subset", "tables", "training"), ("features", "search")
"""The settings that training stages and translating stages depend on."""


class Embedded(Backend):
    """An embedded system: trained on the parallel text, tuned once per replica by replitune's tuners. Its
    settings are `features`, `subset`, `tables`, `training` and `search`."""

    translating: ClassVar[Sequence[str]] = ("decode",)
    """Stages that translate test sets with a replica."""

    @property
    def prefixes(self) -> tuple[str, ...]:
        return tuple(TUNERS.names)

    @property
    def same_bytes(self) -> bool:
        return True

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        known = self.settings.tables == "known"
        model = ("model", "table") if known else ("model",)
        table = {"table": ("model", "source")} if known else {}
        return {
            "train": ("train",),
            **table,
            "tune": (*model, "dev"),
            **dict.fromkeys(self.translating, (*model, "tuned", "source")),
        }

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        return self.chosen_settings(TRAINING if stage in ("train", "table") else TRANSLATING)

    TABLE_MB: ClassVar[tuple[Growth, Growth]] = ((0, LINKED_MB),), ((0, 75), (1600, 3))
    MODEL_MB: ClassVar[tuple[Growth, Growth]] = ((0, 10),), ((0, 25),)
    """Memory of a job that makes a table, and of what is read of a model and its table: with the table
    of a known text, and what a full table adds."""
    DISK_MB: ClassVar[tuple[int, int]] = 1, 25
    """MB on disk per MB of training text: while the table of a known text is made, and for a full table."""

    def disk_mb(self, stage: str, train_mb: float) -> int:
        text, full = self._text_mb(train_mb)
        train = MODEL_DISK_MB + full * self.DISK_MB[1]
        return round(text * {"train": train, "table": self.DISK_MB[0]}.get(stage, 0))

    def _text_mb(self, train_mb: float) -> tuple[float, bool]:
        """MB of the text that the system is trained on, and whether its tables are full."""
        return train_mb / (1 if self.settings.subset == "all" else 2), self.settings.tables == "full"

    def memory_mb(self, stage: str, train_mb: float, segments: int) -> int:
        """Includes the parts of the model that are read, though all jobs on a machine share them."""
        text, full = self._text_mb(train_mb)
        if stage == "train":
            return round(230 + LINKED_MB * text + full * grown(text, self.TABLE_MB[1]))
        if stage == "table":
            return round(230 + grown(text, self.TABLE_MB[0]))
        model = sum(grown(text, growth) for growth in self.MODEL_MB[: 1 + full])
        return round(240 + model + (0.4 if stage == "tune" else 0.03) * segments)

    def missing(self) -> list[ReplituneError]:
        return [] if self.settings.training.alignment == "hmm" else extras.missing("phrase")

    @property
    @abstractmethod
    def kind(self) -> ModelKind:
        """The kind of its models."""

    @property
    @abstractmethod
    def translator(self) -> type[TrainedSystem]:
        """The class that translates with such a model."""

    def train_on(self, source: list[str], target: list[str], out: Path, **inputs: Any) -> None:
        """Write the folder `out`; `inputs` as in `replitune.phrase.train.train_system`."""
        from replitune.phrase.train import train_system

        kind = self.kind
        train_system(kind, source, target, self.settings.training, out, **inputs)
        kind.Model.save_lm(out)
        if inputs.get("full", True):
            kind.Model.load(out).save_queries(out)

    def load(self, model: Path, table: Path | None = None) -> Any:
        """The trained system."""
        return self.translator(model, self.settings.features, self.settings.search, table)

    def warm_up(self, folder: Path, tuners: Sequence[str], metric: str) -> None:
        from replitune.corpus.synthetic import synthetic_testset, synthetic_train
        from replitune.replicas import Replica
        from replitune.tuners import get_tuner
        from replitune.tuning.settings import LoopSettings

        model, dev = folder / self.name, synthetic_testset(1, "kernels", 12)
        if not model.exists():
            self.train_on(*synthetic_train(1, 300), model)
        system = self.load(model)
        system.translate(dev.source or [], system.layout.sensible())
        for tuner in tuners:
            if tuner in self.prefixes:
                self.tune(
                    ReplicaJob(
                        seed=1,
                        model=model,
                        dev=dev,
                        out=folder / "weights.json",
                        replica=Replica(f"{tuner}-001"),
                        work=folder / "work",
                        metric=metric,
                        nbest=20,
                        loop=LoopSettings(iterations=2),
                        tuner=get_tuner(tuner),
                    )
                )

    def lines(self, system: Any, dev: TestSet) -> Any:
        """The source of the dev set, in the form that the system takes for many decodings."""
        return source_of(dev)

    def train(self, job: TrainJob) -> None:
        from replitune.corpus.subsets import pairs_of
        from replitune.running.files import read_lines
        from replitune.running.progress import say

        source, target = map(read_lines, needed(job.train, "source"))
        name = self.settings.subset
        if name != "all":
            source, target = pairs_of(name, (source, target), job.seed)
        self.train_on(
            source,
            target,
            job.out,
            full=self.settings.tables == "full",
            threads=job.threads,
            progress=say,
            lm_text=read_lines(job.lm_text) if job.lm_text else (),
            lm_arpa=job.lm_arpa,
        )

    def table(self, job: TableJob) -> None:
        from replitune.phrase.train import make_table
        from replitune.running.progress import say

        make_table(self.kind, needed(job.model, "model"), job.source, job.out, say)

    def tunable(self, job: ReplicaJob) -> Tunable:
        from replitune.phrase.dev_decoder import DevDecoder
        from replitune.running.files import sha256_file
        from replitune.tuning.combination import get_objective
        from replitune.tuning.weights import read_weights

        model = needed(job.model, "model")
        system = self.load(model, job.table)
        dev = needed(job.dev, "testset")
        layout = system.layout
        start = layout.to_vector(read_weights(job.init)) if job.init else layout.sensible()
        inputs = {
            "model": sha256_file(model / "model.json"),
            "features": list(layout.groups),
            "search": plain(self.settings.search),
        }
        density = job.tuner.density if job.tuner else None
        decode = DevDecoder(
            system,
            self.lines(system, dev),
            dev.references,
            get_objective(job.metric),
            job.nbest,
            job.threads,
            density,
            self._first(job, start, inputs, density),
        )
        return Tunable(layout, start, decode, dev.segments, inputs)

    def _first(
        self, job: ReplicaJob, start: NDArray[np.float64], inputs: Mapping[str, Any], density: float | None
    ) -> FirstDecoding | None:
        from replitune.phrase.dev_decoder import FirstDecoding
        from replitune.running.checkpoint import fingerprint

        if job.common is None:
            return None
        made_by = [self.name, self.version]
        wanted = [job.dev_sha256, job.metric, job.nbest, density, start.tolist()]
        name = "lists" if density is None else "graphs"
        mark = fingerprint({"made by": made_by, "inputs": dict(inputs), "wanted": wanted})
        return FirstDecoding(job.common / f"first-{name}.npz", start, mark)

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.running.progress import say
        from replitune.tuning.weights import read_weights

        lines = job.source
        system = self.load(needed(job.model, "model"), job.table)
        weights = system.layout.to_vector(read_weights(needed(job.tuned, "weights")))
        translations: list[str] = []
        with say.bar("decode", len(lines), "lines") as done:
            for start in range(0, len(lines), BLOCK):
                translations += system.translate(lines[start : start + BLOCK], weights, job.threads)
                done(len(translations))
        if job.nbest is not None and job.nbest_out is not None:
            lists = system.nbest(lines, weights, job.nbest, job.threads)
            lists.write(job.nbest_out)
        return translations


class Phrase(Embedded):
    """The phrase-based system."""

    name = "phrase"
    version = 3
    Settings = PhraseSystemSettings
    settings: PhraseSystemSettings

    @property
    def warm_up_settings(self) -> Mapping[str, Any] | None:
        return {"search": {"stack": 20, "pop_limit": 20}}

    @property
    def kind(self) -> ModelKind:
        from replitune.phrase.train import phrase_kind

        return phrase_kind(self.settings.training)

    @property
    def translator(self) -> type[PhraseSystem]:
        from replitune.phrase.decoder import PhraseSystem

        return PhraseSystem
