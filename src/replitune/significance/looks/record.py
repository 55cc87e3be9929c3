"""What is fixed before the first look, and what every look found: the record of an experiment.

Kept light, because the Snakefile reads it. The JSON file has everything, the Parquet file a row for
each look and pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from replitune.errors import ReplituneError
from replitune.replicas import Replica, replica_ids
from replitune.running.files import bytes_of

SETTLED = "settled"
"""The difference is significant, and would be with all runs."""
FUTILE = "futile"
"""It is not, and more runs would hardly change that."""
OPEN = "open"
NO_P = "no p"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is fixed before the first look. Changing it starts a new record."""

    testset: str
    metric: str
    suite: dict[str, float]
    """Weights of the test sets, where `testset` is the name of a suite."""
    method: str
    """Label of the test."""
    options: dict[str, str | bool]
    """Options of the test."""
    alpha: float
    families: int
    correction: str
    """holm or none."""
    doubt: float
    futility: float
    skip: float
    pairs: list[tuple[str, str]]
    most: dict[str, dict[str, int]]
    """The most replicas of each kind, by system."""
    sizes: dict[str, list[int]]
    """Numbers of replicas of each kind at the looks, by system."""
    together: bool | msgspec.UnsetType = msgspec.UNSET
    """True: both systems of a pair that is not settled get more replicas at the same time, because
    replicas made later may differ from these."""

    @property
    def confidence(self) -> float:
        """Confidence of the rule's intervals."""
        one_sided = self.options.get("alternative", "two-sided") != "two-sided"
        return 1 - (2 * self.alpha if one_sided else self.alpha)

    def counts(self, system: str, n: int) -> dict[str, int]:
        """Numbers of replicas by kind, of a system that has n of each kind or the most that it may have."""
        return {kind: min(n, most) for kind, most in self.most[system].items()}

    def replicas(self, system: str, n: int, after: int = 0) -> list[Replica]:
        """The replicas of a system with n of each kind, without those of one with `after` of each kind."""
        known = {*replica_ids(self.counts(system, after))}
        return [one for one in replica_ids(self.counts(system, n)) if one not in known]

    @property
    def first(self) -> dict[str, int]:
        """Replicas of each kind that the first look wants, by system."""
        return {system: sizes[0] for system, sizes in self.sizes.items()}

    @property
    def largest(self) -> dict[str, int]:
        """Replicas of each kind at the last look that is possible, by system."""
        return {system: sizes[-1] for system, sizes in self.sizes.items()}

    def following(self, system: str, n: int) -> int | None:
        """Replicas of each kind at the next look of a system; None if it has the most that it may have."""
        return next((size for size in self.sizes[system] if size > n), None)

    def before(self, system: str, n: int) -> int:
        """Replicas of each kind at the look before; 0 for the first look."""
        return max((size for size in self.sizes[system] if size < n), default=0)


class SystemLook(msgspec.Struct, frozen=True, kw_only=True):
    """One system at a look."""

    n: int
    """Replicas of each kind that were asked for."""
    replicas: list[str]
    """Replicas that exist, in order."""
    missing: dict[str, str] = {}
    """Those that could not be made, and why."""


class PairLook(msgspec.Struct, frozen=True, kw_only=True):
    """One pair at a look; what does not apply is null."""

    a: str
    b: str
    n_a: int
    n_b: int
    delta: float | None
    variance: float | None = None
    """Var(delta)."""
    parts: list[float] = []
    """Its parts: those of the runs of A and of B (by tuner), and last that of the test set."""
    nus: list[float] = []
    """Their degrees of freedom."""
    left: list[float] = []
    """What more runs would take away from the parts of runs."""
    p_alone: float | None = None
    """Ordinary p, as if this were the only look."""
    p_look: float | None = None
    """p of this look, by the rule."""
    p: float | None = None
    """The smallest of all looks so far."""
    p_adjusted: float | None = None
    """The same, adjusted for all pairs."""
    level: float | None = None
    """The p that would have been enough."""
    ci_low: float | None = None
    ci_high: float | None = None
    """The rule's interval, of this pair alone."""
    movement: float | None = None
    """Standard deviation of what more runs add to delta."""
    decision: str = OPEN
    more_a: bool = False
    more_b: bool = False
    """Whether the pair asks for more runs of A, and of B."""
    note: str | None = None


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One look at all pairs."""

    number: int
    systems: dict[str, SystemLook]
    pairs: list[PairLook]
    drift: float | msgspec.UnsetType = msgspec.UNSET
    """p of the hypothesis that all batches of replicas score alike, if it is small."""
    next: dict[str, int]
    """Systems that get more runs, and how many of each kind they will have."""

    @property
    def wanted(self) -> dict[str, int]:
        """Replicas of each kind at the next look, or at the end."""
        return {**{name: system.n for name, system in self.systems.items()}, **self.next}


class Abandoned(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was given up because its plan was changed."""

    looks: int
    plan: Plan


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All looks so far."""

    plan: Plan
    looks: list[Look]
    abandoned: list[Abandoned] = []
    schema: int = 1

    @property
    def drift(self) -> str | None:
        """A warning if batches of replicas are not alike."""
        p = self.looks[-1].drift
        if p is msgspec.UNSET:
            return None
        text = f"runs of one look score differently from those of another (p = {max(p, 1e-4):.2g})"
        return f"{text}: the way runs are made has changed; do not rely on p and intervals"

    @property
    def settled(self) -> bool:
        """No system gets more runs."""
        return not self.looks[-1].next

    @property
    def wanted(self) -> dict[str, int]:
        return self.looks[-1].wanted

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """The replicas of each system that looks have asked for, by kind."""
        return {system: self.plan.counts(system, n) for system, n in self.wanted.items()}

    def last(self, a: str, b: str) -> PairLook | None:
        """The last look at a pair."""
        return next((pair for pair in self.looks[-1].pairs if (pair.a, pair.b) == (a, b)), None)

    def settled_at(self, a: str, b: str) -> PairLook | None:
        """The look at which a pair was settled."""
        for look in self.looks:
            for pair in look.pairs:
                if (pair.a, pair.b) == (a, b) and pair.decision == SETTLED:
                    return pair
        return None

    @property
    def runs(self) -> tuple[int, int]:
        """Replicas that were asked for, and the most that there may be."""
        used = sum(n for counts in self.counts.values() for n in counts.values())
        return used, sum(n for counts in self.plan.most.values() for n in counts.values())

    def json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def read_record(path: str | Path) -> Record:
    try:
        return msgspec.json.decode(bytes_of(path), type=Record)
    except (OSError, ValueError) as error:
        raise ReplituneError(
            "not a record of looks",
            file=path,
            found=str(error),
            fix="restore it; or, below results/, remove it and run again: it is made anew",
        ) from None


def make_sizes(most: Mapping[str, int], looks: Sequence[int]) -> list[int]:
    """Numbers of runs at the looks of a system: `looks` below the most that it may have, and the most."""
    last = max(most.values())
    return [*(n for n in looks if n < last), last]
