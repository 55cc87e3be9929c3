"""Outputs and scores that are on disk go through the workflow, those with the numbers of
`compare --scores`."""

from __future__ import annotations

import random

import pandas as pd

import replitune as r
from readers.tables import frame


def test_the_workflow_finds_what_compare_finds(snakemake):
    frame().to_csv(snakemake.folder / "t.csv", index=False)
    snakemake.in_process(
        {
            "experiment": "s",
            "seed": 3,
            "corpus": {"kind": "files", "tests": {"t": {"references": "t.csv", "format": "scores"}}},
            "systems": {
                name: {"backend": "scores", "files": {"t": "t.csv"}, "replicas": {"seeds": 3}}
                for name in ("base", "new")
            },
            "metrics": [{"name": "given", "id": "score"}],
            "tests": {"samples": 99, "methods": ["crossed", "clark"]},
        }
    )
    found = r.read(snakemake.folder / "results" / "s").to_frame()
    same = r.scores(frame(), testset="t", seed=3, samples=99, methods=["crossed", "clark"]).to_frame()
    columns = ["a", "b", "method", "delta", "p", "ci_low", "ci_high", "n_a", "segments"]
    pd.testing.assert_frame_equal(found[columns], same[columns], check_exact=True)


def test_an_experiment_may_have_two_language_pairs(snakemake):
    """Systems have translations of some test sets only, and say so."""
    draw = random.Random(3)
    for name in ("t", "u"):
        lines = [" ".join(draw.choices("abcdefgh", k=8)) for _ in range(40)]
        (snakemake.folder / f"{name}.ref").write_text("\n".join([*lines, ""]))
        for system, wrong in (("a", 0.1), ("b", 0.3), ("c", 0.5)):
            texts = [" ".join(w if draw.random() > wrong else "x" for w in line.split()) for line in lines]
            (snakemake.folder / f"{system}.{name}").write_text("\n".join([*texts, ""]))
    of = {"a": ["t", "u"], "b": ["t"], "c": ["u"]}
    snakemake.in_process(
        {
            "experiment": "s",
            "corpus": {"kind": "files", "tests": {n: {"references": f"{n}.ref"} for n in "tu"}},
            "systems": {
                system: {
                    "backend": "outputs",
                    "files": {name: f"{system}.{name}" for name in names},
                    "without": [name for name in "tu" if name not in names],
                }
                for system, names in of.items()
            },
            "metrics": ["bleu"],
            "tests": {"samples": 99, "methods": ["riezler"]},
        }
    )
    found = r.read(snakemake.folder / "results" / "s").to_frame()
    compared = set(zip(found["testset"], found["a"], found["b"], strict=True))
    assert compared == {("t", "a", "b"), ("u", "a", "c")}
