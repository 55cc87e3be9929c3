"""Whether a process still is the one that it was."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Where processes are known by the numbers that they have here: host, and container."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def mark_of(process: int) -> str | None:
    """When it was started, and after which start of the machine; None: there is none."""
    fields = _fields(process)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    return f"{boot} {fields[19]}" if fields else None


def is_running(process: int, mark: str) -> bool:
    return mark_of(process) == mark


def ancestors() -> Iterator[int]:
    process = os.getppid()
    while process > 1:
        yield process
        fields = _fields(process)
        process = int(fields[1]) if fields else 0


def _fields(process: int) -> list[str]:
    """State, parent, ... of a process; empty when there is none."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    fields = text[text.rindex(")") + 2 :].split()  # a name may hold anything
    return [] if fields[0] in "ZX" else fields
