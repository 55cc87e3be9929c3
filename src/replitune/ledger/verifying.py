"""Whether results are still what the workflow made: hashes, origins, and the tests computed again.

Five questions. Are files of the manifest changed or gone, or are there new ones? Do the three records
of a sha256 (manifest, job, `.made`) agree? Are the inputs on this machine the ones that were used? Do
the statistics say that they were made from these translations and references? And do the tests follow
from the statistics, to the last digit?
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import belongings
from replitune.ledger.manifest import difference, experiment_in, experiment_of, read_manifest, stays_inside
from replitune.ledger.records import maker, records, result_files, sha256_in
from replitune.running.files import bytes_of, read_lines, sha256_file, sha256_lines
from replitune.running.parquet import parquet_file

SHOWN = 5
"""Differing values of a table that are listed; further ones are only counted."""

CLOSE, NOTHING = 1e-9, 1e-12
"""Relative and absolute differences that count as last digits: what the functions of another C library
(exp, log) may change."""


@dataclass
class Verification:
    """What was checked, and what is not as recorded."""

    findings: list[tuple[str, str]] = field(default_factory=list)
    """(kind, what): changed, missing, extra, silent, differs; or numerical, which is no difference."""
    files: int = 0
    inputs: int = 0
    absent_inputs: int = 0
    """Inputs that are not on this machine."""
    derived: int = 0
    """Tables of tests that were derived again."""

    def add(self, kind: str, what: str) -> None:
        self.findings.append((kind, what))

    @property
    def differences(self) -> int:
        return sum(kind != "numerical" for kind, _ in self.findings)

    def lines(self) -> list[str]:
        width = max((len(kind) for kind, _ in self.findings), default=0)
        rows = [f"{kind:<{width}}  {what}" for kind, what in self.findings]
        inputs = f"{self.inputs} inputs" + (
            f" and {self.absent_inputs} that are not here" if self.absent_inputs else ""
        )
        return [
            *rows,
            f"{self.files} files, {inputs}, {self.derived} tables of tests derived again: "
            + (f"{self.differences} differences" if self.differences else "all as recorded"),
        ]


def verify(folder: Path, base: Path = Path("."), threads: int = 1) -> Verification:
    """Check everything in `folder`; names of inputs are relative to `base`."""
    manifest = read_manifest(folder)
    verification = Verification()
    experiment = experiment_of(manifest, folder.parent).in_folder(folder).after_looks()
    check_files(folder, manifest, experiment, verification)
    check_records(folder, manifest, verification)
    check_inputs(manifest, base, verification)
    for testset in experiment.testsets:
        check_origins(folder, experiment, testset, verification)
    for testset in experiment.tested:
        for metric in experiment.metrics:
            check_tests(experiment, testset, metric, threads, verification)
    return verification


def check_files(
    folder: Path, manifest: Mapping[str, Any], experiment: Experiment, verification: Verification
) -> None:
    """Changed, missing and extra files."""
    known: dict[str, str] = manifest["files"]
    for name, sha256 in known.items():
        verification.files += 1
        if what := difference(folder / name, sha256):
            verification.add(what, name)
    for name in present(folder, experiment):
        if name not in known:
            verification.add("extra", name)


def check_records(folder: Path, manifest: Mapping[str, Any], verification: Verification) -> None:
    """The manifest, the record of the job and `.made` all have every file, and agree on it. An archive
    has only the manifest, which contains all records."""
    is_archive = "not_packed" in manifest
    known = {} if is_archive else records(folder.absolute())
    for name, sha256 in manifest["files"].items():
        recorded = {sha256_in(record, name) for record in manifest["jobs"].values()} - {None}
        if sha256 not in recorded:
            verification.add("differs" if recorded else "silent", f"{name}: the jobs in the manifest")
        if is_archive:
            continue
        made = maker(folder, name)
        if made is None:
            verification.add("silent", f"{name}: .made")
            continue
        for who, says in (
            (".made", made.sha256),
            (f"logs/{made.record}.json", sha256_in(known.get(made.record), name)),
        ):
            if says != sha256:
                verification.add("differs" if says else "silent", f"{name}: {who}")


def present(folder: Path, experiment: Experiment | None) -> list[str]:
    """The results, without those that the workflow made for what is no longer in the experiment."""
    if experiment is None:
        return result_files(folder)
    own = belongings(experiment)
    return [n for n in result_files(folder) if own.has(n) or maker(folder, n) is None]


def check_inputs(manifest: Mapping[str, Any], base: Path, verification: Verification) -> None:
    """The inputs on this machine are those that were used."""
    for name, sha256 in _inputs(manifest):
        # a manifest from elsewhere may name anything, such as an endless device
        what = difference(base / name, sha256) if stays_inside(name) else "missing"
        if what == "missing":
            verification.absent_inputs += 1
            continue
        verification.inputs += 1
        if what:
            verification.add(what, f"input {base / name}")


def _inputs(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    given: list[Any] = [
        item
        for part in manifest["inputs"].values()
        if isinstance(part, dict)
        for item in part.get("inputs", [])
    ]
    for testsets in manifest["outputs_given"].values():
        given += [item for files in testsets.values() for item in files.values()]
    for item in given:
        # files of a sacrebleu test set have hashes by field, and no path
        if isinstance(item.get("sha256"), str):
            yield str(item["path"]), item["sha256"]
    for kind in ("scores_given", "judgements_given"):
        for files in manifest.get(kind, {}).values():
            yield from files.items()


def check_origins(folder: Path, experiment: Experiment, testset: str, verification: Verification) -> None:
    """The statistics were made from these translations and references."""
    from replitune.corpus.testset import read_prepared
    from replitune.statistics.scoring import references_sha256
    from replitune.statistics.store import read_metadata

    references = folder / "corpus" / f"{testset}.jsonl"
    try:
        expected = references_sha256(read_prepared(references).references)
    except ReplituneError as error:
        verification.add("differs", f"corpus/{testset}.jsonl: {error.message}")
        return
    hashes: dict[str, str] = {}
    for metric in experiment.metrics:
        for system in experiment.systems:
            name = f"stats/{testset}/{metric}/{system}.parquet"
            try:
                metadata = read_metadata(folder / name) if (folder / name).is_file() else None
            except ReplituneError as error:
                verification.add("differs", f"{name}: {error.message}")
                continue
            if metadata is None:
                continue
            if metadata.reference_sha256 != expected:
                verification.add("differs", f"{name}: made from other references than {references.name}")
            for replica, sha256 in metadata.decode_sha256.get(system, {}).items():
                decode = f"decodes/{testset}/{system}/{replica}.txt"
                if not (folder / decode).is_file():
                    continue  # already reported as missing
                if decode not in hashes:
                    hashes[decode] = _lines_sha256(folder / decode)
                if hashes[decode] != sha256:
                    verification.add("differs", f"{name}: not made from {decode}")


def _lines_sha256(path: Path) -> str:
    try:
        return sha256_lines(read_lines(path))
    except ReplituneError:
        return ""


def check_tests(
    experiment: Experiment, testset: str, metric: str, threads: int, verification: Verification
) -> None:
    """The tables of one (test set, metric) follow from the statistics on disk."""
    name, folder = f"tests/{testset}/{metric}", experiment.folder
    with tempfile.TemporaryDirectory() as temporary:
        try:
            test: Any = experiment.stage("test", testset=testset, metric=metric)
            test.result(threads).write(Path(temporary))
        except ReplituneError as error:
            verification.add("differs", f"{name}: cannot be derived: {error}")
            return
        for again in sorted(Path(temporary).iterdir()):
            verification.derived += 1
            table = f"{name}{again.name.removeprefix(metric)}"
            what = difference(folder / table, sha256_file(again))
            if what == "missing":
                verification.add(what, table)
            elif what:
                different, close = compare_tables(folder / table, again)
                if close:
                    verification.add("numerical", f"{table}: last digits of {close} values")
                for line in different[:SHOWN]:
                    verification.add("differs", f"{table}: {line}")
                if len(different) > SHOWN:
                    verification.add("differs", f"{table}: {len(different) - SHOWN} more values")


def compare_tables(here: Path, again: Path) -> tuple[list[str], int]:
    """The values that differ, each in words; and how many differ only in their last digits."""
    try:
        recorded, expected = _content(here), _content(again)
    except (OSError, pa.ArrowException, ValueError, RecursionError) as error:
        kind = "Parquet file" if here.suffix == ".parquet" else "JSON"
        return [f"not a readable {kind}: {str(error).splitlines()[0]}"], 0
    told, close = [], 0
    for where, a, b in _unequal(recorded, expected):
        if is_close(a, b):
            close += 1
        else:
            told.append(f"{where} is {a!r}, and {b!r} when derived again")
    return (told if told or close else ["the same values, written by another version"]), close


def _content(path: Path) -> Any:
    """What a file of results holds, as JSON would have it."""
    if path.suffix == ".parquet":
        return parquet_file(path).read().to_pydict()
    return json.loads(bytes_of(path))


def _unequal(here: Any, again: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The innermost values that differ, and where they are: ``metrics.bleu.pairs.1.methods.crossed.p``."""
    pairs: Iterable[tuple[Any, Any, Any]] = ()
    if isinstance(here, dict) and isinstance(again, dict) and here.keys() == again.keys():
        pairs = ((key, here[key], again[key]) for key in again)
    elif isinstance(here, list) and isinstance(again, list) and len(here) == len(again):
        pairs = ((number, *both) for number, both in enumerate(zip(here, again, strict=True), start=1))
    elif here != again:
        yield where or "all", here, again
    for key, one, other in pairs:
        if one != other:
            yield from _unequal(one, other, f"{where}.{key}" if where else str(key))


def is_close(a: object, b: object) -> bool:
    """Whether two values as in JSON are equal but for the last digits of numbers."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=CLOSE, abs_tol=NOTHING)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_close, a, b))
    return a == b


REPRODUCED: tuple[str, ...] = (
    "decodes/",
    "derivations/",
    "looks/",
    "stats/",
    "tests/",
    "studies/",
    "tables/",
)
"""What a second run has to reproduce byte for byte."""


def compare_runs(folder: Path, other: Path) -> Verification:
    """Compare translations, statistics, tests, studies and tables of two runs, byte by byte."""
    verification = Verification()
    experiments = {run: experiment_in(run) for run in (folder, other)}
    kinds = REPRODUCED
    if any(one is not None and not one.systems_with("derive") for one in experiments.values()):
        kinds = tuple(kind for kind in kinds if kind != "derivations/")  # given outputs have none
    here, there = (
        {name for name in present(run, one) if name.startswith(kinds)} for run, one in experiments.items()
    )
    for name in sorted(here | there):
        verification.files += 1
        if name not in there:
            verification.add("extra", name)
        elif name not in here:
            verification.add("missing", name)
        elif sha256_file(folder / name) != sha256_file(other / name):
            verification.add("numerical" if _is_numerical(folder / name, other / name) else "differs", name)
    if not verification.files:
        raise ReplituneError("nothing to compare", file=folder, expected="results of an experiment")
    return verification


def _is_numerical(here: Path, there: Path) -> bool:
    """Whether two different files differ only in the last digits of numbers."""
    if here.suffix not in (".parquet", ".json"):
        return False
    different, close = compare_tables(here, there)
    return close > 0 and not different
