"""Shows the progress of long work in lines and bars; on a terminal, some overwrite the one before."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 30


class Progress:
    """``say("reading")``, and ``with say.bar("decode", 1000, "lines") as done: done(200)``.

    Without a terminal, lines go to standard output, which is the log.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._open = False

    def __call__(self, line: str) -> None:
        """Show a line; a line ``... step 3 of 11`` is overwritten by the next one."""
        if not self._live:
            print(line, flush=True)
            return
        step = " step " in line
        self._write(("\r" if self._open else "") + line + ("\033[K" if step else "\033[K\n"))
        self._open = step

    @contextmanager
    def bar(self, what: str, total: int, unit: str) -> Iterator[Callable[..., None]]:
        """A function to call with the amount that is done (and the total, once it is known). On a
        terminal, a bar is redrawn at most ten times a second; elsewhere, one line at the end says how
        much was done in what time."""
        began, drawn, whole = time.monotonic(), -1.0, total

        def done(number: int, total: int | None = None) -> None:
            nonlocal drawn, whole
            whole = whole if total is None else total
            now = time.monotonic()
            if not self._live or (now - drawn < 0.1 and number < whole):
                return
            drawn = now
            share = number / whole if whole else 1.0
            filled = round(WIDTH * share)
            left = (now - began) * (1 - share) / share if share else 0.0
            self._write(
                f"\r{what} [{'#' * filled}{'.' * (WIDTH - filled)}] "
                f"{number:,} of {whole:,} {unit}, {left:.0f} s left \033[K"
            )

        try:
            yield done
        finally:
            if self._live:
                self._write("\r\033[K")
            else:
                print(f"{what}: {whole:,} {unit} in {time.monotonic() - began:.1f} s")

    @property
    def _live(self) -> bool:
        return (self._stream or sys.stderr).isatty()

    def _write(self, text: str) -> None:
        stream = self._stream or sys.stderr
        stream.write(text)
        stream.flush()


say = Progress()
