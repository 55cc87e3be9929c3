"""Experts' judgements of WMT21 (MQM), of the folder wmt21-mqm."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from replitune.meta.human import read_human
from replitune.meta.human_cells import cell_means
from replitune.meta.human_tests import all_pairs
from replitune.meta.rows import MetaRun
from replitune.meta.scores import human_scores
from replitune.meta.settings import MetaSettings

pytestmark = pytest.mark.realdata

FOLDER = Path(os.environ.get("REPLITUNE_DATA", "")) / "wmt21-mqm"


@pytest.mark.parametrize(
    ("pair", "segments", "judged", "best", "found"),
    [
        ("en-de", 1002, 527, ("VolcTrans-GLAT", -1.039), {"rank-sum": 13, "signed-rank": 15}),
        ("zh-en", 1948, 650, ("NiuTrans", -4.633), {"rank-sum": 1, "signed-rank": 4}),
    ],
)
def test_paired_tests_of_the_same_segments_find_more(pair, segments, judged, best, found):
    if "REPLITUNE_DATA" not in os.environ or not FOLDER.is_dir():
        pytest.skip("no folder wmt21-mqm in REPLITUNE_DATA")
    given = read_human(FOLDER / pair / "mqm.tsv.gz")
    names = sorted({row.system for row in given.judgements["human"]})
    cells = cell_means(given, "human", names, np.arange(segments), first=1)
    known = ~np.isnan(cells)
    assert known.all(axis=0).sum() == known.any(axis=0).sum() == judged
    people = human_scores("human", names, cells)
    assert names[int(people.system.argmax())] == best[0]
    assert people.system.max() == pytest.approx(best[1], abs=0.0005)
    run = MetaRun(pair, 1, MetaSettings(human=""))
    for test, pairs in found.items():
        assert sum(one.outcome(0.05) != 0 for one in all_pairs(test, people, run)) == pairs
