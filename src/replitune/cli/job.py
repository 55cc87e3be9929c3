"""Run one job of the workflow, as its rules do.

  replitune job STAGE --settings JSON

The JSON has the fields of a stage (`replitune.experiment.stage`), with the names of the files that it
reads and writes. The other commands, which call the same functions, are meant for people.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from replitune.errors import ReplituneError
from replitune.experiment.stage import STAGES, Conditions, Stage, paths_of
from replitune.ledger.records import index, results_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    stages = STAGES.names
    parser.add_argument("stage", metavar="STAGE", choices=stages, help=", ".join(stages))
    parser.add_argument("--settings", required=True, metavar="JSON", help="settings of this job, as JSON")
    parser.add_argument(
        "--allow-failures", action="store_true", help="if a single run cannot be made, go on without it"
    )
    parser.add_argument("--record", metavar="FILE", help="write how this job ran, as JSON")
    parser.add_argument(
        "--from-storage",
        action="store_true",
        help="inputs, and the records of how they were made, come from a Snakemake storage",
    )


def read_stage(options: argparse.Namespace) -> Stage:
    try:
        return msgspec.json.decode(options.settings, type=STAGES[options.stage])
    except msgspec.DecodeError as error:
        raise ReplituneError(
            f"--settings does not fit stage {options.stage}",
            found=str(error),
            fix="leave this command to Snakemake; the others are for people",
        ) from None


def inputs(options: argparse.Namespace) -> list[Path]:
    if options.from_storage:
        index(results_of(options.record))
    return [path for path in paths_of(read_stage(options).inputs) if path.exists()]


def outputs(options: argparse.Namespace) -> list[Path]:
    return paths_of(read_stage(options).outputs)


def run(options: argparse.Namespace) -> None:
    conditions = Conditions(
        threads=options.threads, allow_failures=options.allow_failures, record=options.record
    )
    for name, part in read_stage(options).pieces.items():
        if options.pieces is None:
            part.run(conditions)
            continue
        settings = f"{part.json} {options.allow_failures}" if part.KEPT else None
        files = paths_of(part.inputs), paths_of(part.outputs)
        if options.pieces.is_made(name, settings, *files):
            print(f"{name or part.NAME}: nothing it depends on has changed; the earlier output is kept")
            continue
        with options.pieces.on(name):
            part.run(conditions)
