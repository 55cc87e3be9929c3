"""Training subsets by name, as Fu et al. (2016, Table 5) make seven systems from one corpus.

TOTAL is `all`; RAND1 and RAND2 are random halves (`rand1`, `rand2`, `rand3`, ... each drawn
independently); TOP and BOTTOM are the first and the second half; ODD and EVEN the odd and the even lines,
counted from 1. Where the number of lines is odd, `top`, `odd` and the random halves have one line
more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError, nearest
from replitune.streams import stream

SLICES: dict[str, Callable[[int], slice]] = {
    "all": lambda half: slice(None),
    "top": lambda half: slice(half),
    "bottom": lambda half: slice(half, None),
    "odd": lambda half: slice(0, None, 2),
    "even": lambda half: slice(1, None, 2),
}
"""The lines of each subset, given half the number of all lines, rounded up."""
NAMED = (*SLICES, "rand1", "rand2")
RANDOM_HALF = re.compile(r"rand(?:om-)?([1-9][0-9]{0,8})")


def subset(name: str, lines: int, seed: int) -> NDArray[np.int64]:
    """Indices (n,), ascending, of the lines in subset `name` of a corpus of `lines` lines.

    `rand3` and `random-3` are the same half; its draw depends on (seed, 3) and `lines` only.
    """
    half = (lines + 1) // 2
    every = np.arange(lines, dtype=np.int64)
    if name in SLICES:
        chosen = every[SLICES[name](half)]
    elif number := RANDOM_HALF.fullmatch(name):
        rng = stream(seed, "corpus", "subset", "random", int(number.group(1)))
        chosen = np.sort(rng.permutation(lines)[:half]).astype(np.int64)
    else:
        close = nearest(name, NAMED)
        raise ReplituneError(
            "no such training subset",
            found=name,
            expected=f"one of {', '.join(NAMED)}, or rand with another number",
            fix=f"did you mean {close}?" if close else None,
        )
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


def pairs_of(name: str, sides: Sequence[Sequence[str]], seed: int) -> list[list[str]]:
    """Both sides of subset `name` of a parallel text; prints its size."""
    chosen = subset(name, len(sides[0]), seed)
    print(f"subset {name}: {len(chosen)} of {len(sides[0])} pairs")
    return [take(lines, chosen) for lines in sides]


def overlap(test: Sequence[str], train: Iterable[str]) -> int:
    """How many segments of `test` occur in `train` unchanged; blank ones do not count."""
    known = train if isinstance(train, set | frozenset) else set(train)
    return sum(1 for text in test if text in known and not text.isspace() and text != "")
