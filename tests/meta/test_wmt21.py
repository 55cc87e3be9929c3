"""Against numbers that WMT21 published: files of `humaneval/newstest2021-toen`, German-English."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

from replitune.meta.human import read_human
from replitune.meta.human_cells import cell_means
from replitune.meta.human_tests import rank_sum

pytestmark = pytest.mark.realdata

FOLDER = Path(os.environ.get("REPLITUNE_DATA", "")) / "wmt21-humaneval"
NUMBERS = np.arange(1000)


@pytest.fixture(scope="module")
def folder() -> Path:
    if "REPLITUNE_DATA" not in os.environ or not FOLDER.is_dir():
        pytest.skip("no folder wmt21-humaneval in REPLITUNE_DATA")
    return FOLDER


@pytest.fixture(scope="module")
def published(folder: Path) -> tuple[list[str], np.ndarray]:
    """Systems and their published means of each output, (S, N)."""
    found = read_human(folder / "ad-seg-scores-de-en.csv")
    names = sorted({row.system for row in found.judgements["human"]})
    return names, cell_means(found, "human", names, NUMBERS, first=1)


def test_system_scores_are_the_published_ones(folder: Path, published):
    names, cells = published
    rows = [line.split() for line in (folder / "ad-sys-ranking-de-en-z.csv").read_text().split("\n")]
    ranking = {row[4]: row[1] for row in rows if row}
    assert sorted(ranking) == names
    for name, scores in zip(names, cells, strict=True):
        assert round(float(np.nanmean(scores)), 3) == float(ranking[name])


def test_means_of_single_judgements_are_the_published_ones(folder: Path, published):
    names, cells = published
    found = read_human(folder / "ad-deen-good-stnd-redup.csv")
    assert found.notes[0].endswith("2996 BAD_REF, 3023 REF")
    means = cell_means(found, "adequacy", names, NUMBERS, first=1)
    np.testing.assert_allclose(means, cells, atol=1e-13)


def test_rank_sum_p_are_those_of_r(folder: Path, published):
    names, cells = published
    scores = {n: row[~np.isnan(row)] for n, row in zip(names, cells, strict=True)}
    head, *rows = [line.split() for line in (folder / "adwilcox-deen.csv").read_text().split("\n")]
    compared = 0
    for better, *values in (row for row in rows if row):
        for worse, text in zip(head, values, strict=True):
            p = float(text)
            if p == 0.12:  # what the table says for every p that is not small
                continue
            found = rank_sum(scores[worse], scores[better])
            assert found.direction == 1
            # theirs is one-sided
            assert math.log(found.p / 2) == pytest.approx(math.log(p), abs=1e-11)
            compared += 1
    assert compared == 121
