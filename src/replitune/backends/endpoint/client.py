"""Asks a server from several threads, by http.client with connections that stay open.

A failed request is sent again after a pause, which the server may set (`Retry-After`); a permanent
failure (a wrong key, an unknown model) ends the job. The key is put into one header and nowhere else;
if the server repeats it in any form (`redaction.py`), it is replaced before anybody sees it.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import select
import socket
import threading
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import msgspec

from replitune.backends.endpoint.answers import Answer, Journal, Tokens
from replitune.backends.endpoint.redaction import Redaction
from replitune.backends.endpoint.settings import EndpointSettings
from replitune.errors import ReplituneError

PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds to wait after the first failure, doubled after each further one, and their maximum."""
PATIENCE = 3600.0
"""The longest `Retry-After`, in seconds, that is obeyed; a longer one is told when the job gives up."""
LARGEST = 64 << 20
"""The most bytes of a response."""
MOST_SHOWN = 1 << 16
"""The bytes of a response that is not an answer in which something to show is looked for."""
AGAIN = (408, 409, 425, 429)
"""Temporary failures, as are all statuses from 500 on."""


NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class Request(NamedTuple):
    key: str
    """sha256 of the seed and the body."""
    body: bytes
    most: Tokens
    """An upper bound of its cost."""


class _Usage(msgspec.Struct):
    prompt_tokens: NotNegative
    completion_tokens: NotNegative = 0


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None


class _AttemptError(Exception):
    """A failed attempt that may be repeated."""

    def __init__(
        self, why: str, *, billed: bool = True, sent: bool = True, pause: float | None = None
    ) -> None:
        super().__init__(why)
        self.billed, self.sent = billed, sent
        """Whether the attempt may have been billed; whether the server may have seen it."""
        self.pause = pause


class Asking:
    """The state that the threads share."""

    def __init__(
        self, settings: EndpointSettings, key: str | None, journal: Journal, requests: Sequence[Request]
    ) -> None:
        self.settings, self.key, self.journal = settings, key, journal
        self.redacted = Redaction(key)
        todo = [one for one in requests if one.key not in journal.answers]
        self.todo = iter(todo)
        self.workers = [_Worker(self, n) for n in range(min(settings.concurrency, len(todo)))]
        self.error: BaseException | None = None
        self.not_before = 0.0
        """Until then all threads wait, because the server asked for a pause."""
        self._changed = threading.Condition()

    def run(self) -> None:
        """Send every request to which the journal has no answer."""
        for worker in self.workers:
            worker.thread.start()
        while waiting := [worker for worker in self.workers if worker.thread.is_alive()]:
            for worker in waiting:
                worker.cut_if_overdue()
            waiting[0].thread.join(0.1)
        if self.error is not None:
            raise self.error

    def fail(self, error: BaseException) -> None:
        with self._changed:
            self.error = self.error or error
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait so many seconds, or until a thread fails; returns whether to go on."""
        with self._changed:
            self._changed.wait_for(lambda: self.error is not None, seconds)
        return self.error is None


class _Worker:
    """One thread with one connection."""

    def __init__(self, asking: Asking, number: int) -> None:
        self.state, self.asked, self.key, self.journal = asking, asking.settings, asking.key, asking.journal
        self.number = number
        self.thread = threading.Thread(target=self._run, name=f"ask-{number}", daemon=True)
        self.open = False
        """Whether it has reserved a request whose cost is not known yet."""
        self._connection: http.client.HTTPConnection | None = None
        self._deadline: float | None = None

    def cut_if_overdue(self) -> None:
        """Close an overdue connection: a server that sends a byte now and then never times out a socket."""
        connection, deadline = self._connection, self._deadline
        if connection is not None and deadline is not None and time.monotonic() > deadline:
            with contextlib.suppress(OSError, AttributeError):  # closed in the meantime
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            while self.state.error is None and (request := next(self.state.todo, None)) is not None:
                self._answer(request)
        except BaseException as error:
            self.state.fail(error)
        finally:
            self._close()

    def _answer(self, request: Request) -> None:
        failures = 0
        while self._reserve(request):
            try:
                answer, tokens = self._post(request)
            except _AttemptError as failure:
                if not failure.billed:
                    self.journal.settle(request.most, (0, 0), sent=failure.sent)
                failures += 1
                if failures > self.asked.retries:
                    raise ReplituneError(
                        f"{self.asked.url} did not answer",
                        found=f"{failure} (attempt {failures})",
                        fix="run again when the server works; answers so far are kept",
                    ) from None
                pause = min(PAUSE * 2 ** (failures - 1), LONGEST_PAUSE) * (1 + self.number % 8 / 16)
                if failure.pause is not None:
                    pause = failure.pause
                    self.state.not_before = max(self.state.not_before, time.monotonic() + pause)
                if not self.state.wait(pause):
                    return
            else:
                self.journal.settle(request.most, tokens, answer)
                return
            finally:
                self.open = False

    def _reserve(self, request: Request) -> bool:
        """Wait until the request may be sent; False if it may not, because another thread failed."""
        while self.state.wait(self.state.not_before - time.monotonic()):
            at = self.journal.reserve(request.key, request.most, self.asked.budget, self.asked.per_minute)
            if not isinstance(at, str):
                self.open = True
                if self.state.wait(at - time.time()):
                    return True
                self.journal.settle(request.most, (0, 0), sent=False)
                return False
            # wait for open requests: they usually cost less than was reserved for them
            if not any(worker.open for worker in self.state.workers):
                raise ReplituneError(
                    "the budget is used up",
                    file=self.journal.path,
                    found=at,
                    fix="raise `budget`, and run again; answers so far are kept",
                )
            self.state.wait(0.02)
        return False

    def _post(self, request: Request) -> tuple[Answer, Tokens]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        self._deadline = deadline = time.monotonic() + self.asked.timeout
        try:
            connection = self._connected()
            connection.request(
                "POST",
                urlsplit(self.asked.url).path.rstrip("/") + "/chat/completions",
                request.body,
                headers,
            )
            response = connection.getresponse()
            data = response.read(LARGEST + 1)
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            self._close()
            late = time.monotonic() >= deadline
            why = f"no answer in {self.asked.timeout:g} s" if late else f"{type(error).__name__}: {error}"
            raise _AttemptError(self.state.redacted(why)) from None
        finally:
            self._deadline = None
        if response.will_close or len(data) > LARGEST:
            self._close()
        if response.status == 200:
            return _answer_in(data, request, self.state.redacted)
        # redacted before it is cut: half a key would not be recognised
        text = self.state.redacted(data[:MOST_SHOWN].decode("utf-8", "replace").replace("\0", ""))
        said = f"status {response.status}: {text[:300]}"
        if response.status == 400 and b'"content_filter"' in data:
            return Answer(request.key, "", refusal=said), (0, 0)
        if response.status in AGAIN or response.status >= 500:
            pause = _pause(response.getheader("Retry-After"))
            if pause is not None and pause > PATIENCE:
                said += f"; it asks for a pause of {pause / 3600:,.3g} hours"
                pause = None
            raise _AttemptError(said, billed=response.status >= 500, pause=pause)
        self.journal.settle(request.most, (0, 0))
        raise ReplituneError(
            f"{self.asked.url} refused a request",
            found=said,
            fix="correct `url`, `model`, `sampling` or the key, and run again; answers are kept",
        )

    def _connected(self) -> http.client.HTTPConnection:
        """The open connection, or a new one if the server has closed it or there was none."""
        connection = self._connection
        if connection is not None and connection.sock is not None:
            if not select.select([connection.sock], [], [], 0)[0]:
                return connection
            self._close()
        parts = urlsplit(self.asked.url)
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=self.asked.timeout)
        try:
            self._connection.connect()
        except (OSError, ValueError) as error:
            raise _AttemptError(f"{type(error).__name__}: {error}", billed=False, sent=False) from None
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _answer_in(data: bytes, request: Request, redacted: Redaction) -> tuple[Answer, Tokens]:
    try:
        completion = msgspec.json.decode(data, type=_Completion)
    except ValueError as error:
        raise _AttemptError(redacted(f"no chat completion: {error}")) from None
    if len(completion.choices) != 1:
        raise _AttemptError(f"{len(completion.choices)} choices, where 1 was asked for")
    choice = completion.choices[0]
    text, usage = choice.message.content or "", completion.usage
    if "\0" in text:
        raise _AttemptError("an answer with a NUL character")
    filtered = choice.finish_reason == "content_filter"
    tokens = request.most if usage is None else (usage.prompt_tokens, usage.completion_tokens)
    return (
        Answer(
            request.key,
            redacted(text),
            redacted(choice.finish_reason or ""),
            redacted(choice.message.refusal or ("content_filter" if filtered else "")),
            redacted(completion.model or ""),
            redacted(completion.system_fingerprint or ""),
            (0, 0) if usage is None else tokens,
        ),
        tokens,
    )


def _pause(given: str | None) -> float | None:
    """The seconds that `Retry-After`, a number or a date, asks for; None where it is neither."""
    if given is None:
        return None
    for seconds in (float, lambda date: parsedate_to_datetime(date).timestamp() - time.time()):
        with contextlib.suppress(ValueError, OverflowError, TypeError):
            pause: float = seconds(given)
            return max(0.0, pause) if math.isfinite(pause) else None
    return None
