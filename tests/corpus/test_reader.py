"""Plain text, TSV, blank-line documents, and how the formats go together."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.corpus.reader import read_testset, recognise
from replitune.corpus.settings import Columns
from replitune.corpus.testset import TestSet, write_testset
from replitune.errors import ReplituneError

ODD_CHARACTERS = "a\u2028b\x85c\x0cd\re"


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.txt", "text"),
        ("a.en", "text"),
        ("a", "text"),
        ("a.tsv.gz", "tsv"),
        ("A.XML", "xml"),
        ("x.xml.gz", "xml"),
        ("newstest-src.de.sgm", "sgm"),
        ("x.SGML", "sgm"),
        ("sacrebleu:wmt14/de-en", "sacrebleu"),
    ],
)
def test_formats_are_recognised_by_name(name, format):
    assert recognise(name) == format


def test_plain_gz_crlf_bom_and_odd_characters(write):
    testset = read_testset(
        [write("r1", f"{ODD_CHARACTERS}\nx\n"), write("r2.gz", "\ufeffu\r\nv\r\n")],
        source=write("s", "1\n2"),
    )
    assert testset == TestSet(([ODD_CHARACTERS, "x"], ["u", "v"]), source=["1", "2"])


def test_one_reference_may_be_given_alone(write):
    assert read_testset(write("r", "a\n")) == TestSet((["a"],))


def test_docids_one_a_line(write):
    testset = read_testset(write("r", "a\nb\nc\n"), documents=write("d", "news 1\nnews 1\nnews 2\n"))
    assert testset.documents == ["news 1", "news 1", "news 2"]


def test_unequal_files_are_both_named_with_their_counts(write):
    reference, source = write("r", "a\nb\n"), write("s", "a\n")
    documents = write("d", "x\nx\nx\n")
    with pytest.raises(ReplituneError) as error:
        read_testset(reference, source=source)
    for part in (str(reference), str(source), "2 lines", "1 lines"):
        assert part in str(error.value)
    with pytest.raises(ReplituneError) as error:
        read_testset(reference, documents=documents)
    for part in (str(reference), str(documents), "2 lines", "3 lines"):
        assert part in str(error.value)


def test_a_document_is_a_label_and_its_segments_need_not_follow_each_other(write):
    testset = read_testset(write("r", "a\nb\nc\n"), documents=write("d", "x\ny\nx\n"))
    assert testset.documents == ["x", "y", "x"]
    assert testset.document_codes().tolist() == [0, 1, 0]
    with pytest.raises(ReplituneError, match="a document id is blank") as error:
        read_testset(write("r", "a\nb\nc\n"), documents=write("d", "x\n\nx\n"))
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no segments"),
        (b"a\n\xff\n", "invalid UTF-8"),
        (b"a\0\n", "NUL"),
        (b"\x1f\x8bbroken", "gzip"),
        (b"a\r\r\n", "carriage return"),
    ],
)
def test_bad_text_names_the_file(write, content, message):
    path = write("r", content)
    with pytest.raises(ReplituneError, match=message) as error:
        read_testset(path)
    assert error.value.file == str(path)


def test_missing_files(tmp_path):
    with pytest.raises(ReplituneError, match="no such file"):
        read_testset(tmp_path / "none")
    with pytest.raises(ReplituneError, match="no reference"):
        read_testset([])


def test_blank_lines_separate_documents(write):
    reference = write("r", "\na\nb\n\n \n\nc\n\n")
    source = write("s", "1\n2\n\n3\n")
    testset = read_testset(reference, source=source, format="blank-lines")
    assert testset == TestSet((["a", "b", "c"],), ["1", "2", "3"], ["1", "1", "2"])
    with pytest.raises(ReplituneError, match="disagree about documents"):
        read_testset(reference, source=write("t", "1\n\n2\n3\n"), format="blank-lines")


TSV = "doc\tsource\tref1\tref_b\nd1\ts1\ta1\tb1\nd1\ts2\t\tb2\n"


def test_tsv_columns_are_recognised_by_their_header(write):
    expected = TestSet((["a1", ""], ["b1", "b2"]), ["s1", "s2"], ["d1", "d1"])
    assert read_testset(write("t.tsv.gz", TSV)) == expected


def test_tsv_columns_by_name_and_by_number(write):
    named = Columns(references="ref_b", source="source")
    expected = TestSet((["b1", "b2"],), ["s1", "s2"])
    assert read_testset(write("t.tsv", TSV), columns=named) == expected
    numbered = Columns(references=[4], source=2)
    body = TSV.split("\n", 1)[1]
    assert read_testset(write("body.tsv", body), columns=numbered) == expected
    headed = Columns(references=[4], source=2, header=True)
    assert read_testset(write("t.tsv", TSV), columns=headed) == expected


def test_tsv_keeps_quotes_and_may_serve_one_purpose(write):
    reference = write("r.tsv", 'reference\n"a, ""b"\n')
    documents = write("d.tsv", "docid\nx\n")
    source = write("s.tsv", "source\n'y\n")
    testset = read_testset(reference, source=source, documents=documents)
    assert testset == TestSet((['"a, ""b"'],), ["'y"], ["x"])


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (TSV + "d1\ts3\n", None, "too few or too many columns"),
        ("a\tb\n1\t2\n", None, "no column of references"),
        ("source\tsrc\tref\n1\t2\t3\n", None, "more than one column of sources"),
        (TSV, Columns(references=["none"]), "no column is called none"),
        (TSV, Columns(references=5), "no such column"),
        (TSV, Columns(references=[0]), "no such column"),
        ("ref\tref\n1\t2\n", Columns(references=["ref"]), "two columns"),
        ("ref\n", None, "no segments"),
        ("", None, "no segments"),
    ],
)
def test_bad_tsv(write, text, columns, message):
    path = write("t.tsv", text)
    with pytest.raises(ReplituneError, match=message):
        read_testset(path, columns=columns)


line = st.text(st.characters(exclude_characters="\n\r\t\0", exclude_categories=["Cs"]), max_size=9)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(rows=st.lists(st.tuples(line, line, line), min_size=1, max_size=5))
def test_tsv_and_plain_text_read_alike(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tsv")
    names = ("source", "ref1", "ref2")
    table = "\n".join("\t".join(row) for row in [names, *rows]) + "\n"
    (folder / "t.tsv").write_text(table, encoding="utf-8", newline="")
    for k, name in enumerate(names):
        text = "".join(row[k] + "\n" for row in rows)
        (folder / name).write_text(text.removeprefix("\ufeff"), encoding="utf-8", newline="")
    plain = read_testset([folder / "ref1", folder / "ref2"], source=folder / "source")
    columns = [[row[k] for row in rows] for k in range(3)]
    expected = TestSet((columns[1], columns[2]), columns[0])
    assert read_testset(folder / "t.tsv") == expected
    if not any(column[0].startswith("\ufeff") for column in columns):
        assert plain == expected


def test_a_prepared_test_set_is_a_test_set(tmp_path: Path):
    whole = TestSet(
        references=(["a  b", "c\u2028d", ""], ["A", "B\t", "C"]),
        source=["x", "y", "z"],
        documents=["d", "d", "e"],
    )
    write_testset(whole, tmp_path / "t.jsonl")
    assert read_testset(tmp_path / "t.jsonl") == whole
    (tmp_path / "t.x").write_bytes((tmp_path / "t.jsonl").read_bytes())
    assert read_testset(tmp_path / "t.x", format="jsonl") == whole
    (tmp_path / "more").write_text("1\n2\n3\n")
    more = read_testset([tmp_path / "t.jsonl", tmp_path / "more"], tmp_path / "more")
    assert more.references == (*whole.references, ["1", "2", "3"])
    assert more.source == ["1", "2", "3"]
    assert more.documents == whole.documents
