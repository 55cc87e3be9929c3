"""`backend: phrase`: the embedded phrase-based system. Light; everything else is imported late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replitune.backends.interface import (
    TUNERS,
    Backend,
    DecodeJob,
    ReplicaJob,
    TrainJob,
    Tunable,
    needed,
    source_of,
)

if TYPE_CHECKING:
    from replitune.phrase.system import PhraseSystem

BLOCK = 500
"""Lines between two reports of progress; sentences are translated one by one, so it changes no
translation."""

USED = {"train": ("subset", "training"), "tune": ("features", "search")}


class Phrase(Backend):
    """Trained on the parallel text, tuned once per replica by our tuners."""

    name = "phrase"
    prefixes = TUNERS

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {
            "train": ("train",),
            "tune": ("model", "dev"),
            "decode": ("model", "tuned", "source"),
        }

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        keys = USED["train" if stage == "train" else "tune"]
        return {key: self.settings[key] for key in keys}

    @property
    def search(self) -> str | None:
        return str(self.settings["search"].get("search", "cube"))

    def train(self, job: TrainJob) -> None:
        from replitune.cli.words import checked_settings
        from replitune.corpus.subsets import subset, take
        from replitune.phrase.model import PhraseModel
        from replitune.phrase.train import train_phrase_system
        from replitune.phrase.train_settings import PhraseSettings
        from replitune.running.files import read_lines
        from replitune.running.progress import say

        given = self.settings
        settings = PhraseSettings(**checked_settings(given["training"], PhraseSettings))
        source, target = map(read_lines, needed(job.train, "source"))
        name = given.get("subset", "all")
        if name != "all":
            chosen = subset(name, len(source), job.seed)
            print(f"subset {name}: {len(chosen)} of {len(source)} pairs")
            source, target = take(source, chosen), take(target, chosen)
        lm_text = given.get("lm_text")
        train_phrase_system(
            source,
            target,
            settings,
            job.out,
            threads=job.threads,
            progress=say,
            lm_text=read_lines(lm_text) if lm_text else (),
            lm_arpa=given.get("lm_arpa"),
        )
        PhraseModel.load(job.out).save_queries(job.out)

    def tunable(self, job: ReplicaJob) -> Tunable:
        from replitune.phrase.tuning import DevDecoder
        from replitune.running.files import sha256_file, sha256_lines
        from replitune.tuning.combination import get_objective
        from replitune.tuning.from_files import make_tuner
        from replitune.tuning.layout import Layout
        from replitune.tuning.weights import read_weights

        system = self._system(job.model)
        dev = needed(job.dev, "testset")
        source = source_of(dev)
        names, arities = zip(*system.layout.features, strict=True)
        settings = {key: value for key, value in job.tuner.items() if key != "frozen"}
        start = (
            system.layout.vector(read_weights(job.init)) if job.init
            else system.layout.sensible()
        )  # fmt: skip
        return Tunable(
            Layout(names, arities),
            start,
            DevDecoder(
                system,
                source,
                dev.references,
                get_objective(job.metric),
                job.nbest,
                job.threads,
                density=getattr(make_tuner(job.algorithm, settings), "density", None),
            ),
            dev.segments,
            {
                "model": sha256_file(needed(job.model, "model") / "model.json"),
                "source": sha256_lines(source),
                "references": [sha256_lines(lines) for lines in dev.references],
                "features": list(system.layout.groups),
                "search": repr(system.settings),
                "nbest": job.nbest,
            },
        )

    def decode(self, job: DecodeJob) -> list[str]:
        from replitune.running.progress import say
        from replitune.tuning.weights import read_weights

        lines = job.source
        system = self._system(job.model)
        weights = system.layout.vector(read_weights(needed(job.tuned, "weights")))
        found: list[str] = []
        with say.bar("decode", len(lines), "lines") as done:
            for start in range(0, len(lines), BLOCK):
                found += system.translate(lines[start : start + BLOCK], weights, job.threads)
                done(len(found))
        if job.nbest is not None and job.nbest_out is not None:
            lists, _ = system.nbest(lines, weights, job.nbest, job.threads)
            lists.write(job.nbest_out)
        return found

    def _system(self, model: Any) -> PhraseSystem:
        from replitune.cli.words import checked_settings
        from replitune.phrase.decoder import Settings
        from replitune.phrase.system import PhraseSystem

        settings = Settings(**checked_settings(self.settings["search"], Settings))
        return PhraseSystem(needed(model, "model"), self.settings["features"], settings)
