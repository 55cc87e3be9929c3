"""WMT XML and NIST SGM: every stream, safely, and nothing lost in silence."""

import gzip
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.corpus.reader import read_testset, read_wmt, read_wmt_system
from replitune.corpus.testset import TestSet
from replitune.corpus.wmt import unescape
from replitune.errors import ReplituneError

XML = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="test.de-en">
  <collection id="general">
  <!-- <doc id="c"> is a comment -->
  <doc id="d1" origlang="de" domain="news">
    <src lang="de"><p><seg id="1">A &amp; B</seg><seg id="2">zwei</seg></p></src>
    <ref lang="en" translator="A"><p><seg id="1">A &amp; &lt;b&gt;</seg>
      <seg id="2">
        two
        lines </seg></p></ref>
    <ref lang="en" translator="B"><p><seg id="2">deux</seg><seg id="1">un</seg></p></ref>
    <hyp system="good &quot;one&quot;" language="en">
      <p><seg id="1">h1</seg><seg id="2"></seg></p></hyp>
    <hyp system="bad" language="en"><p><seg id="1">x1</seg></p></hyp>
  </doc>
  <doc id="d0" origlang="en">
    <src lang="de"><seg id="1"><![CDATA[drei <3]]></seg></src>
    <ref lang="en" translator="A"><seg id="1">three\u2028\u0085</seg></ref>
    <hyp system="good &quot;one&quot;" language="en"><seg id="1">h3</seg></hyp>
    <hyp system="bad" language="en"><seg id="1">x3</seg></hyp>
  </doc>
  <doc id="suite" testsuite="gender"><src lang="de"><seg id="1">no</seg></src></doc>
  </collection>
</dataset>
"""


@pytest.fixture
def xml(tmp_path):
    path = tmp_path / "test.xml"
    path.write_text(XML, encoding="utf-8")
    return path


def test_source_references_and_documents_come_from_one_xml_file(xml):
    testset = read_testset(xml, names=["A"])
    assert testset == TestSet(
        (["A & <b>", "two lines", "three\u2028\u0085"],), ["A & B", "zwei", "drei <3"], ["d1", "d1", "d0"]
    )


def test_systems_by_name(xml):
    assert read_wmt(xml).names("hypothesis") == ['good "one"', "bad"]
    assert read_wmt_system(xml, 'good "one"') == ["h1", "", "h3"]
    with pytest.raises(ReplituneError, match="which system"):
        read_wmt_system(xml)
    with pytest.raises(ReplituneError, match="one of good"):
        read_wmt_system(xml, "god")


def test_an_incomplete_stream_is_an_error_that_says_what_is_missing(xml):
    with pytest.raises(ReplituneError) as error:
        read_testset(xml)
    assert "reference B" in str(error.value)
    assert "document 'd0', segment '1' is missing" in str(error.value)
    assert "names: [A]" in str(error.value)
    with pytest.raises(ReplituneError, match="the segments of hypothesis bad differ"):
        read_wmt_system(xml, "bad")


def test_gz_and_names_without_suffix(xml, tmp_path):
    packed = tmp_path / "test.xml.gz"
    packed.write_bytes(gzip.compress(XML.encode()))
    assert read_testset(packed, names=["A"]) == read_testset(xml, names=["A"])
    bare = tmp_path / "bare"
    bare.write_text(XML, encoding="utf-8")
    assert read_testset(bare, names=["A"], format="xml") == read_testset(xml, names=["A"])


def test_plain_text_beside_xml(xml, tmp_path):
    more = tmp_path / "more.txt"
    more.write_text("x\ny\nz\n")
    testset = read_testset([more], source=xml, documents=None)
    assert testset.references == (["x", "y", "z"],)
    assert testset.documents == ["d1", "d1", "d0"]
    assert read_testset([more], documents=xml).documents == ["d1", "d1", "d0"]


BOMB = """<?xml version="1.0"?>
<!DOCTYPE dataset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<dataset><doc id="1"><ref><seg id="1">&b;</seg></ref></doc></dataset>
"""
OUTSIDE = BOMB.replace('[<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]', "{}")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (BOMB, "a document type", 2),
        (OUTSIDE.format('SYSTEM "file:///etc/passwd"'), "a document type", 2),
        (OUTSIDE.replace("<!DOCTYPE dataset {}>", ""), "undefined entity", 3),
        (XML.replace("utf-8", "iso-8859-1"), "not UTF-8", 1),
        (XML.replace("</dataset>", ""), "not well-formed", None),
        (XML.replace("zwei", "<b>zwei</b>"), "<b> inside a segment", 6),
        (XML.replace("<p>", "<p>lost", 1), "text outside a segment", 6),
        (XML.replace('<seg id="2">zwei', '<seg id="1">zwei'), "occurs twice", 6),
        (XML.replace('id="d0"', 'id="d1"'), "twice", 17),
        (XML.replace('id="d0" ', ""), "without a name", 16),
        ("<dataset/>", "no segments", None),
        ("<dataset><seg>x</seg></dataset>", "out of place", 1),
        ("", "not well-formed", None),
    ],
)
def test_bad_xml(tmp_path, text, message, line):
    path = tmp_path / "bad.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReplituneError, match=message) as error:
        read_testset(path, names=["A"])
    assert error.value.file == str(path)
    if line is not None:
        assert error.value.line == line


SRC = """<srcset setid="newstest" srclang="any">
<doc docid="a" genre=news origlang='de'>
<hl>
<seg id="1">Titel &amp; AT&T &eacute; &quot;x&#34; &unknown; a < b <3 <i>kursiv</i></seg>
</hl>
<p>
<seg id="2"> zwei </seg>
<seg id="3"></seg>
</doc>
<doc docid="b"><p><seg id="1">eins</seg></p></doc>
</srcset>
"""
REF = """<!DOCTYPE mteval SYSTEM "ftp://example.org/mteval.dtd">
<REFSET SETID="newstest" SRCLANG="any" TRGLANG="en">
<!-- <DOC docid="x"> -->
<DOC SYSID="r1" DOCID="b"><P><SEG ID=1>one</SEG></P></DOC>
<DOC SYSID="r1" DOCID="a">
<SEG ID=1>title</SEG>
<SEG ID=2>two<!-- really --></SEG>
<SEG ID=3>three
more</SEG>
</DOC>
<DOC SYSID="r2" DOCID="a"><SEG ID=1>t</SEG><SEG ID=2>2</SEG><SEG ID=3>3</SEG></DOC>
<DOC SYSID="r2" DOCID="b"><SEG ID=1>1</SEG></DOC>
</REFSET>
"""


@pytest.fixture
def sgm(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_sgm_references_follow_the_order_of_the_source(sgm):
    testset = read_testset(sgm("ref.sgm", REF), source=sgm("src.sgm", SRC))
    assert testset.source == ['Titel & AT&T é "x" &unknown; a < b <3 <i>kursiv</i>', "zwei", "", "eins"]
    assert testset.references == (["title", "two", "three more", "one"], ["t", "2", "3", "1"])
    assert testset.documents == ["a", "a", "a", "b"]


def test_sgm_without_a_source_keeps_its_own_order(sgm):
    testset = read_testset(sgm("ref.sgm", REF), names=["r2"])
    assert testset == TestSet((["1", "t", "2", "3"],), documents=["b", "a", "a", "a"])


def test_hypotheses_in_a_tstset(sgm):
    test = REF.replace("REFSET", "TSTSET").replace('SYSID="r1"', "").replace('SYSID="r2"', "sysid=y")
    path = sgm("hyp.sgm", test.replace("SETID", 'sysid="x" setid'))
    assert read_wmt(path).names("hypothesis") == ["x", "y"]
    assert read_wmt_system(path, "y") == ["1", "t", "2", "3"]
    # the test set has the order of its source
    assert read_wmt_system(path, "y", like=sgm("src.sgm", SRC)) == ["t", "2", "3", "1"]
    with pytest.raises(ReplituneError, match="a segment is missing"):
        read_wmt_system(path, "y", like=sgm("less.sgm", SRC.replace('<seg id="3"></seg>', "")))


def test_iwslt_xml_of_the_mteval_kind(sgm):
    text = """<?xml version="1.0" encoding="UTF-8"?>
<mteval><refset setid="tst2010" srclang="German" trglang="English">
<doc docid="535" genre="lectures"><talkid>535</talkid><title>A talk</title>
<seg id="1"> Hello . </seg></doc></refset></mteval>"""
    assert read_testset(sgm("t.xml", text)) == TestSet((["Hello ."],), documents=["535"])


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (REF.replace("title</SEG>", "title"), "<seg> inside a segment", 7),
        (REF.replace("one</SEG></P></DOC>", "one</SEG></P>"), "is not closed", 4),
        (REF.replace("three\nmore</SEG>", "three\nmore"), "</doc> inside a segment", 10),
        (REF.replace("</REFSET>", ""), "ends inside a set", None),
        (REF[: REF.index("more")], "segment is not closed", 8),
        (REF.replace("<SEG ID=1>title</SEG>", "title"), "text outside a segment", 5),
        (REF.replace("<SEG ID=1>title", '<SEG ID="1>title'), "text outside a segment", 5),
        (REF.replace("<SEG ID=2>two", "<SEG ID=1>two"), "occurs twice", 7),
        (REF.replace('"r2"', '"r1"'), "twice", 11),
        (REF.replace('mteval.dtd"', 'mteval.dtd" [<!ENTITY a "b">]'), "document type", 1),
        (REF.replace("really -->", "really"), "comment", 7),
        ("", "no segments", None),
        ("plain text\n", "no segments", None),
        ("</seg>", "without a segment", 1),
        ("<refset><refset>", "inside another set", 1),
    ],
)
def test_bad_sgm(sgm, text, message, line):
    path = sgm("bad.sgm", text)
    with pytest.raises(ReplituneError, match=message) as error:
        read_testset(path, names=["r1"])
    assert error.value.file == str(path)
    if line is not None:
        assert error.value.line == line


def test_source_and_references_of_other_test_sets(sgm):
    source = sgm("src.sgm", SRC)
    less = sgm("less.sgm", REF.replace("<SEG ID=2>2</SEG>", "").replace("r1", "r0"))
    with pytest.raises(ReplituneError, match="differ from those of the rest"):
        read_testset(less, source=source)
    other = sgm("other.sgm", REF.replace('"b"', '"c"'))
    with pytest.raises(ReplituneError, match="segment is missing") as error:
        read_testset(other, source=source)
    assert "document 'b', segment '1'" in str(error.value)
    with pytest.raises(ReplituneError, match="no reference in this file"):
        read_testset(source)
    with pytest.raises(ReplituneError, match="no source in this file"):
        read_testset(sgm("ref.sgm", REF), source=sgm("ref2.sgm", REF))


def test_entities_are_replaced_once():
    assert unescape("&amp;lt; &#x41;&#66; &AMP; &nbsp;| &#0; &#xD800; &copy &x;") == (
        "&lt; AB & \xa0| &#0; &#xD800; &copy &x;"
    )


text = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff", include_characters="\t\x85"
    ),
    max_size=10,
).map(lambda s: s.strip(" \t"))


@settings(deadline=None, derandomize=True, max_examples=60)
@given(documents=st.lists(st.lists(st.tuples(text, text), min_size=1, max_size=3), min_size=1, max_size=3))
def test_both_kinds_give_back_what_was_written(documents, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wmt")
    expected = TestSet(
        ([pair[1] for document in documents for pair in document],),
        [pair[0] for document in documents for pair in document],
        [f"d&{i}" for i, document in enumerate(documents) for _ in document],
    )

    def segments(document, side):
        return "".join(f'<seg id="{k}">{escape(pair[side])}</seg>\n' for k, pair in enumerate(document))

    xml = "".join(
        f"<doc id={quoteattr(f'd&{i}')}>\n<src lang='x'>{segments(document, 0)}</src>\n"
        f"<ref lang='y'>{segments(document, 1)}</ref></doc>\n"
        for i, document in enumerate(documents)
    )
    (folder / "t.xml").write_text(f"<dataset>{xml}</dataset>", encoding="utf-8", newline="")
    assert read_testset(folder / "t.xml") == expected
    for side, kind in enumerate(("srcset", "refset")):
        sgm = "".join(
            f"<DOC docid={quoteattr(f'd&{i}')}>{segments(document, side)}</DOC>\n"
            for i, document in enumerate(documents)
        )
        (folder / f"{kind}.sgm").write_text(f"<{kind}>{sgm}</{kind}>", encoding="utf-8", newline="")
    assert read_testset(folder / "refset.sgm", source=folder / "srcset.sgm") == expected


def test_a_file_of_many_segments_is_read_in_linear_time(sgm):
    import time

    def seconds(n):
        body = "".join(f'<seg id="{k}">a "quoted < word {k}</seg>\n' for k in range(n))
        path = sgm("long.sgm", f'<refset><doc docid="d">{body}</doc></refset>')
        start = time.process_time()
        assert len(read_wmt(path).texts("reference", "")) == n
        return time.process_time() - start

    seconds(1000)
    assert seconds(20_000) < 12 * max(seconds(4_000), 0.01)
