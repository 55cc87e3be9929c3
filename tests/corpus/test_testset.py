"""The prepared form gives back exactly what was put in, and refuses what cannot be a test set."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.corpus.testset import TestSet, read_prepared, write_testset
from replitune.errors import ReplituneError

LINE_SEPARATORS = "a\u2028b\u2029c\x85d\x0ce\x0bf\x1cg\rh"

# whatever fits on a line: no LF, no NUL, no CR at the end
segment = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=12).filter(
    lambda text: not text.endswith("\r")
)


@st.composite
def any_testset(draw: st.DrawFn) -> TestSet:
    n = draw(st.integers(1, 6))
    lines = st.lists(segment, min_size=n, max_size=n)
    names = draw(st.lists(segment.filter(str.strip), min_size=n, max_size=n, unique=True))
    cuts = np.cumsum([0, *draw(st.lists(st.integers(0, 1), min_size=n - 1, max_size=n - 1))])
    return TestSet(
        references=tuple(draw(st.lists(lines, min_size=1, max_size=3))),
        source=draw(st.none() | lines),
        documents=draw(st.sampled_from([None, [names[c] for c in cuts]])),
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(testset=any_testset())
def test_prepared_form_is_read_back_exactly(testset, tmp_path_factory):
    path = tmp_path_factory.mktemp("prepared") / "t.jsonl"
    write_testset(testset, path)
    assert read_prepared(path) == testset


def test_unicode_line_ends_do_not_split_a_segment(tmp_path):
    path = tmp_path / "t.jsonl"
    testset = TestSet(([LINE_SEPARATORS, ""],), source=["\ufeffx", "y"], documents=["d", "d"])
    write_testset(testset, path)
    assert path.read_bytes().count(b"\n") == 2
    assert "\u2028" in path.read_text(encoding="utf-8")  # text, and not an escape
    assert read_prepared(path) == testset


def test_unknown_parts_are_absent(tmp_path):
    path = tmp_path / "t.jsonl"
    write_testset(TestSet((["a"], ["b"])), path)
    assert path.read_text() == '{"references": ["a", "b"]}\n'


def test_document_codes_count_in_order_of_appearance():
    codes = TestSet((["a"] * 4,), documents=["z", "z", "a", "m"]).document_codes()
    assert codes.dtype == np.int32
    assert codes.tolist() == [0, 0, 1, 2]
    assert TestSet((["a"] * 3,)).document_codes().tolist() == [0, 1, 2]


def test_unequal_counts_name_both_and_both_counts():
    with pytest.raises(ReplituneError) as error:
        TestSet((["a", "b"],), source=["x"])
    assert "1 lines in source" in str(error.value)
    assert "2 lines, as in reference 1" in str(error.value)


@pytest.mark.parametrize(
    ("references", "documents", "message"),
    [
        ((), None, "without references"),
        (([],), None, "no segments"),
        ((["a\nb"],), None, "a line feed"),
        ((["a", "b\0"],), None, "NUL"),
        ((["a\r"],), None, "carriage return"),
        ((["\ud800"],), None, "surrogate"),
        ((["a", "b"],), ["x", " "], "blank"),
    ],
)
def test_what_is_not_a_test_set(references, documents, message):
    with pytest.raises(ReplituneError, match=message):
        TestSet(references, documents=documents)


GOOD = '{"references": ["a"]}'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no segments"),
        (GOOD, 1, "no line end"),
        (f"{GOOD}\n{{\n", 2, "not a segment"),
        (f"{GOOD}\n\n", 2, "not a segment"),
        (f"{GOOD}\n[1]\n", 2, "not a segment"),
        (f'{GOOD}\n{{"references": []}}\n', 2, "not a segment"),
        (f'{GOOD}\n{{"references": "a"}}\n', 2, "not a segment"),
        (f'{GOOD}\n{{"references": ["a"], "src": "b"}}\n', 2, "not a segment"),
        (f'{GOOD}\n{{"references": ["a"], "source": null}}\n', 2, "not a segment"),
        (f'{GOOD}\n{{"references": ["a"], "source": "b"}}\n', 2, "keys of this segment differ"),
        (f'{GOOD}\n{{"references": ["a", "b"]}}\n', 2, "keys of this segment differ"),
        ('{"references": ["a\\nb"]}\n', 1, "does not fit on a line"),
        ('{"references": ["\\ud800"]}\n', 1, "not a segment"),
        ("[" * 20000 + "\n", 1, "not a"),
    ],
)
def test_reading_names_file_and_line(tmp_path, text, line, message):
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ReplituneError, match=message) as error:
        read_prepared(path)
    assert error.value.file == str(path)
    assert error.value.line == line


def test_anybody_can_write_one(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"references": ["café"], "source": "x"}) + "\n")
    assert read_prepared(path) == TestSet((["café"],), source=["x"])
