"""NIST's SGM as older WMT test sets have it: not XML, and rarely well-formed.

Tags may be in any case, attributes without quotes, & and < bare in the text, and elements not
closed. Known tags count as tags; inside a segment anything else is text. A segment or
a document that is not closed is an error, because its text would be lost or misplaced.
"""

from __future__ import annotations

import re
from html.entities import html5
from pathlib import Path

from replitune.corpus.markup import STRUCTURE, Builder, MarkupFile
from replitune.running.files import read_text

TAG = re.compile(
    r"<!--(?P<comment>.*?)(?P<closed>-->|\Z)"
    r"|<!(?P<declaration>[A-Za-z][^>]*)>"
    r"|<\?[^>]*>"
    r"|<(?P<slash>/?)(?P<name>[A-Za-z][\w.-]*)(?P<attributes>(?:[^<>\"']|\"[^\"\n]*\"|'[^'\n]*')*)>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]*));")


def read_sgm(path: str | Path) -> MarkupFile:
    """All streams of an SGM file."""
    text = read_text(path)
    builder = Builder(path)
    line, counted, position = 1, 0, 0

    def line_of(offset: int) -> int:
        nonlocal line, counted
        line += text.count("\n", counted, offset)
        counted = offset
        return line

    for match in TAG.finditer(text):
        name = (match["name"] or "").lower()
        comment = match["comment"] is not None
        if not comment and builder.segment is not None and name not in STRUCTURE:
            continue  # text that looks like a tag
        builder.data(unescape(text[position : match.start()]), line_of(position))
        position = match.end()
        here = line_of(match.start())
        if comment:
            if not match["closed"]:
                raise builder.error("a comment is not closed", here)
        elif match["declaration"] is not None:
            if "[" in match["declaration"]:
                raise builder.error(
                    "a document type with declarations of its own",
                    here,
                    fix="remove it: declarations are not read, for safety",
                )
        elif name and match["slash"]:
            builder.end(name, here)
        elif name:
            attributes = {
                key.lower(): unescape(double or single or bare)
                for key, double, single, bare in ATTRIBUTE.findall(match["attributes"])
            }
            builder.start(name, attributes, here)
            if match["attributes"].endswith("/"):
                builder.end(name, here)
    builder.data(unescape(text[position:]), line_of(position))
    return builder.finish(line_of(len(text)))


def unescape(text: str) -> str:
    """Decode HTML's entities, by name or number, once; an & that begins none is text."""

    def character(match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if name:
            return html5.get(name + ";", match[0])
        code = int(decimal) if decimal else int(hexadecimal, 16)
        if code == 0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
            return match[0]
        return chr(code)

    return ENTITY.sub(character, text) if "&" in text else text
