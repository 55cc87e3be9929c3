"""WMT's and NIST's test sets: SGM, and XML.

The SGM of older test sets is not XML, and rarely well-formed.

Tags may be in any case, attributes without quotes, & and < bare in the text, and elements not
closed. Known tags count as tags; inside a segment anything else is text. A segment or
a document that is not closed is an error, because its text would be lost or misplaced.

XML is read safely: a file that declares entities or a document type is refused. Python's expat does the
parsing. Document types and entities, which can read other files or let a small one expand enormously,
stop it at their declaration, before anything is expanded.
"""

from __future__ import annotations

import re
from html.entities import html5
from pathlib import Path
from typing import Any
from xml.parsers import expat

from replitune.corpus.markup import STRUCTURE, Builder, MarkupFile
from replitune.errors import ReplituneError
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


def read_xml(path: str | Path) -> MarkupFile:
    """All streams of an XML file."""
    text = read_text(path)
    builder = Builder(path)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True

    def refuse(what: str) -> Any:
        def handler(*_: object) -> None:
            raise builder.error(
                f"{what} in XML",
                parser.CurrentLineNumber,
                fix="remove it: document types and entities are not read, for safety",
            )

        return handler

    def declaration(version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8", "us-ascii"):
            raise builder.error(
                "XML that is not UTF-8",
                parser.CurrentLineNumber,
                found=f"encoding {encoding}",
                fix="convert it, and change its declaration",
            )

    parser.XmlDeclHandler = declaration
    parser.StartDoctypeDeclHandler = refuse("a document type")
    parser.EntityDeclHandler = refuse("an entity declaration")
    parser.ExternalEntityRefHandler = refuse("an external entity")
    parser.SkippedEntityHandler = refuse("an unknown entity")
    parser.StartElementHandler = lambda name, attributes: builder.start(
        name.lower(), attributes, parser.CurrentLineNumber
    )
    parser.EndElementHandler = lambda name: builder.end(name.lower(), parser.CurrentLineNumber)
    parser.CharacterDataHandler = lambda data: builder.data(data, parser.CurrentLineNumber)
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise ReplituneError(
            "XML is not well-formed",
            file=path,
            line=error.lineno,
            found=expat.ErrorString(error.code),
            fix="if it is SGM of the older kind, give it a name that ends in .sgm",
        ) from None
    return builder.finish(parser.CurrentLineNumber)
