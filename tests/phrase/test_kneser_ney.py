"""Kneser-Ney against the definition in plain Python, KenLM, and lmplz's perplexities."""

from __future__ import annotations

import gzip
import math
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from made_lm import trained_lm

from phrase_models import write_arpa
from replitune.errors import ReplituneError
from replitune.phrase.arpa import NgramModel
from replitune.phrase.encode import encode
from replitune.phrase.kneser_ney import FALLBACK, Pile, discounts, train_lm


def babble(sentences: int, seed: int, words: int = 600, longest: int = 9) -> list[list[str]]:
    """Text whose counts of counts are those of natural text."""
    rng = random.Random(seed)
    vocab = [f"w{k}" for k in range(words)]
    weights = [1 / (k + 1) for k in range(words)]
    text = []
    for _ in range(sentences):
        sentence = rng.choices(vocab, weights, k=rng.randint(0, longest))
        if rng.random() < 0.5 and sentence:
            sentence = [*sentence, *sentence[:2]]
        text.append(sentence)
    return text


class Definition:
    """Chen and Goodman's equations (21) to (26) with counts in dictionaries."""

    def __init__(self, text: list[list[str]], order: int, prune: Sequence[int] = ()) -> None:
        self.order = order
        self.prune = [0, *prune, *[prune[-1] if prune else 0] * order]
        sentences = [["<s>", *words, "</s>"] for words in text]
        raw: list[Counter[tuple[str, ...]]] = [Counter() for _ in range(order + 1)]
        for words in sentences:
            for n in range(1, order + 1):
                for i in range(len(words) - n + 1):
                    raw[n][tuple(words[i : i + n])] += 1
        self.raw = raw
        self.counts = [Counter(), *raw[1:]]
        for n in range(1, order):
            left = Counter(gram[1:] for gram in raw[n + 1])
            self.counts[n] = Counter(
                {gram: c if gram[0] == "<s>" else left[gram] for gram, c in raw[n].items()}
            )
        del self.counts[1][("<s>",)]
        self.vocab = {word for words in sentences for word in words} - {"<s>"} | {"<unk>"}
        self.discounts = [(0.0, 0.0, 0.0)]
        for n in range(1, order + 1):
            t = Counter(self.counts[n].values())
            if not (t[1] and t[2] and t[3]):
                self.discounts.append(FALLBACK)
                continue
            y = t[1] / (t[1] + 2 * t[2])
            d = tuple(k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
            good = all(0 < x <= k for k, x in enumerate(d, 1))
            self.discounts.append(d if good else FALLBACK)  # type: ignore[arg-type]

    def prob(self, context: tuple[str, ...], word: str) -> float:
        n = len(context) + 1
        lower = 1 / len(self.vocab) if n == 1 else self.prob(context[1:], word)
        following = {g: c for g, c in self.counts[n].items() if g[:-1] == context}
        total = sum(following.values())
        if not total:
            return lower
        d = self.discounts[n]
        taken = {g: d[min(c, 3) - 1] if self.kept(g) else c for g, c in following.items()}
        gram = (*context, word)
        own = following[gram] - taken[gram] if gram in following else 0.0
        return own / total + sum(taken.values()) / total * lower

    def kept(self, gram: tuple[str, ...]) -> bool:
        """Whether it is not pruned; what is pruned gives all of its mass to the order below."""
        return len(gram) == 1 or self.raw[len(gram)][gram] > self.prune[len(gram)]


class Query:
    """Back-off queries of a model, the plain way."""

    def __init__(self, model: NgramModel) -> None:
        self.order = model.order
        self.prob: dict[tuple[str, ...], float] = {}
        self.rest: dict[tuple[str, ...], float] = {}
        for grams, probs, rests in zip(model.ngrams, model.logprobs, model.backoffs, strict=True):
            for gram, prob, rest in zip(grams.tolist(), probs.tolist(), rests.tolist(), strict=True):
                key = tuple(model.words[i] for i in gram)
                assert key not in self.prob
                self.prob[key], self.rest[key] = prob, rest

    def score(self, context: tuple[str, ...], word: str) -> float:
        if (word,) not in self.prob:
            word = "<unk>"
        context = context[len(context) - self.order + 1 :] if len(context) >= self.order else context
        if (*context, word) in self.prob:
            return self.prob[*context, word]
        return self.rest.get(context, 0.0) + self.score(context[1:], word)

    def sentence(self, words: list[str]) -> float:
        history = ("<s>",)
        total = 0.0
        for word in [*words, "</s>"]:
            total += self.score(history, word)
            history = (*history, word if (word,) in self.prob else "<unk>")
        return total


@pytest.mark.parametrize(
    ("order", "prune"), [(1, ()), (2, ()), (3, ()), (4, ()), (3, (0, 0, 1)), (4, (0, 1)), (4, (0, 0, 1, 3))]
)
def test_equals_the_definition(order: int, prune: tuple[int, ...]) -> None:
    text = babble(250, order)
    model, definition = Query(trained_lm(text, order, prune)), Definition(text, order, prune)
    for n in range(2, order + 1):
        kept = {gram for gram in definition.raw[n] if definition.kept(gram)}
        assert kept == {gram for gram in model.prob if len(gram) == n}
    assert FALLBACK not in definition.discounts[1:3]
    rng = random.Random(0)
    for _ in range(60):
        words = ["<s>", *rng.choice(text)]
        at = rng.randint(1, len(words))
        context = tuple(words[max(0, at - order + 1) : at]) if order > 1 else ()
        for word in rng.sample(sorted(definition.vocab), 4):
            expected = math.log10(definition.prob(context, word))
            assert model.score(context, word) == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(
    ("order", "prune"), [(1, ()), (2, ()), (3, ()), (5, ()), (6, ()), (5, (0, 0, 1)), (3, (0, 1, 2))]
)
def test_probabilities_sum_to_one(order: int, prune: tuple[int, ...]) -> None:
    text = babble(300, 7)
    query = Query(trained_lm(text, order, prune))
    vocab = [key[0] for key in query.prob if len(key) == 1 and key != ("<s>",)]
    rng = random.Random(1)
    contexts = [tuple(rng.choices(vocab, k=rng.randint(0, order - 1))) for _ in range(15)]
    for _ in range(15):
        words = ["<s>", *rng.choice(text)]
        contexts.append(tuple(words[: rng.randint(1, len(words))][-(order - 1) :]) * (order > 1))
    for context in contexts:
        assert sum(10 ** query.score(context, word) for word in vocab) == pytest.approx(1, abs=1e-5)


def test_a_hand_worked_model() -> None:
    query = Query(trained_lm([["a", "b"], ["a", "b"], ["b"]], 2))
    # unigrams: a follows <s>: 1; b follows a, <s>: 2; </s> follows b: 1. No count of 3, so the
    # discounts are 0.5, 1, 1.5: freed 2 of 4, shared by a, b, </s>, <unk>
    share = 2 / 4 / 4
    p_a, p_b, p_end = 0.5 / 4 + share, 1 / 4 + share, 0.5 / 4 + share
    assert 10 ** query.score((), "a") == pytest.approx(p_a)
    assert 10 ** query.score((), "b") == pytest.approx(p_b)
    assert 10 ** query.score((), "never seen") == pytest.approx(share)
    # bigrams: <s> a 2, <s> b 1, a b 2, b </s> 3: n1 = 1, n2 = 2, n3 = 1, n4 = 0, Y = 1/5,
    # D1 = 1 - 2/5 * 2 = 0.2, D2 = 2 - 3/5 / 2 = 1.7, D3 = 3
    assert 10 ** query.score(("<s>",), "a") == pytest.approx(0.3 / 3 + 1.9 / 3 * p_a)
    assert 10 ** query.score(("<s>",), "b") == pytest.approx(0.8 / 3 + 1.9 / 3 * p_b)
    assert 10 ** query.score(("<s>",), "</s>") == pytest.approx(1.9 / 3 * p_end)
    assert 10 ** query.score(("a",), "b") == pytest.approx(0.3 / 2 + 1.7 / 2 * p_b)
    assert 10 ** query.score(("b",), "a") == pytest.approx(p_a), "b frees all of its mass"


def test_discounts_are_chen_and_goodmans() -> None:
    counts = np.array([1] * 10 + [2] * 5 + [3] * 3 + [4] * 2 + [9])
    y = 10 / 20
    assert discounts(counts) == pytest.approx((1 - 2 * y * 5 / 10, 2 - 3 * y * 3 / 5, 3 - 4 * y * 2 / 3))
    assert discounts(np.array([1, 1, 2, 2, 2])) is None, "nothing seen three times"
    assert discounts(np.array([1, 1, 2] + [3] * 30)) is None, "a discount below zero"


def test_the_fallback_is_announced() -> None:
    said: list[str] = []
    trained_lm([["a"]], 3, progress=said.append)
    assert len(said) == 1
    assert "1, 2, 3" in said[0]
    said.clear()
    trained_lm(babble(300, 3), 3, progress=said.append)
    assert not said


@pytest.mark.parametrize("order", [2, 3, 5])
def test_kenlm_scores_the_written_file_as_we_do(order: int, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    text = babble(300, 11)
    model = trained_lm(text, order)
    write_arpa(model, tmp_path / "lm.arpa")
    query, oracle = Query(model), kenlm.Model(str(tmp_path / "lm.arpa"))
    for words in [*babble(40, 12), ["never", "seen"], []]:
        assert query.sentence(words) == pytest.approx(oracle.score(" ".join(words)), abs=1e-4)


def in_bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("prune", [(), (0, 0, 1)])
def test_blocks_change_no_byte(
    prune: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = [*babble(400, 5), []]
    models = []
    for block in (1 << 23, 700, 64, 1):
        monkeypatch.setattr("replitune.phrase.kneser_ney.BLOCK", block)
        folder = tmp_path / str(block)
        folder.mkdir()
        train_lm(text, 4, folder, prune)
        models.append(in_bytes(folder))
    assert all(model == models[0] for model in models)
    assert sorted(models[0])[-2:] == ["ngrams4.npy", "words.txt"], "nothing else is left there"


def test_nothing_is_spilled_under_a_name(tmp_path: Path) -> None:
    """So that nothing is left of it after kill -9."""

    def watched() -> Iterator[list[str]]:
        yield from babble(300, 3)
        assert not list(tmp_path.iterdir())

    seen: set[str] = set()
    put = Pile.put

    def watching(self: Pile, array: np.ndarray) -> None:
        put(self, array)
        seen.update(path.name for path in tmp_path.iterdir())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pile, "put", watching)
        train_lm(watched(), 3, tmp_path)
    assert not seen


def test_text_of_more_words_than_32_bits_can_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replitune.phrase.kneser_ney.LONGEST_TEXT", 8)
    trained_lm([["a", "b"], ["c", "d"]], 2)
    with pytest.raises(ReplituneError, match="too much text for a language model"):
        trained_lm([["a", "b"], ["c", "d", "e"]], 2)


def test_a_pruned_model_is_lmplz() -> None:
    """What `lmplz -o 4 --prune 0 0 1 2 --discount_fallback` printed of the same text."""
    model = Query(trained_lm(babble(300, 11), 4, (0, 0, 1, 2)))
    assert Counter(map(len, model.prob)) == {1: 337, 2: 1249, 3: 46, 4: 1}
    for line in (
        "-2.9914365 <unk> 0",
        "-1.518396 w1 -0.25889516",
        "-1.1194849 w0 -0.335693",
        "-1.4027069 w0 w1 -0.026843317",
        "-0.8313793 <s> w0 -0.2330179",
        "-0.895179 w0 w0 -0.15825401",
        "-0.48248813 <s> w0 w0 0",
        "-0.7049682 w0 w0 w0 0",
        "-0.5816921 w0 w0 w0 </s> 0",
    ):
        prob, *gram, rest = line.split()
        assert model.prob[tuple(gram)] == pytest.approx(float(prob), abs=1e-6)
        assert model.rest[tuple(gram)] == pytest.approx(float(rest), abs=1e-6)


def test_wrong_texts() -> None:
    with pytest.raises(ReplituneError, match="no text"):
        trained_lm([], 3)
    with pytest.raises(ReplituneError, match="a reserved word") as error:
        trained_lm([["a"], ["b", "<s>"]], 3)
    assert error.value.line == 2


def test_every_word_is_a_unigram_in_order_of_frequency() -> None:
    model = trained_lm([["b", "c", "b"], ["a", "c", "b"]], 2)
    assert model.words == ["<unk>", "<s>", "</s>", "b", "c", "a"]
    assert model.ngrams[0][:, 0].tolist() == list(range(6))
    assert encode([["b", "c", "b"]]).vocab == ["b", "c"]


@pytest.mark.realdata
@pytest.mark.parametrize(("order", "lmplz"), [(3, 37.4), (5, 36.1)])
def test_perplexity_is_lmplz(order: int, lmplz: float, tmp_path: Path) -> None:
    kenlm = pytest.importorskip("kenlm")
    if "REPLITUNE_DATA" not in os.environ:
        pytest.skip("needs REPLITUNE_DATA, the folder with multi30k/")
    folder = Path(os.environ["REPLITUNE_DATA"]) / "multi30k"

    def lines(name: str) -> list[str]:
        with gzip.open(folder / f"{name}.lc.norm.tok.en.gz", "rt", encoding="utf-8") as handle:
            return handle.read().splitlines()

    write_arpa(trained_lm([line.split() for line in lines("train")], order), tmp_path / "lm.arpa")
    oracle = kenlm.Model(str(tmp_path / "lm.arpa"))
    dev = lines("val")
    words = sum(len(line.split()) + 1 for line in dev)
    perplexity = 10 ** (-sum(map(oracle.score, dev)) / words)
    assert perplexity == pytest.approx(lmplz, rel=0.005)
