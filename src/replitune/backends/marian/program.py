"""Runs Marian, either from the package pymarian or the user's own program."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from subprocess import DEVNULL, PIPE

from replitune import extras
from replitune.errors import ReplituneError
from replitune.running.supervisor import Program

PYMARIAN = "pymarian"
KEPT = 400
"""How many of Marian's last messages are searched for the reason of a failure."""


def missing(binary: str) -> list[ReplituneError]:
    """What has to be installed before `binary` can run."""
    if binary == PYMARIAN:
        return extras.missing(
            "nmt",
            fix=" (x86-64 Linux, Python 3.11 or 3.12), or name a program of your own as `binary: marian`",
        )
    lacking = extras.missing("nmt", "vocabularies", packages=("sentencepiece",))
    if shutil.which(binary) is None:
        lacking.append(
            ReplituneError(
                f"program {binary} is not found",
                expected="Marian's `marian` on PATH",
                fix="build it (https://marian-nmt.github.io), or leave `binary` out and "
                f"{extras.to_install('nmt')}",
            )
        )
    return lacking


@cache
def version(binary: str) -> str:
    """The version that `binary` reports."""
    if binary == PYMARIAN:
        return f"pymarian {metadata.version('pymarian')}"
    answer = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    first = (answer.stdout or answer.stderr).strip().splitlines()[:1]
    return f"{Path(binary).name} {first[0] if first else '(no version)'}"


def run(
    binary: str,
    arguments: Sequence[str],
    *,
    threads: int = 1,
    each_line: Callable[[str], None] = lambda line: None,
) -> None:
    """Run a command of Marian to its end; `each_line` gets its messages as they come.

    Marian, MKL and OpenMP use at most `threads` threads. However this process ends, Marian ends with
    it: otherwise it would go on training, and write into the folder of the next run.
    """
    program = [sys.executable, "-P", "-m", PYMARIAN] if binary == PYMARIAN else [binary]
    with Program(
        [*program, *arguments], "marian", threads=threads, stdout=DEVNULL, stderr=PIPE, kept=KEPT
    ) as marian:
        code = marian.follow(each_line)
    if code != 0:
        raise _failure(arguments[0], code, marian.last_messages)


def _failure(what: str, code: int, tail: deque[str]) -> ReplituneError:
    """The reason from Marian's messages: the last error that is more than a place in Marian's code."""
    errors = [
        match[1]
        for line in tail
        if (match := re.search(r"\bError: (.*)", line)) and not match[1].startswith("Aborted from")
    ]
    reason = errors[-1] if errors else next((line for line in reversed(tail) if line.strip()), "")
    fix = None
    if code == -signal.SIGKILL:
        reason = "it was killed"
        fix = "often for lack of memory: give the job more, or Marian less (option workspace)"
    elif reason == "Not implemented":
        fix = "Marian says this of an option whose value has the wrong type: check `options`"
    return ReplituneError(f"marian {what} failed", found=reason or f"exit status {code}", fix=fix)
