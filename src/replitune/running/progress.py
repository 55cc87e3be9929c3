"""Progress: one bar on a terminal, plain lines in logs."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30


class Progress:
    """``with Progress("decode", 1000, "lines") as done: done(200)``.

    On a terminal a bar is drawn anew at most ten times a second; elsewhere one line says at the
    end how much was done in what time.
    """

    def __init__(self, what: str, total: int, unit: str, stream: TextIO | None = None) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.began = time.monotonic()
        self._drawn = -1.0

    def __call__(self, done: int, total: int | None = None) -> None:
        """`done` of `total` units are done."""
        if total is not None:
            self.total = total
        now = time.monotonic()
        if not self.live or (now - self._drawn < 0.1 and done < self.total):
            return
        self._drawn = now
        share = done / self.total if self.total else 1.0
        filled = round(WIDTH * share)
        left = (now - self.began) * (1 - share) / share if share else 0.0
        self.stream.write(
            f"\r{self.what} [{'#' * filled}{'.' * (WIDTH - filled)}] "
            f"{done:,} of {self.total:,} {self.unit}, {left:.0f} s left \033[K"
        )
        self.stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.stream.write("\r\033[K")
            self.stream.flush()
        else:
            seconds = time.monotonic() - self.began
            print(f"{self.what}: {self.total:,} {self.unit} in {seconds:.1f} s")


class Steps:
    """Lines of a long work; ``... step 3 of 11`` overwrites itself on a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self._open = False

    def __call__(self, line: str) -> None:
        if not self.live:
            print(line, flush=True)
            return
        step = " step " in line
        self.stream.write(("\r" if self._open else "") + line + ("\033[K" if step else "\033[K\n"))
        self.stream.flush()
        self._open = step
