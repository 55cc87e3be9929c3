"""`backend: corruption`: replicated outputs without training anything, by corrupting references.

A replica's output is the reference with errors, whose rate has four parts:

- the system's error rate, `errors`;
- the *segment effect*: how likely errors are on each segment. Half of its variance comes from the
  test set (hard segments are hard for all systems), half from the system, where all its replicas
  share it, so that two systems of equal quality still differ segment by segment;
- the *replica effect*, the optimiser's luck: one factor for all that a replica translates, and its
  own mix of error types, both of size `spread`;
- noise for each token: half of its variance is shared by all systems, and nearly all of the rest by
  the replicas of one system (replicas often produce the same translation).

Tests over segments and tests over replicas disagree because of the effects of system and replica.
Each part has a random stream named after its source, so adding a system, a replica or a test set
changes no other output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from replitune.arithmetic import exp
from replitune.backends.interface import Backend, DecodeJob
from replitune.backends.settings import SystemSettings
from replitune.errors import ReplituneError
from replitune.settings import about
from replitune.streams import stream
from replitune.tuners import TUNERS

TYPES = ("substitution", "deletion", "insertion", "swap")
MIX = (0.5, 0.2, 0.15, 0.15)
"""Mean shares of the error types."""
SHARED = (0.5, 0.98 - 0.5, 1 - 0.98)
"""Shares of the noise's variance: common to all systems, to the replicas of one system, to nothing."""
SEGMENT_SD = 0.4
"""Standard deviation of the logarithm of the segment effect."""


@dataclass(frozen=True)
class Effects:
    """The effects of a replica, the same on every test set."""

    factor: float
    """Multiplies the error rate; its mean over replicas is 1."""
    mix: NDArray[np.float64]
    """Shares (4,) of `TYPES`."""


def replica_effects(spread: float, rng: np.random.Generator) -> Effects:
    """Draw a replica's effects: a log-normal factor of mean 1, and a mix around `MIX`.

    `spread` is the standard deviation of the logarithms of the factor and of each share.
    """
    z = rng.standard_normal(1 + len(TYPES))
    mix = np.array(MIX) * exp(spread * z[1:])
    return Effects(float(exp(spread * z[0] - spread**2 / 2)), mix / mix.sum())


def corrupted_replica(
    reference: Sequence[str],
    *,
    seed: int,
    system: str,
    replica: str,
    testset: str,
    errors: float,
    spread: float,
) -> list[str]:
    """The output of one replica of a system on a test set, drawn from the named streams of `seed`. It has
    as many segments as the reference; blank ones stay blank."""
    if not 0 <= errors < 1 or not spread >= 0:
        raise ReplituneError(
            "corruption settings out of range",
            found=f"errors {errors}, spread {spread}",
            expected="errors in [0, 1), spread >= 0",
        )
    from scipy.special import ndtri

    of_testset = stream(seed, "corruption", "testset", testset)
    of_system = stream(seed, "corruption", "system", system, testset)
    rngs = of_testset, of_system, stream(seed, "corruption", "tokens", system, replica, testset)
    effects = replica_effects(spread, stream(seed, "corruption", "replica", system, replica))
    split = [line.split() for line in reference]
    lengths = np.array([len(tokens) for tokens in split], dtype=np.int64)
    total = int(lengths.sum())
    tokens = [token for tokens in split for token in tokens]
    if total == 0:
        return ["" for _ in split]

    segment = sum(np.sqrt(0.5) * rng.standard_normal(len(split)) for rng in rngs[:2])
    prone = exp(SEGMENT_SD * segment - SEGMENT_SD**2 / 2)
    noise = sum(
        np.sqrt(share) * rng.standard_normal(total) for share, rng in zip(SHARED, rngs, strict=True)
    )
    kind = of_system.random(total)
    other = of_system.integers(total, size=total)

    # a token is wrong if its noise is below the quantile of its error rate
    rate = np.minimum(errors * effects.factor * np.repeat(prone, lengths), 0.95)
    wrong = noise < ndtri(rate)
    types = np.searchsorted(np.cumsum(effects.mix)[:-1], kind, side="right")
    types = np.where(wrong, types, -1)
    return _apply(tokens, lengths, types, other)


def _apply(
    tokens: list[str], lengths: NDArray[np.int64], types: NDArray[np.int64], other: NDArray[np.int64]
) -> list[str]:
    """Make the errors `types` (tokens,), -1 for none. New words are drawn from the corpus, in
    proportion to their frequency."""
    kinds, others = types.tolist(), other.tolist()
    output = []
    start = 0
    for length in lengths.tolist():
        line: list[str] = []
        for i in range(start, start + length):
            kind = kinds[i]
            if kind == -1:
                line.append(tokens[i])
            elif kind == 0:
                line.append(tokens[others[i]])
            elif kind == 2:
                line += (tokens[i], tokens[others[i]])
            elif kind == 3:
                line.insert(max(len(line) - 1, 0), tokens[i])
        start += length
        output.append(" ".join(line))
    return output


class CorruptionSettings(SystemSettings):
    """Seeded corruption of the references, for trying out the workflow without training anything."""

    errors: Annotated[float, about("Expected share of wrong words.", ge=0, le=1)] = 0.2
    spread: Annotated[
        float, about("Standard deviation over runs of the share of wrong words.", ge=0, le=1)
    ] = 0.01


class Corruption(Backend):
    """Replicas may have any name, since corruption trains and tunes nothing."""

    name = "corruption"
    Settings = CorruptionSettings

    @property
    def prefixes(self) -> tuple[str, ...]:
        return ("seeds", *TUNERS.names)

    @property
    def same_bytes(self) -> bool:
        return True

    @property
    def stages(self) -> Mapping[str, Sequence[str]]:
        return {"decode": ()}

    def decode(self, job: DecodeJob) -> list[str]:
        return corrupted_replica(
            job.prepared.references[0],
            errors=self.settings.errors,
            spread=self.settings.spread,
            seed=job.seed,
            system=self.system,
            replica=job.replica.id,
            testset=job.name,
        )
