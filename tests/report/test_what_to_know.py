from __future__ import annotations

import json
from dataclasses import replace

import pytest

from replitune.notes import Note
from replitune.report.page import page
from replitune.report.segment_browser import Segments, embedded, page_data
from replitune.report.terminal import comparison_lines
from replitune.results.summary import summarise_answers
from report.result_models import RESULT, material, result_of


def test_tests_that_disagree_are_told_once():
    clark = replace(RESULT, method="clark", p=0.2, p_adjusted=0.2)
    one = result_of(RESULT, clark, replace(RESULT, method="fu-ar"))
    two = replace(one, testset="t2")
    (said,) = material(one, two).summary.trust
    assert (said.code, said.grave) == ("disagree", False)
    assert said.text.startswith("clark and crossed disagree about 2 of 2 differences")


def test_replicas_that_could_not_be_made_are_told():
    lost = replace(result_of(RESULT), missing={"a": {"run-002": "no memory"}})
    (said,) = material(lost).summary.grave
    assert said.text.startswith("a has no run-002 on t1 (no memory)")
    assert said in summarise_answers([lost]).trust, "at the end of a run, too"


def test_a_note_of_several_pairs_is_told_once():
    own = Note("few-documents", "2 documents are few")
    tests = [replace(RESULT, a=a, b=b, notes=(own,)) for a, b in ("ab", "ac", "bc")]
    cell = result_of(*tests, means={"a": 40.0, "b": 38.0, "c": 39.0})
    (said,) = material(cell).summary.trust
    assert said.text == "2 documents are few (a and b)"


def test_code_in_a_note_is_code_on_the_page_and_plain_on_a_terminal():
    own = Note("shared-seeds", "if r < 1, use `a & b`")
    cell = result_of(replace(RESULT, notes=(own,)))
    said = material(cell)
    assert ">If r &lt; 1, use <code>a &amp; b</code>.</li>" in page(said, {}, {}, {})
    lines = "\n".join(comparison_lines([cell], "pairs", said.summary))
    assert "! If r < 1, use a & b." in lines
    assert "`" not in lines


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
    text = page_data([part], budget, {}, {})
    (found,) = json.loads(text)
    assert found["all"] == n
    assert 0 < len(found["rows"]) < n
    assert len(text) < budget + 500
    assert f"[{n - 1},null,null" in text
    assert "[0,null,null" not in text


def test_embedded_json_cannot_end_its_element():
    text = embedded(["</script>", "\u2028\u2029", "<!--", "&lt;"])
    assert not set("<>&\u2028\u2029") & set(text)


def test_replicas_that_cannot_be_made_again_are_named():
    (said,) = material(result_of(RESULT), unrepeatable=["nmt seed-001"]).summary.trust
    assert (said.code, said.text[:12]) == ("unrepeatable", "nmt seed-001")
