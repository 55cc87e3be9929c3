"""Prints what the peers say about A and B; runs in an environment that has them installed.

Reads JSON lines: {"split": 0, "a": [5 runs], "b": [5 runs]}, and writes one line for each split and
program: {"split": 0, "program": "sacrebleu", "p": 0.3}. Runs are given as indices of outputs in TEXTS,
a JSON file of {"reference": [...], "outputs": [[...]], "scores": [[...]]}.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")


def evalstats(texts: dict[str, Any], a: Sequence[int], b: Sequence[int]) -> float:
    """p of the only pair by the default test of evalstats."""
    import evalstats as es
    import pandas as pd

    rows = [
        (name, run, i, score)
        for name, runs in (("A", a), ("B", b))
        for run, number in enumerate(runs)
        for i, score in enumerate(texts["scores"][number])
    ]
    table = pd.DataFrame(rows, columns=["model", "run", "item", "score"])
    with contextlib.redirect_stdout(io.StringIO()):
        found = es.compare(es.load_from(table), factors="model")
        (pair,) = found.to_dict()["pairwise"]
    return float(pair["p_value"])


def evalsig(texts: dict[str, Any], a: Sequence[int], b: Sequence[int]) -> float:
    from evalsig.compare import compare
    from evalsig.types import ItemResult, RunFrame

    def frame(name: str, runs: Sequence[int]) -> Any:
        items = [
            ItemResult(str(i), score, epoch=epoch)
            for epoch, number in enumerate(runs)
            for i, score in enumerate(texts["scores"][number])
        ]
        return RunFrame(name, name, "multi30k", "chrf", items)

    return float(compare(frame("A", a), frame("B", b)).p_value)


def sacrebleu(texts: dict[str, Any], a: Sequence[int], b: Sequence[int], test: str = "ar") -> float:
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    named = [("A", texts["outputs"][a[0]]), ("B", texts["outputs"][b[0]])]
    metrics = {"BLEU": BLEU(tokenize="none", references=[texts["reference"]])}
    _, scores = PairedTest(named, metrics, None, test_type=test)()
    return float(scores["BLEU"][1].p_value)


def sacrebleu_bs(texts: dict[str, Any], a: Sequence[int], b: Sequence[int]) -> float:
    return sacrebleu(texts, a, b, "bs")


def compare_mt(texts: dict[str, Any], a: Sequence[int], b: Sequence[int]) -> float:
    """The share of resamples that the winner does not win, as compare-mt has no two-sided p."""
    import numpy as np
    from compare_mt.scorers import BleuScorer
    from compare_mt.sign_utils import eval_with_paired_bootstrap

    np.random.seed(2011)  # noqa: NPY002 - compare-mt draws from this generator
    reference = [line.split() for line in texts["reference"]]
    outs = [[line.split() for line in texts["outputs"][runs[0]]] for runs in (a, b)]
    wins, _ = eval_with_paired_bootstrap(reference, outs, None, BleuScorer(), num_samples=1000)
    (found,) = wins
    return 1.0 - max(float(found[0]), float(found[1]))


PROGRAMS: dict[str, Callable[..., float]] = {
    "evalstats": evalstats,
    "evalsig": evalsig,
    "sacrebleu --paired-ar": sacrebleu,
    "sacrebleu --paired-bs": sacrebleu_bs,
    "compare-mt": compare_mt,
}


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    spent = dict.fromkeys(PROGRAMS, 0.0)
    for line in sys.stdin:
        split = json.loads(line)
        for name, program in PROGRAMS.items():
            start = time.process_time()
            p = program(texts, split["a"], split["b"])
            spent[name] += time.process_time() - start
            print(json.dumps({"split": split["split"], "program": name, "p": p}), flush=True)
    print(json.dumps({"seconds": spent}), flush=True)


if __name__ == "__main__":
    main()
