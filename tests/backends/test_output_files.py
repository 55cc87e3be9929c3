"""Outputs in every form: lines, WMT XML and SGM with several systems, columns of TSV."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from replitune.backends.outputs import OutputFiles
from replitune.backends.registry import get_backend
from replitune.errors import ReplituneError
from replitune.replicas import Replica

XML = """<dataset id="t"><doc id="d1">
<src lang="de"><p><seg id="1">eins</seg><seg id="2">zwei</seg></p></src>
<ref lang="en" translator="A"><p><seg id="1">one</seg><seg id="2">two</seg></p></ref>
<hyp system="GPT-4 (5 shot)"><p><seg id="2">b2</seg><seg id="1">b1</seg></p></hyp>
<hyp system="run1"><p><seg id="1">r1 &amp; a</seg><seg id="2">r1 b</seg></p></hyp>
<hyp system="run2"><p><seg id="1">r2 a</seg><seg id="2"></seg></p></hyp>
</doc></dataset>
"""
SGM = """<tstset setid="t" srclang="de" trglang="en"><doc docid="d1" sysid="s">
<seg id="1">first</seg><seg id="2">second</seg></doc></tstset>
"""
TSV = 'source\thyp1\thyp2\neins\th1 a\th2 a\nzwei\t\t"h2" b\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "all.xml").write_text(XML)
    (tmp_path / "all.xml.gz").write_bytes(gzip.compress(XML.encode()))
    (tmp_path / "one.sgm").write_text(SGM)
    (tmp_path / "hyps.tsv").write_text(TSV)
    (tmp_path / "bare.tsv").write_text("x\ty\nz\tw\n")
    (tmp_path / "lines.tsv").write_text("just\nlines\n")
    (tmp_path / "odd#name.txt").write_text("a\nb\n")
    return tmp_path


def outputs(settings: dict[str, Any]) -> OutputFiles:
    found = get_backend("s", settings, "outputs")
    assert isinstance(found, OutputFiles)
    return found


def collected(folder: Path, files: Any, **more: Any) -> dict[str, list[str]]:
    system = outputs({"backend": "outputs", "files": {"t": files}, **more})
    return {replica.id: lines for replica, lines in system.collect("t", folder, 2).items()}


@pytest.mark.parametrize(
    ("files", "lines"),
    [
        ("all.xml#GPT-4 (5 shot)", ["b1", "b2"]),
        ("all.xml.gz#run1", ["r1 & a", "r1 b"]),
        ("a*.xml#run2", ["r2 a", ""]),
        ("one.sgm", ["first", "second"]),
        ("hyps.tsv#hyp2", ["h2 a", '"h2" b']),
        ("bare.tsv#2", ["y", "w"]),
        ("lines.tsv", ["just", "lines"]),
        ("odd#name.txt", ["a", "b"]),
    ],
)
def test_every_form_gives_its_segments(folder: Path, files: str, lines: list[str]):
    assert collected(folder, files) == {"run-001": lines}


def test_parts_of_one_file_may_be_replicas(folder: Path):
    assert collected(folder, "all.xml#run{1..2}") == {
        "run-001": ["r1 & a", "r1 b"],
        "run-002": ["r2 a", ""],
    }
    assert list(collected(folder, {"mert": ["hyps.tsv#hyp1"], "mira": "hyps.tsv#hyp2"})) == [
        "mert-001",
        "mira-001",
    ]


def test_files_are_those_on_disk(folder: Path):
    system = outputs({"files": {"t": "all.xml#run{1..2}"}})
    assert system.files("t", folder) == {
        Replica("run-001"): folder / "all.xml",
        Replica("run-002"): folder / "all.xml",
    }


def test_segments_follow_the_file_of_the_test_set(folder: Path):
    other = XML.replace(
        '<seg id="1">eins</seg><seg id="2">zwei</seg>', '<seg id="2">zwei</seg><seg id="1">eins</seg>'
    )
    (folder / "source.xml").write_text(other)
    found = collected(folder, "all.xml#run1", like={"t": "source.xml"})
    assert found == {"run-001": ["r1 b", "r1 & a"]}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("all.xml", "which system?"),
        ("all.xml#run3", "no such system"),
        ("hyps.tsv", "which column?"),
        ("hyps.tsv#hyp3", "no column is called"),
        ("hyps.tsv#9", "no such column"),
        ("bare.tsv#y2", "no column is called"),
        ("none.xml#run1", "no such file"),
    ],
)
def test_what_is_not_there_is_said(folder: Path, files: str, message: str):
    with pytest.raises(ReplituneError, match=message):
        collected(folder, files)


def test_a_wrong_number_of_segments_is_refused(folder: Path):
    (folder / "short.tsv").write_text("hyp\none\n")
    with pytest.raises(ReplituneError, match="line counts differ"):
        collected(folder, "short.tsv#hyp")
