"""Every note of ours is of a declared kind, and nothing is read out of its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from replitune.notes import FOREIGN, NOTES, Note, note, told
from support import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield path, node


def literals(node: ast.AST) -> set[str]:
    """The texts that an expression can be, as far as they stand in it."""
    return {
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and type(part.value) is str
    }


def test_our_codes_are_declared_and_all_of_them_are_used():
    for path, call in [*calls("note"), *calls("Finding")]:
        code = call.args[0] if call.args else None
        if isinstance(code, ast.Constant):  # others are made of texts, and `note` looks them up
            assert code.value in NOTES, f"{path}:{call.lineno}"
    texts = set().union(*(constants(path) for path in SOURCES if path.name != "notes.py"))
    whole = {code for code in NOTES if code in texts}
    assert all(any(code == one + rest for one in whole for rest in texts) for code in NOTES.keys() - whole)


def constants(path: Path) -> set[str]:
    return literals(ast.parse(path.read_text(encoding="utf-8")))


def test_notes_are_made_of_declared_kinds_alone():
    assert {path.name for path, _ in calls("Note")} == {"notes.py"}


def test_code_that_depends_on_a_code_names_a_declared_one():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Attribute):
                continue
            about = ast.unparse(node.left)
            if node.left.attr == "code" and "error" not in about:
                assert set().union(*(literals(one) for one in node.comparators)) <= NOTES.keys(), path


SENTENCES = {"text", "sentence", "detail", "speaks_of", "note", "generalises_to", "where", "note_text"}
"""What holds words, or makes them."""
READERS = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "find", "index"}
READERS |= {"match", "search", "fullmatch", "findall"}


def read_out(source: str) -> list[int]:
    """The lines that take facts from words."""

    def of_words(node: ast.expr) -> bool:
        node = node.func if isinstance(node, ast.Call) else node
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        return name in SENTENCES and (
            isinstance(node, ast.Attribute) or name not in ("text", "note", "where")
        )

    lines = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in READERS
        ):
            of = any(map(of_words, [node.func.value, *node.args]))
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            of = of_words(node.comparators[0])
        else:
            of = False
        if of:
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "line",
    [
        'generalises_to(test).startswith("these outputs")',
        'note.text.partition(":")[2]',
        'any(f" {id} " in note.text for note in notes)',
        're.search("run-[0-9]+", note.text)',
        '"new" in answer.sentence',
    ],
)
def test_facts_that_are_read_out_of_words_are_seen(line: str):
    assert read_out(line) == [1]


def test_no_fact_is_read_out_of_words():
    rooms = [ROOT / "src/replitune" / room for room in ("significance", "results", "report")]
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        for line in read_out(path.read_text(encoding="utf-8"))
    ]
    assert places == []


def test_a_note_of_another_package_is_a_caveat():
    own = Note("coin", "heads")
    assert (own.kind, own.grave, own.sentence) == (FOREIGN, False, "Heads.")
    assert told([own, note("welch"), note("out-of-reach", level="0.05", p=0.1)]) == (
        note("out-of-reach", level="0.05", p=0.1),
        own,
    )


def test_the_name_of_a_system_stays_as_it_is():
    said = note("no-more-runs", systems=["mert"], most="3 runs")
    assert said.sentence == "mert stays at 3 runs, since there are no more."
    assert said.systems == ("mert",)
