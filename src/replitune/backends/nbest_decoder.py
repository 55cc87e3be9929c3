"""Lets our tuners tune an external decoder that writes n-best lists in Moses' format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.backends.interface import ReplicaJob, Tunable, needed
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.files import write_lines
from replitune.tuning.combination import get_objective
from replitune.tuning.hypothesis_statistics import Statistics
from replitune.tuning.loop import Decoded
from replitune.tuning.nbest_files import NBestLists, read_nbest
from replitune.tuning.weights import Layout

WriteNBest = Callable[[dict[str, list[float]], Path, Path], None]
"""``write(weights, source file, n-best file)``"""


def read_written(nbest: Path, segments: int) -> NBestLists:
    """Read lists that a program has just written. A bad list is a failed replica, not a user's mistake."""
    if not nbest.exists():
        raise ReplicaError("the decoder wrote no n-best file", expected=str(nbest))
    try:
        return read_nbest([nbest], segments)
    except ReplituneError as error:
        raise ReplicaError(
            f"the decoder's n-best file: {error.message}",
            line=error.line,
            found=error.found,
            expected=error.expected,
        ) from None


def tunable_by_nbest(
    job: ReplicaJob, start: dict[str, list[float]], write: WriteNBest, inputs: dict[str, Any]
) -> Tunable:
    """An external program as a `Tunable`; `start` has the features in the order of its lists."""
    if job.init is not None:
        from replitune.tuning.weights import read_weights

        start = {**start, **read_weights(job.init)}
    dev = needed(job.dev, "testset")
    lines = needed(dev.source, "source")
    layout = Layout(tuple(start), tuple(len(values) for values in start.values()))
    statistics = Statistics(get_objective(job.metric), dev.references)

    def decode(weights: NDArray[np.float64], iteration: int) -> Decoded:
        with TemporaryDirectory(prefix="replitune-nbest-") as folder:
            source, nbest = Path(folder, "source.txt"), Path(folder, "nbest.txt")
            write_lines(source, lines)
            write(layout.to_weights(weights), source, nbest)
            lists = read_written(nbest, len(lines))
        if lists.layout != layout:
            raise ReplituneError(
                "the decoder's n-best lists have other features than the weights",
                found=str(lists.layout),
                expected=str(layout),
                fix="give a start weight for every feature, in the order of the n-best lists",
            )
        # segments may come in any order; within one, the first hypothesis is the best
        order = np.argsort(lists.segments, kind="stable")
        segments = lists.segments[order]
        texts = [lists.texts[i] for i in order]
        return Decoded(segments, lists.features[order], statistics(texts, segments))

    return Tunable(layout, layout.to_vector(start), decode, dev.segments, inputs)
