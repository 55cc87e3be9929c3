"""WMT and NIST files in XML, read safely: a file that declares entities or a document type is refused.

Python's expat does the parsing. Document types and entities, which can read other files or let
a small one expand enormously, stop it at their declaration, before anything is expanded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.parsers import expat

from replitune.corpus.markup import Builder, MarkupFile
from replitune.errors import ReplituneError
from replitune.running.files import read_text


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
