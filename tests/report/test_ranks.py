"""Clusters and ranks, by tests and by people."""

from __future__ import annotations

from dataclasses import replace

from replitune.meta.rows import MetaRow
from replitune.report import contents
from replitune.report.ranks import by_people, places, rank_text
from report.result_models import RESULT, material, result_of

MEANS = {"a": 40.0, "b": 38.0, "c": 30.0}


def many(*p: float):
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    tests = [
        replace(RESULT, a=a, b=b, delta=MEANS[b] - MEANS[a], p_adjusted=q)
        for (a, b), q in zip(pairs, p, strict=True)
    ]
    return result_of(*tests, means=MEANS, word="bleu", direction=1)


def test_many_systems_have_clusters_and_ranks():
    cell = many(0.3, 0.01, 0.02)
    assert {name: (place.cluster, rank_text(place.ranks)) for name, place in places(cell).items()}
    assert {n: (p.cluster, p.ranks) for n, p in places(cell).items()} == {
        "a": (1, (1, 2)),
        "b": (1, (1, 2)),
        "c": (2, (3, 3)),
    }


def test_ranks_of_people_stand_beside_those_of_the_tests():
    rows = [
        MetaRow("pair", "human", "rank-sum", a=a, b=b, alpha=0.05, value=v, outcome=o)
        for a, b, v, o in [("a", "b", 1.0, 1), ("a", "c", -1.0, -1), ("b", "c", -2.0, 0)]
    ]
    here = material(many(0.3, 0.01, 0.02), meta={"t1": rows})
    assert by_people(here) == {"t1": {"a": (2, 2), "b": (1, 2), "c": (2, 3)}}
    overview = contents.TABLES["overview"](here)
    assert overview is not None
    assert overview.header[1:5] == ["cluster", "ranks", "by people", "system"]
    assert [[text for text, _ in row][1:5] for row in overview.cells] == [
        ["1", "1-2", "2", "a"],
        ["1", "1-2", "1-2", "b"],
        ["2", "3", "2-3", "c"],
    ]
    assert "2-3" in overview.latex()
    assert (overview.values[2][1], overview.values[2][2:6]) == (2, (3, 3, 2, 3))


def test_multevals_table_has_a_row_for_each_metric_and_system():
    table = contents.TABLES["multeval"](material(many(0.3, 0.01, 0.02)))
    assert table is not None
    assert table.header == ["test set", "metric", "system", "ranks", "n", "score", "s_sel", "p"]
    assert [row[2][0] for row in table.cells] == ["a", "b", "c"]
    assert [row[-1][0] for row in table.cells] == ["–", ".300", ".010"]
