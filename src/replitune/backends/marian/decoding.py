"""Translations by a trained model: beam search, and the n best with their scores."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from replitune.backends.marian.program import PYMARIAN, run
from replitune.backends.marian.settings import DecodingSettings
from replitune.errors import ReplicaError, ReplituneError
from replitune.running.files import atomic_open, read_lines, write_lines

BLANK = "F0= 0 ||| 0"
"""Features and score of the translation of a blank line."""


@dataclass(frozen=True)
class Program:
    """Which Marian, and how many threads it may use."""

    binary: str = PYMARIAN
    threads: int = 1


@dataclass(frozen=True)
class Translator:
    """Beam search with models that use these vocabularies."""

    vocabularies: Sequence[Path]
    settings: DecodingSettings
    program: Program

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
