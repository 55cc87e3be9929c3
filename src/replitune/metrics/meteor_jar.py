"""METEOR 1.5's own program, answering over pipes.

`java -jar meteor-1.5.jar - - -stdio` reads lines ``SCORE ||| reference ... ||| hypothesis``
and answers each with one line of statistics. Starting it costs as much as thousands of
lines (it loads its paraphrase table), so workers stay until their pool is closed or garbage
collected, or the interpreter ends.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from replitune.errors import ReplituneError
from replitune.extras import needs
from replitune.running.supervisor import Program

BATCH = 200
"""Lines sent before their answers are read. The answers (about 100 bytes each) fit into a
pipe's buffer, so that neither side ever waits for the other to read."""

LINES_PER_WORKER = 5000
"""Lines for which one more worker is started; for fewer, its start would cost more."""


def find_java() -> str:
    java = shutil.which("java")
    if java is None:
        raise ReplituneError(
            "METEOR needs Java, and there is no program `java` on the PATH",
            fix="install a Java runtime (8 or later), for example from conda-forge: openjdk",
        )
    return java


def find_jar(jar: str | None = None) -> Path:
    """METEOR's jar: the one named, or the one in the package pycocoevalcap."""
    if jar is not None:
        path = Path(jar)
        if not path.is_file():
            raise ReplituneError("no such file", file=path, expected="meteor-1.5.jar")
        return path
    package = importlib.util.find_spec("pycocoevalcap")
    for folder in package.submodule_search_locations or () if package else ():
        path = Path(folder, "meteor", "meteor-1.5.jar")
        if path.is_file():
            return path
    or_file = ", or name the file: meteor:jar=FILE"
    needs("meteor", fix=or_file)
    raise ReplituneError(
        "METEOR's program meteor-1.5.jar is missing",
        expected="the package pycocoevalcap",
        fix=f"reinstall it{or_file}",
    )


def find_paraphrases(jar: Path, language: str) -> None:
    """Refuse a jar without the paraphrase table of `language` beside it."""
    table = jar.parent / "data" / f"paraphrase-{language}.gz"
    if not table.is_file():
        raise ReplituneError(
            f"METEOR's paraphrase table for {language} is missing",
            file=table,
            expected="METEOR 1.5's data folder beside its jar (pycocoevalcap's is for English)",
            fix="unpack the METEOR 1.5 release and name its program: meteor:jar=FILE",
        )


def request(hypothesis: str, references: Sequence[str], normalized: bool) -> str:
    """The line that asks for the statistics of one hypothesis."""
    texts = [_harmless(text, normalized) for text in (*references, hypothesis)]
    return " ||| ".join(("SCORE", *texts)) + " \n"


_PIPES = re.compile(r"\|{3,}")
_PIPE_PAIR = re.compile(r"\|(?=\|)")


def _harmless(text: str, normalized: bool) -> str:
    """`text` without line ends and without ``|||``, changed so that its statistics stay the same.

    Java also ends a line at CR; to METEOR, CR and LF are white space. With -norm each ``|`` is
    a word of its own anyway. Without it, runs of three or more are always replaced by the same
    private character, because all that matters of words is whether they are equal.
    """
    text = text.replace("\r", " ").replace("\n", " ")
    if "||" in text:
        if normalized:
            return _PIPE_PAIR.sub("| ", text)
        return _PIPES.sub(lambda run: "\uf8ff" * len(run.group()), text)
    return text


class Worker:
    """One running METEOR process."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self.timeout = timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._program = Program(command, "METEOR", converses=True, stderr=self._errors)
        self._process = self._program.process
        self._timed_out = False

    def answer(self, lines: Sequence[str]) -> list[str]:
        """One answer per line."""
        answers: list[str] = []
        for start in range(0, len(lines), BATCH):
            batch = lines[start : start + BATCH]
            watch = threading.Timer(self.timeout, self._give_up)
            watch.daemon = True
            watch.start()
            try:
                answers += self._exchange(batch)
            finally:
                watch.cancel()
        return answers

    def _exchange(self, lines: Sequence[str]) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answers: list[str] = []
        try:
            self._process.stdin.write("".join(lines).encode("utf-8", "replace"))
            self._process.stdin.flush()
            for _ in lines:
                answer = self._process.stdout.readline().decode()
                if not answer.endswith("\n"):
                    break
                answers.append(answer)
        except (BrokenPipeError, ValueError, OSError):
            pass  # the process has ended, or was stopped: reported below
        bad = next((k for k, answer in enumerate(answers) if not answer[0].isdigit()), None)
        if bad is not None or len(answers) < len(lines):
            raise self._failure(lines[len(answers) if bad is None else bad], answers[bad or 0 :])
        return answers

    def _give_up(self) -> None:
        self._timed_out = True
        self._process.kill()

    def _failure(self, line: str, printed: Sequence[str]) -> ReplituneError:
        """What went wrong at `line`; `printed` are answers from there on, if any."""
        text = line.strip()
        where = text if len(text) <= 200 else f"{text[:200]}..."
        if self._timed_out:
            return ReplituneError(
                f"METEOR did not answer within {self.timeout:g} seconds",
                found=where,
                fix="raise the limit, meteor:timeout=SECONDS, or shorten the segment",
            )
        self._process.kill()
        self._process.wait()
        self._errors.seek(0)
        rows = self._errors.read().decode("utf-8", "replace").splitlines()
        rows += [row for row in printed if row[0].isalpha()]
        message = "; ".join(row.strip() for row in rows if row[:1].isalpha())[:500]
        short_of_memory = "OutOfMemory" in message or "heap" in message
        return ReplituneError(
            f"METEOR failed: {message or 'it ended without a message'}",
            found=where,
            fix="change the size of its heap, for example meteor:memory=4G"
            if short_of_memory
            else "run the same line through the jar's -stdio mode by hand",
        )

    def close(self) -> None:
        self._program.stop(grace=0)
        self._errors.close()


def _close_all(workers: list[Worker]) -> None:
    while workers:
        workers.pop().close()


class Workers:
    """Up to `limit` workers, started when there are lines for them."""

    def __init__(self, command: Sequence[str], limit: int, timeout: float) -> None:
        self._command = list(command)
        self._limit = max(1, limit)
        self._timeout = timeout
        self._running: list[Worker] = []
        self._end = weakref.finalize(self, _close_all, self._running)

    def answer(self, lines: Sequence[str]) -> list[str]:
        """One answer per line, in their order; on any failure all workers are stopped."""
        if not lines:
            return []
        wanted = max(1, min(self._limit, len(lines) // LINES_PER_WORKER))
        while len(self._running) < wanted:
            self._running.append(Worker(self._command, self._timeout))
        bounds = [len(lines) * k // wanted for k in range(wanted + 1)]
        with ThreadPoolExecutor(wanted) as threads:
            try:
                parts = [
                    threads.submit(worker.answer, lines[first:last])
                    for worker, first, last in zip(self._running, bounds[:-1], bounds[1:], strict=False)
                ]
                return [answer for part in parts for answer in part.result()]
            except BaseException:
                self.close()  # ends the reading of the threads before the executor waits for them
                raise

    def close(self) -> None:
        _close_all(self._running)


def threads_allowed() -> int:
    """The number from `--threads` (which sets OMP_NUM_THREADS), or the processors of this process."""
    try:
        return max(1, int(os.environ["OMP_NUM_THREADS"]))
    except (KeyError, ValueError):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
