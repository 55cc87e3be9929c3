"""What n replicas and N segments would detect, from the variances of a finished comparison.

  replitune power stats --plans 3x1000 5x1000 10x3000 --delta 0.5
  replitune power stats --delta 0.5 --manifest results/X/manifest.json

A plan is REPLICASxSEGMENTS. Without --plans: --replicas (3, 5, 10 and 20) on --segments (those at
hand, twice and four times as many, and any number). In brackets is a 90% interval: what the few
runs of this experiment leave open. With --delta and prices, from a manifest or as options, also the
cheapest plan that finds this difference.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import (
    add_store_options,
    add_suite,
    chosen_stores,
    given_pairs,
    job_stores,
    of_pair,
    replicated_pairs,
    stores_of_suite,
    with_systems,
)
from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.settings import read
from replitune.significance.settings import TestSettings
from replitune.significance.studies.settings import PlanningSettings, PowerSettings

if TYPE_CHECKING:
    from replitune.significance.studies.cheapest import Prices
    from replitune.significance.studies.pilot import Pilot
    from replitune.significance.studies.planned import Plan
    from replitune.significance.studies.power import PowerRow
    from replitune.statistics.store import SegmentStatistics

    PricesOf = Callable[[Sequence[str], str], Prices]
    """Of two systems on a test set."""

SETTINGS = ("replicas", "segments", "delta", "power", "unit")
PLANNING = ("margin", "cpu_per_run", "cpu_per_segment")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, seed=False)
    add_suite(parser)
    parser.add_argument("--plans", nargs="+", metavar="NxSEGMENTS", help="REPLICASxSEGMENTS of each plan")
    add_settings(parser, PowerSettings, *SETTINGS)
    add_settings(parser, TestSettings, "alpha", "paired_replicas")
    add_settings(parser, PlanningSettings, *PLANNING)
    parser.add_argument(
        "--manifest", metavar="FILE", help="manifest.json of an experiment that tells the prices"
    )
    parser.add_argument("--out", metavar="FILE.parquet", help="power curves as rows")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.power import PowerRow

    settings = PowerSettings(**given_settings(options, PowerSettings, *SETTINGS))
    planning = PlanningSettings(**given_settings(options, PlanningSettings, *PLANNING))
    cells = _cells(options)
    ids = [cell.stores[0].metric.id for cell in cells]
    margins = {id: planning.margin for id in ids if planning.margin}
    found = rows(
        cells,
        given_pairs(options),
        settings,
        TestSettings(**given_settings(options, TestSettings, "alpha", "paired_replicas"), margin=margins),
        options.plans,
        _prices(options.manifest, planning, settings),
    )
    if options.out is not None:
        write_rows(options.out, found, PowerRow)


def job(job: stages.Power, options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.power import PowerRow

    tests = read(TestSettings, job.tests, "tests")
    settings = read(PowerSettings, job.settings, "power")
    weights = [*job.suite.values()] or [1.0]
    cell = Cell(job.testset, job_stores(job), weights)
    found = rows([cell], tests.pairs, settings, tests)
    write_rows(str(job.outputs["rows"]), found, PowerRow)


@dataclass(frozen=True)
class Cell:
    """One metric on a test set, or on each test set of a suite."""

    testset: str
    stores: Sequence[SegmentStatistics]
    weights: Sequence[float]


def _cells(options: argparse.Namespace) -> list[Cell]:
    """Of the command: every metric."""
    if options.suite is None:
        return [Cell(store.testset, [store], [1.0]) for store in chosen_stores(options)]
    found, suite = stores_of_suite(options.store, options.suite)
    by_metric: dict[str, list[SegmentStatistics]] = {}
    for store in found:
        chosen = store if options.systems is None else with_systems(store, options.systems)
        by_metric.setdefault(store.metric.id, []).append(chosen)
    return [Cell("suite", stores, [*suite.values()]) for stores in by_metric.values()]


def rows(
    cells: Sequence[Cell],
    pairs: Any,
    settings: PowerSettings,
    tests: TestSettings,
    plans: Sequence[str] | None = None,
    prices: PricesOf | None = None,
) -> list[PowerRow]:
    """Power curves of every pair, which are also said on the terminal."""
    from replitune.significance.margins import margin_iv
    from replitune.significance.studies import power
    from replitune.significance.studies.cheapest import cheapest, said
    from replitune.significance.studies.pilot import pilot

    rows: list[power.PowerRow] = []
    for cell in cells:
        store = cell.stores[0]
        margin = tests.margin.get(store.metric.id)
        print(f"{store.metric.id} on {cell.testset or 'the test set'}")
        for pair in replicated_pairs(store, pairs, 2):
            if margin is not None:
                margin_iv(margin, pair)
            each = [of_pair(one, pair.a.name, pair.b.name) for one in cell.stores]
            known = pilot(each, cell.weights, unit=settings.unit, paired=tests.paired_replicas)
            found = power.power_curve(
                known,
                _plans(settings, plans, known),
                alpha=tests.alpha,
                power=settings.power,
                asked=settings.delta,
                margin=margin,
            )
            print(f"  {pair.b.name} - {pair.a.name}")
            for line in dict.fromkeys(map(power.sentence, found)):
                print(f"    {line}")
            if prices is not None and settings.delta is not None:
                proposals = cheapest(
                    known,
                    settings.delta,
                    prices((pair.a.name, pair.b.name), store.testset),
                    power=settings.power,
                    alpha=tests.alpha,
                )
                for line in said(proposals):
                    print(f"    {line}")
            rows += found
    return rows


def _prices(manifest: str | None, planning: PlanningSettings, settings: PowerSettings) -> PricesOf | None:
    """None where no prices are given."""
    from replitune.ledger.prices import prices_of

    run, segment = planning.cpu_per_run, planning.cpu_per_segment
    if manifest is None and run is None and segment is None:
        return None
    if settings.delta is None:
        raise ReplituneError(
            "prices are for the cheapest plan that finds a difference",
            fix="give the difference with --delta",
        )

    def of(systems: Sequence[str], testset: str) -> Prices:
        return prices_of(manifest, systems, testset, run=run, segment=segment)

    return of


def _plans(settings: PowerSettings, words: Sequence[str] | None, pilot: Pilot) -> list[Plan]:
    from replitune.significance.studies.planned import Plan
    from replitune.significance.studies.power import plans

    if words is None:
        return plans(pilot, list(settings.replicas), list(settings.segments))
    chosen = []
    for word in words:
        n, _, N = word.partition("x")
        if not (n.isdigit() and N.isdigit()):
            raise ReplituneError(
                f"--plans: {word!r} is not a plan", expected="REPLICASxSEGMENTS, such as 5x1000"
            )
        chosen.append(Plan(int(n), int(n), int(N)))
    return chosen
