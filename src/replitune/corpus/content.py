"""What one input file contributes to a test set, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from replitune.corpus.testset import require_equal_counts
from replitune.errors import ReplituneError

Role = Literal["reference", "source"]

Key = tuple[str, str]
"""(document id, segment id) in files that number their segments."""


@dataclass(frozen=True)
class FileContent:
    """Streams of the N segments of one file."""

    path: str | Path
    references: list[list[str]] = field(default_factory=list)
    source: list[str] | None = None
    documents: list[str] | None = None
    keys: list[Key] | None = None

    @classmethod
    def from_lines(
        cls, path: str | Path, role: Role, lines: list[str], documents: list[str] | None = None
    ) -> FileContent:
        """A file with one stream, in the role that the user gives it."""
        if role == "source":
            return cls(path, source=lines, documents=documents)
        return cls(path, references=[lines], documents=documents)

    @property
    def any_stream(self) -> list[str]:
        """One of the streams: all have N segments."""
        if self.references:
            return self.references[0]
        return self.source if self.source is not None else self.documents or []

    def aligned_to(self, other: FileContent) -> FileContent:
        """The same segments in the order of `other`; unchanged when either has no ids."""
        if self.keys is None or other.keys is None or self.keys == other.keys:
            require_equal_counts([(other.path, other.any_stream), (self.path, self.any_stream)])
            return self
        places = {key: i for i, key in enumerate(self.keys)}
        missing = next((key for key in other.keys if key not in places), None)
        if missing is not None:
            raise _missing_segment(self.path, missing, other.path)
        extra = set(self.keys) - set(other.keys)
        if extra:
            raise _missing_segment(other.path, min(extra), self.path)
        order = [places[key] for key in other.keys]
        return FileContent(
            self.path,
            [[stream[i] for i in order] for stream in self.references],
            None if self.source is None else [self.source[i] for i in order],
            None if self.documents is None else [self.documents[i] for i in order],
            other.keys,
        )


def _missing_segment(path: str | Path, key: Key, other: str | Path) -> ReplituneError:
    return ReplituneError(
        "a segment is missing",
        file=path,
        expected=f"document {key[0]!r}, segment {key[1]!r}, as in {other}",
        fix="give files of the same test set",
    )


def require_same_documents(first: FileContent, other: FileContent) -> None:
    """Refuse two files that disagree about the documents."""
    if first.documents is None or other.documents is None:
        return
    for number, (mine, theirs) in enumerate(zip(first.documents, other.documents, strict=True), start=1):
        if mine != theirs:
            raise ReplituneError(
                "two files disagree about documents",
                file=other.path,
                found=f"document {theirs!r} for segment {number}",
                expected=f"document {mine!r}, as in {first.path}",
                fix="give files of the same test set",
            )


def require_names(names: Sequence[str], wanted: Sequence[str], what: str, path: str | Path) -> None:
    """Refuse a wanted name that does not exist; the message lists those that do."""
    for name in wanted:
        if name not in names:
            raise ReplituneError(
                f"no such {what}",
                file=path,
                found=name,
                expected=f"one of {', '.join(names)}" if names else f"a file with a {what}",
            )
