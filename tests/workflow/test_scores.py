"""A table of scores goes through the workflow, with the numbers of `compare --scores`."""

from __future__ import annotations

import pandas as pd
import pytest

import replitune as r
from readers.tables import frame

pytestmark = pytest.mark.workflow


def test_the_workflow_finds_what_compare_finds(snakemake):
    frame().to_csv(snakemake.folder / "t.csv", index=False)
    snakemake.write(
        {
            "experiment": "s",
            "seed": 3,
            "corpus": {
                "kind": "files", "tests": {"t": {"references": "t.csv", "format": "scores"}},
            },
            "systems": {
                name: {"backend": "scores", "files": {"t": "t.csv"}, "replicas": {"seeds": 3}}
                for name in ("base", "new")
            },
            "metrics": [{"name": "given", "id": "score"}],
            "tests": {"samples": 99, "methods": ["crossed", "clark"]},
        }
    )  # fmt: skip
    snakemake.run()
    found = r.read(snakemake.folder / "results" / "s").to_frame()
    same = r.scores(
        frame(), testset="t", seed=3, samples=99, methods=["crossed", "clark"]
    ).to_frame()
    columns = ["a", "b", "method", "delta", "p", "ci_low", "ci_high", "n_a", "segments"]
    pd.testing.assert_frame_equal(found[columns], same[columns], check_exact=True)
