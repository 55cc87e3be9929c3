"""`backend: phrase`: the embedded phrase-based system. Light; everything else is imported late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replitune import extras
from replitune.backends.interface import (
    Backend,
    DecodeJob,
    ReplicaJob,
    TrainJob,
    Tunable,
    needed,
    source_of,
)
from replitune.errors import ReplituneError
from replitune.phrase.settings import PhraseSystemSettings
from replitune.settings import plain
from replitune.tuning.registry import TUNERS

if TYPE_CHECKING:
    from replitune.phrase.system import PhraseSystem

BLOCK = 500
"""Lines between two reports of progress; sentences are translated one by one, so it changes no
translation."""

USED = {"train": ("subset", "training"), "tune": ("features", "search")}


class Phrase(Backend):
    """Trained on the parallel text, tuned once per replica by our tuners."""

    name = "phrase"
    Settings = PhraseSystemSettings
    settings: PhraseSystemSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return tuple(TUNERS.names)

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {
            "train": ("train",),
            "tune": ("model", "dev"),
            "decode": ("model", "tuned", "source"),
        }

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        return self.chosen_settings(USED["train" if stage == "train" else "tune"])

    @property
    def search(self) -> str | None:
        return self.settings.search.search

    def missing(self) -> list[ReplituneError]:
        return extras.missing("phrase")

    def train(self, job: TrainJob) -> None:
        from replitune.corpus.subsets import subset, take
        from replitune.phrase.model import PhraseModel
        from replitune.phrase.train import train_phrase_system
        from replitune.running.files import read_lines
        from replitune.running.progress import say

        source, target = map(read_lines, needed(job.train, "source"))
        name = self.settings.subset
        if name != "all":
            chosen = subset(name, len(source), job.seed)
            print(f"subset {name}: {len(chosen)} of {len(source)} pairs")
            source, target = take(source, chosen), take(target, chosen)
        train_phrase_system(
            source,
            target,
            self.settings.training,
            job.out,
            threads=job.threads,
            progress=say,
            lm_text=read_lines(job.lm_text) if job.lm_text else (),
            lm_arpa=job.lm_arpa,
        )
        PhraseModel.load(job.out).save_queries(job.out)

    def tunable(self, job: ReplicaJob) -> Tunable:
        from replitune.phrase.dev_decoder import DevDecoder
        from replitune.running.files import sha256_file
        from replitune.tuning.combination import get_objective
        from replitune.tuning.weights import read_weights

        system = self._system(job.model)
        dev = needed(job.dev, "testset")
        source = source_of(dev)
        layout = system.layout
        return Tunable(
            layout,
            layout.to_vector(read_weights(job.init)) if job.init else layout.sensible(),
            DevDecoder(
                system,
                source,
                dev.references,
                get_objective(job.metric),
                job.nbest,
                job.threads,
                density=job.tuner.density if job.tuner else None,
            ),
            dev.segments,
            {
                "model": sha256_file(needed(job.model, "model") / "model.json"),
                "features": list(layout.groups),
                "search": plain(self.settings.search),
            },
        )

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.running.progress import say
        from replitune.tuning.weights import read_weights

        lines = job.source
        system = self._system(job.model)
        weights = system.layout.to_vector(read_weights(needed(job.tuned, "weights")))
        found: list[str] = []
        with say.bar("decode", len(lines), "lines") as done:
            for start in range(0, len(lines), BLOCK):
                found += system.translate(lines[start : start + BLOCK], weights, job.threads)
                done(len(found))
        if job.nbest is not None and job.nbest_out is not None:
            lists = system.nbest(lines, weights, job.nbest, job.threads)
            lists.write(job.nbest_out)
        return found

    def _system(self, model: Path | None) -> PhraseSystem:
        from replitune.phrase.system import PhraseSystem

        return PhraseSystem(needed(model, "model"), self.settings.features, self.settings.search)
