"""How often each test finds a difference where there is none, on your own replicas.

  replitune calibrate stats --methods crossed clark fu-ar --sizes 3 5

Three studies, wherever the pools of replicas are large enough: a system against itself (A/A); two
systems whose outputs are swapped by a coin for each segment (the next test set); and simulation
from the variance components of each pair.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_store_options, chosen_stores, job_stores
from replitune.errors import ReplituneError
from replitune.experiment import stages
from replitune.settings import read
from replitune.significance.registry import TESTS
from replitune.significance.studies.settings import CalibrateSettings

if TYPE_CHECKING:
    from replitune.significance.studies.calibrate import CalibrationRow
    from replitune.statistics.store import SegmentStatistics

SETTINGS = ("sizes", "methods", "trials", "samples", "unit")
METHODS = ("crossed", "clark", "riezler", "fu-ar")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, pairs=False)
    said = f"tests to calibrate, with options as TEST:key=value,... (default {' '.join(METHODS)})"
    add_settings(parser, CalibrateSettings, *SETTINGS, help={"methods": said})
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.calibrate import CalibrationRow

    given: dict[str, Any] = {"methods": tuple(TESTS.entries(METHODS))}
    given |= given_settings(options, CalibrateSettings, *SETTINGS)
    for found in tables(chosen_stores(options), CalibrateSettings(**given), options.seed):
        if options.out is not None:
            write_rows(options.out, found, CalibrationRow)


def job(job: stages.Calibrate, options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.calibrate import CalibrationRow

    settings = read(CalibrateSettings, job.settings, "calibrate")
    (found,) = tables(job_stores(job), settings, job.seed)
    write_rows(str(job.outputs["rows"]), found, CalibrationRow)


def tables(
    stores: Sequence[SegmentStatistics], settings: CalibrateSettings, seed: int
) -> list[list[CalibrationRow]]:
    """The rows of each metric, which are also said on the terminal."""
    from replitune.report.terminal import print_table
    from replitune.report.terminal_studies import rejections
    from replitune.significance.studies.calibrate import calibrate, registered

    tests = registered(settings.methods, settings.samples)
    found = []
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
                "no study is possible with so few replicas",
                found=", ".join(f"{s.n} of {name}" for name, s in store.systems.items()),
                expected=f"at least {2 * min(settings.sizes)} of one system",
            )
        print(f"{store.metric.id} on {store.testset or 'the test set'}: share of p <= alpha\n")
        print_table(rejections(rows), indent=0)
        print()
        found.append(rows)
    return found
