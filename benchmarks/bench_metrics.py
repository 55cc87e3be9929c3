"""Measure what metrics cost, and sacrebleu in the same run; prints Markdown tables.

    python benchmarks/bench_metrics.py [--data DIR] [--only TEXT] [--million N]

CPU seconds of this process, the best of three runs; compiled kernels are loaded before the clock
starts. DIR holds `multeval-example`, `multi30k` and `multi30k-replicas`.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sacrebleu
from measuring import cpu

from replitune.metrics.bleu import Bleu
from replitune.metrics.ngrams import count_matches
from replitune.metrics.registry import get_metric
from replitune.metrics.token_ids import encode
from replitune.metrics.tokenizers import get_tokenizer
from replitune.running.files import read_lines, write_lines
from replitune.statistics.outputs import Outputs, read_outputs
from replitune.statistics.scoring import score_outputs
from replitune.statistics.texts import TextChecks


class Row(NamedTuple):
    """One row of the first table; only `limit` segments if the peer is slow."""

    spec: str
    peer: Callable[[], Any]
    limit: int | None = None


ROWS = [
    Row("bleu:tokenize=none", lambda: sacrebleu.BLEU(tokenize="none", force=True)),
    Row("bleu", lambda: sacrebleu.BLEU(force=True)),
    Row("bleu:tokenize=intl", lambda: sacrebleu.BLEU(tokenize="intl", force=True)),
]


def multeval(data: Path) -> tuple[list[str], list[str]]:
    folder = data / "multeval-example"
    return (
        read_lines(folder / "hyps.lc.tok.en.baseline.opt0.gz"),
        read_lines(folder / "refs.test2010.lc.tok.en.0.gz"),
    )


def against_sacrebleu(data: Path, only: str) -> None:
    print("\nStatistics of the multeval example, run 0, references included:\n")
    print("| metric | segments | ours /CPU-s | sacrebleu /CPU-s | ratio | score | sacrebleu |")
    print("|---|---|---|---|---|---|---|")
    for spec, peer, limit in ROWS:
        if only not in spec:
            continue
        hyps, ref = (lines[:limit] for lines in multeval(data))
        metric = get_metric(spec)
        rows = metric.statistics(hyps, [ref])  # compiles
        # New objects each time, because sacrebleu's tokenisers cache what they have seen.
        ours = cpu(lambda: get_metric(spec).statistics(hyps, [ref]))  # noqa: B023
        theirs = cpu(lambda: peer()._extract_corpus_statistics(hyps, [ref]), 1 if limit else 3)  # noqa: B023
        score = float(metric.score(rows.sum(axis=0)))
        expected = peer().corpus_score(hyps, [ref]).score
        n = len(hyps)
        print(
            f"| {spec} | {n} | {n / ours:,.0f} | {n / theirs:,.0f} | {theirs / ours:.1f} "
            f"| {score:.10f} | {expected:.10f} |"
        )


def parts_of_bleu(data: Path) -> None:
    hyps, ref = multeval(data)
    metric = Bleu()
    prepared = metric.prepare([ref])
    ids, starts = encode(metric.tokenizer(hyps), prepared.references.vocabulary)
    segments = np.arange(len(hyps))
    out = np.zeros((len(hyps), 4), dtype=np.int32)
    peer = sacrebleu.BLEU

    def match() -> None:
        count_matches(ids, starts, segments, *prepared.tries, 4, out)

    match()
    print("\nParts of BLEU on the same hypotheses, segments per CPU second:\n")
    print("| part | ours | sacrebleu |")
    print("|---|---|---|")
    print(f"| matching, after tokenisation | {len(hyps) / cpu(match):,.0f} | |")
    for name in ("13a", "intl", "zh", "char"):
        ours = cpu(lambda: get_tokenizer(name)(hyps))  # noqa: B023
        theirs = cpu(lambda: tokenise_like_sacrebleu(peer(tokenize=name), hyps))  # noqa: B023
        print(f"| tokenising, {name} | {len(hyps) / ours:,.0f} | {len(hyps) / theirs:,.0f} |")


def tokenise_like_sacrebleu(peer: Any, lines: list[str]) -> None:
    for line in lines:
        peer._preprocess_segment(line).split()


def replicas(data: Path, specs: list[str]) -> None:
    ref_file = data / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz"
    refs = [read_lines(ref_file)]
    print("\nReal tuning replicas (`multi30k-replicas`, test_2016_flickr), milliseconds of CPU:\n")
    print(
        "| system | replicas | metric | distinct share | read | prepare | distinct pairs alone "
        "| all replicas | ratio | diagnosis | diagnosis / (read + prepare + score) |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for system in ("dl2", "dl6"):
        files = sorted((data / "multi30k-replicas").glob(f"{system}.*.test2016.gz"))
        for spec in specs:
            metric = get_metric(spec)
            prepared = metric.prepare(refs)
            outputs = read_outputs(files, len(refs[0]), ref_file)
            score_outputs(metric, outputs, prepared)
            pairs = outputs.distinct(range(len(outputs)))
            read = cpu(lambda: read_outputs(files, len(refs[0]), ref_file))  # noqa: B023
            prepare = cpu(lambda: metric.prepare(refs))  # noqa: B023
            alone = cpu(
                lambda: metric.segment_statistics(pairs.hyps, pairs.segments, prepared),  # noqa: B023
                10,
            )
            whole = cpu(lambda: score_outputs(metric, outputs, prepared), 10)  # noqa: B023
            ids = [f"run-{n:03d}" for n, _ in enumerate(files, 1)]
            check = cpu(lambda: TextChecks(refs).findings(system, ids, outputs), 10)  # noqa: B023
            print(
                f"| {system} | {len(files)} | {spec} "
                f"| {len(pairs.hyps) / pairs.inverse.size:.3f} | {1e3 * read:.1f} "
                f"| {1e3 * prepare:.1f} | {1e3 * alone:.1f} | {1e3 * whole:.1f} "
                f"| {whole / alone:.2f} | {1e3 * check:.1f} "
                f"| {check / (read + prepare + whole):.1%} |"
            )


def altered(hyps: list[str], rng: np.random.Generator) -> Iterator[str]:
    """Each line with three words dropped or repeated, so that nearly all outputs are distinct."""
    for line, places in zip(hyps, rng.random((len(hyps), 3)), strict=True):
        words = line.split()
        for place in places:
            i = int(place * len(words))
            words[i : i + 1] = words[i : i + 1] * (2 * int(place * 1e6) % 4)
        yield " ".join(words)


def million(data: Path, segments: int) -> None:
    """From files to statistics, one system of 60 replicas at a time, as `score` does."""
    hyps, ref = multeval(data)
    per_system = 60
    n_systems = -(-segments // (per_system * len(hyps)))
    rng = np.random.default_rng(1)
    metric = Bleu()
    metric.statistics(hyps, [ref])
    with tempfile.TemporaryDirectory() as folder:
        files = [[Path(folder) / f"{s}-{r}.txt" for r in range(per_system)] for s in range(n_systems)]
        for path in (path for system in files for path in system):
            write_lines(path, altered(hyps, rng))
        start, wall = time.process_time(), time.perf_counter()
        prepared = metric.prepare([ref])
        reading, computed, done = 0.0, 0, 0
        for paths in files:
            before = time.process_time()
            outputs: Outputs = read_outputs(paths, len(ref))
            reading += time.process_time() - before
            statistics, pairs = score_outputs(metric, outputs, prepared)
            computed += pairs
            done += statistics.shape[0] * statistics.shape[1]
        seconds, elapsed = time.process_time() - start, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\nMany segments, BLEU (13a), one core, from files to statistics:\n")
    print("| segments | distinct pairs | files | CPU s | of which reading | wall s | peak RSS MB |")
    print("|---|---|---|---|---|---|---|")
    print(
        f"| {done:,} | {computed:,} | {n_systems * per_system} | {seconds:.1f} | {reading:.1f} "
        f"| {elapsed:.1f} | {peak:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA"), help="folder of corpora")
    parser.add_argument("--only", default="", help="only metrics whose specification has this text")
    parser.add_argument("--million", type=int, default=1_300_000, help="segments; 0 leaves it out")
    arguments = parser.parse_args()
    if not arguments.data:
        sys.exit("name the folder of corpora: --data DIR, or REPLITUNE_DATA")
    data = Path(arguments.data)
    print(f"Python {sys.version.split()[0]}, sacrebleu {sacrebleu.__version__}, one core")
    if arguments.million:
        million(data, arguments.million)  # first, because the peak memory of the process is printed for it
    against_sacrebleu(data, arguments.only)
    if arguments.only in "bleu":
        parts_of_bleu(data)
    replicas(data, [row.spec for row in ROWS if arguments.only in row.spec])


if __name__ == "__main__":
    main()
