"""Compute the segment statistics from which scores and tests are made, as Parquet.

  replitune score --refs ref.txt --hyps A=a1.txt a2.txt --hyps B=b1.txt b2.txt \\
                  --metrics bleu ter --out stats

This writes stats/<metric>/<system>.parquet; with one metric, --out NAME.parquet writes one file.
--hyps-from takes a file with lines SYSTEM<TAB>FILE or SYSTEM<TAB>RUN<TAB>FILE; or, with --system
NAME --replicas mert=20, the folder of mert-001.txt to mert-020.txt.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from replitune import api
from replitune.cli.options import add_settings, replica_words, safe_name, system_files
from replitune.errors import ReplituneError
from replitune.readers.names import replicas_of
from replitune.registry import SystemName
from replitune.replicas import Replica, replica_ids
from replitune.running.files import read_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--refs",
        nargs="+",
        required=True,
        metavar="R",
        help="references: text files, or one prepared test set, TSV, WMT XML or SGM",
    )
    parser.add_argument(
        "--hyps", nargs="+", action="append", metavar="NAME=H", help="a system and its outputs"
    )
    parser.add_argument("--hyps-from", metavar="PATH", help="list file, or folder of one system")
    parser.add_argument("--system", metavar="NAME", help="the system of the folder --hyps-from")
    parser.add_argument("--replicas", nargs="+", metavar="PREFIX=N", help="runs in that folder")
    parser.add_argument("--allow-missing", action="store_true", help="score without runs that failed")
    add_settings(parser, api.compare, "documents", "metrics", "testset")
    parser.add_argument("--out", required=True, metavar="STORE", help="folder, or .parquet file")


def run(options: argparse.Namespace) -> None:
    from replitune.corpus.reader import read_testset
    from replitune.metrics.registry import METRICS
    from replitune.results.texts import warn
    from replitune.statistics.score_systems import score_systems
    from replitune.statistics.scoring import Scorer

    out = Path(options.out)
    testset_name = safe_name(options.testset or api.TESTSET, "--testset")
    systems = _systems(options)
    entries = METRICS.entries(options.metrics or api.METRICS)
    testset = read_testset(options.refs, documents=options.documents)
    scorers = [Scorer(entry, testset, testset_name) for entry in entries]
    if out.suffix == ".parquet" and len(scorers) > 1:
        raise ReplituneError(
            "one .parquet file holds one metric",
            found=", ".join(options.metrics),
            fix="give a folder with --out",
        )
    found = score_systems(systems, scorers, out, options.refs[0], allow_missing=options.allow_missing)
    warn(found, [scorer.metric.id for scorer in scorers])


def _systems(options: argparse.Namespace) -> dict[str, dict[Replica, str]]:
    """Files by system and replica."""
    if (options.hyps is None) == (options.hyps_from is None):
        raise ReplituneError("give either --hyps or --hyps-from")
    if options.hyps is not None:
        systems: dict[str, dict[Replica, str]] = {}
        for given in options.hyps:
            name, files = system_files(given, "--hyps")
            if name in systems:
                raise ReplituneError(f"--hyps names system {name} twice")
            systems[name] = _numbered(files)
        return systems
    if options.system is not None:
        safe_name(options.system, "--system", SystemName)
        if not options.replicas:
            raise ReplituneError("--system needs --replicas", expected="such as mert=20")
        folder = Path(options.hyps_from)
        replicas = replica_ids(replica_words(options.replicas))
        return {options.system: {r: str(folder / f"{r.id}.txt") for r in replicas}}
    return _listed(options.hyps_from)


def _numbered(files: list[str]) -> dict[Replica, str]:
    return dict(zip(replicas_of(files, len(files)), files, strict=True))


def _listed(path: str) -> dict[str, dict[Replica, str]]:
    """Lines SYSTEM<TAB>FILE or SYSTEM<TAB>REPLICA<TAB>FILE."""
    systems: dict[str, dict[Replica, str]] = {}
    unnamed: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) not in (2, 3) or not all(fields):
            raise ReplituneError(
                "not a line of a list of outputs",
                file=path,
                line=number,
                found=repr(line),
                expected="SYSTEM<TAB>FILE or SYSTEM<TAB>RUN<TAB>FILE",
            )
        name = safe_name(fields[0], f"{path}:{number}", SystemName)
        if len(fields) == 2:
            unnamed.setdefault(name, []).append(fields[1])
            systems[name] = _numbered(unnamed[name])
        else:
            replica = Replica(safe_name(fields[1], f"{path}:{number}"))
            if replica in systems.setdefault(name, {}):
                raise ReplituneError(
                    f"run {replica.id} of system {name} is listed twice", file=path, line=number
                )
            systems[name][replica] = fields[2]
    if not systems:
        raise ReplituneError("an empty list of outputs", file=path)
    return systems
