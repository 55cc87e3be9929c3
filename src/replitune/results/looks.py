"""Looks on disk: the statistics that they read, and the record that they write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa

from replitune.errors import ReplituneError
from replitune.results.looking import next_look
from replitune.results.rows import row_schema, write_table
from replitune.results.wording import count
from replitune.running.files import atomic_open
from replitune.running.parquet import parquet_file
from replitune.significance.looks.record import Abandoned, Look, PairLook, Plan, Record, read_record
from replitune.statistics.segments import SegmentStatistics
from replitune.statistics.store import read_metadata, read_systems
from replitune.statistics.systems import SystemStatistics, joined

ROWS = pa.schema([("look", pa.int64()), *row_schema(PairLook)])
"""The columns for a pair at a look."""


def write_record(path: str | Path, record: Record) -> None:
    """Write it as JSON, and beside it as Parquet with a row for each look and pair."""
    rows = [
        {"look": look.number, **msgspec.structs.asdict(pair)}
        for look in record.looks
        for pair in look.pairs
    ]
    write_table(Path(path).with_suffix(".parquet"), rows, ROWS)
    with atomic_open(path, "wb") as handle:
        handle.write(record.json())


def look_again(
    plan: Plan, out: Path, number: int, files: Mapping[str, Sequence[Path]], given: Path | None = None
) -> Record:
    """Look for the `number`th time, and write the record of all looks to `out`.

    files: by test set, the statistics of each batch of replicas. given: a record whose looks are repeated.
    """
    if number > 1:
        former = read_record(out.with_name(f"{number - 1}.json"))
        if former.plan != plan:
            raise ReplituneError(
                "the earlier looks followed another plan",
                file=out.with_name("1.json"),
                fix="remove the folder, and run again: looks are repeated, runs are kept",
            )
        before, abandoned = former.looks, former.abandoned
    else:
        before, abandoned = [], abandoned_records(plan, out.parent, given)
    read = [read_batches(paths) for paths in files.values()]
    missing = read[0][1]
    for name, lost in missing.items():
        for replica, why in lost.items():
            print(
                f"warning: {name} {replica} is missing, and the look goes on without it: {why}",
                file=sys.stderr,
            )
    look = next_look(plan, before, [store for store, _ in read], missing)
    if given is not None:
        require_given(look, read_record(given), given)
    record = Record(plan=plan, looks=[*before, look], abandoned=abandoned)
    for line in look_lines(record):
        print(line)
    write_record(out, record)
    for path in later_files(out.parent, number):  # of an abandoned plan, or outdated
        path.unlink(missing_ok=True)
    return record


def require_given(look: Look, record: Record, file: Path) -> None:
    """Looks that are repeated can ask for no runs but those that they asked for."""
    for name, n in look.next.items():
        if n > record.wanted[name]:
            raise ReplituneError(
                f"look {look.number} asks for more runs of {name} than are given",
                file=file,
                found=f"{record.wanted[name]} of each kind",
                expected=str(n),
                fix="leave the settings of looks and tests as they were",
            )


def later_files(folder: Path, number: int) -> list[Path]:
    """The files of later looks."""
    paths = [*folder.glob("[0-9]*.json"), *folder.glob("[0-9]*.parquet")]
    return [path for path in paths if path.stem.isdigit() and int(path.stem) > number]


def abandoned_records(plan: Plan, folder: Path, given: Path | None = None) -> list[Abandoned]:
    """Records of other plans, which this one replaces: the user is warned, and the record keeps them."""
    records = []
    for path in sorted(folder.glob("[0-9]*.json"), key=lambda p: int(p.stem)):
        try:
            records.append(read_record(path))
        except (ReplituneError, ValueError):
            continue  # damaged, or of another version: it is replaced
    if given is not None and not records:
        records.append(read_record(given))
    if not records:
        return []
    known = list(records[0].abandoned)
    if records[0].plan != plan:
        looks = max(len(r.looks) for r in records if r.plan == records[0].plan)
        known.append(Abandoned(looks=looks, plan=records[0].plan))
        print(
            "warning: settings that were fixed before the first look changed after "
            f"{count(looks, 'look')}: the record starts over, and p no longer keeps its level exactly",
            file=sys.stderr,
        )
    return known


def look_lines(record: Record) -> list[str]:
    """The last look in words."""
    look, used = record.looks[-1], record.runs
    settled, futile = (sum(p.decision == word for p in look.pairs) for word in ("settled", "futile"))
    lines = [
        f"look {look.number}: {settled} of {count(len(look.pairs), 'pair')} settled, "
        f"{futile} that more runs would hardly settle"
    ]
    for name, n in look.next.items():
        lines.append(f"  {name}: {look.systems[name].n} runs of each kind so far, {n} wanted")
    if record.drift:
        lines.append(f"  {record.drift}")
    if record.settled:
        lines.append(f"  enough: {used[0]} runs of at most {used[1]}")
    return lines


def read_batches(paths: Sequence[Path]) -> tuple[SegmentStatistics, dict[str, dict[str, str]]]:
    """The replicas of all batches together, and those that could not be made."""
    first: SegmentStatistics | None = None
    missing: dict[str, dict[str, str]] = {}
    systems: dict[str, list[SystemStatistics]] = {}
    for path in paths:
        metadata = read_metadata(path)
        for name, lost in (metadata.missing if metadata else {}).items():
            missing.setdefault(name, {}).update(lost)
        if parquet_file(path).metadata.num_rows == 0:
            continue
        batch = read_systems([path])
        if first is None:
            first = batch
        elif (first.segments, first.signature) != (batch.segments, batch.signature):
            raise ReplituneError(
                "batches of runs were not scored in the same way", file=path, fix="remove it, and run again"
            )
        for name, system in batch.systems.items():
            systems.setdefault(name, []).append(system)
    if first is None:
        raise ReplituneError(
            "no run of any system could be made",
            found="; ".join(next(iter(lost.values())) for lost in missing.values()),
        )
    return replace(first, systems={name: joined(parts) for name, parts in systems.items()}), missing
