"""Running other people's programs: words quoted for a shell, output into the log, and nothing
left running.

A program runs in a process group of its own. The group ends when the program has ended, when
this process gets a signal, and, by a guard that waits at a pipe, when this process is killed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from replitune.backends.interface import ReplicaError
from replitune.errors import ReplituneError, nearest

GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL: time to save a checkpoint."""
LAST = 5
"""Lines of a failed program's messages that its error repeats."""

_PLACE = re.compile(r"(?<!\$)\{(\{?)([a-z_]+)\}(\}?)")

Value = str | Path | int | Sequence[str | Path]


def filled(template: str, places: Mapping[str, Value], what: str = "the template") -> str:
    """A shell command from a template: `{name}` becomes a quoted word (of a list: words);
    `{{name}}` stays as `{name}`.

    >>> filled("sort {source} > {output}", {"source": "my file", "output": "out"})
    "sort 'my file' > out"
    """
    quoted = _quoted_parts(template)

    def replace(match: re.Match[str]) -> str:
        opening, name, closing = match.groups()
        if opening and closing:
            return f"{{{name}}}"
        if name not in places:
            close = nearest(name, list(places))
            raise ReplituneError(
                f"{what} has no place {{{name}}}",
                found=template,
                expected=", ".join(f"{{{place}}}" for place in places),
                fix=f"did you mean {{{close}}}?"
                if close
                else f"for the shell write {{{{{name}}}}}",
            )
        if quoted[match.start()]:
            raise ReplituneError(
                f"{what}: {{{name}}} stands inside quotes",
                found=template,
                fix="close the quotes before it: values are quoted when they are filled in",
            )
        value = places[name]
        words = [value] if isinstance(value, str | Path | int) else value
        return opening + " ".join(shlex.quote(str(word)) for word in words) + closing

    return _PLACE.sub(replace, template)


def uses(template: str, name: str) -> bool:
    """Whether a template has a place of this name."""
    return any(
        match[2] == name and not (match[1] and match[3]) for match in _PLACE.finditer(template)
    )


def _quoted_parts(template: str) -> list[bool]:
    """For each character, whether a shell is inside quotes there."""
    inside, kind, escaped, comment = [], "", False, False
    before = "\n"
    for character in template:
        inside.append(bool(kind))
        if comment:
            comment = character != "\n"
        elif escaped:
            escaped = False
        elif character == "\\" and kind != "'":
            escaped = True
        elif kind:
            kind = "" if character == kind else kind
        elif character in "'\"":
            kind = character
        elif character == "#" and before in " \t\n;":
            comment = True
        before = character
    return inside


def run_shell(command: str, what: str, **options: object) -> None:
    """Run a shell command; see `run`."""
    print(f"$ {command}", flush=True)
    run(["bash", "-euo", "pipefail", "-c", command], what, **options)  # type: ignore[arg-type]


def run(
    command: Sequence[str | Path],
    what: str,
    *,
    stdout: IO[bytes] | None = None,
    threads: int = 1,
) -> None:
    """Run a program to its end; its messages, and without `stdout` its output, go to the log.

    A program that ends with another exit code than 0 makes a `ReplicaError`; one that somebody
    kills (for want of memory, say) an ordinary error, because another try may succeed.
    """
    words = [str(word) for word in command]
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE if stdout else subprocess.STDOUT,
            start_new_session=True,
            env=environment(threads),
        )
    except OSError as error:
        raise ReplituneError(
            f"{what}: cannot start {words[0]}", found=error.strerror, fix="check its path"
        ) from None
    said: list[str] = []
    guard = None
    try:
        guard = _Guard(process.pid)
        messages = process.stderr or process.stdout
        assert messages is not None
        reader = threading.Thread(target=_copy, args=(messages, said), daemon=True)
        reader.start()
        code = process.wait()
    finally:
        _end(process)
        if guard is not None:
            guard.dismiss()
    reader.join(GRACE)
    if code < 0 or code > 128:  # a shell says 128 + signal
        number = -code if code < 0 else code - 128
        known = 1 <= number < signal.NSIG
        name = signal.strsignal(number) if known else None
        raise ReplituneError(
            f"{what}: the program was killed",
            found=f"signal {number} ({name or 'unknown'})",
            fix="9 often means that there was not enough memory",
        )
    if code in (126, 127):
        raise ReplituneError(f"{what}: no such program", found="; ".join(said) or f"exit {code}")
    if code != 0:
        raise ReplicaError(
            f"{what}: {Path(words[0]).name} failed",
            found=f"exit code {code}" + "".join(f"\n            {line}" for line in said),
        )


def environment(threads: int) -> dict[str, str]:
    """The environment of a program: as many threads as its job has, never more."""
    number = str(threads)
    pools = ("OMP", "MKL", "NUMEXPR", "VECLIB", "RAYON")
    limits = {f"{pool}_NUM_THREADS": number for pool in pools}
    return {**os.environ, **limits, "OPENBLAS_NUM_THREADS": "1"}


def _copy(messages: IO[bytes], said: list[str]) -> None:
    """Everything into the log, and the last lines into `said`."""
    for raw in messages:
        line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
        print(line, flush=True)
        said.append(line[:300])
        del said[:-LAST]
    messages.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process group, children that outlive the program included."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        if process.poll() is None:
            process.wait(GRACE)
    except ProcessLookupError:
        return
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()


class _Guard:
    """Kills a process group when this process is gone without having dismissed the guard."""

    def __init__(self, group: int) -> None:
        self.process = subprocess.Popen(
            ["sh", "-c", f"read -r word || kill -s KILL -- -{group}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        self.process.communicate(b"done\n")


def missing_program(name: str, fix: str) -> list[ReplituneError]:
    """An error when a program is neither on the PATH nor a file that can be run."""
    if shutil.which(name) is not None:
        return []
    where = "is not there" if "/" in name else "is not on the PATH"
    return [ReplituneError(f"the program {name} {where}, or cannot be run", fix=fix)]


def missing_file(path: str | Path, fix: str) -> list[ReplituneError]:
    return [] if Path(path).exists() else [ReplituneError("no such file", file=path, fix=fix)]
