"""Speed and quality of the hierarchical decoder beside the phrase-based one, as Markdown.

    python benchmarks/bench_hiero.py HIERO_MODEL PHRASE_MODEL SOURCE REFERENCE [--lines N]

Times are CPU milliseconds per sentence of one thread, kernels compiled, text in and text out; the
phrase-based decoder, in the same run, says how fast the machine is. Weights are lm .3, tm 4 x .2,
glue .5, word penalty -.3. BLEU is sacrebleu's with `tokenize=none`.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import sacrebleu

from replitune.hiero.decoder import Decoder
from replitune.hiero.model import HieroModel
from replitune.hiero.settings import HieroSearchSettings
from replitune.phrase.decoder import Decoder as PhraseDecoder
from replitune.phrase.model import PhraseModel
from replitune.running.files import read_lines

WEIGHTS = {
    "LM0": [0.3],
    "WordPenalty0": [-0.3],
    "RulePenalty0": [0.0],
    "Glue0": [0.5],
    "TranslationModel0": [0.2] * 4,
}


def cpu_seconds(work: Callable[[], object], repeat: int) -> float:
    """The least CPU time of `repeat` runs: the others were disturbed."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("phrase_model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--nbest", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--pops", type=int, nargs="+", default=[20, 50, 100, 200, 300, 1000])
    options = parser.parse_args()
    source = read_lines(options.source)[: options.lines]
    reference = read_lines(options.reference)[: options.lines]
    per = 1000 / len(source)

    start = time.perf_counter()
    model = HieroModel.load(options.model)
    print(f"load {time.perf_counter() - start:.3f} s, {len(model.table.scores)} rules\n")
    weights = model.layout.to_vector(WEIGHTS)
    phrase_model = PhraseModel.load(options.phrase_model)
    phrase = PhraseDecoder(phrase_model, phrase_model.layout.sensible())
    phrase.decode(source[:1])
    one = cpu_seconds(lambda: phrase.decode(source), options.repeat) * per
    print(f"the phrase-based decoder, as it is set by default: {one:.2f} ms\n")
    print(f"| pops | 1-best, ms | ratio | {options.nbest} distinct, ms | score | BLEU |")
    print("| --- | --- | --- | --- | --- | --- |")
    for pops in options.pops:
        decoder = Decoder(model, weights, HieroSearchSettings(pop_limit=pops))
        decoder.nbest(source[:1], 2, distinct=True)
        decoder.decode(source[:1])
        best = cpu_seconds(lambda: decoder.decode(source), options.repeat) * per  # noqa: B023
        many = per * cpu_seconds(
            lambda: decoder.nbest(source, options.nbest, distinct=True),  # noqa: B023
            options.repeat,
        )
        found = decoder.nbest(source, 1)
        score = float((found.score - 100 * found.copied).mean())
        bleu = sacrebleu.corpus_bleu(found.texts(), [reference], tokenize="none", force=True)
        print(
            f"| {pops} | {best:.2f} | {best / one:.2f} | {many:.2f} | {score:.4f} "
            f"| {bleu.score:.2f} |",
            flush=True,
        )
    decoder = Decoder(model, weights)
    decoder.forests(source[:1], 10)
    forests = per * cpu_seconds(lambda: decoder.forests(source, 10), options.repeat)
    print(f"\nforests of 10 edges a word, pop 100: {forests:.2f} ms")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
