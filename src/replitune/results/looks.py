"""Looks on disk: the statistics that they read, and the record that they write."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from replitune.errors import ReplituneError
from replitune.results.looking import next_look
from replitune.results.rows import row_schema, write_table
from replitune.running.files import atomic_open
from replitune.significance.looks.record import Abandoned, PairLook, Plan, Record, read_record
from replitune.statistics.store import SegmentStatistics, read_metadata, read_systems
from replitune.statistics.systems import SystemStatistics, joined

ROWS = pa.schema([("look", pa.int64()), *row_schema(PairLook)])
"""A pair at a look."""


def write_record(path: str | Path, record: Record) -> None:
    """As JSON, and beside it as Parquet, a row for each look and pair."""
    rows = [
        {"look": look.number, **msgspec.structs.asdict(pair)}
        for look in record.looks
        for pair in look.pairs
    ]
    write_table(Path(path).with_suffix(".parquet"), rows, ROWS)
    with atomic_open(path, "wb") as handle:
        handle.write(record.json())


def look_again(plan: Plan, out: Path, number: int, files: Mapping[str, Sequence[Path]]) -> Record:
    """Look for the `number`th time, and write the record of all looks to `out`.

    files: by test set, the statistics of each batch of replicas.
    """
    if number > 1:
        former = read_record(out.with_name(f"{number - 1}.json"))
        if former.plan != plan:
            raise ReplituneError(
                "the looks before were made by another plan",
                file=out.with_name("1.json"),
                fix="remove the folder, and run again: looks are made anew, replicas are kept",
            )
        before, abandoned = former.looks, former.abandoned
    else:
        before, abandoned = [], given_up(plan, out.parent)
    read = [read_batches(paths) for paths in files.values()]
    missing = read[0][1]
    for name, lost in missing.items():
        for replica, why in lost.items():
            print(
                f"warning: {name} {replica} is missing, and the look goes on without it: {why}",
                file=sys.stderr,
            )
    look = next_look(plan, before, [store for store, _ in read], missing)
    record = Record(plan=plan, looks=[*before, look], abandoned=abandoned)
    for line in said(record):
        print(line)
    write_record(out, record)
    for path in later(out.parent, number):  # of a plan that was given up, or to be made again
        path.unlink(missing_ok=True)
    return record


def later(folder: Path, number: int) -> list[Path]:
    """What later looks wrote."""
    found = [*folder.glob("[0-9]*.json"), *folder.glob("[0-9]*.parquet")]
    return [path for path in found if path.stem.isdigit() and int(path.stem) > number]


def given_up(plan: Plan, folder: Path) -> list[Abandoned]:
    """Records of other plans, of which this one takes the place: said, and kept in mind."""
    found = []
    for path in sorted(folder.glob("[0-9]*.json"), key=lambda p: int(p.stem)):
        try:
            found.append(read_record(path))
        except (ReplituneError, ValueError):
            continue  # damaged, or of another version: it is made again
    if not found:
        return []
    known = list(found[0].abandoned)
    if found[0].plan != plan:
        looks = max(len(r.looks) for r in found if r.plan == found[0].plan)
        known.append(Abandoned(looks=looks, plan=found[0].plan))
        print(
            f"warning: what was fixed before the first look has changed after {looks} of them: "
            "the record starts over, and p is no longer quite at its level",
            file=sys.stderr,
        )
    return known


def said(record: Record) -> list[str]:
    """A look in words."""
    look, used = record.looks[-1], record.runs
    count = {word: sum(p.decision == word for p in look.pairs) for word in ("settled", "futile")}
    lines = [
        f"look {look.number}: {count['settled']} of {len(look.pairs)} pairs settled, "
        f"{count['futile']} that more replicas would hardly settle"
    ]
    for name, n in look.next.items():
        lines.append(f"  {name}: {look.systems[name].n} replicas of each kind so far, {n} wanted")
    if record.settled:
        lines.append(f"  enough: {used[0]} replicas of at most {used[1]}")
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
        if pq.read_metadata(path).num_rows == 0:
            continue
        found = read_systems([path])
        if first is None:
            first = found
        elif (first.segments, first.signature) != (found.segments, found.signature):
            raise ReplituneError(
                "batches of replicas were not scored in the same way",
                file=path,
                fix="remove it, and run again",
            )
        for name, system in found.systems.items():
            systems.setdefault(name, []).append(system)
    if first is None:
        raise ReplituneError(
            "no replica of any system could be made",
            found="; ".join(next(iter(lost.values())) for lost in missing.values()),
        )
    return replace(first, systems={name: joined(parts) for name, parts in systems.items()}), missing
