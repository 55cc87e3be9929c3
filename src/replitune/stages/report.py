"""tables/, figures/ and report.html: the report for readers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from replitune.experiment.places import TESTS
from replitune.experiment.stage import Conditions, Counts, Files, Stage, decodes_of
from replitune.replicas import replica_ids
from replitune.settings import plain
from replitune.significance.registry import PEOPLE
from replitune.stages.studies import STUDIES

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.experiment.sizes import Sizes
    from replitune.report.material import Material


class Report(Stage):
    """Make the tables, the figures and the page."""

    NAME = "report"
    MEMORY_MB = 370, 550.0
    LOG = "report/report"
    VERSION = 19
    WAITS_FOR_LOOKS = True
    systems: dict[str, Counts]
    """The replicas of each system."""
    decoded: dict[str, list[str]]
    """For each test set, the systems that have translations of it."""
    derived: list[str]
    """The systems that record the derivations of their translations."""
    suites: list[str]
    histories: dict[str, str]
    """Where each system keeps a history: in the `folder` of a replica, or beside its `weights`."""
    trained: bool
    """Whether there is a training text."""
    metrics: list[str]
    studies: dict[str, list[tuple[str, str]]]
    """(test set, metric) of the studies."""
    judged: list[str]
    """The test sets that people judged."""
    baseline: str | None
    methods: list[dict[str, Any]]
    alpha: float
    family: str
    samples: int
    figures: list[str] | msgspec.UnsetType = msgspec.UNSET
    """Kinds of files besides SVG."""
    people: list[str] | msgspec.UnsetType = msgspec.UNSET
    """The test sets on which metrics sharpen people's judgements."""
    asked: dict[str, dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    """Settings of the systems whose translations are answers of a server, for their backends."""
    looks: int | msgspec.UnsetType = msgspec.UNSET
    """The number of the last look, if looks decided how many replicas there are."""

    @classmethod
    def from_experiment(cls, experiment: Experiment) -> Self:
        tests, backends = experiment.settings.tests, experiment.backends
        return cls.create(
            experiment,
            systems={system: experiment.replica_counts(system) for system in experiment.systems},
            decoded={testset: experiment.decoding(testset) for testset in experiment.tests},
            derived=experiment.systems_with("derive"),
            suites=[*experiment.suites],
            histories={
                system: "weights" if "tune" in backends[system].stages else "folder"
                for system in experiment.with_history
            },
            trained="train" in experiment.corpus_parts,
            metrics=experiment.metrics,
            studies={
                study.NAME: [(names["testset"], names["metric"]) for names in study.names_in(experiment)]
                for study in STUDIES
            },
            judged=experiment.judged,
            baseline=getattr(tests.pairs, "baseline", None),
            methods=[entry.mapping for entry in tests.methods],
            alpha=tests.alpha,
            family=tests.family,
            samples=tests.samples,
            figures=[*experiment.settings.figures] or msgspec.UNSET,
            people=[*experiment.sharpened] or msgspec.UNSET,
            asked={
                system: {
                    "backend": backends[system].name,
                    **plain(backends[system].stage_settings("decode")),
                }
                for system in experiment.systems_with("ask")
            }
            or msgspec.UNSET,
            looks=experiment.last_look,
        )

    @property
    def tested(self) -> list[str]:
        """Test sets and suites."""
        return [*self.decoded, *self.suites]

    @property
    def cells(self) -> list[tuple[str, str]]:
        """(test set, metric) of the tests; people's judgements come last."""
        cells = [(testset, metric) for testset in self.tested for metric in self.metrics]
        return [*cells, *((testset, PEOPLE) for testset in self.people or ())]

    @property
    def numbers(self) -> list[str]:
        """The files of the tests and the studies."""
        at = self.at
        files = [at.tests(*cell, kind) for cell in self.cells for kind in TESTS]
        files += [at.study(study, *cell) for study, cells in self.studies.items() for cell in cells]
        return [*files, *(at.study("meta", testset) for testset in self.judged)]

    @property
    def texts(self) -> list[str]:
        """The files for the segments that the report shows: test sets, outputs, statistics."""
        files = [self.at.train[1]] if self.trained else []
        for testset, systems in self.decoded.items():
            files.append(self.at.testset(testset))
            for system in systems:
                files += [self.at.store(testset, metric, system) for metric in self.metrics]
                files += decodes_of(self.at, testset, system, self.systems[system])
                files += self.answers(testset, system).values()
                if system in self.derived:
                    files.append(self.at.derivations(testset, system))
        return files

    def answers(self, testset: str, system: str) -> dict[str, str]:
        """The files of a server's answers, by replica and test set."""
        if system not in (self.asked or {}):
            return {}
        return {
            f"{one.id} on {testset}": self.at.answers(testset, system, one.id)
            for one in replica_ids(self.systems[system])
        }

    @property
    def runs(self) -> list[str]:
        """The histories of tuning or training."""
        return [
            (self.at.replica if kept == "folder" else self.at.history)(system, replica.id)
            for system, kept in self.histories.items()
            for replica in replica_ids(self.systems[system])
        ]

    def load(self, sizes: Sizes) -> float:
        return max((sizes.scored(name, systems) for name, systems in self.decoded.items()), default=0.0)

    @property
    def inputs(self) -> Files:
        looks: Files = {"looks": self.at.look(self.looks)} if self.looks else {}
        return {
            "account": self.at.inputs,
            "numbers": self.numbers,
            "texts": self.texts,
            "runs": self.runs,
            **looks,
        }

    @property
    def outputs(self) -> Files:
        return {"page": self.at.page, "tables": self.at.tables, "figures": self.at.figures}

    @property
    def results(self) -> Material:
        """What the results say, without texts."""
        from replitune.ledger.manifest import unrepeatable
        from replitune.stages.material import read_results

        return read_results(self, unrepeatable(Path(self.folder), self.systems))

    def run(self, conditions: Conditions) -> None:
        from replitune.report import contents
        from replitune.report.drawing import render
        from replitune.report.page import page
        from replitune.running.files import atomic_open, new_folder
        from replitune.stages.material import with_texts

        material = with_texts(self, self.results)
        tables, figures, links = contents.tables(material), {}, {}
        with new_folder(Path(self.at.tables)) as out:
            for name, table in tables.items():
                for suffix, text in (
                    ("csv", table.csv()),
                    ("md", table.markdown()),
                    ("tex", table.latex()),
                ):
                    (out / f"{name}.{suffix}").write_text(text, "utf-8", newline="")
            for part in material.segments:
                links[part.testset] = f"tables/segments.{part.testset}.tsv"
                (out / f"segments.{part.testset}.tsv").write_text(part.tsv(), "utf-8", newline="")
        with new_folder(Path(self.at.figures)) as out:
            for name, figure in contents.figures(material).items():
                drawn = render(name, figure, ("svg", *(self.figures or ())))
                for suffix, content in drawn.items():
                    (out / f"{name}.{suffix}").write_bytes(content)
                figures[name] = (figure, drawn["svg"].decode("utf-8"))
        with atomic_open(self.at.page) as handle:
            handle.write(page(material, tables, figures, links))


def report_of(folder: Path) -> Report:
    """The report of finished results, or of an unpacked archive."""
    from replitune.ledger.manifest import experiment_of, read_manifest

    experiment = experiment_of(read_manifest(folder), folder.parent).in_folder(folder.absolute())
    return Report.from_experiment(experiment.after_looks())
