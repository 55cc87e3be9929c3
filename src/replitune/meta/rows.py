"""The results of a study of metrics: rows for tables, Parquet and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from replitune import __version__
from replitune.meta.correlations import COEFFICIENTS
from replitune.meta.settings import MetaSettings
from replitune.streams import stream


@dataclass(frozen=True)
class MetaRun:
    """What decides the numbers of one study."""

    testset: str
    seed: int
    settings: MetaSettings
    threads: int = 1

    def stream(self, *names: str) -> np.random.Generator:
        return stream(self.seed, "meta", self.testset, *names)


@dataclass(frozen=True)
class MetaRow:
    """One row of `studies/meta/<testset>.parquet`; what does not apply is None."""

    study: str
    """correlation, comparison, soft-pairwise, agreement or pair."""
    criterion: str | None
    """What humans judged: adequacy, fluency, combined, or human."""
    method: str
    """Coefficient, test of two metrics (williams, perm-systems, perm-both) or of two systems."""
    metric: str | None = None
    other: str | None = None
    """comparison: the metric that `metric` is said to be better than."""
    level: str | None = None
    a: str | None = None
    b: str | None = None
    human_test: str | None = None
    """agreement: the test of people's scores."""
    alpha: float | None = None
    value: float | None = None
    """Correlation, difference of correlations (metric - other), accuracy, share of pairs in
    agreement, or delta (b - a)."""
    ci_low: float | None = None
    ci_high: float | None = None
    statistic: float | None = None
    """Williams' t, U, or a sum of ranks."""
    p: float | None = None
    p_min: float | None = None
    n: int | None = None
    """Systems, cells, segments or pairs."""
    outcome: int | None = None
    """pair: 1 when b is better at the first alpha, -1 when a is, 0 for neither."""
    resampled: str | None = None
    samples: int | None = None
    seed: int | None = None
    note: str | None = None


@dataclass(frozen=True)
class MetaStudy:
    """All rows, and what they are about."""

    run: MetaRun
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    criteria: tuple[str, ...]
    segments: int
    judged: dict[str, int]
    """Outputs with a human score, by criterion."""
    rows: list[MetaRow]
    notes: tuple[str, ...] = ()

    def rows_of(self, study: str, **wanted: Any) -> list[MetaRow]:
        """The rows of a study with these values."""
        return [
            row
            for row in self.rows
            if row.study == study and all(getattr(row, k) == v for k, v in wanted.items())
        ]

    def as_json(self) -> dict[str, Any]:
        """Numbers unrounded; a field that does not apply to a row is left out."""
        asked = self.run.settings
        return {
            "schema": 1,
            "meta": {
                "version": __version__,
                "testset": self.run.testset,
                "seed": self.run.seed,
                "methods": [
                    method.name if method.word == method.name else method.mapping
                    for method in asked.methods
                ],
                **{name: getattr(asked, name) for name in DECIDING},
                "coefficients": COEFFICIENTS,
                "systems": list(self.systems),
                "metrics": list(self.metrics),
                "criteria": list(self.criteria),
                "segments": self.segments,
                "judged": self.judged,
                "notes": list(self.notes),
            },
            **{
                study: [
                    {
                        key: value
                        for key, value in asdict(row).items()
                        if key != "study" and (value is not None or key in FIELDS[study])
                    }
                    for row in self.rows_of(study)
                ]
                for study in FIELDS
            },
        }


DECIDING = (
    "segments",
    "human_tests",
    "samples",
    "ci_samples",
    "resample",
    "alphas",
    "human_alpha",
    "correction",
)
"""Settings that decide the numbers, besides the methods."""


def join_notes(*notes: str | None) -> str | None:
    """Notes in one text, or None."""
    return "; ".join(note for note in notes if note) or None


FIELDS: dict[str, tuple[str, ...]] = {
    "correlation": ("value", "ci_low", "ci_high", "note"),
    "comparison": ("value", "p", "note"),
    "soft-pairwise": ("value", "note"),
    "agreement": ("human_test", "value", "ci_low", "ci_high", "note"),
    "pair": ("value", "p", "outcome", "note"),
}
"""The fields that every row of a study has, null or not."""
