"""Training of a phrase-based system: from a parallel text to a model folder.

A model folder holds the language model in `lm/`, `source_segmentation.json` and
`target_segmentation.json` when words are split, `model.json` (settings, features, counts, and the
SHA-256 of every input and file), and the full phrase table (`table.json` and its arrays) or the text
with its word links, from which tables for known texts are made, each in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import replitune
from replitune.errors import ReplituneError
from replitune.phrase.align import Progress, align
from replitune.phrase.arpa import NgramModel, read_arpa
from replitune.phrase.encode import RESERVED, Encoded, encode, encode_known, split_words
from replitune.phrase.features import GroupedLayout, PhraseLayout
from replitune.phrase.kneser_ney import train_lm
from replitune.phrase.lexical import lexical_table
from replitune.phrase.model import PhraseModel
from replitune.phrase.pairs import LinkedPhrases
from replitune.phrase.saved import SavedModel
from replitune.phrase.scores import counts_of_counts, phrase_table
from replitune.phrase.segmentation import JOINER, BytePairs, CompoundSplitter, Splitters
from replitune.phrase.settings import PhraseSettings, TrainingSettings
from replitune.phrase.symmetrise import Linked, symmetrise
from replitune.phrase.table import PhraseTable
from replitune.running.files import new_folder, sha256_file, sha256_lines, write_json
from replitune.settings import plain

FORMAT = 1


@dataclass(frozen=True)
class Cleaned:
    """Which pairs are fit for training, and why the others are not."""

    kept: NDArray[np.bool_]
    empty: int
    long: int
    ratio: int


@dataclass(frozen=True)
class ModelKind:
    """What is particular to the models of one backend."""

    backend: str
    layout: GroupedLayout
    Model: type[SavedModel]
    table: Callable[[Linked, Encoded | None, Path, Progress], dict[str, int]]
    """Writes what is learnt from the linked pairs into a folder, all of it or what a source text can
    use; reports and returns counts."""


def phrase_kind(settings: PhraseSettings) -> ModelKind:
    """The kind of phrase-based systems."""
    layout = PhraseLayout.from_groups(settings.features)
    return ModelKind("phrase", layout, PhraseModel, partial(_train_table, settings))


def train_system(
    kind: ModelKind,
    source: Sequence[str],
    target: Sequence[str],
    settings: TrainingSettings,
    out: str | Path,
    *,
    full: bool = True,
    threads: int = 1,
    progress: Progress | None = None,
    lm_text: Sequence[str] = (),
    lm_arpa: str | Path | None = None,
) -> Path:
    """Train a model of some kind on the pairs (`source[i]`, `target[i]`) and write the folder
    `out`, with the full table or with what `make_table` needs.

    The language model is trained on the target side and `lm_text`, or read from `lm_arpa`.
    The folder appears when it is complete and replaces an older one. The same input and settings give
    the same bytes, whatever `threads` is (at most two are used, one for each direction of alignment).
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
    joins = "bpe" in (settings.source_segmentation, settings.target_segmentation)
    _refuse(map(split_words, target), "target side of the training text", joins)
    _refuse(map(split_words, lm_text), "text for the language model", joins)
    inputs = {"source": sha256_lines(source), "target": sha256_lines(target)}
    if len(lm_text):
        inputs["lm_text"] = sha256_lines(lm_text)
    if lm_arpa is not None:
        inputs["lm_arpa"] = sha256_file(lm_arpa)

    with new_folder(out) as folder:
        (folder / "lm").mkdir()
        # read first, so that a wrong file is found before the long work
        language_model = None if lm_arpa is None else read_arpa(lm_arpa, folder / "lm")
        splitters = learn_splitters(source, target, settings)
        splitters.save(folder)
        source_words = encode(_split(source, splitters.source))
        target_words = encode(_split(target, splitters.target), RESERVED)
        cleaned = clean(source_words.lengths, target_words.lengths, settings.max_length, settings.max_ratio)
        counts = _count_cleaned(cleaned, settings, say)
        source_words = source_words.only(cleaned.kept)
        target_words = target_words.only(cleaned.kept, len(RESERVED))
        linked = _link(source_words, target_words, settings, threads, say)
        counts |= {
            "source_words": len(linked.source.words),
            "target_words": len(linked.target.words),
            "links": len(linked.links.source),
        }
        if full:
            counts |= kind.table(linked, None, folder, say)
        else:
            linked.save(folder)
        if language_model is None:
            language_model = _train_lm(linked.target, lm_text, splitters, settings, folder / "lm", say)
        counts |= {f"lm_{n}grams": len(g) for n, g in enumerate(language_model.ngrams, 1)}
        _write_summary(kind, folder, settings, counts, inputs)
    return Path(out)


def make_table(
    kind: ModelKind,
    model: str | Path,
    lines: Sequence[str],
    out: str | Path,
    progress: Progress | None = None,
) -> Path:
    """Write the folder `out`: the table of a source text, for a model trained without a full table, with
    the scores of the full one."""
    model = Path(model)
    linked, splitters = Linked.load(model), Splitters.load(model)
    known = encode_known([split_words(splitters.split(line)) for line in lines], linked.source.vocab)
    with new_folder(out) as folder:
        kind.table(linked, known, folder, progress or (lambda line: None))
        kind.Model.load(model, table=folder).save_queries(folder)
    return Path(out)


def clean(
    source: NDArray[np.int64], target: NDArray[np.int64], max_length: int, max_ratio: float
) -> Cleaned:
    """Leave out pairs with an empty side or one that is too long, and lopsided pairs (by numbers of
    words)."""
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    empty = shorter == 0
    long = ~empty & (longer > max_length)
    ratio = ~empty & ~long & (longer > max_ratio * shorter)
    return Cleaned(~(empty | long | ratio), int(empty.sum()), int(long.sum()), int(ratio.sum()))


def _count_cleaned(pairs: Cleaned, settings: TrainingSettings, say: Progress) -> dict[str, int]:
    """Report and return how many pairs were kept and dropped."""
    total, kept = len(pairs.kept), int(pairs.kept.sum())
    say(
        f"{total} pairs: {kept} kept; dropped {pairs.empty} with an empty side, "
        f"{pairs.long} longer than {settings.max_length} words, {pairs.ratio} with a length "
        f"ratio above {settings.max_ratio:g}"
    )
    if not kept:
        raise ReplituneError("no pair is left to train on", found=f"{total} pairs")
    return {
        "pairs": total,
        "kept": kept,
        "dropped_empty": pairs.empty,
        "dropped_long": pairs.long,
        "dropped_ratio": pairs.ratio,
    }


def learn_splitters(source: Sequence[str], target: Sequence[str], settings: TrainingSettings) -> Splitters:
    """Learn how to split the words of either side from all of the training text."""

    def pieces(lines: Sequence[str], kind: str) -> BytePairs | None:
        return BytePairs.learn(map(split_words, lines), settings.bpe_merges) if kind == "bpe" else None

    of_source: CompoundSplitter | BytePairs | None
    if settings.source_segmentation == "compounds":
        of_source = CompoundSplitter.learn(
            map(split_words, source),
            min_length=settings.compound_min_length,
            min_count=settings.compound_min_count,
            fillers=settings.compound_fillers,
        )
    else:
        of_source = pieces(source, settings.source_segmentation)
    return Splitters(of_source, pieces(target, settings.target_segmentation))


def _split(lines: Iterable[str], splitter: CompoundSplitter | BytePairs | None) -> Iterator[list[str]]:
    """The words of each line, or their parts."""
    words = map(split_words, lines)
    return words if splitter is None else map(splitter.apply, words)


def _refuse(segments: Iterable[list[str]], where: str, joiner: bool) -> None:
    """Refuse target words that models, n-best lists or BPE use as markers."""
    taken = (*RESERVED, "|||")
    for line, words in enumerate(segments, 1):
        for word in words:
            if word in taken:
                raise ReplituneError(
                    f"a reserved word in the {where}",
                    line=line,
                    found=f"{word} in line {line}",
                    fix=f"write it in another way: {', '.join(taken)} are reserved",
                )
            if joiner and word.endswith(JOINER):
                raise ReplituneError(
                    f"a word in the {where} ends in {JOINER}, which marks pieces of words",
                    line=line,
                    found=f"{word} in line {line}",
                    fix="if the text is already split into pieces, leave the segmentation out",
                )


def _link(
    source: Encoded, target: Encoded, settings: TrainingSettings, threads: int, say: Progress
) -> Linked:
    """Align the words."""
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
    return Linked(source, target, links)


def _train_table(
    settings: PhraseSettings, linked: Linked, known: Encoded | None, folder: Path, say: Progress
) -> dict[str, int]:
    """Extract, score and save the phrase table."""
    source, target, links = linked.source, linked.target, linked.links
    phrases = LinkedPhrases(linked, settings.max_phrase_length, known)
    if phrases.extracted == 0:
        raise ReplituneError(
            "no phrase pair can be extracted",
            found=f"{len(source)} pairs with {len(links.source)} word links",
            fix="train on more text",
        )
    counts = None
    if settings.good_turing:
        everything = phrases if known is None else LinkedPhrases(linked, settings.max_phrase_length)
        counts = np.sum([counts_of_counts(part.count) for part in everything.parts()], axis=0)
    lexical = lexical_table(source, target, links)
    distinct = 0

    def tables() -> Iterator[PhraseTable]:
        nonlocal distinct
        for pairs in phrases.parts():
            distinct += len(pairs.count)
            smoothing, most = settings.reordering_smoothing, settings.max_options
            yield phrase_table(linked, lexical, pairs, counts, smoothing, most)

    sizes = PhraseTable.write(folder, source.vocab, target.vocab, tables())
    say(
        f"{phrases.extracted} phrase pairs extracted, {distinct} distinct"
        f"{'' if known is None else ' and usable'}: {sizes['options']} translation options of "
        f"{sizes['source_phrases']} phrases"
    )
    return {"extracted": phrases.extracted, "distinct": distinct, **sizes}


def _train_lm(
    target: Encoded,
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
    text = filter(None, _split(more, splitters.target))
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
