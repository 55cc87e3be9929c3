"""Identifies processes to other processes, on this machine or elsewhere."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

import msgspec


@cache
def machine() -> str:
    """Where the process numbers seen here are valid: host, and container."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


class Process(NamedTuple):
    """A process that holds a lock or started jobs; it may have been killed since."""

    machine: str
    number: int
    mark: str
    """Distinguishes it from a later process with the same number; empty if that was not known."""

    @classmethod
    def this(cls) -> Self:
        return cls(machine(), os.getpid(), mark_of(os.getpid()) or "")

    @classmethod
    def read(cls, content: str | bytes) -> Self | None:
        """A process from JSON; None if the content is anything else."""
        try:
            return msgspec.json.decode(content, type=cls)
        except ValueError:
            return None

    @property
    def written(self) -> bytes:
        return msgspec.json.encode(self)

    @property
    def host(self) -> str:
        return self.machine.partition(" ")[0]

    @property
    def is_running(self) -> bool | None:
        """Whether the process is running; None if that cannot be known here."""
        known = self.machine == machine() and self.mark
        return mark_of(self.number) == self.mark if known else None


def mark_of(process: int) -> str | None:
    """When it was started, and after which boot of the machine; None if there is no such process."""
    fields = _fields(process)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    return f"{boot} {fields[19]}" if fields else None


def _fields(process: int) -> list[str]:
    """State, parent, ... of a process; empty if there is no such process."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = text[text.rindex(")") + 2 :].split()  # a name may contain anything
    return [] if fields[0] in "ZX" else fields
