"""Translations of one system on one test set, one line per segment.

A system that is made: one replica, to the file --out. Outputs that are already on disk: all
replicas at once, from the patterns in --outputs, checked and copied to the folder --out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.experiment import output_files
from replitune.files import read_lines, write_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", required=True, metavar="NAME")
    parser.add_argument("--replica", metavar="ID", help="such as mert-003 or seed-001")
    parser.add_argument("--settings", metavar="JSON", help="the system's settings")
    parser.add_argument("--seed", type=int, default=2011, help="the experiment's seed")
    parser.add_argument("--testset", required=True, metavar="FILE", help="prepared test set")
    parser.add_argument("--name", required=True, metavar="NAME", help="name of the test set")
    parser.add_argument("--outputs", metavar="JSON", help="patterns of files on disk")
    parser.add_argument("--base", default=".", metavar="DIR", help="where the patterns start")
    parser.add_argument("--out", required=True, metavar="PATH")


def run(options: argparse.Namespace) -> None:
    from replitune.corpus.testset import read_prepared

    testset = read_prepared(options.testset)
    if options.outputs is not None:
        _take_over(options, testset.segments)
        return
    settings = json.loads(options.settings)
    if settings["backend"] != "corruption":
        raise ReplituneError(f"backend {settings['backend']!r} does not decode")
    from replitune.backends.corruption import corrupted_replica

    lines = corrupted_replica(
        testset.references[0],
        errors=settings["errors"],
        spread=settings["spread"],
        seed=options.seed,
        system=options.system,
        replica=options.replica,
        testset=options.name,
    )
    write_lines(options.out, lines)


def _take_over(options: argparse.Namespace, segments: int) -> None:
    """All files are read and checked before the first one is written."""
    what = f"system {options.system}, test set {options.name}"
    files = output_files(what, json.loads(options.outputs), Path(options.base))
    outputs: dict[str, list[str]] = {}
    for replica, file in files.items():
        lines = read_lines(file)
        if len(lines) != segments:
            raise ReplituneError(
                f"line counts differ: output of system {options.system} on {options.name}",
                file=file,
                found=f"{len(lines)} lines in {file}",
                expected=f"{segments} lines, one per segment of {options.testset}",
                fix="give the output on the whole test set, one line per segment",
            )
        outputs[replica.id] = lines
    for name, lines in outputs.items():
        write_lines(Path(options.out) / f"{name}.txt", lines)
