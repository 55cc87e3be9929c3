"""Measure TER, chrF, NIST, RIBES and METEOR, and their peers in the same run; prints Markdown.

    python benchmarks/bench_ter_chrf.py [--data DIR] [--sample 400] [--verify]

Segments per CPU second of this process (for METEOR, of its Java processes, too), references included,
the best of three runs; compiled kernels are loaded before the clock starts. A slow peer scores only
evenly spaced segments. `--verify` instead compares the TER and chrF statistics of every distinct
hypothesis in all nine files of `multeval-example` with sacrebleu's (takes minutes). DIR holds
`multeval-example`, `multi30k` and `multi30k-replicas`.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sacrebleu
from measuring import cpu

from replitune.errors import ReplituneError
from replitune.metrics.meteor import Meteor
from replitune.metrics.registry import get_metric
from replitune.running.files import read_lines
from replitune.statistics.outputs import read_outputs


def cpu_now() -> float:
    """CPU seconds so far of this process and its children that have ended."""
    usage = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in usage)


def multeval(data: Path, system: str = "baseline", run: int = 0) -> list[str]:
    return read_lines(data / "multeval-example" / f"hyps.lc.tok.en.{system}.opt{run}.gz")


class TestSet(NamedTuple):
    """Distinct (segment, hypothesis) pairs: hypothesis j translates segment segments[j]."""

    name: str
    hyps: list[str]
    segments: np.ndarray
    ref: list[str]


def test_sets(data: Path) -> list[TestSet]:
    """One run with long sentences, and all replicas of a system with short ones."""
    hyps = multeval(data)
    ref = read_lines(data / "multeval-example" / "refs.test2010.lc.tok.en.0.gz")
    files = sorted((data / "multi30k-replicas").glob("dl6.*.test2016.gz"))
    captions = read_lines(data / "multi30k" / "test_2016_flickr.lc.norm.tok.en.gz")
    pairs = read_outputs(files, len(captions)).distinct(range(len(files)))
    return [
        TestSet("multeval example, run 0", hyps, np.arange(len(hyps)), ref),
        TestSet(f"multi30k, {len(files)} replicas", list(pairs.hyps), pairs.segments, captions),
    ]


def nltk_nist(hyps: list[str], ref: list[str]) -> None:
    from nltk.translate.nist_score import corpus_nist

    corpus_nist([[line.split()] for line in ref], [line.split() for line in hyps])


def nltk_ribes(hyps: list[str], ref: list[str]) -> None:
    from nltk.translate.ribes_score import corpus_ribes

    corpus_ribes([[line.split()] for line in ref], [line.split() for line in hyps])


def sacrebleu_statistics(peer: Callable[[], Any]) -> Callable[[list[str], list[str]], None]:
    return lambda hyps, ref: peer()._extract_corpus_statistics(hyps, [ref])


def table(data: Path, sample: int) -> None:
    rows = [
        ("ter", sacrebleu_statistics(sacrebleu.TER), sample),
        ("ter:normalized=true", sacrebleu_statistics(lambda: sacrebleu.TER(normalized=True)), sample),
        ("chrf", sacrebleu_statistics(sacrebleu.CHRF), None),
        ("chrf++", sacrebleu_statistics(lambda: sacrebleu.CHRF(word_order=2)), None),
        ("nist:tokenize=none", nltk_nist, None),
        ("ribes", nltk_ribes, sample),
    ]
    print("| metric | test set | distinct segments | ours /CPU-s | peer /CPU-s | ratio |")
    print("|---|---|---|---|---|---|")
    for name, hyps, segments, ref in test_sets(data):
        n = len(hyps)
        for spec, peer, limit in rows:
            get_metric(spec).statistics(hyps[:2], [ref[:2]])  # compiles

            # New objects each time, because sacrebleu's tokenisers cache what they have seen.
            def work(spec: str = spec) -> None:
                metric = get_metric(spec)
                metric.segment_statistics(hyps, segments, metric.prepare([ref]))  # noqa: B023

            part = evenly(n, limit or n)
            some, some_ref = [hyps[j] for j in part], [ref[segments[j]] for j in part]
            ours = n / cpu(work)
            theirs = len(part) / cpu(lambda: peer(some, some_ref), 1 if limit else 3)  # noqa: B023
            print(
                f"| {spec} | {name} | {n:,} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.0f} |",
                flush=True,
            )


def evenly(n: int, sample: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(sample, n)).astype(int))


def meteor(data: Path) -> None:
    """Print what METEOR's start costs, and each segment. It has no peer other than itself."""
    name, hyps, _, ref = test_sets(data)[0]
    metric = Meteor(workers=1)
    seconds = []
    for count in (1, len(hyps)):

        def work(n: int = count) -> None:
            prepared = metric.prepare([ref])
            metric.segment_statistics(hyps[:n], np.arange(n), prepared)
            prepared.workers.close()

        seconds.append(cpu(work, 1, cpu_now))
    each = (len(hyps) - 1) / (seconds[1] - seconds[0])
    print(f"\nMETEOR, {name}: start {seconds[0]:.1f} CPU-s, then {each:,.0f} segments per CPU-s")


def verify(data: Path) -> None:
    ref = read_lines(data / "multeval-example" / "refs.test2010.lc.tok.en.0.gz")
    files = [multeval(data, system, k) for system in ("baseline", "sys1", "sys2") for k in range(3)]
    pairs = dict.fromkeys((i, hyp) for lines in files for i, hyp in enumerate(lines))
    segments = np.array([i for i, _ in pairs])
    hyps = [hyp for _, hyp in pairs]
    lines = sum(map(len, files))
    print(f"{lines:,} hypotheses, {len(pairs):,} distinct (segment, hypothesis) pairs\n")
    print("| metric | rows that differ from sacrebleu's |")
    print("|---|---|")
    for spec, peer in (
        ("ter", sacrebleu.TER()),
        ("chrf", sacrebleu.CHRF()),
        ("chrf++", sacrebleu.CHRF(word_order=2)),
    ):
        metric = get_metric(spec)
        ours = metric.segment_statistics(hyps, segments, metric.prepare([ref]))
        theirs = peer._extract_corpus_statistics(hyps, [[ref[i] for i in segments]])
        differ = (ours != np.array(theirs)).any(axis=1).sum()
        print(f"| {spec} | {differ} of {len(pairs):,} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA"))
    parser.add_argument("--sample", type=int, default=400, help="segments for slow peers")
    parser.add_argument("--verify", action="store_true", help="compare every statistic")
    arguments = parser.parse_args()
    if not arguments.data:
        sys.exit("name the folder of corpora: --data DIR, or REPLITUNE_DATA")
    data = Path(arguments.data)
    start = time.strftime("%Y-%m-%d")
    print(f"{start}, Python {sys.version.split()[0]}, sacrebleu {sacrebleu.__version__}, one core\n")
    if arguments.verify:
        verify(data)
        return
    table(data, arguments.sample)
    try:
        meteor(data)
    except ReplituneError as error:
        print(f"\nMETEOR is left out: {error.message}")


if __name__ == "__main__":
    main()
