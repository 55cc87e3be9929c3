"""The answers of a server, by the content of the request, and the journal that keeps them.

The jobs of a system append to one journal. Each line has a CRC and a JSON object, which says that a
request was sent and the most that it may cost, or what was answered, or that the request was refused
and cost nothing. A killed job loses no answer, and a later job asks for the rest. A request without
an outcome may have been billed, so it counts for the most that it may cost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from replitune.backends.endpoint.settings import BudgetSettings
from replitune.errors import ReplituneError
from replitune.running.locks import WITHOUT

FLUSHED = 1.0
"""The answers of so many seconds may be lost in a power failure; a killed process loses none."""

Tokens = tuple[int, int]
"""Numbers of tokens of the prompt and of the answer."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The only choice in a response."""

    request: str
    """sha256 of the request."""
    text: str
    finish: str = ""
    refusal: str = ""
    """What the server said when it refused; `text` is then empty, or the model's own words."""
    model: str = ""
    fingerprint: str = ""
    tokens: Tokens = (0, 0)


class Sent(msgspec.Struct, frozen=True, tag="sent"):
    """An attempt to send a request."""

    request: str
    most: Tokens
    at: float
    """When it may be sent, in seconds since 1970."""


class Ended(msgspec.Struct, frozen=True, omit_defaults=True, tag="ended"):
    """The end of an attempt: what it cost instead of `most`, and the answer, if there was one."""

    most: Tokens
    tokens: Tokens
    answer: Answer | None = None
    sent: bool = True
    """Whether the server may have seen the request."""


_decode = msgspec.json.Decoder(Sent | Ended).decode


class Journal:
    """The journal of a system, which several processes may use at the same time."""

    def __init__(self, path: Path, wanted: Sequence[str]) -> None:
        """`wanted`: the requests whose answers are kept in memory."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.answers: dict[str, Answer] = {}
        self.requests = self.damaged = 0
        self.tokens: Tokens = (0, 0)
        self._wanted = {*wanted}
        self._last = 0.0
        self._read_to = 0
        self._flushed = time.monotonic()
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        with self._alone():
            self._read()
        if self.damaged:
            print(
                f"warning: {path} has {self.damaged} damaged lines; their requests are sent again",
                file=sys.stderr,
            )

    def close(self) -> None:
        with self._lock:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1  # for threads that outlive an interrupted job

    def reserve(
        self, request: str, most: Tokens, budget: BudgetSettings, per_minute: float | None
    ) -> float | str:
        """Note that a request is to be sent. Returns when it may be sent, or the limit that it would
        exceed."""
        with self._alone():
            self._read()
            tokens = self.tokens[0] + most[0], self.tokens[1] + most[1]
            if (beyond := budget.exceeded(self.requests + 1, tokens)) is not None:
                return beyond
            now = time.time()
            at = now if per_minute is None else max(now, self._last + 60 / per_minute)
            self._append(Sent(request, most, at))
            return at

    def settle(
        self, most: Tokens, tokens: Tokens, answer: Answer | None = None, *, sent: bool = True
    ) -> None:
        """Note the outcome of an attempt."""
        with self._alone():
            self._append(Ended(most, tokens, answer, sent))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in WITHOUT:
                    raise
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def _append(self, record: Sent | Ended) -> None:
        self._read()
        text = msgspec.json.encode(record)
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        if os.write(self._file, line) != len(line):
            raise ReplituneError("could not be written completely", file=self.path, fix="is the disk full?")
        self._note(record)
        self._read_to += len(line)
        if time.monotonic() > self._flushed + FLUSHED:
            os.fsync(self._file)
            self._flushed = time.monotonic()

    def _read(self) -> None:
        """Read what was appended since the last time; a line that a killed process left unfinished is
        ended."""
        size = os.fstat(self._file).st_size
        if size <= self._read_to:
            return
        data = bytearray()
        while piece := os.pread(self._file, size - self._read_to - len(data), self._read_to + len(data)):
            data += piece
        if not data.endswith(b"\n"):
            os.write(self._file, b"\n")
            data += b"\n"
        self._read_to += len(data)
        for line in data.splitlines():
            check, _, text = line.partition(b" ")
            try:
                if int(check, 16) != zlib.crc32(text):
                    raise ValueError
                self._note(_decode(text))
            except ValueError:  # msgspec's errors, too
                self.damaged += 1

    def _note(self, record: Sent | Ended) -> None:
        if isinstance(record, Sent):
            self.requests += 1
            self.tokens = self.tokens[0] + record.most[0], self.tokens[1] + record.most[1]
            self._last = max(self._last, record.at)
            return
        self.requests -= not record.sent
        more = (new - old for new, old in zip(record.tokens, record.most, strict=True))
        self.tokens = self.tokens[0] + next(more), self.tokens[1] + next(more)
        if record.answer is not None and record.answer.request in self._wanted:
            self.answers[record.answer.request] = record.answer
