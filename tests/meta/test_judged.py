"""A ranking by people beside those of metrics."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import replitune as r

SYSTEMS = ("good", "fair", "bad")
FAST = {"intervals": [], "threads": 1}


@pytest.fixture
def texts() -> tuple[list[str], dict[str, list[list[str]]]]:
    draw = random.Random(1)
    refs = [" ".join(draw.choices("abcdefgh", k=9)) for _ in range(60)]
    outputs = {
        name: [
            [" ".join(w if draw.random() > 0.1 + 0.25 * k else "x" for w in line.split()) for line in refs]
        ]
        for k, name in enumerate(SYSTEMS)
    }
    return refs, outputs


def judged(path: Path, first: int = 1) -> Path:
    """As WMT writes it: names with numbers, segments from 1, some not judged."""
    draw = random.Random(2)
    rows = [
        f"{name}.{17 + k} {i + first} {70 - 20 * k} {-k + draw.gauss(0, 1):.3f} 1"
        for k, name in enumerate(SYSTEMS)
        for i in range(60)
        if (i + k) % 7 or i == 59
    ]
    path.write_text("\n".join(["SYS SID RAW.SCR Z.SCR N", *rows]) + "\n")
    return path


def test_people_rank_systems_with_clusters(tmp_path: Path, texts):
    refs, outputs = texts
    report = r.compare(refs, outputs, ["chrf"], human=judged(tmp_path / "da.csv"), **FAST)
    chrf, human = report.results
    assert (chrf.metric, human.metric) == ("chrf", "human")
    ranking = human.rankings()["crossed"]
    assert ranking.systems == SYSTEMS
    assert ranking.clusters == (("good",), ("fair",), ("bad",))
    rows = [line.split() for line in (tmp_path / "da.csv").read_text().splitlines()[1:]]
    mine = [float(row[3]) for row in rows if row[0] == "good.17"]
    assert human.systems["good"].avg == pytest.approx(sum(mine) / len(mine))
    said = " ".join(report.read_as)
    assert "NAME.123" in said
    assert "counted from 1" in said
    alone = r.compare(refs, outputs, ["chrf"], **FAST)
    assert report.to_json()["metrics"]["chrf"] == alone.to_json()["metrics"]["chrf"]
    assert "human on testset" in str(report)


def test_judgements_that_may_count_from_one_are_named(tmp_path: Path, texts):
    refs, outputs = texts
    path = judged(tmp_path / "da.csv")

    def said(**how) -> str:
        return " ".join(r.compare(refs, outputs, ["chrf"], human=path, **FAST, **how).read_as)

    assert "nobody judged segment" not in said()
    path.write_text("\n".join(row for row in path.read_text().splitlines() if row.split()[1] != "60"))
    assert "nobody judged segment 0: if the judgements count segments from 1" in said()
    assert "nobody judged segment" not in said(first_segment=1)
    judged(path, first=0)
    assert "nobody judged segment" not in said()


def test_all_criteria_of_a_file_count_from_the_same_number(tmp_path: Path, texts):
    refs, outputs = texts
    path, draw = tmp_path / "both.csv", random.Random(3)
    rows = [
        f"{name},{i},{draw.gauss(0, 1):.3f},{'' if i == 60 else f'{draw.gauss(0, 1):.3f}'}"
        for name in SYSTEMS
        for i in range(1, 61)
    ]
    path.write_text("\n".join(["system,segment,adequacy,fluency", *rows]) + "\n")
    report = r.compare(refs, outputs, ["chrf"], human=path, **FAST)
    assert " ".join(report.read_as).count("counted from 1") == 1
    (fluency,) = [store for store in report.stores if store.metric.id == "fluency"]
    assert fluency.systems["good"].statistics[0, :, 1].tolist() == [1.0] * 59 + [0.0]


def test_scores_of_systems_alone_are_an_order(tmp_path: Path, texts):
    refs, outputs = texts
    path = tmp_path / "sys.csv"
    path.write_text("RAW.SCR Z.SCR N SYS N.ALL\n70 0.2 9 fair.2 9\n60 -.5 9 bad.3 9\n75 .4 9 good.1 9\n")
    report = r.compare(refs, outputs, ["chrf"], human=path, **FAST)
    assert len(report.results) == 1
    assert "good 0.4, fair 0.2, bad -0.5" in report.read_as[-1]


def test_judgements_of_other_systems_are_refused(tmp_path: Path, texts):
    refs, outputs = texts
    path = tmp_path / "da.csv"
    path.write_text("system,segment,score\nX,0,1\nY,1,1\n")
    with pytest.raises(r.ReplituneError, match="fewer than two of the systems were judged"):
        r.compare(refs, outputs, ["chrf"], human=path, **FAST)
