"""Compare `design: samples`, digit by digit, with eval-arena's estimators (Wang 2025, arXiv 2512.21326).

    PYTHONPATH=src python benchmarks/calibration/eval_arena.py DIR

DIR has, from github.com/facebookresearch/cruxeval, samples/evaluation_results/
sample_scored_codellama-7b_temp0.2_output.json and _input.json (800 functions x 10 samples), and perhaps
estimators.py from github.com/crux-eval/eval-arena. None of them is part of replitune.

Wang defines variances of one sample of one question, A (N questions, K samples), with ddof 0:

    total_var = var(A),  var_E = var(mean over samples),  E_var = mean(var over samples)

and standard errors sqrt(variance / N) of a score from *one* sample of each question. `crossed` has, for
a difference of means over K samples, V_seg with N - 1 degrees of freedom; `rest` (MS_int) with
(N - 1)(K - 1); and the variance of the K scores of whole samples. So, exactly,

    var_E = (N - 1) V_seg
    E_var = (K - 1) / K ((N - 1) / N rest + var of sample scores)
    total_var = var_E + E_var

A single system is compared with one that is always wrong. The pair here are the two tasks on the same
functions. `unbiasedK` moves mean(var over samples) / (K - 1) from var_E to E_var. `crossed` does this
with `rest` when planning other numbers of samples (`sd` of system x segment), but not for p, because
V_seg is about the K samples that were compared.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from independent import system
from numpy.typing import NDArray

from replitune.metrics.base import MeanMetric
from replitune.significance.base import Comparison, TestResult
from replitune.significance.draws import SegmentDraws
from replitune.significance.interface import Context
from replitune.significance.one_system import s_sel
from replitune.significance.tests.crossed import Crossed

Array = NDArray[np.float64]


def read(folder: Path, task: str) -> Array:
    """(800, 10) right (1) or wrong (0), questions in the order of their numbers."""
    name = f"sample_scored_codellama-7b_temp0.2_{task}.json"
    scored = json.loads((folder / name).read_text())["raw_scored_generations"]
    ids = sorted(scored, key=lambda name: int(name.split("_")[1]))
    return np.array([scored[one] for one in ids], dtype=np.float64)


def wang(A: Array, B: Array | None = None) -> dict[str, float]:
    """Unpaired.from_samples and Paired.from_samples, by their definitions."""
    one = [x for x in (A, B) if x is not None]
    within = sum(float(x.var(axis=1).mean()) for x in one)
    means = A.mean(axis=1) - (0.0 if B is None else B.mean(axis=1))
    total = sum(float(x.var()) for x in one)
    if B is not None:
        total -= 2 * float(np.cov(A.mean(axis=1), B.mean(axis=1), ddof=0)[0, 1])
    return {"total_var": total, "var_E": float(means.var()), "E_var": within}


def ours(A: Array, B: Array | None = None) -> tuple[dict[str, float], TestResult]:
    """The same, from what `crossed` reports for a pair under `design: samples`."""
    N = len(A)
    other = np.zeros_like(A) if B is None else B
    pair = Comparison(
        MeanMetric(), system("other", other.T), system("A", A.T), np.arange(N, dtype=np.int32)
    )
    row = Crossed().run(Context([pair], design="samples"))
    assert row.se is not None
    within = 0.0
    for name, x in (("A", A), ("other", other)):
        K = x.shape[1]
        (rest,) = (v.sd**2 for v in row.variances if v.source == "rest" and v.about == name)
        within += (K - 1) / K * ((N - 1) / N * rest + float(x.mean(axis=0).var(ddof=1)))
    var_E = (N - 1) * row.se**2
    return {"total_var": var_E + within, "var_E": var_E, "E_var": within}, row


def estimators(folder: Path) -> ModuleType | None:
    path = folder / "estimators.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("eval_arena_estimators", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    folder = Path(sys.argv[1])
    output, given = read(folder, "output"), read(folder, "input")
    theirs = estimators(folder)
    for title, A, B in (("output", output, None), ("output - input", output, given)):
        N = len(A)
        mine, row = ours(A, B)
        by_definition = wang(A, B)
        if theirs is not None:
            own = theirs.Unpaired.from_samples(A) if B is None else theirs.Paired.from_samples(A, B)
            by_definition = {name: float(getattr(own, name)) for name in by_definition}
        score = float(A.mean()) if B is None else row.delta
        print(f"{title}: {score!r}, {'eval-arena' if theirs else 'by definition'} and from `crossed`")
        for name, value in by_definition.items():
            print(f"  sqrt({name} / N)  {float(np.sqrt(value / N))!r}  {float(np.sqrt(mine[name] / N))!r}")
        print(f"  se of `crossed` {row.se!r}: sqrt(var_E / (N - 1)), df {row.df:.6g}, p {row.p:.4g}")
        codes = ", ".join(note.code for note in row.notes)
        print(f"  notes: {codes or 'none'}")
    draws = SegmentDraws(1)
    found = s_sel(MeanMetric(), system("A", output.T), np.arange(len(output), dtype=np.int32), draws)
    print(f"s_sel of output {found!r}: the mean of ten deviations, not one about the common mean")


if __name__ == "__main__":
    main()
