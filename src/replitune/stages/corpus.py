"""corpus/: the texts as they are used, and the hashes of the files that they were made from."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from replitune.corpus.settings import only
from replitune.experiment.stage import Conditions, Files, Names, Stage
from replitune.settings import plain

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes


class Corpus(Stage):
    """Prepare the training pairs, dev, or a test set."""

    NAME = "corpus"
    VERSION = 2
    MEMORY_MB = 70, 6.0
    LOG = "corpus/{part}"
    part: str
    corpus: dict[str, Any]
    """The settings that decide this part."""
    base: str
    """The folder in which relative names of files start."""
    files: list[str]
    """The data files."""

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [{"part": part} for part in experiment.corpus_parts]

    @classmethod
    def from_experiment(cls, experiment: Experiment, part: str) -> Self:
        return cls.create(
            experiment,
            part=part,
            corpus=plain(only(experiment.settings.corpus, part), sparse=True),
            base=str(experiment.corpora),
            files=[str(path) for path in experiment.corpus_files(part)],
        )

    def load(self, sizes: Sizes) -> float:
        return sizes.text_mb(self.part)

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

    def run(self, conditions: Conditions) -> None:
        from replitune.corpus.prepare import prepare_testset, prepare_train

        if self.part == "train":
            prepare_train(self.corpus, self.at.corpus, seed=self.seed, base=self.base)
        else:
            prepare_testset(self.corpus, self.part, self.at.corpus, seed=self.seed, base=self.base)


class Account(Stage):
    """Put together the accounts of all parts of the corpus."""

    NAME = "account"
    LOG = "corpus/inputs"
    corpus: dict[str, Any]
    parts: list[str]

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> Self:
        parts = experiment.corpus_parts
        corpus = plain(only(experiment.settings.corpus, *parts), sparse=True)
        return cls.create(experiment, corpus=corpus, parts=parts)

    @property
    def inputs(self) -> Files:
        return {"accounts": [self.at.account(part) for part in self.parts]}

    @property
    def outputs(self) -> Files:
        return {"account": self.at.inputs}

    def run(self, conditions: Conditions) -> None:
        from replitune.corpus.prepare import write_inputs

        for warning in write_inputs(self.corpus, self.at.corpus, seed=self.seed):
            print(f"warning: {warning}", file=sys.stderr)
