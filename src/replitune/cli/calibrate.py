"""How often each test finds a difference where there is none, on your own runs.

  replitune calibrate stats --methods crossed clark fu-ar --sizes 3 5

If there are enough runs, three studies are made: a system against itself (A/A); two systems whose
outputs are swapped at random, segment by segment (the next test set); and a simulation from the
variance components of each pair.
"""

from __future__ import annotations

import argparse
from typing import Any

from replitune.cli.options import add_settings, given_settings
from replitune.cli.stores import add_store_options, chosen_stores
from replitune.significance.registry import TESTS
from replitune.significance.studies.settings import CalibrateSettings

SETTINGS = ("sizes", "methods", "trials", "samples", "unit")
METHODS = ("crossed", "clark", "riezler", "fu-ar")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_store_options(parser, pairs=False)
    text = f"tests to calibrate, with options as TEST:key=value,... (default {' '.join(METHODS)})"
    add_settings(parser, CalibrateSettings, *SETTINGS, help={"methods": text})
    parser.add_argument("--out", metavar="FILE.parquet", help="write the rows (one metric)")


def run(options: argparse.Namespace) -> None:
    from replitune.results.rows import write_rows
    from replitune.significance.studies.calibrate import CalibrationRow
    from replitune.stages.studies import calibration_rows

    given: dict[str, Any] = {"methods": tuple(TESTS.entries(METHODS))}
    given |= given_settings(options, CalibrateSettings, *SETTINGS)
    for rows in calibration_rows(chosen_stores(options), CalibrateSettings(**given), options.seed):
        if options.out is not None:
            write_rows(options.out, rows, CalibrationRow)
