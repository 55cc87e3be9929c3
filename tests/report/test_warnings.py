from __future__ import annotations

from dataclasses import replace

import pytest

from replitune.report.segment_browser import Segments, embedded, page_data
from replitune.report.warnings import warnings
from replitune.significance.base import Note
from report.result_models import RESULT, material, result_of


def test_each_warning_is_said_once():
    clark = replace(
        RESULT,
        method="clark",
        p=0.2,
        p_adjusted=0.2,
        generalises_to="new segments",
        notes=(Note("not-smooth", "a: hypothesis length 31 is within 2 standard errors", "a"),),
    )
    permutation = replace(RESULT, method="replica-permutation", p=0.1, p_adjusted=0.1, p_min=0.1)
    one = result_of(RESULT, clark, permutation, runs=2)
    other = replace(
        clark, notes=(Note("not-smooth", "a: hypothesis length 99 is within 2 standard errors", "a"),)
    )
    two = replace(one, testset="t2", tests=(RESULT, other, permutation))
    said = warnings(material(one, two))
    titles = [warning.title for warning in said]
    assert len(titles) == len(set(titles))
    assert titles == [
        "Fewer than 3 replicas",
        "replica-permutation could not reach 0.05",
        "clark, replica-permutation and crossed disagree",
        "Note on clark",
    ]
    assert [len(warning.places) for warning in said] == [2, 2, 4, 2]
    assert said[3].text.startswith("For example: Hypothesis length 31")
    assert said[3].places == ("t1, TER, a", "t2, TER, a")
    assert "different questions" in said[2].text
    assert "clark of new segments" in said[2].text


def test_a_note_of_several_tests_is_said_once_with_each_place():
    note = Note("few", "3 replicas are few")
    rows = [replace(RESULT, method=name, notes=(note,)) for name in ("crossed", "clark")]
    (said,) = warnings(material(result_of(*rows)))
    assert said.title == "Note on crossed and clark"
    assert said.places == ("crossed: t1, TER, b − a", "clark: t1, TER, b − a")


@pytest.mark.parametrize("budget", [2_000, 10_000])
def test_segments_keep_to_the_budget_and_the_largest_differences_stay(budget: int):
    import numpy as np

    from replitune.report.segment_browser import Output

    n = 400
    scores = np.arange(n, dtype=float)
    outputs = [
        Output("a", "run-001", ["x y"] * n, np.zeros(n)),
        Output("b", "run-001", ["x z"] * n, scores),
    ]
    part = Segments("t1", "BLEU", True, 2, [["x y z"] * n], None, None, outputs)
    text, ((_, shown, every),) = page_data([part], budget, {})
    assert every == n
    assert 0 < shown < n
    assert len(text) < budget + 500
    assert f"[{n - 1},null,null" in text
    assert "[0,null,null" not in text


def test_embedded_json_cannot_end_its_element():
    text = embedded(["</script>", "\u2028\u2029", "<!--", "&lt;"])
    assert not set("<>&\u2028\u2029") & set(text)


def test_replicas_that_cannot_be_made_again_are_named():
    found = warnings(material(unrepeatable=["nmt seed-001"]))
    assert [(w.title, w.places) for w in found] == [
        ("Replicas that cannot be made again to the same bytes", ("nmt seed-001",))
    ]
