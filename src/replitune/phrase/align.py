"""Word alignment in both directions: by a hidden Markov model, or by sil-thot's fast_align or eflomal."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.phrase.encode import Encoded
from replitune.phrase.hmm import hmm_links, number_pairs
from replitune.phrase.settings import Aligner
from replitune.running.supervisor import Program

WORKER = [sys.executable, "-P", str(Path(__file__).with_name("align_worker.py"))]
"""The program that aligns in one direction; -P: it must not import from its own folder."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class DirectedAlignments:
    """Both directions, with at most one link per word on the generated side.

    to_source: (target words,) int16, position in its segment of each target word's source
        word, or -1
    to_target: (source words,) int16, the same the other way round
    """

    to_source: NDArray[np.int16]
    to_target: NDArray[np.int16]


def align(
    source: Encoded,
    target: Encoded,
    kind: Aligner = "hmm",
    *,
    iterations: int = 5,
    seed: int = 1,
    threads: int = 1,
    progress: Progress | None = None,
) -> DirectedAlignments:
    """Align two sides of a corpus in both directions, both at once if threads allow.

    `iterations` holds for each stage (IBM 1 and HMM, or fast_align); eflomal has its own schedule
    and is the only one that uses `seed`. The result does not depend on `threads`.
    """
    say = progress or (lambda line: None)
    if kind == "hmm":
        return DirectedAlignments(*_by_hmm(source, target, iterations, threads, say))
    needs("phrase")
    return DirectedAlignments(*_by_workers(source, target, kind, iterations, seed, threads, say))


DIRECTIONS = ("source to target", "target to source")


def _by_hmm(
    source: Encoded, target: Encoded, iterations: int, threads: int, say: Progress
) -> list[NDArray[np.int16]]:
    """Both directions, in threads of this process."""
    cells, *sides = number_pairs(source, target)
    stop = threading.Event()

    def one(direction: int) -> NDArray[np.int16]:
        def step(done: int, planned: int) -> None:
            say(f"align {DIRECTIONS[direction]}: step {done} of {planned}")
            if stop.is_set():
                raise KeyboardInterrupt

        return hmm_links(cells, sides, direction, iterations, step)

    with ThreadPoolExecutor(2 if threads >= 2 else 1) as pool:
        try:
            return list(pool.map(one, (0, 1)))
        except BaseException:  # Ctrl-C, for example: stop the threads at their next step
            stop.set()
            raise


def _by_workers(
    source: Encoded, target: Encoded, kind: Aligner, iterations: int, seed: int, threads: int, say: Progress
) -> list[NDArray[np.int16]]:
    """Both directions by sil-thot, in processes."""
    with tempfile.TemporaryDirectory(prefix="replitune-align-") as name:
        jobs = {}
        for direction, from_side, to_side in zip(
            DIRECTIONS, (source, target), (target, source), strict=True
        ):
            folder = Path(name) / direction.replace(" ", "-")
            folder.mkdir()
            np.save(folder / "from_words.npy", from_side.words)
            np.save(folder / "from_start.npy", from_side.start)
            np.save(folder / "to_words.npy", to_side.words)
            np.save(folder / "to_start.npy", to_side.start)
            jobs[f"align {direction}"] = [str(folder), kind, str(iterations), str(seed)]
        for at_once in [jobs] if threads >= 2 else [{label: jobs[label]} for label in jobs]:
            with ExitStack() as stack:
                workers = [
                    stack.enter_context(Program([*WORKER, *words], label))
                    for label, words in at_once.items()
                ]
                for worker in workers:
                    _finish(worker, say)
        return [np.load(Path(words[0], "links.npy")) for words in jobs.values()]


def _finish(worker: Program, say: Progress) -> None:
    """Report the steps of one direction until it is done."""

    def each_line(line: str) -> None:
        step, _, planned = line.partition(" ")
        if step.isdigit() and planned.isdigit():
            say(f"{worker.what}: step {step} of {planned}")

    code = worker.follow(each_line)
    if code != 0:
        raise ReplituneError(
            "the word aligner failed",
            found=worker.last_messages[-1] if worker.last_messages else f"exit status {code}",
            fix="a negative exit status means that it was killed, often for want of memory",
        )
