"""Runs Marian, either from the package pymarian or the user's own program, and translates by it: beam
search, and the n best with their scores."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from subprocess import DEVNULL, PIPE

from replitune import extras
from replitune.backends.marian.settings import DecodingSettings
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.files import atomic_open, read_lines, write_lines
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


BLANK = "F0= 0 ||| 0"
"""Features and score of the translation of a blank line."""


@dataclass(frozen=True)
class Installation:
    """Which Marian, and how many threads it may use."""

    binary: str = PYMARIAN
    threads: int = 1


@dataclass(frozen=True)
class Translator:
    """Beam search with models that use these vocabularies."""

    vocabularies: Sequence[Path]
    settings: DecodingSettings
    program: Installation

    def translate(
        self, model: Path, lines: Sequence[str], nbest: int | None = None, nbest_out: Path | None = None
    ) -> list[str]:
        """One translation of each line; the `nbest` best go to a file, in Moses' format.

        A blank line stays blank, as everywhere in this project.
        """
        if nbest is not None and nbest > self.settings.beam:
            raise ReplituneError(
                "more translations asked for than the beam holds",
                found=f"{nbest} best",
                expected=f"at most {self.settings.beam}",
                fix="widen it: `decoding: {beam: N}`",
            )
        wanted = [i for i, line in enumerate(lines) if line.strip()]
        nbest_lists: list[list[tuple[str, str]]] = [[("", BLANK)] for _ in lines]
        if wanted:
            listed = self._run(model, [lines[i] for i in wanted], nbest)
            for i, translations in zip(wanted, listed, strict=True):
                nbest_lists[i] = translations
        if nbest is not None and nbest_out is not None:
            with atomic_open(nbest_out) as handle:
                for i, translations in enumerate(nbest_lists):
                    for text, rest in translations[:nbest]:
                        handle.write(f"{i} ||| {text} ||| {rest}\n")
        return [translations[0][0] for translations in nbest_lists]

    def _run(self, model: Path, lines: Sequence[str], nbest: int | None) -> list[list[tuple[str, str]]]:
        """For each line (text, features and score as Marian writes them), best first."""
        settings, threads = self.settings, self.program.threads
        with tempfile.TemporaryDirectory(prefix="replitune-decode-") as name:
            folder = Path(name)
            write_lines(folder / "source", lines)
            config = {
                "models": [str(model)],
                "vocabs": [str(path) for path in self.vocabularies],
                "input": [str(folder / "source")],
                "output": str(folder / "output"),
                "beam-size": settings.beam,
                "normalize": settings.normalize,
                "word-penalty": settings.word_penalty,
                "max-length-factor": settings.max_length_factor,
                # Marian leaves out longer sentences; there are no more pieces than bytes
                "max-length": max(len(line.encode()) for line in lines) + 2,
                "mini-batch": settings.mini_batch,
                "maxi-batch": 100,
                "maxi-batch-sort": "src",
                "cpu-threads": threads,
                "workspace": settings.workspace,
                "data-threads": 1,
                "n-best": nbest is not None,
                "quiet-translation": True,
            }
            (folder / "config.yml").write_text(json.dumps(config), encoding="utf-8")
            arguments = ["decode", "--config", str(folder / "config.yml")]
            run(self.program.binary, arguments, threads=threads)
            output = read_lines(folder / "output")
        plain = nbest is None
        listed = [[(line, "")] for line in output] if plain else _nbest_lists(output)
        if len(listed) != len(lines):
            raise ReplicaError(
                "Marian gave a wrong number of translations",
                found=f"{len(listed)}",
                expected=f"{len(lines)}, one for each line",
            )
        return listed


def _nbest_lists(output: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The lists in order of their ids, from lines `id ||| text ||| F0= -1.2 ||| -0.3`."""
    listed: list[list[tuple[str, str]]] = []
    for line in output:
        number, text, rest = line.split(" ||| ", 2)
        while len(listed) <= int(number):
            listed.append([])
        listed[int(number)].append((text, rest))
    return listed
