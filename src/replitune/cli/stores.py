"""Shared by commands on segment statistics: reading one test set or a suite, its systems and pairs."""

from __future__ import annotations

import argparse
from typing import Any

from replitune.cli.options import add_seed, pairs_of
from replitune.errors import ReplituneError
from replitune.settings import from_text, read
from replitune.significance.settings import Pairs, Weight
from replitune.significance.studies.pilot import with_systems
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.store import read_stores


def add_store_options(
    parser: argparse.ArgumentParser, *, pairs: bool = True, seed: bool = True, suite: bool = False
) -> None:
    """Add the options of every study of one test set, or of a suite."""
    parser.add_argument(
        "store",
        metavar="STORE",
        help="segment statistics: a file, a folder of any depth, or an experiment's results",
    )
    parser.add_argument("--testset", metavar="NAME", help="only this test set")
    parser.add_argument("--systems", nargs="+", metavar="NAME", help="only these, in this order")
    if pairs:
        parser.add_argument(
            "--pairs", nargs="+", default=["all"], metavar="A:B", help="all, baseline=NAME, or pairs"
        )
    if seed:
        add_seed(parser)
    if suite:
        parser.add_argument(
            "--suite",
            nargs="*",
            metavar="TESTSET[=WEIGHT]",
            help="take these test sets of the store together, or all of them",
        )


def add_manifest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--manifest", metavar="FILE", help="manifest.json of an experiment, to take prices from"
    )


def given_pairs(options: argparse.Namespace) -> Any:
    return read(Pairs, pairs_of(options.pairs), "--pairs")


def one_testset(store: str, testset: str | None) -> list[SegmentStatistics]:
    """The statistics of all metrics on one test set: `testset`, or the only one in the store."""
    stores = read_stores(store)
    if testset is not None and any(item.testset for item in stores):
        stores = [item for item in stores if item.testset in (testset, "")]
    names = {item.testset for item in stores}
    if not stores or len(names) > 1:
        raise ReplituneError(
            "exactly one test set is needed",
            file=store,
            found=", ".join(sorted(names)) or "none",
            fix="choose one with --testset",
        )
    return stores


def given_stores(options: argparse.Namespace) -> tuple[list[SegmentStatistics], dict[str, float]]:
    """The statistics of each metric on one test set, or on each test set of a suite; and the weights of
    a suite's test sets, from ``TESTSET[=WEIGHT] ...`` (all with equal weights by default)."""
    if options.suite is None:
        return one_testset(options.store, options.testset), {}
    store = options.store
    by_testset: dict[str, list[SegmentStatistics]] = {}
    for item in read_stores(store):
        by_testset.setdefault(item.testset, []).append(item)
    weights: dict[str, float] = {}
    for word in options.suite or by_testset:
        name, _, text = word.partition("=")
        weights[name] = read(Weight, from_text(Weight, text or "1"), f"--suite {name}")
        if name not in by_testset:
            raise ReplituneError(
                f"no test set {name!r} in this store", file=store, expected=", ".join(by_testset)
            )
    if len(weights) < 2:
        raise ReplituneError(
            "a suite needs two test sets or more", file=store, found=", ".join(weights) or "none"
        )
    total = sum(weights.values())
    suite = {name: weight / total for name, weight in weights.items()}
    return [item for name in suite for item in by_testset[name]], suite


def chosen_stores(options: argparse.Namespace) -> list[SegmentStatistics]:
    """The statistics of all metrics on one test set, for the chosen systems; with --out, of the only
    metric."""
    stores = one_testset(options.store, options.testset)
    if options.out is not None and len(stores) != 1:
        raise ReplituneError("--out takes one metric", found=", ".join(s.metric.id for s in stores))
    if options.systems is None:
        return stores
    return [with_systems(store, options.systems) for store in stores]
