"""`backend: marian`: neural systems. Imports little: the rest is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from replitune.backends.interface import Backend, Complain, DecodeJob, ReplicaJob, TrainJob, needed
from replitune.backends.marian.settings import MarianSettings
from replitune.errors import ReplicaError, ReplituneError

if TYPE_CHECKING:
    from replitune.backends.marian.program import Installation

USED = {
    "train": ("vocabulary", "subset"),
    "train_replica": ("architecture", "options", "training", "decoding", "deterministic", "binary"),
    "decode": ("decoding", "binary"),
}
"""The settings that each stage uses."""


class Marian(Backend):
    """One vocabulary for all replicas; each replica is trained with its own seed."""

    name = "marian"
    Settings = MarianSettings
    settings: MarianSettings

    @property
    def same_bytes(self) -> bool:
        return self.settings.deterministic

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {
            "train": ("train",),
            "train_replica": ("train", "dev", "model"),
            "decode": ("model", "tuned", "source"),
        }

    def stage_settings(self, stage: str) -> Mapping[str, Any]:
        return self.chosen_settings(USED[stage])

    @property
    def keeps_history(self) -> bool:
        return True

    def check(self, experiment: Mapping[str, Any], complain: Complain) -> None:
        from replitune.backends.marian.settings import training_options

        given, where = self.settings, ("systems", self.system)
        try:
            training_options(given.architecture, given.options, given.vocabulary.shared)
        except ReplituneError as error:
            complain((*where, "options"), f"system {self.system}: {error.message}", **error.details)
        # threads update the model whenever they finish, in a different order each time
        threads = given.resources.threads or 1
        if threads > 1 and given.deterministic:
            complain(
                (*where, "resources"),
                f"system {self.system}: training with several threads cannot be repeated",
                found=f"threads: {threads}",
                expected="one thread for each run: runs are trained side by side",
                fix="set `deterministic: false` if each training may give other bytes",
            )

    def missing(self) -> list[ReplituneError]:
        from replitune.backends.marian.program import missing

        return missing(self.settings.binary)

    def train(self, job: TrainJob) -> None:
        """The vocabulary, and the part of the text that the system is trained on."""
        from replitune.backends.marian.training import SIDES
        from replitune.backends.marian.vocabulary import make_vocabularies
        from replitune.corpus.subsets import pairs_of
        from replitune.running.files import new_folder, read_lines, write_lines

        sides = needed(job.train, "source")
        with new_folder(job.out) as folder:
            part = self.settings.subset
            if part != "all":
                texts = pairs_of(part, [read_lines(side) for side in sides], job.seed)
                for lines, side in zip(texts, SIDES, strict=True):
                    write_lines(folder / side, lines)
                sides = folder / SIDES[0], folder / SIDES[1]
            files = make_vocabularies(*sides, self.settings.vocabulary, folder)
            print("vocabulary: " + ", ".join(dict.fromkeys(path.name for path in files)))

    def train_replica(self, job: ReplicaJob) -> None:
        """Train, score dev as often as the settings say, and keep the best model."""
        from replitune.backends.marian.replica import make_replica

        threads = 1 if self.settings.deterministic else job.threads
        make_replica(self.system, self.settings, self._program(threads), job)

    def decode(self, job: DecodeJob) -> list[str]:
        """Translate with the replica's best model."""
        import json

        from replitune.backends.marian.program import Translator
        from replitune.backends.marian.training import MODEL
        from replitune.backends.marian.vocabulary import vocabulary_files
        from replitune.running.files import sha256_file

        tuned = needed(job.tuned, "weights")
        vocabularies = vocabulary_files(needed(job.model, "model"))
        trained_with = json.loads((tuned / "model.json").read_text("utf-8"))["vocabulary"]
        if trained_with != [sha256_file(path) for path in vocabularies]:
            raise ReplicaError(
                "this model was trained with another vocabulary",
                file=tuned / MODEL,
                found=", ".join(str(path) for path in dict.fromkeys(vocabularies)),
                fix="give the folder of vocabularies that it was trained with, or train it again",
            )
        translator = Translator(vocabularies, self.settings.decoding, self._program(1))
        return translator.translate(tuned / MODEL, job.source, job.nbest, job.nbest_out)

    def _program(self, threads: int) -> Installation:
        from replitune.backends.marian.program import Installation

        return Installation(self.settings.binary, threads)
