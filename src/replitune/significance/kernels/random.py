"""Counter-based random words: the only randomness inside the compiled kernels.

A word is addressed, not drawn in turn, so no result depends on batch sizes, threads or the
order of work. The generator is SplitMix64 (Steele, Lea and Flood 2014) with random access: word
c of resample b under a 64-bit key is

    mix(mix(key + (b + 1) gamma) + (c + 1) gamma)          gamma = 2^64 / golden ratio, odd

that is, each resample is a SplitMix64 sequence that starts at its own hashed state. The key
comes from the Generator that the caller passed. Where draw c may need more words than can be
numbered in advance (rejection), they come from the sequence that starts at
mix(((resample key) xor FURTHER) + (c + 1) gamma).

Bounded integers are exactly uniform: by rejection, never as a remainder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FURTHER = np.uint64(0xD1B54A32D192ED03)
"""Marks words that are drawn when the numbered ones do not suffice."""
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)

BLOCK = 4096
"""Resamples worked on at once: their sums stay in the second-level cache."""


def mix_words(z):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser: a bijection of 64-bit words (also of arrays of them)."""
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


def draw_key(rng: np.random.Generator) -> int:
    """One 64-bit key; the only thing the kernels take from a Generator."""
    return int(rng.integers(0, 2**64, dtype=np.uint64))


def keys_of(key: int, samples: int) -> NDArray[np.uint64]:
    """(samples,) the key of each resample; the first ones are the same for more samples."""
    numbers = np.arange(1, samples + 1, dtype=np.uint64)
    return mix_words(np.uint64(key) + numbers * GAMMA)


def resample_keys(rng: np.random.Generator, samples: int) -> NDArray[np.uint64]:
    """(samples,) keys under one key drawn from `rng`."""
    return keys_of(draw_key(rng), samples)


def blocks(samples: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that cover range(samples)."""
    for start in range(0, samples, size):
        yield slice(start, min(start + size, samples))


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
    """Zeros that start at a cache line: a 64-byte row is then one line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


def exact_dtype(bound: float, kind: str) -> np.dtype:
    """int32 where counts cannot overflow it, else float64 (exact for counts below 2^53)."""
    return np.dtype(np.int32) if kind in "iu" and bound < 2**31 else np.dtype(np.float64)


def in_lines(columns: NDArray, dtype: np.dtype) -> NDArray:
    """(..., K) -> (..., lines, lanes): each row padded with zeros to whole 64-byte lines."""
    lanes = 64 // dtype.itemsize
    lines = -(-columns.shape[-1] // lanes)
    out = aligned((*columns.shape[:-1], lines * lanes), dtype)
    out[..., : columns.shape[-1]] = columns
    return out.reshape(*columns.shape[:-1], lines, lanes)
