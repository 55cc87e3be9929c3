"""Measure speed and quality of the phrase decoder; prints Markdown.

    python benchmarks/bench_decoder.py MODEL SOURCE REFERENCE [--weights weights.json] [--lines N]

Times are CPU milliseconds per sentence with one thread, with compiled kernels, from text to text. The
model score is what the search maximises: the higher it is, the fewer search errors. BLEU is sacrebleu's
with `tokenize=none`.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import sacrebleu
from measuring import cpu

from replitune.phrase.decoder import Decoder
from replitune.phrase.model import PhraseModel
from replitune.phrase.settings import SearchSettings
from replitune.running.files import read_lines

POP_LIMITS = (100, 200, 320, 400, 600, 800)


def first_sentence(model: Path, line: str) -> float:
    """CPU seconds of a new process that loads the model and translates one line."""
    script = (
        "import sys\n"
        "from replitune.phrase.decoder import Decoder\n"
        "from replitune.phrase.model import PhraseModel\n"
        "model = PhraseModel.load(sys.argv[1])\n"
        "print(Decoder(model, model.layout.sensible()).decode([sys.argv[2]])[0])\n"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", script, str(model), line]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--nbest", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()

    source = read_lines(arguments.source)[: arguments.lines]
    reference = read_lines(arguments.reference)[: arguments.lines]
    model = PhraseModel.load(arguments.model)
    weights = model.layout.sensible()
    if arguments.weights:
        weights = model.layout.to_vector(json.loads(arguments.weights.read_text())["weights"])

    def score(decoder: Decoder) -> tuple[float, float]:
        found = decoder.nbest(source, 1)
        total = float((found.score - 100 * found.copied).mean())
        bleu = sacrebleu.corpus_bleu(found.texts(), [reference], tokenize="none", force=True)
        return total, bleu.score

    rows = [["search", "1-best, ms", f"{arguments.nbest} distinct, ms", "ratio", "model score", "BLEU"]]
    for limit in POP_LIMITS:
        decoder = Decoder(model, weights, SearchSettings(pop_limit=limit))
        decoder.nbest(source[:1], 2, distinct=True)
        decoder.decode(source[:1])
        one = cpu(lambda: decoder.decode(source), arguments.repeat)  # noqa: B023
        size = arguments.nbest
        many = cpu(lambda: decoder.nbest(source, size, distinct=True), arguments.repeat)  # noqa: B023
        total, bleu = score(decoder)
        per = 1000 / len(source)
        times = [f"{seconds * per:.2f}" for seconds in (one, many)]
        rows.append([f"cube {limit}", *times, f"{many / one:.2f}", f"{total:.4f}", f"{bleu:.2f}"])
    print(f"{len(source)} sentences, {model.layout.dimension} features, order-{model.lm.order} LM\n")
    print(table(rows))

    rng = np.random.default_rng(1)
    words = " ".join(source).split()
    first = int(rng.integers(0, max(1, len(words) - 400)))
    decoder = Decoder(model, weights)
    rows = [["words", "cube 320, ms", "ms per word"]]
    for length in (10, 20, 50, 100, 200, 400):
        line = " ".join(words[first : first + length])
        taken = 1000 * cpu(lambda: decoder.decode([line]), 5)  # noqa: B023
        rows.append([str(length), f"{taken:.2f}", f"{taken / length:.3f}"])
    print(f"\nLength of a sentence, distortion limit 6\n\n{table(rows)}")

    seconds = first_sentence(arguments.model, source[0])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nNew process, model load and first sentence: {seconds:.2f} CPU-s")
    print(f"Peak memory of this process: {memory:.0f} MB")


if __name__ == "__main__":
    main()
