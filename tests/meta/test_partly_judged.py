"""Judgements of other segments of each system: every pair has means of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import replitune
from support import Ran

SYSTEMS = [f"m{s}" for s in range(6)]


def campaign(folder: Path, share: float) -> tuple[Path, pd.DataFrame]:
    """Scores of six systems on 200 segments, and judgements of this share of the outputs."""
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 10, 200)
    rows = []
    for name in SYSTEMS:
        true = 70 + rng.normal(0, 0.5) + hard + rng.normal(0, 6, 200)
        rows += [(name, 1, i, x + rng.normal(0, 3), x) for i, x in enumerate(true.tolist())]
    every = pd.DataFrame(rows, columns=["system", "run", "segment", "score", "human"])
    every.drop(columns="human").to_csv(folder / "scores.csv", index=False)
    judged = every[rng.random(len(every)) < share]
    judged = judged[["system", "segment", "human"]].rename(columns={"human": "score"})
    judged.to_csv(folder / "human.csv", index=False)
    return folder / "scores.csv", judged


@pytest.mark.parametrize("controls", [(), ("score",)])
def test_means_and_differences_never_have_opposite_signs(tmp_path: Path, controls: tuple[str, ...]):
    scores, judged = campaign(tmp_path, 0.4)
    report = replitune.scores(scores, human=tmp_path / "human.csv", controls=controls, intervals=[])
    cell = report.comparison.metrics["human"]
    raw = judged.groupby("system").score.mean()
    opposite = 0
    for test in cell.tests:
        assert test.score_b - test.score_a == pytest.approx(test.delta)
        assert cell.difference((test.a, test.b)) == test.delta
        opposite += (raw[test.b] - raw[test.a]) * test.delta < 0
    assert opposite > 0, "what would be shown otherwise"
    assert {cell.mean(name) for name in SYSTEMS} == {None}
    if not controls:
        table = judged.pivot(index="segment", columns="system", values="score")
        first = cell.tests[0]
        both = table[[first.a, first.b]].dropna()
        assert first.segments == len(both)
        assert (first.score_a, first.score_b) == pytest.approx((both[first.a].mean(), both[first.b].mean()))


def test_complete_judgements_have_one_mean(tmp_path: Path):
    scores, judged = campaign(tmp_path, 1.0)
    report = replitune.scores(scores, human=tmp_path / "human.csv", intervals=[])
    cell = report.comparison.metrics["human"]
    raw = judged.groupby("system").score.mean()
    assert {name: cell.mean(name) for name in SYSTEMS} == pytest.approx(raw.to_dict())
    assert cell.ranked == raw.sort_values(ascending=False).index.tolist()


def test_the_screen_has_the_means_of_each_pair_and_their_number(
    replitune: Callable[..., Ran], tmp_path: Path
):
    scores, judged = campaign(tmp_path, 0.4)
    ran = replitune("compare", "--scores", scores, "--human", tmp_path / "human.csv", "--intervals")
    of_people = ran.out[ran.out.index("human on") :]
    table = judged.pivot(index="segment", columns="system", values="score")
    for line in of_people.splitlines():
        words = line.split()
        if words[:1] and words[0] in SYSTEMS and words[1:2] == ["1"]:
            assert words[2] == "–", "no mean of all judgements"
        if words[1:2] == ["over"]:
            both = table[[words[0], words[2]]].dropna()
            first, second = both.mean()
            assert words[4:8] == [f"{first:.2f}", "and", f"{second:.2f},", f"{len(both)}"]
