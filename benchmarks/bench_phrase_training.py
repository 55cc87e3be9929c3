"""Measure CPU seconds and memory of training a phrase-based system, and its LM's perplexity.

    python benchmarks/bench_phrase_training.py DATA [--source de --target en --threads 1]

DATA holds train.lc.norm.tok.{de,en}.gz and val.lc.norm.tok.{de,en}.gz of Multi30k. Memory is
the largest resident set of one process.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from phrase_models import train_phrase_system, write_arpa
from replitune.phrase.arpa import NgramModel
from replitune.phrase.settings import PhraseSettings
from replitune.running.files import read_lines


def usage() -> tuple[float, float]:
    """CPU seconds and peak resident megabytes of this process and those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used), max(u.ru_maxrss for u in used) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alignment", default="hmm")
    parser.add_argument("--lm-order", type=int, default=5)
    options = parser.parse_args()

    def text(part: str, language: str) -> list[str]:
        return read_lines(options.data / f"{part}.lc.norm.tok.{language}.gz")

    source, target = text("train", options.source), text("train", options.target)
    settings = PhraseSettings(alignment=options.alignment, lm_order=options.lm_order)
    with tempfile.TemporaryDirectory() as name:
        begin = time.monotonic()
        cpu = [usage()[0]]

        def progress(line: str) -> None:
            if " word links (" in line:
                cpu.append(usage()[0])

        model = train_phrase_system(
            source, target, settings, Path(name) / "model", threads=options.threads, progress=progress
        )
        wall = time.monotonic() - begin
        cpu.append(usage()[0])
        print(f"pairs             {len(source)}")
        print(f"to the word links {cpu[1] - cpu[0]:.1f} CPU-s")
        print(f"all the rest      {cpu[2] - cpu[1]:.1f} CPU-s, {usage()[1]:.0f} MB")
        print(f"wall              {wall:.1f} s with --threads {options.threads}")
        try:
            import kenlm
        except ImportError:
            print("perplexity        not measured: the package kenlm is missing")
            return
        write_arpa(NgramModel.load(model / "lm"), Path(name) / "lm.arpa")
        oracle = kenlm.Model(str(Path(name) / "lm.arpa"))
        dev = text("val", options.target)
        words = sum(len(line.split()) + 1 for line in dev)
        perplexity = 10 ** (-sum(map(oracle.score, dev)) / words)
        print(f"val perplexity    {perplexity:.2f} (order {options.lm_order}, OOV included)")


if __name__ == "__main__":
    main()
