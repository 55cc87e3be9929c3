"""Measure whole tuning runs of a phrase-based system: CPU time, the part for decoding, dev score.

  python benchmarks/bench_tuning.py MODEL SOURCE REFERENCE [--seeds 5] [--threads 1] [--only mert]

At most 10 decodings of 100 distinct translations, with default settings and BLEU without tokenising.
CPU seconds (user and system) of all threads, with kernels compiled and the model loaded; medians over
seeds. The runs of a tuner are replicas of one system, so they all reuse the first decoding of the first
one. Prints Markdown.

Tried without success: the same random directions for all starts of MERT (lost .07 to .3 of dev BLEU),
its first phase on half of the segments (lost .1), 10 random starts (different weights for half of the
seeds), a pop limit of 200 (lost .07).
"""

from __future__ import annotations

import argparse
import os
import statistics
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measuring import timed

from replitune.phrase.decoder import PhraseSystem
from replitune.phrase.dev_decoder import DevDecoder, FirstDecoding
from replitune.running.files import read_lines
from replitune.streams import stream
from replitune.tuners import TUNERS, get_tuner
from replitune.tuning.combination import get_objective
from replitune.tuning.loop import LoopResult, run_loop
from replitune.tuning.objective import Objective
from replitune.tuning.settings import LoopSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=TUNERS.names)
    parser.add_argument("--lines", type=int)
    options = parser.parse_args()
    source = read_lines(options.source)[: options.lines]
    reference = read_lines(options.reference)[: options.lines]
    system = PhraseSystem(options.model)
    objective = Objective(get_objective("bleu:tokenize=none"))

    start = system.layout.sensible()
    common = TemporaryDirectory()

    def tune(name: str, seed: int, n: int, most: int) -> tuple[LoopResult, float, float, float]:
        """The result, CPU seconds of all work and of decoding, wall seconds."""
        tuner = get_tuner(name)
        first = FirstDecoding(Path(common.name) / f"{name}.npz", start, f"{n} segments")
        inner = DevDecoder(
            system,
            source[:n],
            [reference[:n]],
            objective.metric,
            100,
            options.threads,
            tuner.density,
            first,
        )
        decoding = 0.0

        def decode(*arguments: Any) -> Any:
            nonlocal decoding
            found, seconds, _ = timed(lambda: inner(*arguments))
            decoding += seconds
            return found

        result, cpu, wall = timed(
            lambda: run_loop(
                decode,
                tuner,
                objective,
                start,
                n,
                partial(stream, seed, "bench", name),
                LoopSettings(iterations=most),
                threads=options.threads,
            )
        )
        return result, cpu, decoding, wall

    print(
        f"{len(source):,} segments, {system.layout.dimension} features, "
        f"{options.threads} thread(s), "
        f"load {os.getloadavg()[0]:.1f} at the start\n"
    )
    print("| tuner | CPU s, median (worst) | of it decoding | decodings | wall s | dev BLEU |")
    print("|---|---|---|---|---|---|")
    for name in [options.only] if options.only else TUNERS.names:
        tune(name, 0, 10, 2)  # compiles
        runs = [tune(name, seed, len(source), 10) for seed in range(1, options.seeds + 1)]
        cpu = [run[1] for run in runs]
        scores = [run[0].dev_score for run in runs]
        print(
            f"| {name} | {statistics.median(cpu):.1f} ({max(cpu):.1f}) "
            f"| {statistics.median(run[2] for run in runs):.1f} "
            f"| {statistics.median(len(run[0].history) for run in runs):.0f} "
            f"| {statistics.median(run[3] for run in runs):.1f} "
            f"| {statistics.median(scores):.2f} ({min(scores):.2f}, {max(scores):.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
