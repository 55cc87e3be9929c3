"""Training subsets by name, as Fu et al. (2016, Table 5) make seven systems from one corpus.

TOTAL is `all`; RAND1 and RAND2 are random halves (`rand1`, `rand2`, `rand3`, ... each drawn on
its own); TOP and BOTTOM are the first and the second half; ODD and EVEN the odd and the even
lines, counted from 1. Where the number of lines is odd, `top`, `odd` and the random halves have
the line more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.streams import stream

NAMED = ("all", "top", "bottom", "odd", "even", "rand1", "rand2")
RANDOM_HALF = re.compile(r"rand(?:om-)?([1-9][0-9]{0,8})")


def check_subset(name: str) -> str:
    """`name` itself when it names a subset; an error otherwise."""
    if name not in NAMED and not RANDOM_HALF.fullmatch(name):
        close = nearest(name, NAMED)
        raise ReplituneError(
            "no such training subset",
            found=name,
            expected=f"one of {', '.join(NAMED)}, or rand with another number",
            fix=f"did you mean {close}?" if close else None,
        )
    return name


def subset(name: str, lines: int, seed: int) -> NDArray[np.int64]:
    """Indices (n,), ascending, of the lines in subset `name` of a corpus of `lines` lines.

    `rand3` and `random-3` are the same half; its draw depends on (seed, 3) and `lines` only.
    """
    check_subset(name)
    half = (lines + 1) // 2
    every = np.arange(lines, dtype=np.int64)
    if name == "all":
        chosen = every
    elif name == "top":
        chosen = every[:half]
    elif name == "bottom":
        chosen = every[half:]
    elif name == "odd":
        chosen = every[0::2]
    elif name == "even":
        chosen = every[1::2]
    else:
        number = RANDOM_HALF.fullmatch(name)
        assert number is not None
        rng = stream(seed, "corpus", "subset", "random", int(number.group(1)))
        chosen = np.sort(rng.permutation(lines)[:half]).astype(np.int64)
    if len(chosen) == 0:
        raise ReplituneError(
            f"training subset {name} is empty",
            found=f"{lines} lines of training data",
            expected="at least two",
        )
    return chosen


def take(lines: Sequence[str], indices: NDArray[np.int64]) -> list[str]:
    """The lines at `indices`."""
    return [lines[i] for i in indices.tolist()]


def overlap(test: Sequence[str], train: Iterable[str]) -> int:
    """How many segments of `test` occur in `train`, as they are; blank ones do not count."""
    known = train if isinstance(train, set | frozenset) else set(train)
    return sum(1 for text in test if text in known and not text.isspace() and text != "")
