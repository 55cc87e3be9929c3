"""Training of a phrase-based system: from a parallel text to a model folder.

A model folder holds the phrase table (`table.json` and its arrays), the language model in
`lm/`, `source_segmentation.json` and `target_segmentation.json` when words are split, and
`model.json`: settings, features, counts, and the SHA-256 of every input and file.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import replitune
from replitune.backends.phrase.align import ALIGNERS, LONGEST, align
from replitune.backends.phrase.arpa import NgramModel, read_arpa
from replitune.backends.phrase.encode import RESERVED, encode, split_words
from replitune.backends.phrase.extract import LONGEST_PHRASE, count_pairs, extract
from replitune.backends.phrase.kneser_ney import HIGHEST_ORDER, train_lm
from replitune.backends.phrase.scores import phrase_table
from replitune.backends.phrase.segmentation import JOINER, BytePairs, CompoundSplitter
from replitune.backends.phrase.symmetrise import HEURISTICS, symmetrise
from replitune.errors import ReplituneError, nearest
from replitune.files import atomic_open, sha256_file, sha256_lines

FORMAT = 1

FEATURES = {
    "LexicalReordering0": 6,
    "Distortion0": 1,
    "LM0": 1,
    "WordPenalty0": 1,
    "PhrasePenalty0": 1,
    "TranslationModel0": 4,
}
"""Moses' default model: name and number of scores."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class PhraseSettings:
    """Everything that decides a model, inputs apart."""

    alignment: str = "hmm"
    alignment_iterations: int = 5
    symmetrisation: str = "grow-diag-final-and"
    max_phrase_length: int = 7
    good_turing: bool = False
    reordering_smoothing: float = 0.5
    max_options: int = 100
    """Translation options kept per source phrase; 0 keeps all."""
    lm_order: int = 5
    max_length: int = 100
    """Pairs with a longer side are dropped; counted in pieces when words are split."""
    max_ratio: float = 9.0
    """Pairs with one side longer than this many times the other are dropped."""
    source_segmentation: str = "none"
    target_segmentation: str = "none"
    bpe_merges: int = 8000
    compound_min_length: int = 4
    compound_min_count: int = 5
    compound_fillers: tuple[str, ...] = ("", "s", "es")
    seed: int = 1
    """Used by eflomal only."""


@dataclass(frozen=True)
class Cleaned:
    """Pairs fit for training, and why the others are not."""

    source: list[list[str]]
    target: list[list[str]]
    empty: int
    long: int
    ratio: int


def train_phrase_system(
    source: Sequence[str],
    target: Sequence[str],
    settings: PhraseSettings,
    out: str | Path,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    lm_text: Sequence[str] = (),
    lm_arpa: str | Path | None = None,
) -> Path:
    """Train a model on the pairs (`source[i]`, `target[i]`) and write the folder `out`.

    The language model is trained on the target side and `lm_text`, or read from `lm_arpa`.
    The folder appears whole, replacing an older one. Same input and settings, same bytes,
    whatever `threads` (two are used, for the two directions of alignment).
    """
    say = progress or (lambda line: None)
    validate(settings)
    if len(source) != len(target):
        raise ReplituneError(
            "the two sides of the training text differ in length",
            found=f"{len(source)} source and {len(target)} target segments",
            expected="one target segment for every source segment",
        )
    if lm_arpa is not None and len(lm_text):
        raise ReplituneError(
            "both a language model and text to train one were given",
            fix="leave one of them out",
        )
    # read first: a wrong file is found before the long work
    language_model = None if lm_arpa is None else read_arpa(lm_arpa)

    source_words = [split_words(line) for line in source]
    target_words = [split_words(line) for line in target]
    more_words = [split_words(line) for line in lm_text]
    joins = settings.target_segmentation == "bpe"
    _refuse(target_words, "target side of the training text", joins)
    _refuse(more_words, "text for the language model", joins)
    more_words = [words for words in more_words if words]
    with building(Path(out)) as folder:
        source_splitter = _learn(settings.source_segmentation, source_words, settings)
        target_splitter = _learn(settings.target_segmentation, target_words, settings)
        if source_splitter is not None:
            source_words = [source_splitter.apply(words) for words in source_words]
            source_splitter.save(folder / "source_segmentation.json")
        if target_splitter is not None:
            target_words = [target_splitter.apply(words) for words in target_words]
            more_words = [target_splitter.apply(words) for words in more_words]
            target_splitter.save(folder / "target_segmentation.json")

        pairs = clean(source_words, target_words, settings.max_length, settings.max_ratio)
        say(
            f"{len(source)} pairs: {len(pairs.source)} kept; dropped {pairs.empty} with an empty "
            f"side, {pairs.long} longer than {settings.max_length} words, {pairs.ratio} with a "
            f"length ratio above {settings.max_ratio:g}"
        )
        counts = {
            "pairs": len(source),
            "kept": len(pairs.source),
            "dropped_empty": pairs.empty,
            "dropped_long": pairs.long,
            "dropped_ratio": pairs.ratio,
        }
        if not pairs.source:
            raise ReplituneError("no pair is left to train on", found=f"{len(source)} pairs")
        counts |= _train_table(pairs, settings, folder, threads, say)

        if language_model is None:
            say(f"language model of order {settings.lm_order}")
            language_model = train_lm([*pairs.target, *more_words], settings.lm_order, say)
        (folder / "lm").mkdir()
        language_model.save(folder / "lm")
        counts |= _lm_counts(language_model)

        inputs = {"source": sha256_lines(source), "target": sha256_lines(target)}
        if len(lm_text):
            inputs["lm_text"] = sha256_lines(lm_text)
        if lm_arpa is not None:
            inputs["lm_arpa"] = sha256_file(lm_arpa)
        _write_summary(folder, settings, counts, inputs)
        say(f"{counts['options']} translation options of {counts['source_phrases']} phrases")
    return Path(out)


def validate(settings: PhraseSettings) -> None:
    """Refuse settings out of range before anything is done."""
    choices = (
        ("alignment", ALIGNERS),
        ("symmetrisation", HEURISTICS),
        ("source_segmentation", ("none", "compounds", "bpe")),
        ("target_segmentation", ("none", "bpe")),
    )
    for name, known in choices:
        value = getattr(settings, name)
        if value not in known:
            close = nearest(str(value), list(known))
            raise ReplituneError(
                f"unknown {name}",
                found=str(value),
                expected=", ".join(known),
                fix=f"did you mean {close}?" if close else None,
            )
    ranges = (
        ("alignment_iterations", 1, 100),
        ("max_phrase_length", 1, LONGEST_PHRASE),
        ("reordering_smoothing", 0.001, 1e6),
        ("max_options", 0, 10**9),
        ("lm_order", 1, HIGHEST_ORDER),
        ("max_length", 1, LONGEST),
        ("max_ratio", 1, 1e6),
        ("bpe_merges", 0, 10**9),
        ("compound_min_length", 1, 1000),
        ("compound_min_count", 1, 10**9),
        ("seed", 0, 2**31 - 1),
    )
    for name, low, high in ranges:
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ReplituneError(
                f"{name} out of range", found=str(value), expected=f"{low:g} to {high:g}"
            )


def clean(
    source: list[list[str]], target: list[list[str]], max_length: int, max_ratio: float
) -> Cleaned:
    """Leave out pairs with an empty side, a side that is too long, or lopsided ones."""
    kept_source, kept_target = [], []
    empty = long = ratio = 0
    for s, t in zip(source, target, strict=True):
        if not s or not t:
            empty += 1
        elif max(len(s), len(t)) > max_length:
            long += 1
        elif max(len(s), len(t)) > max_ratio * min(len(s), len(t)):
            ratio += 1
        else:
            kept_source.append(s)
            kept_target.append(t)
    return Cleaned(kept_source, kept_target, empty, long, ratio)


def _learn(
    kind: str, words: list[list[str]], settings: PhraseSettings
) -> CompoundSplitter | BytePairs | None:
    if kind == "bpe":
        return BytePairs.learn(words, settings.bpe_merges)
    if kind == "compounds":
        return CompoundSplitter.learn(
            words,
            min_length=settings.compound_min_length,
            min_count=settings.compound_min_count,
            fillers=settings.compound_fillers,
        )
    return None


def _refuse(segments: list[list[str]], where: str, joiner: bool) -> None:
    """Refuse target words that models, n-best lists or BPE would take for their own marks."""
    taken = (*RESERVED, "|||")
    for line, words in enumerate(segments, 1):
        for word in words:
            if word in taken:
                raise ReplituneError(
                    f"a word with a meaning of its own stands in the {where}",
                    line=line,
                    found=f"{word} in line {line}",
                    fix=f"write it in another way: {', '.join(taken)} are taken",
                )
            if joiner and word.endswith(JOINER):
                raise ReplituneError(
                    f"a word in the {where} ends in {JOINER}, which marks pieces of words",
                    line=line,
                    found=f"{word} in line {line}",
                    fix="is this text in pieces already? Then leave target_segmentation out",
                )


def _train_table(
    pairs: Cleaned, settings: PhraseSettings, folder: Path, threads: int, say: Progress
) -> dict[str, int]:
    """Align, extract, score and save the phrase table."""
    source, target = encode(pairs.source), encode(pairs.target, RESERVED)
    directed = align(
        source,
        target,
        settings.alignment,
        iterations=settings.alignment_iterations,
        seed=settings.seed,
        threads=threads,
        progress=say,
    )
    links = symmetrise(directed, source, target, settings.symmetrisation)
    say(f"{len(links.source)} word links ({settings.symmetrisation})")
    found = extract(source, target, links, settings.max_phrase_length)
    if len(found.links) == 0:
        raise ReplituneError(
            "no phrase pair can be extracted",
            found=f"{len(source)} pairs with {len(links.source)} word links",
            fix="train on more text",
        )
    distinct = count_pairs(source, target, found, settings.max_phrase_length)
    say(f"{len(found.links)} phrase pairs extracted, {len(distinct.count)} distinct")
    table = phrase_table(
        source,
        target,
        links,
        found,
        distinct,
        good_turing=settings.good_turing,
        smoothing=settings.reordering_smoothing,
        max_options=settings.max_options,
    )
    table.save(folder)
    return {
        "source_words": len(source.words),
        "target_words": len(target.words),
        "links": len(links.source),
        "extracted": len(found.links),
        "distinct": len(distinct.count),
        "source_phrases": len(table.option_start) - 1,
        "options": len(table.scores),
    }


def _lm_counts(model: NgramModel) -> dict[str, int]:
    return {f"lm_{n}grams": len(grams) for n, grams in enumerate(model.ngrams, 1)}


def _write_summary(
    folder: Path, settings: PhraseSettings, counts: dict[str, int], inputs: dict[str, str]
) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    summary = {
        "format": FORMAT,
        "backend": "phrase",
        "version": replitune.__version__,
        "features": FEATURES,
        "settings": asdict(settings),
        "counts": counts,
        "inputs": inputs,
        "files": {path.relative_to(folder).as_posix(): sha256_file(path) for path in files},
    }
    with atomic_open(folder / "model.json") as handle:
        handle.write(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def building(out: Path) -> Iterator[Path]:
    """A folder beside `out` that takes its place on success and is removed on failure."""
    out.parent.mkdir(parents=True, exist_ok=True)
    suffix = f"{os.getpid()}.{secrets.token_hex(4)}"
    fresh = out.with_name(f".{out.name}.{suffix}.tmp")
    fresh.mkdir()
    try:
        yield fresh
        if out.exists():
            old = out.with_name(f".{out.name}.{suffix}.old")
            os.replace(out, old)
            os.replace(fresh, out)
            shutil.rmtree(old)
        else:
            os.replace(fresh, out)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
