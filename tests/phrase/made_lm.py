"""Language models without a folder of one's own; what is mapped outlives its file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from replitune.phrase.arpa import NgramModel, read_arpa
from replitune.phrase.kneser_ney import train_lm


def trained_lm(
    segments: Iterable[Sequence[str]],
    order: int,
    prune: Sequence[int] = (),
    progress: Callable[[str], None] | None = None,
) -> NgramModel:
    with tempfile.TemporaryDirectory() as folder:
        return train_lm(segments, order, Path(folder), prune, progress)


def arpa_model(path: Path) -> NgramModel:
    with tempfile.TemporaryDirectory() as folder:
        return read_arpa(path, Path(folder))
