"""studies/{power,replication,calibrate}/<testset>/<metric>.parquet: what scores of replicas by one
metric show beyond the tests of pairs. The commands with these names call the same functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from replitune.errors import ReplituneError
from replitune.experiment.stage import Conditions, Files, Names
from replitune.registry import Entry
from replitune.settings import plain, read
from replitune.stages.test import StoreStage

if TYPE_CHECKING:
    from replitune.experiment.experiment import Experiment
    from replitune.significance.settings import TestSettings
    from replitune.significance.studies.calibrate import CalibrationRow
    from replitune.significance.studies.cheapest import Prices
    from replitune.significance.studies.planned import Plan
    from replitune.significance.studies.power import PowerRow
    from replitune.significance.studies.replication import ReplicationRow
    from replitune.significance.studies.settings import (
        CalibrateSettings,
        PowerSettings,
        ReplicationSettings,
    )
    from replitune.statistics.segments import SegmentStatistics

    PricesOf = Callable[[Sequence[str], str], Prices]
    """From two systems and a test set to prices."""

FEWEST = 3
"""Two systems need so many replicas each; with fewer there is nothing to study."""


class Study(StoreStage):
    """What scores of replicas by one metric show beyond the tests of pairs."""

    MEMORY_MB = 400, 85.0
    TESTS: ClassVar[tuple[str, ...]] = ()
    """The experiment's settings of tests that this study depends on."""
    settings: dict[str, Any]
    tests: dict[str, Any]

    @classmethod
    def names_in(cls, experiment: Experiment) -> Sequence[Names]:
        """Empty if the study is not asked for, or there are too few replicas."""
        if getattr(experiment.settings.studies, cls.NAME) is None:
            return []
        return [
            {"testset": testset, "metric": metric}
            for testset in cls.testsets_in(experiment)
            if cls.is_possible(experiment, testset)
            for metric in experiment.studied(cls.NAME)
        ]

    @classmethod
    def testsets_in(cls, experiment: Experiment) -> list[str]:
        return experiment.tests

    @classmethod
    def is_possible(cls, experiment: Experiment, testset: str) -> bool:
        """Whether there are enough replicas."""
        n = {system: len(experiment.replicas(system)) for system in experiment.decoding(testset)}
        return any(min(n.get(a, 0), n.get(b, 0)) >= FEWEST for a, b in experiment.pairs)

    @classmethod
    def from_experiment(cls, experiment: Experiment, testset: str, metric: str) -> Self:
        settings = plain(getattr(experiment.settings.studies, cls.NAME))
        tests = plain(experiment.settings.tests)
        if "methods" in settings:  # by default those of the experiment
            settings["methods"] = settings["methods"] or tests["methods"]
        own = {key: tests[key] for key in cls.TESTS}
        return cls.for_cell(experiment, testset, metric, settings=settings, tests=own)

    @property
    def outputs(self) -> Files:
        return {"rows": self.at.study(self.NAME, self.testset, self.metric)}

    def statistics(self) -> list[SegmentStatistics]:
        """The statistics on the test set, or on each test set of a suite."""
        from replitune.significance.studies.pilot import with_systems
        from replitune.statistics.store import read_systems

        return [
            with_systems(read_systems(self.stores(testset)), self.systems)
            for testset in self.suite or [self.testset]
        ]

    def write(self, rows: Sequence[Any], kind: type) -> None:
        from replitune.results.rows import write_rows

        write_rows(str(self.outputs["rows"]), rows, kind)


class Power(Study):
    """What n replicas and N segments would detect."""

    NAME = "power"
    MEMORY_MB = 240, 85.0
    LOG = "power/{testset}/{metric}"
    VERSION = 5
    TESTS = ("pairs", "alpha", "paired_replicas", "margin")

    @classmethod
    def testsets_in(cls, experiment: Experiment) -> list[str]:
        """Suites, too. None unless replicas are runs, because plans are about numbers of runs."""
        return [] if experiment.design != "runs" else experiment.tested

    def run(self, conditions: Conditions) -> None:
        from replitune.significance.settings import TestSettings
        from replitune.significance.studies.power import PowerRow
        from replitune.significance.studies.settings import PowerSettings

        tests = read(TestSettings, self.tests, "tests")
        settings = read(PowerSettings, self.settings, "power")
        cell = Cell(self.testset, self.statistics(), [*self.suite.values()] or [1.0])
        self.write(power_rows([cell], tests.pairs, settings, tests), PowerRow)


class Replication(Study):
    """What fewer replicas could have shown."""

    NAME = "replication"
    VERSION = 4
    LOG = "replication/{testset}/{metric}"
    TESTS = ("pairs", "alpha")

    def run(self, conditions: Conditions) -> None:
        from replitune.significance.settings import TestSettings
        from replitune.significance.studies.replication import ReplicationRow
        from replitune.significance.studies.settings import ReplicationSettings

        tests = read(TestSettings, self.tests, "tests")
        settings = read(ReplicationSettings, self.settings, "replication")
        rows = replication_rows(self.statistics(), tests.pairs, settings, tests, self.seed)
        self.write(rows, ReplicationRow)


class Calibrate(Study):
    """How often each test finds a difference where there is none."""

    NAME = "calibrate"
    LOG = "calibrate/{testset}/{metric}"
    VERSION = 5

    @classmethod
    def is_possible(cls, experiment: Experiment, testset: str) -> bool:
        n = [len(experiment.replicas(system)) for system in experiment.decoding(testset)]
        smallest = 2 * min(experiment.settings.studies.calibrate.sizes)
        return sum(k > 1 for k in n) > 1 or max(n, default=0) >= smallest

    def run(self, conditions: Conditions) -> None:
        from replitune.significance.studies.calibrate import CalibrationRow
        from replitune.significance.studies.settings import CalibrateSettings

        settings = read(CalibrateSettings, self.settings, "calibrate")
        (rows,) = calibration_rows(self.statistics(), settings, self.seed)
        self.write(rows, CalibrationRow)


STUDIES = (Power, Replication, Calibrate)


# ---- what the studies compute and print


@dataclass(frozen=True)
class Cell:
    """One metric on a test set, or on each test set of a suite."""

    testset: str
    stores: Sequence[SegmentStatistics]
    weights: Sequence[float]


def power_rows(
    cells: Sequence[Cell],
    pairs: Any,
    settings: PowerSettings,
    tests: TestSettings,
    plans: Sequence[Plan] | None = None,
    prices: PricesOf | None = None,
) -> list[PowerRow]:
    """Power curves of every pair. `plans` replaces those of the settings."""
    from msgspec.structs import replace as with_fields

    from replitune.results.comparing import compare
    from replitune.significance.difference import margin_iv
    from replitune.significance.registry import LEAD
    from replitune.significance.settings import pairs_of_systems
    from replitune.significance.studies import power
    from replitune.significance.studies.cheapest import cheapest, proposal_lines
    from replitune.significance.studies.pilot import pair_of, pilot, replicated_pairs

    rows: list[PowerRow] = []
    for cell in cells:
        store = cell.stores[0]
        margin = tests.margin.get(store.metric.id)
        print(f"{store.metric.id} on {cell.testset or 'the test set'}")
        names = list(store.systems)
        lead = Entry(LEAD, {"unit": settings.unit})
        tested = with_fields(tests, methods=(lead,), pairs=pairs, intervals=())
        suite = dict(zip((one.testset for one in cell.stores), cell.weights, strict=True))
        suite = suite if len(suite) > 1 else {}
        compared = compare(cell.stores, tested, testset=cell.testset, suite=suite, seed=0)
        result = compared.metrics[store.metric.id]
        family = tuple((names.index(a), names.index(b)) for a, b in pairs_of_systems(pairs, names))
        for pair in replicated_pairs(store, pairs, 2):
            if margin is not None:
                margin_iv(margin, pair)
            each = [pair_of(one, pair.a.name, pair.b.name) for one in cell.stores]
            known = pilot(each, cell.weights, unit=settings.unit, paired=tests.paired_replicas)
            curve = power.power_curve(
                known,
                plans or power.plans(known, list(settings.replicas), list(settings.segments)),
                alpha=tests.alpha,
                power=settings.power,
                asked=settings.delta,
                margin=margin,
            )
            print(f"  {pair.b.name} - {pair.a.name}")
            for line in dict.fromkeys(map(power.sentence, curve)):
                print(f"    {line}")
            plain_runs = known.tuners == 1 and not tests.paired_replicas
            if len(family) > 1 and plain_runs and known.scope == "both":
                text = power.family_sentence(
                    known, settings.replicas, family, alpha=tests.alpha, power=settings.power
                )
                print(f"    {text}")
            if prices is not None and settings.delta is not None:
                proposals = cheapest(
                    known,
                    settings.delta,
                    prices((pair.a.name, pair.b.name), store.testset),
                    power=settings.power,
                    alpha=tests.alpha,
                )
                for line in proposal_lines(proposals):
                    print(f"    {line}")
            answer = result.answer((pair.a.name, pair.b.name))
            if answer is not None:
                print(f"    next, with what is in hand ({answer.by_text}): {answer.next}")
            rows += curve
    return rows


def replication_rows(
    stores: Sequence[SegmentStatistics],
    pairs: Any,
    settings: ReplicationSettings,
    tests: TestSettings,
    seed: int,
) -> list[ReplicationRow]:
    """What smaller experiments could have shown, for each pair."""
    import numpy as np

    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import small_experiments
    from replitune.results.numbers import decimals_of
    from replitune.significance.studies.calibrate import registered
    from replitune.significance.studies.pilot import replicated_pairs
    from replitune.significance.studies.replication import replicate
    from replitune.streams import stream

    methods = registered(settings.methods, settings.samples)
    rows: list[ReplicationRow] = []
    for store in stores:
        print(f"{store.metric.id} on {store.testset or 'the test set'}")
        for pair in replicated_pairs(store, pairs, 2):
            names = sorted((pair.a.name, pair.b.name))
            of_pair = replicate(
                pair,
                list(settings.sizes),
                methods,
                repeats=settings.repeats,
                alpha=tests.alpha,
                rng=partial(stream, seed, "replication", store.testset, *names),
            )
            print(f"  {pair.b.name} - {pair.a.name} ({pair.a.n} and {pair.b.n} runs)")
            scores = pair.scores_a, pair.scores_b
            decimals = decimals_of(
                np.concatenate(scores).tolist(), s_test=[float(np.std(s, ddof=1)) for s in scores]
            )
            print_table(small_experiments(of_pair, decimals), indent=4)
            rows += of_pair
    return rows


def calibration_rows(
    stores: Sequence[SegmentStatistics], settings: CalibrateSettings, seed: int
) -> list[list[CalibrationRow]]:
    """The rows of each store."""
    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import rejections
    from replitune.significance.studies.calibrate import calibrate, registered

    tests = registered(settings.methods, settings.samples)
    tables = []
    for store in stores:
        rows = calibrate(
            store.metric,
            store.systems,
            store.documents,
            tests,
            ns=list(settings.sizes),
            trials=settings.trials,
            unit=settings.unit,
            seed=seed,
        )
        if not rows:
            raise ReplituneError(
                "no study is possible with so few runs",
                found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
                expected=f"at least {2 * min(settings.sizes)} of one system",
            )
        print(f"{store.metric.id} on {store.testset or 'the test set'}: share of p <= alpha\n")
        print_table(rejections(rows), indent=0)
        print()
        tables.append(rows)
    return tables
