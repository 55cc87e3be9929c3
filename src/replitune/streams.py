"""Named random streams: the only way this project makes random number generators.

An experiment has one seed. Whatever needs randomness has a name (the stage, then names from the
general to the particular), and the seed and this name decide its stream. So adding a system, a
replica, a metric or a method changes no other number, and the layout of jobs and threads does not
matter.
"""

from __future__ import annotations

import hashlib

import numpy as np


def seed_sequence(seed: int, stage: str, *names: str | int) -> np.random.SeedSequence:
    """The seed sequence for (seed, stage, names)."""
    name = "\0".join((stage, *map(str, names))).encode()
    digest = hashlib.blake2b(name, digest_size=16).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.SeedSequence(seed, spawn_key=key)


def stream(seed: int, stage: str, *names: str | int) -> np.random.Generator:
    """A generator for (seed, stage, names): ``stream(2011, "tune", "baseline", "mert", 3)``."""
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, stage, *names)))
