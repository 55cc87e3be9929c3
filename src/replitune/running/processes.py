"""Whether a process of this machine still is the one that it was."""

from __future__ import annotations

from pathlib import Path


def mark_of(process: int) -> str | None:
    """When it was started, and after which start of the machine; None: there is none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        said = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return None
    fields = said.rpartition(b")")[2].split()  # a name may hold anything
    ended = fields[0] in (b"Z", b"X")
    return None if ended else f"{boot} {fields[19].decode()}"


def is_running(process: int, mark: str) -> bool:
    return mark_of(process) == mark
