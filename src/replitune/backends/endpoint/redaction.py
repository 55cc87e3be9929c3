"""The key, found in whatever form a server repeats it: as it is, with the escapes of JSON, URLs and HTML,
also of one inside another, and in base64 or hexadecimal digits."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator

MASK = "***"

DEEPEST = 12
"""How often escapes of escapes are resolved."""
MOST = 20
"""A text that repeats the key more often, other than as it is, is replaced as a whole."""

ESCAPE = re.compile(
    r"\\u\{0*(?P<braced>[0-9a-f]{1,4})\}|\\u(?P<u>[0-9a-f]{4})|\\U0000(?P<U>[0-9a-f]{4})"
    r"|\\x(?P<x>[0-9a-f]{2})|\\(?P<octal>[0-3][0-7]{2})|\\(?P<plain>.)"
    r"|%(?P<percent>[0-9a-f]{2})|(?P<entity>&\#?\w{1,8};?)",
    re.DOTALL | re.IGNORECASE,
)
BLANKS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

FOR_URLS = str.maketrans("-_", "+/")
BASE64 = re.compile(r"[A-Za-z0-9+/_-]")


class Redaction:
    """Replaces a key by asterisks."""

    def __init__(self, key: str | None) -> None:
        self._key = key
        if key is not None:
            self._plain = {form for form in _resolved(key) if len(form) > len(key) / 2}
            self._packed = {key.encode().hex(), *map(str.lower, _in_base64(key.encode()))}

    def __call__(self, text: str) -> str:
        if self._key is None:
            return text
        text = text.replace(self._key, MASK)
        for _ in range(MOST):
            if not self._holds(text):
                return text
            start, end = self._first(text)
            text = text[:start] + MASK + text[end:]
        return MASK

    def _first(self, text: str) -> tuple[int, int]:
        """Where the text first holds the key."""
        end = _least(len(text), lambda n: self._holds(text[:n]))
        start = end - _least(end, lambda n: self._holds(text[end - n : end]))
        # the characters beside it may share bits with the key, in base64
        start -= BASE64.fullmatch(text, max(start - 1, 0), start) is not None
        return start, end + (BASE64.fullmatch(text, end, end + 1) is not None)

    def _holds(self, text: str) -> bool:
        for form in _resolved(text):
            if any(plain in form for plain in self._plain):
                return True
            packed = "".join(form.split()).translate(FOR_URLS).lower()
            if any(one in packed for one in self._packed):
                return True
        return False


def _resolved(text: str) -> Iterator[str]:
    """The text, and what it becomes when escapes are resolved again and again."""
    yield text
    for _ in range(DEEPEST):
        before, text = text, ESCAPE.sub(_meaning, text)
        if text == before:
            return
        yield text


def _meaning(escape: re.Match[str]) -> str:
    kind, value = escape.lastgroup, escape[escape.lastgroup or 0]
    if kind == "entity":
        return html.unescape(value)
    if kind == "plain":
        return BLANKS.get(value, value)
    return chr(int(value, 8 if kind == "octal" else 16))


def _in_base64(key: bytes) -> Iterator[str]:
    """The characters that hold bits of the key alone, after 0, 1 or 2 bytes of a group of 3."""
    for before in range(3):
        code = base64.b64encode(b"0" * before + key + b"00").decode()
        yield code[-(-before * 8 // 6) : (before + len(key)) * 8 // 6]


def _least(most: int, holds: Callable[[int], bool]) -> int:
    """A number up to `most` for which something holds, though not for the number before it."""
    least = 0
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if holds(middle) else (middle, most)
    return most
