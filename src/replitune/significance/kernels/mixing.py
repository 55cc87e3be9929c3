"""The mixing of random words as kernels call it; `random` itself compiles nothing."""

from __future__ import annotations

from numba import njit

from replitune.significance.kernels.random import mix_words

mix = njit(inline="always")(mix_words)
