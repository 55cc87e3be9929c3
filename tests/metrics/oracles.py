"""Text for property tests, and sacrebleu and finite differences as oracles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

# Few words, so that n-grams match; and everything that tokenisers look at.
_WORD = st.sampled_from(
    ["the", "The", "a", "cat", "sat", "5", "5.5", "1,000", ".", ",", "...", "-", "x-5", "7-", "&amp;"]
)
_ODD = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            list("ab09.,-&;<>()'\"/$ \t\r\x0b\x0c\x1c\x85\u2028\u3000\xa0éΣσİß中文。かな한글😀")
        ),
        st.characters(exclude_categories=["Cs"], exclude_characters="\n\0"),
    ),
    max_size=12,
)
_PIECE = st.one_of(_WORD, _WORD, _WORD, _ODD, st.sampled_from(["<skipped>", "&quot;", "&lt;5&gt;"]))
LINE = st.builds(
    lambda pieces, gap: gap.join(pieces), st.lists(_PIECE, max_size=12), st.sampled_from([" ", " ", ""])
)


@st.composite
def corpora(draw: Any, max_refs: int = 3) -> tuple[list[str], list[list[str]]]:
    """(hypotheses, reference streams) of one small test set."""
    n = draw(st.integers(1, 5))
    lines = st.lists(LINE, min_size=n, max_size=n)
    refs = [draw(lines) for _ in range(draw(st.integers(1, max_refs)))]
    hyps = draw(lines)
    for i in draw(st.sets(st.integers(0, n - 1))):
        hyps[i] = refs[0][i] + draw(st.sampled_from(["", " .", " the cat"]))
    return hyps, refs


def central_differences(
    f: Callable[[NDArray[Any]], NDArray[np.float64]], z: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Gradient (K,) of f at z (K,), by central differences."""
    steps = np.diag(1e-6 * np.maximum(1.0, np.abs(z)))
    return (f(z + steps) - f(z - steps)) / (2 * np.diagonal(steps))
