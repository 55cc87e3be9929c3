"""Shared by the scripts of this folder: paths, and reading and writing of CSV files."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replitune.running.files import atomic_open

HERE = Path(__file__).parent
SEED = 2023

sys.path.insert(0, str(HERE.parent / "calibration"))  # closed forms of our tests, T trials at once


def write(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write `name`.csv beside this file, with six digits for numbers."""
    path = HERE / f"{name}.csv"
    with atomic_open(path) as handle:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    print(f"{path}: {len(rows)} rows")


def read(name: str) -> list[dict[str, str]]:
    with open(HERE / f"{name}.csv", encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))
