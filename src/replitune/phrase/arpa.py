"""N-gram language models as ARPA text and as binary folders."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError
from replitune.phrase.arrays import ArrayFile, load_array
from replitune.phrase.encode import BEGIN, END, UNKNOWN
from replitune.running.files import (
    open_regular,
    read_blocks,
    read_lines,
    read_text,
    write_json,
    write_lines,
)

IMPOSSIBLE = -99.0
"""log10 probability in place of a file's -inf."""

UNKNOWN_LOGPROB = -100.0
"""log10 probability of <unk> in a file without it, as KenLM assumes."""

MAX_BACKOFF = 99.0
"""Largest log10 back-off that is accepted; interpolated models have some above 0."""

CHUNK = 1 << 16
"""Lines parsed at a time, which bounds the memory for their fields."""


@dataclass(frozen=True)
class NgramModel:
    """A back-off model. Probabilities are log10.

    words: id = position; contains <unk>, <s> and </s>
    ngrams: for n = 1, 2, ...: (M_n, n) int32
    logprobs, backoffs: for n = 1, 2, ...: (M_n,) float32; back-offs of the highest order are 0
    """

    words: list[str]
    ngrams: list[NDArray[np.int32]]
    logprobs: list[NDArray[np.float32]]
    backoffs: list[NDArray[np.float32]]

    @property
    def order(self) -> int:
        return len(self.ngrams)

    @staticmethod
    def load(folder: str | Path) -> NgramModel:
        """Memory-map what `read_arpa` or `train_lm` wrote."""
        folder = Path(folder)
        order = json.loads(read_text(folder / "lm.json"))["order"]

        def arrays(name: str) -> list[NDArray]:
            return [load_array(folder / f"{name}{n}.npy") for n in range(1, order + 1)]

        words = read_lines(folder / "words.txt")
        return NgramModel(words, arrays("ngrams"), arrays("logprobs"), arrays("backoffs"))


def save_words(folder: Path, words: list[str], order: int) -> None:
    """Write what a model's folder has besides arrays."""
    write_lines(folder / "words.txt", words)
    write_json(folder / "lm.json", {"format": 1, "order": order}, indent=None)


def read_arpa(path: str | Path, folder: Path) -> NgramModel:
    """Read an ARPA file, gz or plain, from any program, into an existing folder.

    Missing back-offs are 0; -inf is -99; <UNK> is <unk>, which is added with -100 when it is
    missing; text before \\data\\ is ignored. A positive log probability, an unknown word in an
    n-gram, a wrong count or a file that is cut off is an error that names the line.
    """
    text = _Text(path)
    counts = text.header()
    ids: dict[str, int] = {}
    for n, count in enumerate(counts, 1):
        text.section(n)
        parts = text.ngrams(n, count, ids)
        if n == 1:
            unigrams = list(parts)
            if UNKNOWN not in ids:
                unknown = np.array([[len(ids)]], np.int32), np.array([UNKNOWN_LOGPROB], np.float32)
                unigrams.append((*unknown, np.zeros(1, np.float32)))
                ids[UNKNOWN], count = len(ids), count + 1
            parts = iter(unigrams)
        with (
            ArrayFile(folder / f"ngrams{n}.npy", np.int32, (n,)) as ngrams,
            ArrayFile(folder / f"logprobs{n}.npy", np.float32) as logprobs,
            ArrayFile(folder / f"backoffs{n}.npy", np.float32) as backoffs,
        ):
            for rows, probs, rests in parts:
                ngrams.append(rows)
                logprobs.append(probs)
                backoffs.append(rests if n < len(counts) else np.zeros_like(rests))
    if text.next_line() != "\\end\\":
        raise text.wrong(
            "more n-grams than the header says",
            found=text.lines[text.at][:60],
            expected=f"\\end\\ after {counts[-1]} {len(counts)}-grams",
        )
    for word in (BEGIN, END):
        if word not in ids:
            raise ReplituneError(f"the language model has no {word}", file=path)
    save_words(folder, list(ids), len(counts))
    return NgramModel.load(folder)


class _Text:
    """The lines of an ARPA file, and the reader's position.

    lines: those read and still needed; at: the current one of them; before: the number of lines before them
    """

    def __init__(self, path: str | Path) -> None:
        """Refuses KenLM's binary format with a message of its own."""
        with contextlib.suppress(OSError), open_regular(path) as handle:
            if handle.read(7) == b"mmap lm":
                raise ReplituneError(
                    "a binary KenLM file", file=path, expected="an ARPA file", fix="give the ARPA file"
                )
        self.path, self.blocks = path, read_blocks(path)
        self.lines: list[str] = []
        self.before = self.at = 0

    def has(self, count: int) -> bool:
        """Whether there are `count` more lines, which are then in `lines`."""
        while self.at + count > len(self.lines):
            more = next(self.blocks, None)
            if more is None:
                return False
            self.before += self.at
            self.lines, self.at = self.lines[self.at :] + more, 0
        return True

    def wrong(self, message: str, offset: int = 0, **more: str) -> ReplituneError:
        """An error in the line `offset` lines after the current one."""
        return ReplituneError(message, file=self.path, line=self.before + self.at + offset + 1, **more)

    def next_line(self) -> str:
        """Go to the next line that is not blank."""
        while self.has(1):
            if line := self.lines[self.at].strip():
                return line
            self.at += 1
        raise self.cut_off()

    def cut_off(self) -> ReplituneError:
        return ReplituneError(
            "the file is cut off",
            file=self.path,
            line=self.before + len(self.lines),
            expected="n-grams as in the header, then \\end\\",
            fix="make or copy the file again",
        )

    def header(self) -> list[int]:
        """The numbers of n-grams in the header; goes to the line after it."""
        while self.has(1) and self.lines[self.at].strip() != "\\data\\":
            self.at += 1
        if not self.has(1):
            raise ReplituneError("not an ARPA file", file=self.path, expected="a line \\data\\")
        self.at += 1
        counts: list[int] = []
        line = self.next_line()
        while not self.lines[self.at].startswith("\\"):
            match = re.fullmatch(r"ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,15})", line)
            if match is None or int(match[1]) != len(counts) + 1:
                raise self.wrong(
                    "wrong line in the header", found=line[:60], expected=f"ngram {len(counts) + 1}=COUNT"
                )
            counts.append(int(match[2]))
            self.at += 1
            line = self.next_line()
        if not counts:
            raise self.wrong("the header lists no n-grams")
        return counts

    def section(self, n: int) -> None:
        """Go to the first n-gram of length `n`."""
        if self.next_line() != f"\\{n}-grams:":
            raise self.wrong(
                "n-grams do not match the header", found=self.lines[self.at][:60], expected=f"\\{n}-grams:"
            )
        self.at += 1

    def ngrams(
        self, n: int, count: int, ids: dict[str, int]
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.float32]]]:
        """Ids (lines, n), log probabilities and back-offs of `count` n-grams, `CHUNK` at a time; unigrams
        are added to `ids`."""
        for begin in range(0, count, CHUNK):
            lines = min(CHUNK, count - begin)
            if not self.has(lines):
                raise self.cut_off()
            numbers, names, rests = self.columns(lines, n)
            if n == 1:
                self.add_words(names[0], ids)
            probs = self.checked(numbers, "log probability", 0.0)
            yield self.ids(names, ids), probs, self.checked(rests, "back-off", MAX_BACKOFF)
            self.at += lines

    def columns(self, count: int, n: int) -> tuple[list[float], list[list[str]], list[float]]:
        """Log probabilities, the n columns of words, and back-offs of the next lines."""
        body = [line.replace("\t", " ") for line in self.lines[self.at : self.at + count]]
        for width in (n + 2, n + 1):
            if all(line.count(" ") == width - 1 for line in body):
                fields = " ".join(body).split(" ") if body else []
                try:
                    probs = list(map(float, fields[0::width]))
                    names = [fields[k + 1 :: width] for k in range(n)]
                    rests = list(map(float, fields[n + 1 :: width])) if width == n + 2 else []
                except ValueError:
                    break
                return probs, names, rests or [0.0] * len(probs)
        probs, rows, rests = [], [], []
        for offset, line in enumerate(body):
            fields = [field for field in line.split(" ") if field]
            try:
                if len(fields) not in (n + 1, n + 2):
                    raise ValueError
                probs.append(float(fields[0]))
                rests.append(float(fields[n + 1]) if len(fields) == n + 2 else 0.0)
            except ValueError:
                raise self.wrong(
                    f"wrong {n}-gram line",
                    offset,
                    found=line[:80],
                    expected=f"log10 probability, {n} words, perhaps a back-off",
                    fix="is the file cut off?",
                ) from None
            rows.append(fields[1 : n + 1])
        return probs, [list(column) for column in zip(*rows, strict=True)] or [[]] * n, rests

    def add_words(self, names: list[str], ids: dict[str, int]) -> None:
        """Give the next ids to these unigrams; one that is listed twice is an error."""
        for offset, (number, word) in enumerate(enumerate(map(_canonical, names), len(ids))):
            if ids.setdefault(word, number) != number:
                raise self.wrong("a unigram is listed twice", offset, found=word)

    def ids(self, names: list[list[str]], ids: dict[str, int]) -> NDArray[np.int32]:
        """The n columns of words as rows of ids: (lines, n)."""
        try:
            columns = [[ids[name] for name in column] for column in names]
        except KeyError:
            names = [[_canonical(name) for name in column] for column in names]
            for offset, row in enumerate(zip(*names, strict=True)):
                for name in row:
                    if name not in ids:
                        raise self.wrong(
                            "an n-gram has a word that is not a unigram", offset, found=name
                        ) from None
            columns = [[ids[name] for name in column] for column in names]
        return np.array(columns, np.int32).reshape(len(names), -1).T

    def checked(self, values: list[float], name: str, largest: float) -> NDArray[np.float32]:
        """Values as an array; NaN or more than `largest` is an error, -inf becomes -99."""
        array = np.array(values, np.float32)
        wrong = np.flatnonzero(~(array <= largest))
        if len(wrong):
            raise self.wrong(
                f"impossible {name}",
                int(wrong[0]),
                found=str(array[wrong[0]]),
                expected=f"a number up to {largest:g}",
            )
        array[np.isneginf(array)] = IMPOSSIBLE
        return array


def _canonical(name: str) -> str:
    return UNKNOWN if name == "<UNK>" else name
