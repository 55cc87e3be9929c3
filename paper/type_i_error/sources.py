"""The CSV files that the paper is made of, as tables."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
GATE = "benchmarks/calibration/gate.csv"
REPLICAS = "benchmarks/calibration/replicas.csv"
SUPREMA = "benchmarks/calibration/suprema.csv"
LOOKS = "benchmarks/adaptive/gate.csv"
LOOKS_REAL = "benchmarks/adaptive/replicas.csv"
SPLITS = "benchmarks/head_to_head/splits.csv"
CALIBRATION = "docs/results/calibration/calibration.csv"
SYSTEMS = "docs/results/calibration/systems.csv"
POOLS = "docs/results/calibration/pairs.csv"
EXPERIMENTS = ("calibration", "clark2011", "fu2016")
DETECTABLE = {name: f"docs/results/{name}/power.csv" for name in EXPERIMENTS}
COSTS = {name: f"docs/results/{name}/costs.csv" for name in EXPERIMENTS}
FU = "docs/results/fu2016/p.csv"
FU_PAIRS = "docs/results/fu2016/pairs.csv"
CLARK = "docs/results/clark2011/p.csv"
REPLICATION = "docs/results/clark2011/replication.csv"
FILES = (
    GATE,
    REPLICAS,
    SUPREMA,
    LOOKS,
    LOOKS_REAL,
    SPLITS,
    CALIBRATION,
    SYSTEMS,
    POOLS,
    *DETECTABLE.values(),
    *COSTS.values(),
    FU,
    FU_PAIRS,
    CLARK,
    REPLICATION,
)
ALPHAS = (0.05, 0.01)

for folder in ("calibration", "adaptive"):
    path = str(ROOT / "benchmarks" / folder)
    if path not in sys.path:
        sys.path.append(path)


def study() -> ModuleType:
    """benchmarks/calibration/study.py: the cells and limits of the gate."""
    import study

    return study


def looks() -> ModuleType:
    """benchmarks/adaptive/gate.py: those of the looks."""
    import gate

    return gate


class Sources:
    """Files are read when they are asked for."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    def csv(self, name: str) -> pd.DataFrame:
        assert name in FILES, name
        return pd.read_csv(self.root / name, keep_default_na=False, na_values=[""])

    @cached_property
    def gate(self) -> pd.DataFrame:
        """A row for each cell and method; `rate 0.05` and `rate 0.01` are shares of its trials."""
        found = self.csv(GATE)
        for alpha in ALPHAS:
            found[f"rate {alpha}"] = found[f"at {alpha}"] / found["trials"]
        plain = {"runs": "normal", "systems": 2, "spread": 0, "segments": 0, "effective": 0}
        return found.fillna(plain)

    @cached_property
    def plain(self) -> pd.DataFrame:
        """Cells of two systems, normal runs, and the usual noise of single outputs."""
        g = self.gate
        usual = g["interaction"].isna() & g["icc"].isna() & g["accuracy"].isna()
        return g[usual & (g["runs"] == "normal") & (g["systems"] == 2)]

    @cached_property
    def judged(self) -> pd.DataFrame:
        """Rows that have a verdict of the gate."""
        return self.gate[self.gate["gate 0.05"].notna()]

    @cached_property
    def suprema(self) -> pd.DataFrame:
        return self.csv(SUPREMA)

    @cached_property
    def real(self) -> pd.DataFrame:
        """Trials on real runs, three metrics."""
        return self.csv(CALIBRATION)

    @cached_property
    def looks(self) -> pd.DataFrame:
        found = self.csv(LOOKS)
        return found.assign(saved=1 - found["runs_used"] / looks().SCHEDULE[-1])

    @cached_property
    def looks_real(self) -> pd.DataFrame:
        return self.csv(LOOKS_REAL)

    @cached_property
    def splits(self) -> pd.DataFrame:
        return self.csv(SPLITS)


def where(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows with these values; a list is any of them; `a_name` may be the column `a name`."""
    for name, value in values.items():
        column = name if name in table else name.replace("_", " ")
        table = table[table[column].isin(value if isinstance(value, list) else [value])]
    return table


def only(table: pd.DataFrame, column: str, **values: object) -> float:
    """The one value that there is."""
    found = where(table, **values)[column]
    assert len(found) == 1, f"{len(found)} rows of {values}, not one"
    return float(found.iloc[0])
