"""Tables: one reader for what separates columns in the files of others."""

from __future__ import annotations

import pytest

from replitune.errors import ReplituneError
from replitune.readers.table import number_of, read_table, score_of, segment_of


@pytest.mark.parametrize(
    "text", ["a\tb c\n1\t x y \n\n2\t\n", 'a,b c\n1,"x y"\n\n2,\n', "\ufeffa,b c\r\n1,x y\r\n2,\r\n"]
)
def test_the_header_tells_what_separates_columns(tmp_path, text):
    path = tmp_path / "t"
    path.write_bytes(text.encode())
    table = read_table(path)
    assert table.header == ["a", "b c"]
    assert [row for _, row in table.rows] == [["1", "x y"], ["2", ""]]


def test_rows_know_their_lines_and_columns_their_places(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"two\nlines"\n\n3,4\n')
    table = read_table(path)
    assert (table.place("b"), table.place(1)) == (1, 0)
    assert list(table.rows) == [(3, ["1", "two\nlines"]), (5, ["3", "4"])]
    for column, message in (("bb", "did you mean b"), (3, "a number from 1 to 2")):
        with pytest.raises(ReplituneError, match=message):
            table.place(column)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a,b\n1,2\n1\n", "too few or too many columns", 3),
        ("a\tb\n1\t2\t3\n", "too few or too many columns", 2),
        ("a,b\n1," + "x" * 200_000 + "\n", "not a line of CSV", 2),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, text, message, line):
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(ReplituneError, match=message) as caught:
        list(read_table(path).rows)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_cells(tmp_path):
    assert [number_of(cell) for cell in ("1e3", 2, "x", None, True, "nan", "inf")] == [
        1000,
        2,
        None,
        None,
        None,
        None,
        None,
    ]
    assert score_of(tmp_path, 1, "") is None
    assert score_of(tmp_path, 1, "NA", ("", "na")) is None
    assert segment_of(tmp_path, 1, 3.0) == 3
    for wrong in ("1.5", -1, True, ""):
        with pytest.raises(ReplituneError, match="not a whole number"):
            segment_of(tmp_path, 1, wrong)
