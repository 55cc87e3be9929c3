"""Say what to do next: more runs, and of which systems, more segments, or nothing.

  replitune next results/X/stats --metric bleu --most 20 --manifest results/X

This follows the rule of adaptive replication (docs/adaptive.md), as if the looks had been planned in
advance. With `until: settled`, `replitune run` follows the rule by itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import msgspec

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_manifest, add_store_options, given_pairs, given_stores
from replitune.errors import ReplituneError
from replitune.results.numbers import decimals_of
from replitune.significance.looks.record import Record
from replitune.significance.looks.settings import LookSettings
from replitune.significance.settings import TestSettings
from replitune.significance.studies.pilot import with_systems
from replitune.significance.studies.settings import PlanningSettings
from replitune.statistics.segments import SegmentStatistics

RULE = ("looks", "doubt", "futility", "skip")
TESTED = ("methods", "alpha", "correction", "paired_replicas")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, seed=False, suite=True)
    parser.add_argument(
        "--metric", metavar="ID", help="the metric that decides (required if there are several)"
    )
    parser.add_argument(
        "--most",
        type=int,
        metavar="N",
        help="the most runs of each kind that a system may have (default: the last look)",
    )
    add_settings(parser, LookSettings, *RULE)
    add_settings(parser, TestSettings, *TESTED)
    add_settings(parser, PlanningSettings, "margin", "cpu_per_run")
    add_manifest(parser)


def run(options: argparse.Namespace) -> None:
    from replitune.report.terminal_looks import PLANNED, advice_lines, look_table
    from replitune.results.in_hand import advise

    settings = LookSettings(**given_settings(options, LookSettings, *RULE))
    tests = TestSettings(pairs=given_pairs(options), **given_settings(options, TestSettings, *TESTED))
    margin = PlanningSettings(**given_settings(options, PlanningSettings, "margin")).margin
    most = settings.looks[-1] if options.most is None else options.most
    if most <= settings.looks[0]:
        raise ReplituneError(
            "--most is not above the first look", found=str(most), expected=f"more than {settings.looks[0]}"
        )
    stores, suite = given_stores(options)
    stores = stores_of_metric(stores, options.metric)
    if margin is not None:
        tests = msgspec.structs.replace(tests, margin={stores[0].metric.id: margin})
    if options.systems is not None:
        stores = [with_systems(store, options.systems) for store in stores]
    advice = advise(stores, tests, settings, most, suite)
    if advice.record is not None:
        print(f"{look_table(advice.record, _decimals(stores[0], advice.record))}\n")
    for line in advice_lines(advice, _prices(options, list(advice.wanted))):
        print(line)
    print(f"note: {PLANNED}", file=sys.stderr)


def _decimals(store: SegmentStatistics, record: Record) -> int:
    """Decimals for the metric that decides."""
    scores = [store.metric.score(system.sums) for system in store.systems.values()]
    pairs = [row for look in record.looks for row in look.pairs]
    return decimals_of(
        [float(s.mean()) for s in scores],
        s_test=[float(s.std(ddof=1)) for s in scores if len(s) > 1],
        se=[None if row.variance is None else row.variance**0.5 for row in pairs],
    )


def stores_of_metric(stores: Sequence[SegmentStatistics], id: str | None) -> list[SegmentStatistics]:
    """The stores of the metric that decides."""
    known = list(dict.fromkeys(store.metric.id for store in stores))
    chosen = [store for store in stores if id in (None, store.metric.id)]
    if len({store.metric.id for store in chosen}) != 1:
        raise ReplituneError(
            "one metric has to decide",
            found=f"--metric {id}" if id else ", ".join(known),
            expected=f"one of {', '.join(known)}",
            fix="choose one with --metric",
        )
    return chosen


def _prices(options: argparse.Namespace, systems: list[str]) -> dict[str, float]:
    """CPU seconds of one run of each system, where they are known."""
    from replitune.ledger.prices import prices_of

    planning = PlanningSettings(**given_settings(options, PlanningSettings, "cpu_per_run"))
    if planning.cpu_per_run is not None:
        return dict.fromkeys(systems, planning.cpu_per_run)
    prices: dict[str, float] = {}
    for name in systems if options.manifest is not None else ():
        try:
            prices[name] = prices_of(options.manifest, [name], segment=1.0).run
        except ReplituneError as error:
            if "is not known" not in error.message:
                raise
            print(f"note: {error.message}: nothing was tuned or trained", file=sys.stderr)
    return prices
