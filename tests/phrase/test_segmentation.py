"""Compound splitting and BPE against the papers' examples and exhaustive search."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.phrase.segmentation import BytePairs, CompoundSplitter, Splitters, load_segmentation


def splitter(counts: dict[str, int], **options: int | tuple[str, ...]) -> CompoundSplitter:
    text = [[word] * count for word, count in counts.items()]
    return CompoundSplitter.learn(text, **options)  # type: ignore[arg-type]


def test_koehn_and_knights_aktionsplan() -> None:
    # their figures: aktionsplan 852, aktion 960 and plan 710 (mean 825.6), aktions 5, akt 224,
    # ion 1: the word itself wins; when it is rarer, the split wins and the s is dropped
    counts = {"aktionsplan": 852, "aktion": 960, "plan": 710, "aktions": 5, "akt": 224, "ion": 1}
    assert splitter(counts, min_length=3).split("aktionsplan") == ["aktionsplan"]
    assert splitter(counts | {"aktionsplan": 825}, min_length=3).split("aktionsplan") == ["aktion", "plan"]


def test_fillers_lengths_and_counts() -> None:
    counts = {"bundes": 5, "bund": 20, "tag": 30, "tage": 9, "haus": 50}
    some = splitter(counts)
    assert some.split("bundeshaus") == ["bund", "haus"], "es, as bund is more frequent"
    assert some.split("bundestag") == ["bundestag"], "tag is shorter than four letters"
    assert splitter(counts, min_length=3).split("bundestag") == ["bund", "tag"]
    assert splitter(counts, fillers=("",)).split("bundeshaus") == ["bundes", "haus"]
    assert splitter(counts, fillers=("",), min_count=6).split("bundeshaus") == ["bundeshaus"]
    assert some.split("haustage5") == ["haustage5"], "not only letters"
    assert some.apply(["das", "haushaus"]) == ["das", "haus", "haus"]


def test_case_follows_the_training_text() -> None:
    some = splitter({"Bund": 20, "Haus": 50, "haus": 3, "alte": 9})
    assert some.split("Bundeshaus") == ["Bund", "Haus"]
    assert some.split("Altehaus") == ["alte", "Haus"]
    assert some.split("BUND") == ["BUND"]


def test_an_equally_good_split_is_not_made() -> None:
    assert splitter({"abcd": 8, "efgh": 2, "abcdefgh": 4}, min_count=1).split("abcdefgh") == ["abcdefgh"]


words = st.text(alphabet="ab", min_size=1, max_size=4)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.dictionaries(words, st.integers(1, 30), max_size=8), st.text(alphabet="abs", min_size=1, max_size=9)
)
def test_the_split_has_the_highest_geometric_mean(counts: dict[str, int], word: str) -> None:
    def means() -> dict[tuple[str, ...], float]:
        found = {(word,): float(counts.get(word, 0))}
        for cuts in itertools.product((False, True), repeat=len(word) - 1):
            at = [0, *(i for i, cut in enumerate(cuts, 1) if cut), len(word)]
            pieces = [word[a:b] for a, b in itertools.pairwise(at)]
            variants = [
                {piece, piece.removesuffix("s")} if i < len(pieces) - 1 else {piece}
                for i, piece in enumerate(pieces)
            ]
            for parts in itertools.product(*variants):
                if len(parts) > 1 and all(counts.get(part, 0) >= 1 for part in parts):
                    product = 1
                    for part in parts:
                        product *= counts[part]
                    found[parts] = product ** (1 / len(parts))
        return found

    some = splitter(counts, min_length=1, min_count=1, fillers=("", "s"))
    candidates = means()
    assert candidates[tuple(some.split(word))] == pytest.approx(max(candidates.values()))


TOY = [["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3]


def test_sennrichs_toy_vocabulary() -> None:
    # subword-nmt 0.3.8 on this text (learn_bpe, min_frequency 2)
    assert BytePairs.learn(TOY, 10).merges == [
        ("s", "t</w>"),
        ("e", "st</w>"),
        ("l", "o"),
        ("w", "est</w>"),
        ("n", "e"),
        ("ne", "west</w>"),
        ("lo", "w</w>"),
        ("w", "i"),
        ("wi", "d"),
        ("wid", "est</w>"),
    ]
    pairs = BytePairs.learn(TOY, 10)
    assert pairs.apply(["lowest", "low", "newer", "x"]) == [
        *("lo@@", "west", "low", "ne@@", "w@@", "e@@", "r", "x")
    ]


def test_no_merge_beyond_the_rare_ones() -> None:
    assert BytePairs.learn([["ab"]], 10).merges == []
    assert BytePairs.learn([["ab", "ab"]], 10).merges == [("a", "b</w>")]
    assert BytePairs.learn([], 10).merges == []


text = st.lists(st.lists(st.text(alphabet="abc@é", min_size=1, max_size=6), max_size=6), max_size=8)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(text, st.integers(0, 30))
def test_joining_undoes_splitting(segments: list[list[str]], merges: int) -> None:
    pairs = BytePairs.learn(segments, merges)
    for segment in segments:
        if not any(word.endswith("@@") for word in segment):
            assert pairs.join(pairs.apply(segment)) == segment
    assert pairs.join(["a@@", "b@@"]) == ["ab"]


def naive(segments: list[list[str]], merges: int) -> list[tuple[str, str]]:
    """Recount everything before every merge."""
    corpus = [[*word[:-1], word[-1] + "</w>"] for segment in segments for word in segment]
    learned = []
    for _ in range(merges):
        counts: dict[tuple[str, str], int] = {}
        for pieces in corpus:
            for pair in itertools.pairwise(pieces):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts or max(counts.values()) < 2:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        learned.append(best)
        for pieces in corpus:
            i = 0
            while i < len(pieces) - 1:
                if (pieces[i], pieces[i + 1]) == best:
                    pieces[i : i + 2] = ["".join(best)]
                i += 1
    return learned


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(st.lists(st.text(alphabet="ab", min_size=1, max_size=8), max_size=5), max_size=6),
    st.integers(0, 20),
)
def test_merges_equal_recounting(segments: list[list[str]], merges: int) -> None:
    assert BytePairs.learn(segments, merges).merges == naive(segments, merges)


def test_files(tmp_path: Path) -> None:
    compounds = splitter({"Bund": 20, "Haus": 50}, min_length=3)
    compounds.save(tmp_path / "c.json")
    assert load_segmentation(tmp_path / "c.json") == compounds
    pairs = BytePairs.learn(TOY, 10)
    pairs.save(tmp_path / "b.json")
    assert load_segmentation(tmp_path / "b.json") == pairs
    assert load_segmentation(tmp_path / "b.json").split("lowest") == ["lo@@", "west"]
    Splitters(pairs, None).save(tmp_path)
    loaded = Splitters.load(tmp_path)
    assert loaded.split(" lowest low ") == "lo@@ west low"
    assert loaded.join("a lo@@ west") == "a lowest", "unknown pieces that were copied"
    assert Splitters(compounds, None).join("lo@@ west") == "lo@@ west"
    compounds.save(tmp_path / "target_segmentation.json")
    with pytest.raises(ReplituneError, match="only BPE can be undone"):
        Splitters.load(tmp_path)
    (tmp_path / "x.json").write_text('{"kind": "syllables"}')
    with pytest.raises(ReplituneError, match="unknown segmentation"):
        load_segmentation(tmp_path / "x.json")
