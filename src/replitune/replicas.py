"""Names of replicas: `mert-007`, `seed-002`, `run-001`; `prompt002-003` is a sample of a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from replitune.errors import ReplituneError

Design = Literal["runs", "samples", "nested"]
"""What replicas are: runs; samples, independent for each segment; or samples of runs."""

UNGROUPED = ("seed", "run", "sample", "prompt")
"""Replica prefixes that are not the name of a tuner."""

SAMPLE = re.compile(r"(.+?)[\W_]+(?:[^\W\d_]*[\W_]?)?\d+")
"""The name of a sample: what it is a sample of, and its number. ``prompt2-s3`` and ``prompt2_3``."""

MOST_REPLICAS = 999
"""The most replicas of one kind: their numbers have three digits."""


@dataclass(frozen=True, order=True)
class Replica:
    """One tuning run or training seed of a system."""

    id: str
    """For example `mert-007`: what it came from, and a number from 1."""

    @property
    def prefix(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def group(self) -> str | None:
        """The tuner it came from, or None."""
        return None if self.prefix in UNGROUPED else self.prefix

    @property
    def index(self) -> int:
        return int(self.id.rpartition("-")[2])


def replica_ids(counts: Mapping[str, int]) -> list[Replica]:
    """Replicas from their counts: ``{"mert": 2}`` gives mert-001 and mert-002."""
    return [
        Replica(f"{prefix}-{number:03d}")
        for group, count in counts.items()
        for prefix in ("seed" if group == "seeds" else group,)
        for number in range(1, count + 1)
    ]


def counts_of(replicas: Iterable[Replica]) -> dict[str, int]:
    """Number of replicas by prefix, as `replica_ids` takes them."""
    counts: dict[str, int] = {}
    for replica in replicas:
        counts[replica.prefix] = counts.get(replica.prefix, 0) + 1
    return counts


def same_shares(a: Mapping[Any, int], b: Mapping[Any, int]) -> bool:
    """Whether each group has the same share of the replicas of two systems, which are given by group.
    Also true if they have no group in common: then how replicas are made is part of the systems."""
    if not set(a) & set(b):
        return True
    total_a, total_b = sum(a.values()), sum(b.values())
    return all(a.get(group, 0) * total_b == b.get(group, 0) * total_a for group in {*a, *b})


def sampled_runs(
    system: str, replicas: Iterable[str], groups: Iterable[str | None]
) -> dict[str, list[int]]:
    """The positions of the samples of each run (`design: nested`): of each group or, of replicas without
    a group, of each beginning of their names: ``p1`` for ``p1-001``."""
    runs: dict[str, list[int]] = {}
    alone: list[str] = []
    for position, (replica, group) in enumerate(zip(replicas, groups, strict=True)):
        name = SAMPLE.fullmatch(replica)
        run = group or (name[1] if name else "")
        if not run or run.lower() in UNGROUPED:
            alone.append(replica)
        runs.setdefault(run, []).append(position)
    if alone:
        raise ungrouped(system, alone)
    return runs


def ungrouped(system: str, samples: Sequence[str]) -> ReplituneError:
    """The error that nothing says which run each of these is a sample of."""
    return ReplituneError(
        f"`design: nested`, but it is not known which samples of {system} belong together",
        found=", ".join(samples[:3]) + (", ..." if len(samples) > 3 else ""),
        expected="a run of each sample, such as its prompt",
        fix="give a column `group` or `prompt`, or names such as prompt1-001, prompt1-002, prompt2-001",
    )
