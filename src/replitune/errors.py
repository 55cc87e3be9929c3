"""The one exception for mistakes that a user can put right, and the one way it is printed."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

LONGEST = 1000
"""Characters of what was found that a message shows."""


class ReplituneError(Exception):
    """A mistake in the user's input, or a program or extra that is missing.

    The command line prints it as one message without a traceback and exits with 2.

    >>> print(
    ...     ReplituneError(
    ...         "two line counts differ",
    ...         file="a.txt",
    ...         line=7,
    ...         found="10 lines",
    ...         expected="12 lines, as in ref.txt",
    ...         fix="decode the whole test set",
    ...     )
    ... )
    a.txt:7: two line counts differ
      found:    10 lines
      expected: 12 lines, as in ref.txt
      to do:    decode the whole test set
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        found: str | None = None,
        expected: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.found = found
        self.expected = expected
        self.fix = fix
        super().__init__(self.render())

    @property
    def details(self) -> dict[str, str | None]:
        """The fields beside the message, for reporting the same mistake at another place."""
        return {"found": self.found, "expected": self.expected, "fix": self.fix}

    def render(self) -> str:
        where = ""
        if self.file is not None:
            where = f"{self.file}: " if self.line is None else f"{self.file}:{self.line}: "
        rows = [f"{where}{shortened(self.message)}"]
        for label, text in (("found:", self.found), ("expected:", self.expected), ("to do:", self.fix)):
            if text is not None:
                rows.append(f"  {label:<9} {shortened(text)}")
        # bytes of a file name that are not UTF-8 can only be printed as \\udcff
        return "\n".join(rows).encode("utf-8", "backslashreplace").decode()


Reader = Literal["python", "command", "experiment"]
"""Who is told: a program in Python, somebody at a command line, or the author of an experiment."""

_reader: Reader = "python"


@contextmanager
def told_to(reader: Reader) -> Iterator[None]:
    """Meanwhile, options in messages are written as this reader writes them."""
    global _reader
    before, _reader = _reader, reader
    try:
        yield
    finally:
        _reader = before


def option(name: str, value: Any) -> str:
    """An option as its reader writes it: ``columns={"system": "NAME"}`` in Python, ``--columns
    system=NAME`` at a command line, ``columns: {system: NAME}`` in an experiment; empty for options that
    experiments do not have."""
    if _reader == "python":
        return f"{name}={value if value is True else json.dumps(value, ensure_ascii=False)}"
    if _reader == "experiment":
        pairs = ", ".join(f"{key}: {one}" for key, one in value.items()) if name == "columns" else ""
        return f"columns: {{{pairs}}}" if pairs else ""
    words = [f"--{name.replace('_', '-')}"]
    if isinstance(value, Mapping):
        words += [f"{key}={one if isinstance(one, str) else ' '.join(one)}" for key, one in value.items()]
    elif value is not True:
        words += [value] if isinstance(value, str) else value
    return " ".join(words)


class ReplicaError(ReplituneError):
    """One replica cannot be made, though others perhaps can: a decode with too few lines, a training
    that diverges, a vocabulary that does not match. With `allow_missing_replicas` the experiment
    goes on without that replica; any other error always stops what depends on it."""


def shortened(text: str) -> str:
    """The beginning of a long text, and how much more there is."""
    rest = len(text) - LONGEST
    return text if rest <= 0 else f"{text[:LONGEST]}... ({rest:,} more characters)"


TROUBLES = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "not permitted",
    errno.EPERM: "not permitted",
    errno.EIO: "input/output error",
}


def machine_trouble(error: OSError) -> str | None:
    """One message for a fault of the machine; None if the error is something else."""
    text = str(error)
    if error.errno in TROUBLES:
        what = TROUBLES[error.errno]
    elif error.errno is None and "requested and" in text and "written" in text:
        what = TROUBLES[errno.ENOSPC]  # numpy's wording
    elif "No usable temporary directory" in text:
        what = "no folder for temporary files can be written (TMPDIR names one)"
    else:
        return None
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{what}\n  to do:    put it right, and run again (replitune run, make resume)"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known spelling closest to `word`, or None when nothing is close."""
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def did_you_mean(word: object, known: Iterable[str], form: str = "`{}`") -> str | None:
    """``did you mean `bleu`?``, or None when nothing is close; `form` is how the word is written."""
    close = nearest(str(word), known)
    return f"did you mean {form.format(close)}?" if close else None
