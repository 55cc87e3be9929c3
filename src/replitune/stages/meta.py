"""studies/meta/<testset>.parquet: how well metrics and their tests agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from replitune.experiment.stage import Conditions, Files, Names
from replitune.settings import plain, read
from replitune.stages.test import MetricsStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.meta.rows import MetaStudy
    from replitune.meta.settings import MetaSettings
    from replitune.statistics.segments import SegmentStatistics


class Meta(MetricsStage):
    """How well metrics and their tests agree with people."""

    NAME = "meta"
    VERSION = 4
    LOG = "meta/{testset}"
    settings: dict[str, Any]
    human: dict[str, str]
    """Files of judgements: `human`, and perhaps `fluency`."""

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        return [{"testset": testset} for testset in experiment.judged]

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str) -> Self:
        return cls.create(
            experiment,
            testset=testset,
            metrics=experiment.studied("meta"),
            systems=experiment.decoding(testset),
            settings=plain(experiment.settings.studies.meta),
            human=experiment.human_files(testset),
        )

    @property
    def inputs(self) -> Files:
        return {
            "stores": [path for paths in self.stores for path in paths],
            "human": [*self.human.values()],
        }

    @property
    def outputs(self) -> Files:
        return {"rows": self.at.study("meta", self.testset)}

    def run(self, conditions: Conditions) -> None:
        from replitune.meta.rows import MetaRow
        from replitune.meta.settings import MetaSettings
        from replitune.results.rows import write_rows
        from replitune.statistics.store import read_systems

        stores = [read_systems(paths) for paths in self.stores]
        settings = read(MetaSettings, self.settings, "meta")
        threads = conditions.threads
        study = study_metrics(
            stores, settings, self.human, testset=self.testset, seed=self.seed, threads=threads
        )
        write_rows(str(self.outputs["rows"]), study.rows, MetaRow)


def study_metrics(
    stores: Sequence[SegmentStatistics],
    settings: MetaSettings,
    files: Mapping[str, str],
    *,
    testset: str,
    seed: int,
    threads: int,
    systems: Sequence[str] | None = None,
) -> MetaStudy:
    """The study of metrics, which is also printed. `files`: the judgements, `human`, of adequacy
    where there are some of `fluency`, too."""
    from replitune.meta.analysis import evaluate
    from replitune.meta.human import read_human
    from replitune.meta.human_cells import standardise
    from replitune.meta.loading import load
    from replitune.meta.rows import MetaRun
    from replitune.report.terminal_meta import print_meta

    criteria = {"human": "adequacy", "fluency": "fluency"} if "fluency" in files else {}
    judgements = [
        read_human(file, criterion=criteria.get(name), score=settings.score_column)
        for name, file in files.items()
    ]
    if settings.standardise:
        judgements = [standardise(given) for given in judgements]
    data = load(
        stores,
        judgements,
        systems=systems,
        exclude=settings.exclude,
        first_segment=settings.first_segment,
        segments=settings.segments,
    )
    study = evaluate(
        data.metrics, data.humans, data.documents, MetaRun(testset, seed, settings, threads), data.notes
    )
    print_meta(study)
    return study
