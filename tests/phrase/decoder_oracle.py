"""Small random models, and what a decoder must find in them, by enumeration in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from replitune.phrase.arpa import NgramModel
from replitune.phrase.lm import LanguageModel
from replitune.phrase.model import PhraseModel
from replitune.phrase.table import PhraseTable


def random_ngrams(
    rng: np.random.Generator, order: int, words: int, density: float = 0.3, closed: bool = False
) -> NgramModel:
    """A back-off model with random n-grams; `closed`: suffixes of n-grams are n-grams."""
    names = ["<unk>", "<s>", "</s>", *(f"e{i}" for i in range(words))]
    ngrams = [np.arange(len(names), dtype=np.int32)[:, None]]
    known = {(i,) for i in range(len(names))}
    for _ in range(2, order + 1):
        rows = [
            (*history, word)
            for history in ngrams[-1].tolist()
            for word in range(2, len(names))
            if 2 not in history and 0 not in history and rng.random() < density
        ]
        if closed:
            rows = [row for row in rows if row[1:] in known]
        known |= set(rows)
        ngrams.append(np.array(rows, np.int32).reshape(len(rows), ngrams[-1].shape[1] + 1))
    logprobs = [(-3 * rng.random(len(rows))).astype(np.float32) for rows in ngrams]
    backoffs = [
        (-rng.random(len(rows)) * (rng.random(len(rows)) < 0.7)).astype(np.float32) for rows in ngrams
    ]
    backoffs[-1][:] = 0
    return NgramModel(names, ngrams, logprobs, backoffs)


def ngram_logprob(model: NgramModel, history: tuple[int, ...], word: int) -> float:
    """Natural log probability by the definition of the ARPA format."""
    tables = getattr(model, "_tables", None)
    if tables is None:
        tables = {}
        for rows, logprobs, backoffs in zip(model.ngrams, model.logprobs, model.backoffs, strict=True):
            for row, logprob, backoff in zip(rows.tolist(), logprobs, backoffs, strict=True):
                tables[tuple(row)] = (float(logprob), float(backoff))
        object.__setattr__(model, "_tables", tables)
    history = history[max(0, len(history) - len(model.ngrams) + 1) :]
    total = 0.0
    while (*history, word) not in tables:
        total += tables.get(history, (0.0, 0.0))[1]
        history = history[1:]
    return (total + tables[(*history, word)][0]) * math.log(10)


def sentence_logprob(model: NgramModel, words: list[str]) -> float:
    ids = {word: i for i, word in enumerate(model.words)}
    history = [ids["<s>"]]
    total = 0.0
    for word in [*words, "</s>"]:
        total += ngram_logprob(model, tuple(history), ids.get(word, ids["<unk>"]))
        history.append(ids.get(word, ids["<unk>"]))
    return total


def random_table(
    rng: np.random.Generator,
    source: int = 5,
    target: int = 6,
    phrases: int = 25,
    options: int = 3,
    longest: int = 3,
) -> PhraseTable:
    assert phrases <= sum(source**n for n in range(1, longest + 1))
    pool: set[tuple[int, ...]] = set()
    while len(pool) < phrases:
        pool.add(tuple(rng.integers(0, source, rng.integers(1, longest + 1)).tolist()))
    ordered = sorted(pool)
    counts = rng.integers(1, options + 1, len(ordered))
    total = int(counts.sum())
    lengths = rng.integers(1, 4, total)
    # Few different reordering scores, so that equal ones occur and recombine.
    kinds = np.log(rng.dirichlet([1, 1, 1], (4, 2))).reshape(4, 6)
    return PhraseTable(
        source_vocab=[f"f{i}" for i in range(source)],
        target_vocab=["<unk>", "<s>", "</s>", *(f"e{i}" for i in range(target))],
        source_start=np.cumsum([0, *map(len, ordered)]).astype(np.int64),
        source_words=np.array([word for phrase in ordered for word in phrase], np.int32),
        option_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        target_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        target_words=rng.integers(3, 3 + target, lengths.sum()).astype(np.int32),
        scores=(-3 * rng.random((total, 4))).astype(np.float32),
        reordering=kinds[rng.integers(0, 4, total)].astype(np.float32),
    )


def random_model(
    rng: np.random.Generator, order: int = 3, features: tuple[str, ...] | None = None, **sizes: int
) -> tuple[PhraseModel, NgramModel]:
    table = random_table(rng, **sizes)
    ngrams = random_ngrams(rng, order, len(table.target_vocab) - 3)
    lm = LanguageModel.build(ngrams)
    if features is None:
        return PhraseModel.build(table, lm), ngrams
    return PhraseModel.build(table, lm, features), ngrams


def derivations(
    table: PhraseTable, ngrams: NgramModel, sentence: list[str], limit: int
) -> Iterator[tuple[str, list[float], int]]:
    """All derivations of a sentence under a distortion limit: (text, 14 features, copied words).

    Written from the definitions, word by word and with nothing shared with the decoder.
    """
    source = {word: i for i, word in enumerate(table.source_vocab)}
    options: dict[tuple[int, ...], list[tuple[list[str], list[float], list[float]]]] = {}
    for s in range(len(table.source_start) - 1):
        key = tuple(table.source_words[table.source_start[s] : table.source_start[s + 1]].tolist())
        options[key] = []
        for p in range(table.option_start[s], table.option_start[s + 1]):
            ids = table.target_words[table.target_start[p] : table.target_start[p + 1]]
            words = [table.target_vocab[i] for i in ids]
            options[key].append((words, table.scores[p].tolist(), table.reordering[p].tolist()))
    n = len(sentence)

    def of_span(start: int, end: int) -> list[tuple[list[str], list[float], list[float], int]]:
        key = tuple(source.get(word, -1) for word in sentence[start:end])
        if key in options:
            return [(*option, 0) for option in options[key]]
        return [([sentence[start]], [0.0] * 4, [0.0] * 6, 1)] if end == start + 1 else []

    def go(covered: frozenset[int], path: list) -> Iterator[list]:
        if len(covered) == n:
            yield path
            return
        gap = min(i for i in range(n) if i not in covered)
        last = path[-1][1] if path else 0
        for start in range(n):
            if limit >= 0 and abs(start - last) > limit:
                continue
            for end in range(start + 1, n + 1):
                span = set(range(start, end))
                if span & covered:
                    break
                if start != gap and limit >= 0 and end - gap > limit:
                    break
                for option in of_span(start, end):
                    yield from go(covered | span, [*path, (start, end, *option)])

    for path in go(frozenset(), []):
        values = [0.0] * 14
        text: list[str] = []
        copied = 0
        before = None
        for step in path:
            start, end, words, scores, reordering, unknown = step
            if before is None:
                turn = 0 if start == 0 else 2
                values[6] -= start
            else:
                turn = 0 if start == before[1] else 1 if end == before[0] else 2
                values[3 + turn] += before[4][3 + turn]
                values[6] -= abs(start - before[1])
            values[turn] += reordering[turn]
            values[8] -= len(words)
            values[9] += 1
            for j in range(4):
                values[10 + j] += scores[j]
            text += words
            copied += unknown
            before = step
        values[7] = sentence_logprob(ngrams, text)
        yield " ".join(text), values, copied
