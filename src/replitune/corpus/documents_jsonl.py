"""Texts as JSON lines: a document a line, as in the shared tasks of WMT since 2025; or a prompt a
line with one output or several.

    {"doc_id": "en-cs_CZ_#_news_#_d1", "src_text": "...", "refs": {"refA": {"ref": "..."}}}
    {"doc_id": "WMT26_###_news_###_eng_Latn_###_isl_Latn_###_d1", "src_lang": "eng_Latn", ..., "refs": {}}
    {"doc_id": "en-cs_CZ_#_news_#_d1", "hypothesis": "..."}
    {"id": "q1", "samples": ["...", "..."]}

In files of WMT25 the segments are paragraphs; in those of WMT26, which mark no paragraphs, documents.
Where there is no human reference, `refs` is empty, and a file of outputs may be the reference.

`file.jsonl#PART` names a part: a language pair of test sets, one of several systems, or one of
several samples, counted from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from replitune.corpus.content import FileContent, Role
from replitune.errors import ReplituneError
from replitune.readers.names import WMT26, language_pair, split_part
from replitune.running.files import read_blocks

PARAGRAPHS = "\n\n"
"""What separates the paragraphs of a document; a single line feed becomes a blank."""

OUTPUT = (
    "hypothesis",
    "output",
    "outputs",
    "samples",
    "generation",
    "generations",
    "translation",
    "translations",
    "completion",
    "completions",
    "response",
    "responses",
    "prediction",
    "text",
)
"""Keys of a system's output; the first that is present is read."""


def has_documents(path: str | Path) -> bool:
    """Whether a file is a WMT test set, or outputs for one, by its first line."""
    first = next(chain.from_iterable(read_blocks(split_part(path)[0])), "")
    return '"doc_id"' in first and any(f'"{key}"' in first for key in ("refs", "src_text", "hypothesis"))


def read_documents(path: str | Path, role: Role) -> FileContent:
    """References, source and documents of one language pair."""
    file, part = split_part(path)
    documents: list[tuple[str, list[str], dict[str, list[str]]]] = []
    pairs: dict[str, None] = {}
    for line, row in _rows(file):
        id = _text(file, line, row, "doc_id")
        pair = language_pair(row, id)
        pairs[pair] = None
        if part not in (None, pair):
            continue
        refs = {"hypothesis": row["hypothesis"]} if "hypothesis" in row else row.get("refs") or {}
        named = {
            name: _paragraphs(ref["ref"] if isinstance(ref, dict) else ref, id)
            for name, ref in (refs.items() if isinstance(refs, dict) else ())
        }
        documents.append((id, _paragraphs(row.get("src_text", row.get("source")), id), named))
    if part is not None and part not in pairs:
        raise ReplituneError("no such language pair", file=file, found=part, expected=", ".join(pairs))
    if len(pairs) > 1 and part is None:
        raise ReplituneError(
            f"{len(pairs)} language pairs in one file",
            file=file,
            found=", ".join(pairs),
            fix=f"choose one: {file.name}#{next(iter(pairs))}",
        )
    names = [name for name in documents[0][2] if all(name in refs for _, _, refs in documents)]
    if not names and (role == "reference" or not documents[0][1]):
        without = sum(not refs for _, _, refs in documents)
        raise ReplituneError(
            "no reference that all documents have",
            file=file,
            found=f"{without} of {len(documents)} documents have none at all",
            fix="take a file of outputs as the reference: --refs SYSTEM.jsonl#PAIR",
        )
    for id, source, refs in documents:
        for name in names:
            if source and len(refs[name]) != len(source):
                raise ReplituneError(
                    f"document {id}: {name} and the source have different numbers of paragraphs",
                    file=file,
                    found=f"{len(refs[name])}",
                    expected=f"{len(source)}",
                )
    first = [source or refs[names[0]] for _, source, refs in documents]
    keys = [
        (id, str(n)) for (id, _, _), texts in zip(documents, first, strict=True) for n in range(len(texts))
    ]
    return FileContent(
        path,
        [[text for _, _, refs in documents for text in refs[name]] for name in names],
        [text for _, source, _ in documents for text in source] or None,
        [id for id, _ in keys],
        keys,
    )


def read_json_outputs(path: str | Path, documents: Sequence[str] | None) -> list[list[str]]:
    """The outputs of one system, a list of lines for each run. `documents`: the document of each
    segment of the test set; the outputs are put in this order, and other documents left out."""
    file, part = split_part(path)
    rows = list(_rows(file))
    if not rows:
        raise ReplituneError("no outputs in this file", file=file)
    (line, first) = rows[0]
    key = next((key for key in (*OUTPUT, "tgt_text") if key in first), None)
    if key is None:
        raise ReplituneError(
            "no text of a system",
            file=file,
            line=line,
            found=", ".join(first)[:200],
            expected=f"one of the keys {', '.join(OUTPUT)}",
        )
    if isinstance(first[key], dict):
        paragraphs = [(n, row.get("doc_id"), _text_of_system(file, n, row, key, part)) for n, row in rows]
        return [_in_order(file, paragraphs, documents)]
    if "doc_id" in first and isinstance(first[key], str):
        paragraphs = [(n, row.get("doc_id"), _text(file, n, row, key)) for n, row in rows]
        return [_in_order(file, paragraphs, documents)]
    if isinstance(first[key], str):
        return [[_one_line(_text(file, n, row, key)) for n, row in rows]]
    samples = len(first[key]) if isinstance(first[key], list) else 0
    for n, row in rows:
        texts: Any = row.get(key)
        good = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        if not good or len(texts) != samples or not samples:
            raise ReplituneError(
                f"not {samples} samples" if samples else "no samples",
                file=file,
                line=n,
                found=f"{key}: {len(texts) if good else repr(texts)[:40]}",
                expected="as many texts as on the first line",
            )
    runs = [[_one_line(row[key][k]) for _, row in rows] for k in range(samples)]
    if part is None:
        return runs
    if not part.isdecimal() or not 1 <= int(part) <= samples:
        raise ReplituneError(
            "no such sample", file=file, found=part, expected=f"a number from 1 to {samples}"
        )
    return [runs[int(part) - 1]]


def _text_of_system(path: Path, line: int, row: dict[str, Any], key: str, part: str | None) -> str:
    """The text of one of several systems."""
    texts: Any = row.get(key)
    names = list(texts) if isinstance(texts, dict) else []
    if part not in names:
        raise ReplituneError(
            "which system?" if part is None else f"no output of system {part}",
            file=path,
            line=line,
            found=", ".join(names) or "none",
            fix=f"name it: {path.name}#{names[0]}" if names else None,
        )
    return str(texts[part])


def _in_order(
    path: Path, paragraphs: Sequence[tuple[int, Any, str]], documents: Sequence[str] | None
) -> list[str]:
    """Paragraphs of documents in the order of the test set."""
    by_id: dict[str, tuple[int, list[str]]] = {}
    counts = Counter(documents)
    for line, id, text in paragraphs:
        id = str(id)
        if id in by_id:
            raise ReplituneError(
                f"document {id} occurs twice", file=path, line=line, found=f"also on line {by_id[id][0]}"
            )
        # a document of one segment: the whole text is its translation, however many lines it has
        by_id[id] = (line, [_one_line(text)] if counts[id] == 1 else _paragraphs(text, id))
    if documents is None:
        return [text for _, texts in by_id.values() for text in texts]
    for id, count in counts.items():
        if id not in by_id:
            raise ReplituneError(
                f"no document {id}",
                file=path,
                found=f"{len(by_id)} documents",
                expected="all documents of the test set",
            )
        line, texts = by_id[id]
        if len(texts) != count:
            raise ReplituneError(
                f"document {id}: the output and the test set have different numbers of paragraphs",
                file=path,
                line=line,
                found=f"{len(texts)}",
                expected=f"{count}",
                fix="translate paragraph by paragraph, with an empty line between them",
            )
    following = {id: iter(texts) for id, (_, texts) in by_id.items()}
    return [next(following[id]) for id in documents]


def _paragraphs(text: object, id: str) -> list[str]:
    if text is None:
        return []
    if isinstance(text, list):
        return [_one_line(str(part)) for part in text]
    return [_one_line(part) for part in ([str(text)] if WMT26 in id else str(text).split(PARAGRAPHS))]


def _one_line(text: str) -> str:
    return " ".join(part.strip("\r") for part in text.split("\n"))


def _text(path: Path, line: int, row: dict[str, Any], key: str) -> str:
    if not isinstance(row.get(key), str):
        raise ReplituneError(f"no text `{key}`", file=path, line=line, found=repr(row.get(key))[:60])
    return str(row[key])


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    from replitune.readers.json_lines import JsonLines

    return JsonLines.numbered(path)
