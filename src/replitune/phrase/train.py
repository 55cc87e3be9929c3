"""Training of a phrase-based system: from a parallel text to a model folder.

A model folder holds the phrase table (`table.json` and its arrays), the language model in
`lm/`, `source_segmentation.json` and `target_segmentation.json` when words are split, and
`model.json`: settings, features, counts, and the SHA-256 of every input and file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import replitune
from replitune.errors import ReplituneError
from replitune.phrase.align import Progress, align
from replitune.phrase.arpa import NgramModel, read_arpa
from replitune.phrase.encode import RESERVED, Encoded, encode, split_words
from replitune.phrase.extract import count_pairs, extract
from replitune.phrase.features import GroupedLayout, PhraseLayout
from replitune.phrase.kneser_ney import train_lm
from replitune.phrase.scores import phrase_table
from replitune.phrase.segmentation import JOINER, BytePairs, CompoundSplitter, Splitters
from replitune.phrase.settings import PhraseSettings, TrainingSettings
from replitune.phrase.symmetrise import Links, symmetrise
from replitune.running.files import new_folder, sha256_file, sha256_lines, write_json
from replitune.settings import plain

FORMAT = 1


@dataclass(frozen=True)
class Cleaned:
    """Pairs fit for training, and why the others are not."""

    source: list[list[str]]
    target: list[list[str]]
    empty: int
    long: int
    ratio: int


def train_phrase_system(
    source: Sequence[str], target: Sequence[str], settings: PhraseSettings, out: str | Path, **inputs: Any
) -> Path:
    """Train a model on the pairs (`source[i]`, `target[i]`) and write the folder `out`; `inputs` as
    of `train_system`."""
    layout = PhraseLayout.from_groups(settings.features)
    kind = ModelKind("phrase", layout, partial(_train_table, settings))
    return train_system(kind, source, target, settings, out, **inputs)


@dataclass(frozen=True)
class ModelKind:
    """How the models of one backend differ from others'."""

    backend: str
    layout: GroupedLayout
    table: Callable[[Encoded, Encoded, Links, Path, Progress], dict[str, int]]
    """Writes what is learnt from the linked pairs into a folder; reports and counts it."""


def train_system(
    kind: ModelKind,
    source: Sequence[str],
    target: Sequence[str],
    settings: TrainingSettings,
    out: str | Path,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    lm_text: Sequence[str] = (),
    lm_arpa: str | Path | None = None,
) -> Path:
    """Train a model of some kind on the pairs (`source[i]`, `target[i]`) and write the folder
    `out`.

    The language model is trained on the target side and `lm_text`, or read from `lm_arpa`.
    The folder appears whole, replacing an older one. Same input and settings, same bytes,
    whatever `threads` (two are used, for the two directions of alignment).
    """
    say = progress or (lambda line: None)
    if len(source) != len(target):
        raise ReplituneError(
            "the two sides of the training text differ in length",
            found=f"{len(source)} source and {len(target)} target segments",
            expected="one target segment for every source segment",
        )
    if lm_arpa is not None and len(lm_text):
        raise ReplituneError(
            "both a language model and text to train one were given", fix="leave one of them out"
        )
    source_words = [split_words(line) for line in source]
    target_words = [split_words(line) for line in target]
    joins = "bpe" in (settings.source_segmentation, settings.target_segmentation)
    _refuse(target_words, "target side of the training text", joins)
    _refuse(map(split_words, lm_text), "text for the language model", joins)
    inputs = {"source": sha256_lines(source), "target": sha256_lines(target)}
    if len(lm_text):
        inputs["lm_text"] = sha256_lines(lm_text)
    if lm_arpa is not None:
        inputs["lm_arpa"] = sha256_file(lm_arpa)

    with new_folder(out) as folder:
        (folder / "lm").mkdir()
        # read first: a wrong file is found before the long work
        language_model = None if lm_arpa is None else read_arpa(lm_arpa, folder / "lm")
        splitters = learn_splitters(source_words, target_words, settings)
        splitters.save(folder)
        if splitters.source is not None:
            source_words = [splitters.source.apply(words) for words in source_words]
        if splitters.target is not None:
            target_words = [splitters.target.apply(words) for words in target_words]
        pairs = clean(source_words, target_words, settings.max_length, settings.max_ratio)
        counts = _count_cleaned(len(source), pairs, settings, say)
        counts |= _align_and_train(kind, pairs, settings, folder, threads, say)
        if language_model is None:
            language_model = _train_lm(pairs.target, lm_text, splitters, settings, folder / "lm", say)
        counts |= {f"lm_{n}grams": len(g) for n, g in enumerate(language_model.ngrams, 1)}
        _write_summary(kind, folder, settings, counts, inputs)
    return Path(out)


def clean(source: list[list[str]], target: list[list[str]], max_length: int, max_ratio: float) -> Cleaned:
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


def _count_cleaned(total: int, pairs: Cleaned, settings: TrainingSettings, say: Progress) -> dict[str, int]:
    """Report and return how many pairs were kept and dropped."""
    say(
        f"{total} pairs: {len(pairs.source)} kept; dropped {pairs.empty} with an empty side, "
        f"{pairs.long} longer than {settings.max_length} words, {pairs.ratio} with a length "
        f"ratio above {settings.max_ratio:g}"
    )
    if not pairs.source:
        raise ReplituneError("no pair is left to train on", found=f"{total} pairs")
    return {
        "pairs": total,
        "kept": len(pairs.source),
        "dropped_empty": pairs.empty,
        "dropped_long": pairs.long,
        "dropped_ratio": pairs.ratio,
    }


def learn_splitters(
    source: list[list[str]], target: list[list[str]], settings: TrainingSettings
) -> Splitters:
    """Learn how to split the words of either side from all of the training text."""

    def pieces(words: list[list[str]], kind: str) -> BytePairs | None:
        return BytePairs.learn(words, settings.bpe_merges) if kind == "bpe" else None

    of_source: CompoundSplitter | BytePairs | None
    if settings.source_segmentation == "compounds":
        of_source = CompoundSplitter.learn(
            source,
            min_length=settings.compound_min_length,
            min_count=settings.compound_min_count,
            fillers=settings.compound_fillers,
        )
    else:
        of_source = pieces(source, settings.source_segmentation)
    return Splitters(of_source, pieces(target, settings.target_segmentation))


def _refuse(segments: Iterable[list[str]], where: str, joiner: bool) -> None:
    """Refuse target words that models, n-best lists or BPE use as marks."""
    taken = (*RESERVED, "|||")
    for line, words in enumerate(segments, 1):
        for word in words:
            if word in taken:
                raise ReplituneError(
                    f"a reserved word in the {where}",
                    line=line,
                    found=f"{word} in line {line}",
                    fix=f"write it in another way: {', '.join(taken)} are taken",
                )
            if joiner and word.endswith(JOINER):
                raise ReplituneError(
                    f"a word in the {where} ends in {JOINER}, which marks pieces of words",
                    line=line,
                    found=f"{word} in line {line}",
                    fix="is this text in pieces already? Then leave the segmentation out",
                )


def _align_and_train(
    kind: ModelKind, pairs: Cleaned, settings: TrainingSettings, folder: Path, threads: int, say: Progress
) -> dict[str, int]:
    """Align the words, and learn what this kind of model learns from the links."""
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
    return {
        "source_words": len(source.words),
        "target_words": len(target.words),
        "links": len(links.source),
        **kind.table(source, target, links, folder, say),
    }


def _train_table(
    settings: PhraseSettings, source: Encoded, target: Encoded, links: Links, folder: Path, say: Progress
) -> dict[str, int]:
    """Extract, score and save the phrase table."""
    occurrences = extract(source, target, links, settings.max_phrase_length)
    if len(occurrences.links) == 0:
        raise ReplituneError(
            "no phrase pair can be extracted",
            found=f"{len(source)} pairs with {len(links.source)} word links",
            fix="train on more text",
        )
    distinct = count_pairs(source, target, occurrences, settings.max_phrase_length)
    say(f"{len(occurrences.links)} phrase pairs extracted, {len(distinct.count)} distinct")
    table = phrase_table(
        source,
        target,
        links,
        occurrences,
        distinct,
        good_turing=settings.good_turing,
        smoothing=settings.reordering_smoothing,
        max_options=settings.max_options,
    )
    table.save(folder)
    say(f"{len(table.scores)} translation options of {len(table.option_start) - 1} phrases")
    return {
        "extracted": len(occurrences.links),
        "distinct": len(distinct.count),
        "source_phrases": len(table.option_start) - 1,
        "options": len(table.scores),
    }


def _train_lm(
    target: list[list[str]],
    more: Sequence[str],
    splitters: Splitters,
    settings: TrainingSettings,
    folder: Path,
    say: Progress,
) -> NgramModel:
    """The language model of the target side and of the lines of `more` that have words."""
    blank = sum(not line.strip(" \t\n\r\v\f") for line in more)
    say(
        f"language model of order {settings.lm_order}: {len(target)} lines of the training text"
        + (f", {len(more) - blank} more ({blank} blank lines left out)" if len(more) else "")
    )
    split = splitters.target.apply if splitters.target else list
    text = (split(words) for line in more if (words := split_words(line)))
    return train_lm(chain(target, text), settings.lm_order, folder, settings.lm_prune, say)


def _write_summary(
    kind: ModelKind,
    folder: Path,
    settings: TrainingSettings,
    counts: dict[str, int],
    inputs: dict[str, str],
) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    summary = {
        "format": FORMAT,
        "backend": kind.backend,
        "version": replitune.__version__,
        "features": dict(zip(kind.layout.names, kind.layout.arities, strict=True)),
        "settings": plain(settings),
        "counts": counts,
        "inputs": inputs,
        "files": {path.relative_to(folder).as_posix(): sha256_file(path) for path in files},
    }
    write_json(folder / "model.json", summary)
