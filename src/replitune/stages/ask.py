"""answers/<testset>/<system>/<replica>.jsonl: the answers of a server, one line per segment."""

from __future__ import annotations

from pathlib import Path

from replitune.experiment.stage import Conditions, Files
from replitune.stages.system import TranslatingStage


class Ask(TranslatingStage):
    """Ask a server for the answers that make one replica."""

    NAME = "ask"
    LOG = "ask/{system}/{replica}"

    @property
    def outputs(self) -> Files:
        return {"answers": [self.at.answers(name, self.system, self.replica) for name in self.testsets]}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import ReplicaJob, source_of
        from replitune.corpus.testset import read_prepared

        (testset,) = self.testsets
        job = self.make_job(
            ReplicaJob,
            conditions,
            out=Path(self.at.answers(testset, self.system, self.replica)),
            common=Path(self.at.common(self.system)),
        )
        self.get_backend().ask(job, testset, source_of(read_prepared(self.at.testset(testset))))
