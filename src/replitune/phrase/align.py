"""Word alignment in both directions: sil-thot's HMM, fast_align or eflomal."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import replitune
from replitune.errors import ReplituneError
from replitune.phrase.encode import Encoded
from replitune.phrase.settings import Aligner

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
    """Align two sides of a corpus in both directions, two processes at a time if threads allow.

    `iterations` counts each stage (IBM 1 and HMM, or fast_align); eflomal has its own schedule
    and is the only one that uses `seed`. The result does not depend on `threads`.
    """
    say = progress or (lambda line: None)
    with tempfile.TemporaryDirectory(prefix="replitune-align-") as name:
        workers = []
        for direction, from_side, to_side in (
            ("source to target", source, target),
            ("target to source", target, source),
        ):
            folder = Path(name) / direction.replace(" ", "-")
            folder.mkdir()
            np.save(folder / "from_words.npy", from_side.words)
            np.save(folder / "from_start.npy", from_side.start)
            np.save(folder / "to_words.npy", to_side.words)
            np.save(folder / "to_start.npy", to_side.start)
            workers.append(_Worker(folder, kind, iterations, seed, f"align {direction}", say))
        try:
            if threads >= 2:
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.wait()
            else:
                for worker in workers:
                    worker.start()
                    worker.wait()
        finally:
            for worker in workers:
                worker.stop()
        to_source, to_target = (np.load(worker.folder / "links.npy") for worker in workers)
    assert len(to_source) == len(target.words)
    assert len(to_target) == len(source.words)
    return DirectedAlignments(to_source, to_target)


class _Worker:
    """One direction running in a child process."""

    def __init__(
        self, folder: Path, kind: str, iterations: int, seed: int, label: str, say: Progress
    ) -> None:
        self.folder = folder
        self.arguments = [str(folder), kind, str(iterations), str(seed)]
        self.label = label
        self.say = say
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        package = str(Path(replitune.__file__).parents[1])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        with open(self.folder / "stderr.txt", "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "replitune.phrase.align_worker", *self.arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                text=True,
            )
        self.reader = threading.Thread(target=self._read, args=(self.process,), daemon=True)
        self.reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            step, _, planned = line.strip().partition(" ")
            self.say(f"{self.label}: step {step} of {planned}")

    def wait(self) -> None:
        assert self.process is not None
        code = self.process.wait()
        self.reader.join()
        if code != 0:
            errors = (self.folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
            last = errors.strip().splitlines()[-1:] or [f"exit status {code}"]
            raise ReplituneError(
                "the word aligner failed",
                found=last[0],
                fix="a negative exit status means that it was killed, often for want of memory",
            )

    def stop(self) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
