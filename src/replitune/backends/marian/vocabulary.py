"""Subword vocabularies by SentencePiece: one for both languages, or one for each.

They are made once, from the training text; all replicas of a system share them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from replitune.backends.marian.settings import VocabularySettings
from replitune.errors import ReplituneError
from replitune.running.files import atomic_open, read_lines

SHARED = "vocabulary.spm"
SEPARATE = ("source.spm", "target.spm")


def vocabulary_files(folder: str | Path) -> tuple[Path, Path]:
    """The vocabularies (source, target) in a model's folder; twice the same file if it is shared."""
    shared = Path(folder) / SHARED
    if shared.exists():
        return shared, shared
    source, target = (Path(folder) / name for name in SEPARATE)
    for path in (source, target):
        if not path.exists():
            raise ReplituneError(
                "no vocabulary in this folder",
                file=folder,
                expected=f"{SHARED}, or " + " and ".join(SEPARATE),
                fix="train the system again",
            )
    return source, target


def make_vocabularies(
    source: str | Path, target: str | Path, settings: VocabularySettings, folder: str | Path
) -> tuple[Path, Path]:
    """Train vocabularies on two text files as `settings` say; the same text gives the same bytes."""
    folder = Path(folder)
    if settings.shared:
        _train([source, target], settings, settings.sizes[0], folder / SHARED)
    else:
        for side, size, name in zip((source, target), settings.sizes, SEPARATE, strict=True):
            _train([side], settings, size, folder / name)
    return vocabulary_files(folder)


def _train(files: Sequence[str | Path], settings: VocabularySettings, size: int, out: Path) -> None:
    import sentencepiece

    lines = [line for file in files for line in read_lines(file)]
    if not any(line.strip() for line in lines):
        raise ReplituneError("no text to make a vocabulary from", file=files[0])
    trained = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=trained,  # a model written to a file would contain the file's name
            vocab_size=size,
            model_type=settings.kind,
            normalization_rule_name=settings.normalization,
            byte_fallback=settings.byte_fallback,
            character_coverage=1.0,
            # Marian's symbols
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            # one thread: a fixed order of sums; and no line is left out for its length
            num_threads=1,
            max_sentence_length=max(len(line.encode()) for line in lines) + 1,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        raise _vocabulary_error(str(error), size, files) from None
    with atomic_open(out, "wb") as handle:
        handle.write(trained.getvalue())


def _vocabulary_error(message: str, size: int, files: Sequence[str | Path]) -> ReplituneError:
    limit = re.search(r"value <= (\d+)", message)
    if limit:
        return ReplituneError(
            "the vocabulary is too large for this text",
            file=files[0],
            found=f"{size} pieces",
            expected=f"at most {limit[1]}",
            fix="lower vocabulary.size",
        )
    if "smaller than required_chars" in message:
        return ReplituneError(
            "the vocabulary is too small for the characters of this text",
            file=files[0],
            found=f"{size} pieces",
            fix="raise vocabulary.size",
        )
    return ReplituneError("SentencePiece could not make a vocabulary", file=files[0], found=message.strip())


def too_long(
    files: Sequence[str | Path], vocabularies: Sequence[str | Path], longest: int
) -> tuple[int, int]:
    """The number of sentence pairs with a side of more than `longest` pieces, and the number of all
    pairs. Marian silently leaves such pairs out of training."""
    import sentencepiece

    sides = []
    for file, vocabulary in zip(files, vocabularies, strict=True):
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        encoded = pieces.encode(read_lines(file), num_threads=1)
        sides.append([len(line) + 1 for line in encoded])  # + 1 for the end of the sentence
    return sum(max(pair) > longest for pair in zip(*sides, strict=True)), len(sides[0])
