"""Segment statistics of outputs, as Parquet.

  replitune score --refs ref.txt --hyps A=a1.txt a2.txt --hyps B=b1.txt b2.txt \\
                  --metrics bleu ter --out stats

writes stats/<metric>/<system>.parquet. With one metric, --out NAME.parquet writes one file.
Instead of --hyps: --hyps-from LIST, a file of lines SYSTEM<TAB>FILE or
SYSTEM<TAB>REPLICA<TAB>FILE; or --hyps-from DIR --system NAME --replicas mert=20, the files
DIR/mert-001.txt and on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from replitune.cli.options import replica_words, safe_name, system_files
from replitune.errors import ReplituneError
from replitune.replicas import Replica, replica_ids
from replitune.running.failures import read_failure
from replitune.running.files import read_lines

if TYPE_CHECKING:
    from replitune.statistics.scoring import Scorer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--refs",
        nargs="+",
        required=True,
        metavar="R",
        help="references: text files, or one prepared test set, TSV, WMT XML or SGM",
    )
    parser.add_argument("--docs", metavar="FILE", help="document id of each segment, one a line")
    parser.add_argument(
        "--hyps", nargs="+", action="append", metavar="NAME=H", help="a system and its outputs"
    )
    parser.add_argument("--hyps-from", metavar="PATH", help="list file, or folder of one system")
    parser.add_argument("--system", metavar="NAME", help="the system of the folder --hyps-from")
    parser.add_argument("--replicas", nargs="+", metavar="PREFIX=N", help="replicas in that folder")
    parser.add_argument("--allow-missing", action="store_true", help="score without replicas that failed")
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=["bleu"],
        metavar="M",
        help="metrics, with options as METRIC:key=value,... (default: bleu)",
    )
    parser.add_argument(
        "--testset",
        default="testset",
        metavar="NAME",
        help="name of the test set; it names random streams (default %(default)s)",
    )
    parser.add_argument("--out", required=True, metavar="STORE", help="folder, or .parquet file")


def run(options: argparse.Namespace) -> None:
    from replitune.corpus.reader import read_testset
    from replitune.metrics.registry import METRICS
    from replitune.statistics.scoring import Scorer

    out = Path(options.out)
    safe_name(options.testset, "--testset")
    systems = _systems(options)
    entries = METRICS.entries(options.metrics)
    testset = read_testset(options.refs, documents=options.docs)
    scorers = [Scorer(entry, testset, options.testset) for entry in entries]
    if out.suffix == ".parquet" and len(scorers) > 1:
        raise ReplituneError(
            "one .parquet file holds one metric",
            found=", ".join(options.metrics),
            fix="give a folder with --out",
        )
    score_outputs(systems, scorers, out, options.refs[0], allow_missing=options.allow_missing)


def score_outputs(
    systems: Mapping[str, Mapping[Replica, str]],
    scorers: Sequence[Scorer],
    out: Path,
    references: str,
    *,
    allow_missing: bool = False,
    take_over: bool = True,
    made: Sequence[Path] = (),
    may_be_empty: bool = False,
) -> None:
    """Score outputs by system and replica. `out` is a folder, or with one metric a .parquet file.
    Rows of unchanged replicas are taken over from what is there, unless told otherwise, and from
    the files `made`. A system may have lost all its replicas where that is said."""
    from replitune.metrics.base import MeanMetric
    from replitune.statistics.diagnosis import diagnose, find_copies, is_note
    from replitune.statistics.outputs import read_outputs
    from replitune.statistics.store import write_store

    one_file = out.suffix == ".parquet"
    testset = scorers[0].testset
    collected = []
    hashes: dict[str, list[str]] = {}
    for name, given in systems.items():
        files, missing = _there(name, given, allow_missing, may_be_empty)
        outputs = read_outputs(files.values(), testset.segments, references)
        texts = files and not all(isinstance(s.metric, MeanMetric) for s in scorers)
        for sentence in diagnose(name, outputs, testset.references) if texts else ():
            if is_note(sentence):
                print(f"note: {sentence}")
            else:
                print(f"warning: {sentence}", file=sys.stderr)
        hashes[name] = outputs.sha256
        for scorer in scorers:
            path = out if one_file else out / scorer.metric.id / f"{name}.parquet"
            previous = [*made, *([path] if take_over else [])]
            scored = replace(scorer.score(name, list(files), outputs, previous=previous), missing=missing)
            print(
                f"{scorer.metric.id}: {name}: {len(files)} replicas of {testset.segments} "
                f"segments; {scored.computed} distinct outputs scored, rows of {scored.taken_over} "
                f"replicas taken over"
                + (f"; {scored.unscored} segments have no score" if scored.unscored else "")
            )
            if one_file:
                collected.append(scored)
            else:
                write_store(
                    path, [scored.system], scorer.metric, scorer.metadata([scored]), testset.documents
                )
    for warning in find_copies(hashes):
        print(f"warning: {warning}", file=sys.stderr)
    if one_file:
        write_store(
            out,
            [scored.system for scored in collected],
            scorers[0].metric,
            scorers[0].metadata(collected),
            testset.documents,
        )


def _there(
    name: str, files: Mapping[Replica, str], allow_missing: bool, may_be_empty: bool
) -> tuple[dict[Replica, str], dict[str, str]]:
    """The outputs that could be made, and why the others could not."""
    failures = {replica: read_failure(file) for replica, file in files.items()}
    missing = {r.id: f"{f.stage}: {f.reason}" for r, f in failures.items() if f is not None}
    for replica, failure in failures.items():
        if failure is not None and not allow_missing:
            raise failure.error(files[replica])
    if missing:
        print(
            f"warning: {name}: {len(missing)} of {len(files)} replicas are missing: " + ", ".join(missing),
            file=sys.stderr,
        )
    if len(missing) == len(files) and not may_be_empty:
        raise ReplituneError(
            f"no replica of system {name} could be made", found=next(iter(missing.values()))
        )
    return {r: file for r, file in files.items() if failures[r] is None}, missing


def _systems(options: argparse.Namespace) -> dict[str, dict[Replica, str]]:
    """Files by system and replica."""
    if (options.hyps is None) == (options.hyps_from is None):
        raise ReplituneError("give either --hyps or --hyps-from")
    if options.hyps is not None:
        systems: dict[str, dict[Replica, str]] = {}
        for given in options.hyps:
            name, files = system_files(given, "--hyps")
            safe_name(name, "--hyps")
            if name in systems:
                raise ReplituneError(f"--hyps names system {name} twice")
            systems[name] = _numbered(files)
        return systems
    if options.system is not None:
        safe_name(options.system, "--system")
        if not options.replicas:
            raise ReplituneError("--system needs --replicas", expected="such as mert=20")
        folder = Path(options.hyps_from)
        replicas = replica_ids(replica_words(options.replicas))
        return {options.system: {r: str(folder / f"{r.id}.txt") for r in replicas}}
    return _listed(options.hyps_from)


def _numbered(files: list[str]) -> dict[Replica, str]:
    return dict(zip(replica_ids({"run": len(files)}), files, strict=True))


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
                expected="SYSTEM<TAB>FILE or SYSTEM<TAB>REPLICA<TAB>FILE",
            )
        name = safe_name(fields[0], f"{path}:{number}")
        if len(fields) == 2:
            unnamed.setdefault(name, []).append(fields[1])
            systems[name] = _numbered(unnamed[name])
        else:
            replica = Replica(safe_name(fields[1], f"{path}:{number}"))
            if replica in systems.setdefault(name, {}):
                raise ReplituneError(
                    f"replica {replica.id} of system {name} is listed twice", file=path, line=number
                )
            systems[name][replica] = fields[2]
    if not systems:
        raise ReplituneError("an empty list of outputs", file=path)
    return systems
