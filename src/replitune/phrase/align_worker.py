"""One direction of word alignment by sil-thot, in a process of its own.

    python align_worker.py FOLDER KIND ITERATIONS SEED

It is a process of its own because OpenMP reads OMP_NUM_THREADS only when it is loaded: with more
than one thread, sil-thot sums counts in a varying order and alignments can differ. Its end also
frees the aligner's memory. FOLDER holds `{from,to}_{words,start}.npy`; `links.npy`
is written there: for each word of the "to" side the position in its segment of the "from"
word that it is linked to, or -1. Every word of "to" has at most one link.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def stages(kind: str, iterations: int, seed: int) -> list[tuple[Any, int]]:
    """The models to be trained one after the other, with their iterations (0: the model's own)."""
    import thot.alignment as thot

    if kind == "fast_align":
        fast = thot.FastAlignModel()
        fast.variational_bayes = True
        fast.fast_align_p0 = 0.08
        return [(fast, iterations)]
    if kind == "eflomal":
        eflomal = thot.EflomalAlignmentModel()
        eflomal.seed = seed
        eflomal.num_samplers = 3
        eflomal.deterministic = True
        return [(eflomal, 0)]
    raise ValueError(kind)


def segments(folder: Path, side: str) -> list[list[str]]:
    """Word ids as text: the aligner only has to tell words apart, and no odd word can confuse it."""
    words = np.load(folder / f"{side}_words.npy")
    start = np.load(folder / f"{side}_start.npy").tolist()
    names = [str(word) for word in words.tolist()]
    return [names[begin:end] for begin, end in pairwise(start)]


def run(folder: Path, kind: str, iterations: int, seed: int) -> NDArray[np.int16]:
    """Train and align; prints lines `STEP PLANNED` for the process that started this one."""
    from_side, to_side = segments(folder, "from"), segments(folder, "to")
    models = stages(kind, iterations, seed)
    final = models[-1][0]
    for source, target in zip(from_side, to_side, strict=True):
        final.add_sentence_pair(source, target, 1)
    planned = [rounds or 1 for _, rounds in models]
    done = 0
    for stage, (model, rounds) in enumerate(models):
        model.start_training()
        rounds = rounds or int(model.scheduled_iterations)
        planned[stage] = rounds
        for _ in range(rounds):
            model.train()
            done += 1
            print(done, sum(planned) + 1, flush=True)
        model.end_training()
    links: list[int] = []
    for begin in range(0, len(from_side), 1000):
        part = slice(begin, begin + 1000)
        for _, matrix in final.get_best_alignments(from_side[part], to_side[part]):
            links.extend(matrix.to_list())
    print(done + 1, done + 1, flush=True)
    return np.asarray(links, np.int16) - np.int16(1)


def main() -> None:
    folder = Path(sys.argv[1])
    links = run(folder, sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    np.save(folder / "links.npy", links)
    sys.stdout.flush()
    os._exit(0)  # without freeing the aligner's millions of nodes, which takes long


if __name__ == "__main__":
    main()
