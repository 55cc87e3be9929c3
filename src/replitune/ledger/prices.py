"""What a run and a segment cost, from the manifest of a finished experiment.

A run costs the CPU seconds of its tuning or training, and of translating and scoring the tuning set;
a segment costs those of its translation by one run and of scoring it with all metrics, including a
share of the jobs' start-up. Models that runs share cost the same for any number of runs, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.corpus.settings import DEV
from replitune.errors import ReplituneError
from replitune.ledger.manifest import NAME, read_manifest
from replitune.significance.studies.cheapest import Prices


def prices_of(
    manifest: str | Path | None,
    systems: Sequence[str],
    testset: str = "",
    *,
    run: float | None = None,
    segment: float | None = None,
) -> Prices:
    """The prices summed over `systems`. `run` and `segment` (CPU seconds for one system) take precedence
    over the manifest. Without the name of a test set, all test sets are used."""
    costs: dict[str, list[float]] = {"run": [], "segment": []}
    known = {} if manifest is None else _read(Path(manifest))
    for system in systems:
        for what, given, find in (("run", run, _run), ("segment", segment, _segment)):
            if given is None and known:
                given = find(known, system, testset)
            if given is None:
                raise ReplituneError(
                    f"what a {what} of {system} costs is not known",
                    file=manifest,
                    fix=f"give the CPU seconds with --cpu-per-{what}"
                    + ("" if manifest else ", or a manifest.json with --manifest"),
                )
            costs[what].append(given)
    return Prices(sum(costs["run"]), sum(costs["segment"]))


def _read(path: Path) -> dict[str, Any]:
    if path.is_file() and path.name != NAME:
        raise ReplituneError(
            "not a manifest", file=path, expected=f"results/<experiment>/{NAME}, or its folder"
        )
    return read_manifest(path.parent if path.name == NAME else path)


def _run(manifest: Mapping[str, Any], system: str, testset: str) -> float | None:
    """Mean CPU seconds of one run; None if there is no run."""
    made = _seconds(manifest, "tune", system)
    if not made:
        return None
    on_dev = [*_decoding(manifest, DEV, system), *_scoring(manifest, DEV, system)]
    return (sum(made) + sum(on_dev)) / len(made)


def _segment(manifest: Mapping[str, Any], system: str, testset: str) -> float | None:
    """CPU seconds of one segment by one run; None if none was translated."""
    used, outputs = 0.0, 0
    for name, part in manifest["inputs"].items():
        runs = _decoding(manifest, name, system)
        if name in (DEV, "train") or testset not in ("", name) or not runs:
            continue
        used += sum(runs) + sum(_scoring(manifest, name, system))
        outputs += len(runs) * int(part["segments"])
    return used / outputs if outputs else None


def _scoring(manifest: Mapping[str, Any], testset: str, system: str) -> list[float]:
    """CPU seconds of scoring all runs, one value per metric."""
    return [
        float(record["cpu_seconds"])
        for name, record in manifest["jobs"].items()
        if name.startswith(f"score/{testset}/") and name.endswith(f"/{system}")
    ]


def _seconds(manifest: Mapping[str, Any], stage: str, system: str) -> list[float]:
    """CPU seconds of the jobs of one stage, one per run."""
    return [float(record["cpu_seconds"]) for record in _records(manifest, stage, system)]


def _decoding(manifest: Mapping[str, Any], testset: str, system: str) -> list[float]:
    """CPU seconds of decoding one test set by each run, with its share of the job's start-up."""
    seconds = []
    for record in _records(manifest, "decode", system):
        parts = record.get("parts", {testset: record["cpu_seconds"]})
        if testset in parts:
            rest = max(float(record["cpu_seconds"]) - sum(parts.values()), 0.0)
            seconds.append(float(parts[testset]) + rest / len(parts))
    return seconds


def _records(manifest: Mapping[str, Any], stage: str, system: str) -> list[Mapping[str, Any]]:
    start = f"{stage}/{system}/"
    return [record for name, record in manifest["jobs"].items() if name.startswith(start)]
