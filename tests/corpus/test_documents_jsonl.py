"""JSON lines of WMT25 and WMT26 (genmt.jsonl and systems/SYSTEM.jsonl) and of generations."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import replitune as r
from replitune.corpus.documents_jsonl import has_documents, read_json_outputs
from replitune.corpus.outputs import read_output
from replitune.corpus.reader import read_testset
from support import Ran

DOCUMENTS = {
    "en-cs_CZ_#_news_#_a": ["One two three.", "Four five six\nseven eight."],
    "en-cs_CZ_#_news_#_b": ["Nine ten eleven twelve."],
    "en-de_DE_#_news_#_a": ["Thirteen fourteen."],
}


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def wmt(tmp_path: Path) -> Path:
    """A test set of two language pairs, and two systems that list its documents backwards."""
    rows = [
        {
            "doc_id": id,
            "src_lang": "en",
            "tgt_lang": id[3:8],
            "domain": "news",
            "src_text": "\n\n".join(texts).upper(),
            "video": None,
            "refs": {"refA": {"ref": "\n\n".join(texts)}},
        }
        for id, texts in DOCUMENTS.items()
    ]
    write(tmp_path / "genmt.jsonl", rows)
    for system in "AB":
        rows = [
            {"doc_id": id, "hypothesis": "\n\n".join(texts).replace("f", system)}
            for id, texts in reversed(DOCUMENTS.items())
        ]
        write(tmp_path / f"{system}.jsonl", rows)
    return tmp_path


def test_a_language_pair_is_a_test_set_of_paragraphs(wmt: Path):
    testset = read_testset(f"{wmt}/genmt.jsonl#en-cs_CZ")
    assert testset.references == (
        ["One two three.", "Four five six seven eight.", "Nine ten eleven twelve."],
    )
    assert testset.documents == [*2 * ["en-cs_CZ_#_news_#_a"], "en-cs_CZ_#_news_#_b"]
    assert testset.source is not None
    assert testset.source[2] == "NINE TEN ELEVEN TWELVE."
    with pytest.raises(r.ReplituneError, match="2 language pairs in one file"):
        read_testset(f"{wmt}/genmt.jsonl")
    with pytest.raises(r.ReplituneError, match="no such language pair"):
        read_testset(f"{wmt}/genmt.jsonl#en-fr_FR")


def test_systems_of_wmt_are_compared(replitune: Callable[..., Ran], wmt: Path):
    ran = replitune(
        "compare",
        "--refs",
        f"{wmt}/genmt.jsonl#en-cs_CZ",
        "--system",
        f"A={wmt}/A.jsonl",
        "--system",
        f"B={wmt}/B.jsonl",
        "--metrics",
        "chrf",
        "--samples",
        99,
    )
    assert ran.code == 0, ran.err
    assert "(3 segments, 2 documents" in ran.out
    like = wmt / "genmt.jsonl#en-cs_CZ"
    lines = read_output(wmt / "A.jsonl", None, like)
    assert lines == ["One two three.", "Four Aive six seven eight.", "Nine ten eleven twelve."]


def test_documents_must_be_there_with_their_paragraphs(wmt: Path):
    documents = read_testset(f"{wmt}/genmt.jsonl#en-cs_CZ").documents
    rows = [json.loads(line) for line in (wmt / "A.jsonl").read_text().splitlines()]
    for change, message in (
        (rows[:2], "no document en-cs_CZ_#_news_#_a"),
        ([*rows[:2], {**rows[2], "hypothesis": "One."}], "A.jsonl:3: document .* different numbers"),
        ([*rows, rows[0]], "A.jsonl:4: document .* occurs twice"),
        ([{"doc_id": "a", "words": 3}], "A.jsonl:1: no text of a system"),
        ([*rows[:1], {"doc_id": "x", "hypothesis": None}], "A.jsonl:2: no text `hypothesis`"),
    ):
        with pytest.raises(r.ReplituneError, match=message):
            read_json_outputs(write(wmt / "A.jsonl", change), documents)


def test_the_kind_of_a_file_is_seen_without_reading_all_of_it(wmt: Path):
    os.truncate(wmt / "genmt.jsonl", 1 << 25)  # a hole, which is read as NUL, which is not text
    assert has_documents(wmt / "genmt.jsonl#en-cs_CZ")


def wmt26(domain: str, target: str, name: str) -> str:
    return f"WMT26_###_{domain}_###_eng_Latn_###_{target}_###_{name}"


def test_wmt26_is_read_by_its_fields_and_a_document_is_a_segment(wmt: Path):
    pairs = {"isl_Latn": {"refA": {"ref": "<p>A</p>\n<p>b c</p>"}}, "rus_Cyrl": {}}
    rows = [
        {
            "doc_id": wmt26(domain, target, domain),
            "domain": domain,
            "src_lang": "eng_Latn",
            "tgt_lang": target,
            "src_text": "one\n\ntwo",
            "video": None,
            "gold_transcript": None,
            "refs": refs,
        }
        for target, refs in pairs.items()
        for domain in ("news", "speech")
    ]
    file = write(wmt / "wmt26-genmt.jsonl", rows)
    testset = read_testset(f"{file}#eng_Latn-isl_Latn")
    assert testset.references == (["<p>A</p> <p>b c</p>"] * 2,)
    assert testset.documents == [wmt26(d, "isl_Latn", d) for d in ("news", "speech")]
    with pytest.raises(r.ReplituneError, match="2 language pairs in one file") as error:
        read_testset(file)
    assert "eng_Latn-isl_Latn, eng_Latn-rus_Cyrl" in str(error.value)
    with pytest.raises(r.ReplituneError, match="2 of 2 documents have none at all") as error:
        read_testset(f"{file}#eng_Latn-rus_Cyrl")
    assert "--refs SYSTEM.jsonl#PAIR" in str(error.value)
    outputs = [
        {"doc_id": wmt26(domain, target, domain), "hypothesis": f"{domain}\n\nx", "metadata": {}}
        for domain in ("speech", "news")
        for target in pairs
    ]
    system = write(wmt / "PseudoRef.jsonl", outputs)
    assert read_json_outputs(system, testset.documents) == [["news  x", "speech  x"]]
    alone = read_testset(f"{system}#eng_Latn-rus_Cyrl")
    assert (alone.references, alone.source) == ((["speech  x", "news  x"],), None)
    source = f"{file}#eng_Latn-rus_Cyrl"
    both = read_testset(f"{system}#eng_Latn-rus_Cyrl", source=source)
    assert (both.references, both.source) == ((["news  x", "speech  x"],), ["one  two"] * 2)


def test_paragraphs_go_to_documents_that_do_not_follow_each_other(tmp_path: Path):
    rows = [{"doc_id": "a", "hypothesis": "a1\n\na2"}, {"doc_id": "b", "hypothesis": "b1\n\nb2"}]
    outputs = write(tmp_path / "s.jsonl", rows)
    assert read_json_outputs(outputs, ["a", "b", "a", "b"]) == [["a1", "b1", "a2", "b2"]]


def test_systems_in_one_file(wmt: Path):
    rows = [
        {"doc_id": id, "src_text": "s", "tgt_text": {"X": "\n\n".join(texts), "Y#1": "y"}}
        for id, texts in DOCUMENTS.items()
    ]
    path = write(wmt / "all.jsonl", rows)
    assert read_json_outputs(f"{path}#X", None)[0][0] == "One two three."
    assert read_json_outputs(f"{path}#Y#1", None) == [["y"] * 3]
    with pytest.raises(r.ReplituneError, match="which system"):
        read_json_outputs(path, None)
    with pytest.raises(r.ReplituneError, match="no output of system Z"):
        read_json_outputs(f"{path}#Z", None)


def test_samples_of_a_prompt_are_runs(replitune: Callable[..., Ran], tmp_path: Path):
    refs = [text for texts in DOCUMENTS.values() for text in texts]
    (tmp_path / "ref.txt").write_text("".join(f"{' '.join(text.split())}\n" for text in refs))
    for system, word in (("a", "two"), ("b", "three")):
        rows = [
            {"id": i, "samples": [f"{text} {word}", text.replace(word, "x"), text.upper()]}
            for i, text in enumerate(refs)
        ]
        write(tmp_path / f"{system}.jsonl", rows)
    ran = replitune(
        "compare",
        "--refs",
        tmp_path / "ref.txt",
        "--baseline",
        tmp_path / "a.jsonl",
        "--system",
        f"b={tmp_path}/b.jsonl",
        "--metrics",
        "chrf",
        "--design",
        "samples",
        "--samples",
        99,
    )
    assert ran.code == 0, ran.err
    assert "3 + 3 samples" in " ".join(ran.out.split())
    assert read_output(tmp_path / "a.jsonl", "1")[0] == "One two three. two"
    with pytest.raises(r.ReplituneError, match="3 samples in one file"):
        read_output(tmp_path / "a.jsonl")
    with pytest.raises(r.ReplituneError, match="no such sample"):
        read_output(tmp_path / "a.jsonl", "4")
