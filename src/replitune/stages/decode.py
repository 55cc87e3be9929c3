"""decodes/<testset>/<system>/<replica>.txt: one line per segment; one job makes all test sets."""

from __future__ import annotations

from pathlib import Path

from replitune.experiment.stage import Conditions, Files
from replitune.stages.system import TranslatingStage


class Decode(TranslatingStage):
    """Translate the test sets with one replica."""

    NAME = "decode"
    LOG = "decode/{system}/{replica}"
    VERSION = 4

    @property
    def outputs(self) -> Files:
        return {"decodes": [self.at.decode(name, self.system, self.replica) for name in self.testsets]}

    def run(self, conditions: Conditions) -> None:
        from replitune.backends.interface import DecodeJob
        from replitune.backends.making import write_translations

        (testset,) = self.testsets
        tuned = self.inputs.get("tuned")
        job = self.make_job(
            DecodeJob,
            conditions,
            name=testset,
            tuned=Path(str(tuned)) if tuned else None,
            answers=Path(self.at.answers(testset, self.system, self.replica))
            if "answers" in self.reads
            else None,
            testset=Path(self.at.testset(testset)),
        )
        out = Path(self.at.decode(testset, self.system, self.replica))
        write_translations(self.get_backend(), job, out, allow_failure=conditions.allow_failures)
