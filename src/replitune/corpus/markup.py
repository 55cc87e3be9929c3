"""What WMT's XML and NIST's SGM have in common: documents of numbered segments, by stream.

Both parsers (`wmt_xml`, `wmt_sgm`) report elements and text to a `Builder`, which knows the two
layouts:

- WMT since 2021: `dataset > (collection >) doc > (src | ref translator= | hyp system=) > seg`;
- NIST's mteval, in SGM or XML: `srcset | refset | tstset > doc docid= sysid= > seg`.

Documents with a `testsuite` attribute accompany a WMT test set and do not belong to it: they have
no references, and are left out, as sacrebleu does. Only text inside `seg` counts; text directly
inside a document is an error, so that none is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from replitune.corpus.content import FileContent, Key, Role, require_names
from replitune.errors import ReplituneError

SETS = {"srcset": "source", "refset": "reference", "tstset": "hypothesis"}
SIDES = {"src": "source", "ref": "reference", "hyp": "hypothesis"}
GROUPS = frozenset(("p", "hl", "poster", "speaker"))
"""Elements around segments that mean nothing here."""
STRUCTURE = frozenset((*SETS, *SIDES, *GROUPS, "dataset", "collection", "mteval", "doc", "seg"))

Role3 = str
"""source, reference or hypothesis."""
StreamName = tuple[Role3, str]

LINE_BREAKS = re.compile(r"[ \t]*[\r\n][ \t\r\n]*")


@dataclass
class MarkupFile:
    """The streams of one file, segments by (document, segment id) in the file's order."""

    path: str | Path
    streams: dict[StreamName, dict[Key, str]] = field(default_factory=dict)

    def names(self, role: Role3) -> list[str]:
        """Translators or systems, in order of appearance."""
        return [name for kind, name in self.streams if kind == role]

    @property
    def keys(self) -> list[Key]:
        """The segments of the source if the file has one, otherwise of the first reference or
        system."""
        for role in ("source", "reference", "hypothesis"):
            for name in self.names(role):
                return list(self.streams[role, name])
        return []

    def texts(self, role: Role3, name: str) -> list[str]:
        """The segments of a stream in the order of `keys`, none missing and none too many."""
        stream, keys = self.streams[role, name], self.keys
        for first, second in ((keys, stream), (list(stream), dict.fromkeys(keys))):
            missing = next((key for key in first if key not in second), None)
            if missing is not None:
                what = f"{role} {name}" if name else role
                raise ReplituneError(
                    f"the segments of {what} differ from those of the rest of the file",
                    file=self.path,
                    found=f"document {missing[0]!r}, segment {missing[1]!r} "
                    + ("is missing" if first is keys else "only there"),
                    fix=self._advice(role, name),
                )
        return [stream[key] for key in keys]

    def _advice(self, role: Role3, name: str) -> str:
        keys = set(self.keys)
        whole = [other for other in self.names(role) if set(self.streams[role, other]) == keys]
        if role == "reference" and whole:
            return f"select complete references by name: names: [{', '.join(whole)}]"
        return "fetch the file again, or leave this stream out"

    def content(self, role: Role, names: Sequence[str] | None) -> FileContent:
        """As a file of references (all, or those named) or of a source."""
        references = self.names("reference")
        chosen: Sequence[str] = []
        if role == "reference":
            if not references:
                raise ReplituneError("no reference in this file", file=self.path, found=self._content())
            chosen = references if names is None else names
            require_names(references, chosen, "reference", self.path)
        sources = self.names("source")
        if not sources and role == "source":
            raise ReplituneError("no source in this file", file=self.path, found=self._content())
        return FileContent(
            self.path,
            references=[self.texts("reference", name) for name in chosen],
            source=self.texts("source", sources[0]) if sources else None,
            documents=[document for document, _ in self.keys],
            keys=self.keys,
        )

    def system(self, name: str | None) -> list[str]:
        """The segments of a system; without a name, of the only one."""
        systems = self.names("hypothesis")
        if name is None:
            if len(systems) == 1:
                return self.texts("hypothesis", systems[0])
            raise ReplituneError(
                "which system?" if systems else "no system in this file",
                file=self.path,
                found=", ".join(systems) if systems else self._content(),
                expected="the name of one system",
            )
        require_names(systems, [name], "system", self.path)
        return self.texts("hypothesis", name)

    def _content(self) -> str:
        streams = [f"{role} {name}".strip() for role, name in self.streams]
        return ", ".join(streams) if streams else "no segments"


class Builder:
    """Builds a `MarkupFile` from elements, and refuses what does not fit."""

    def __init__(self, path: str | Path) -> None:
        self.file = MarkupFile(path)
        self.set_role: Role3 | None = None
        self.set_name = ""
        self.document: str | None = None
        self.testsuite = False
        self.document_line = 0
        self.side: tuple[Role3, str] | None = None
        self.segment: str | None = None
        self.segment_line = 0
        self.text: list[str] = []
        self.count = 0
        self.begun: set[tuple[Role3, str, str]] = set()
        self.other = 0
        """Depth inside unknown elements: titles, key words, ..."""

    def error(
        self, message: str, line: int, found: str | None = None, fix: str | None = None
    ) -> ReplituneError:
        return ReplituneError(message, file=self.file.path, line=line, found=found, fix=fix)

    def start(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if self.segment is not None:
            raise self.error(
                f"<{name}> inside a segment",
                line,
                found=f"the segment that begins on line {self.segment_line} is not closed",
                fix="close it with </seg>, or write &lt; for a < in the text",
            )
        if name not in STRUCTURE:
            self.other += 1
        elif name in SETS:
            self._start_set(name, attributes, line)
        elif name == "doc":
            self._start_document(attributes, line)
        elif name in SIDES:
            self._start_side(name, attributes, line)
        elif name == "seg":
            self._start_segment(attributes, line)

    def end(self, name: str, line: int) -> None:
        if name not in STRUCTURE:
            self.other = max(self.other - 1, 0)
        elif name == "seg":
            self._end_segment(line)
        elif self.segment is not None:
            raise self.error(
                f"</{name}> inside a segment",
                line,
                found=f"the segment that begins on line {self.segment_line} is not closed",
                fix="close it with </seg>",
            )
        elif name == "doc":
            if self.document is None:
                raise self.error("</doc> without a document", line)
            self.document = self.side = None
            self.other = 0
        elif name in SIDES:
            self.side = None
        elif name in SETS:
            self._require_closed(line)
            self.set_role = None

    def data(self, text: str, line: int) -> None:
        if self.segment is not None:
            self.text.append(text)
        elif self.document is not None and not self.other and text.strip():
            raise self.error(
                "text outside a segment", line, found=text.strip()[:60], fix="put it in <seg> ... </seg>"
            )

    def finish(self, line: int) -> MarkupFile:
        """The finished file; refuses one in which something is not closed."""
        self._require_closed(line)
        if self.set_role is not None:
            raise self.error("the file ends inside a set", line, fix="the file is cut off")
        if not self.file.streams:
            raise self.error(
                "no segments",
                line,
                fix="check that this is WMT XML or NIST SGM: doc elements with seg elements",
            )
        return self.file

    def _require_closed(self, line: int) -> None:
        if self.segment is not None:
            raise self.error(
                "a segment is not closed",
                self.segment_line,
                fix="the file is cut off, or a </seg> is missing",
            )
        if self.document is not None:
            raise self.error(
                f"document {self.document!r} is not closed",
                self.document_line,
                fix="the file is cut off, or a </doc> is missing",
            )

    def _start_set(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        self._require_closed(line)
        if self.set_role is not None:
            raise self.error(f"<{name}> inside another set", line)
        self.set_role = SETS[name]
        self.set_name = attributes.get("sysid") or attributes.get("refid") or ""

    def _start_document(self, attributes: Mapping[str, str], line: int) -> None:
        self._require_closed(line)
        document = attributes.get("docid") or attributes.get("id") or ""
        if not document.strip():
            raise self.error("a document without a name", line, fix="give it docid= or id=")
        self.document, self.document_line = document, line
        self.testsuite = "testsuite" in attributes
        self.count = 0
        if self.set_role is not None:
            name = "" if self.set_role == "source" else (attributes.get("sysid") or self.set_name)
            self._begin(self.set_role, name, line)

    def _start_side(self, name: str, attributes: Mapping[str, str], line: int) -> None:
        if self.document is None or self.set_role is not None or self.side is not None:
            raise self.error(f"<{name}> out of place", line, fix="put it directly inside <doc>")
        role = SIDES[name]
        label = {
            "source": "",
            "reference": attributes.get("translator") or "",
            "hypothesis": attributes.get("system") or "",
        }[role]
        self.count = 0
        self._begin(role, label, line)

    def _begin(self, role: Role3, name: str, line: int) -> None:
        """Begin a document of a stream; refuse one that the stream has already."""
        assert self.document is not None
        self.side = (role, name)
        if (role, name, self.document) in self.begun:
            what = f"{role} {name}".strip()
            raise self.error(f"{what} has document {self.document!r} twice", line)
        self.begun.add((role, name, self.document))

    def _start_segment(self, attributes: Mapping[str, str], line: int) -> None:
        if self.side is None:
            raise self.error(
                "a segment out of place",
                line,
                fix="put it in src, ref or hyp of a document, or in a document of a "
                "srcset, refset or tstset",
            )
        self.count += 1
        self.segment = (attributes.get("id") or str(self.count)).strip()
        self.segment_line = line
        self.text = []

    def _end_segment(self, line: int) -> None:
        if self.segment is None or self.side is None or self.document is None:
            raise self.error("</seg> without a segment", line)
        key = (self.document, self.segment)
        self.segment = None
        if self.testsuite:
            return
        stream = self.file.streams.setdefault(self.side, {})
        if key in stream:
            raise self.error(f"segment {key[1]!r} of document {key[0]!r} occurs twice", self.segment_line)
        stream[key] = LINE_BREAKS.sub(" ", "".join(self.text).strip(" \t\r\n"))
