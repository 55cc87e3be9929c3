"""Model folders: what is computed once is mapped later, and nothing changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from decoder_oracle import random_ngrams, random_table

from phrase_models import write_arpa
from replitune.errors import ReplituneError
from replitune.phrase.arpa import read_arpa
from replitune.phrase.decoder import Decoder
from replitune.phrase.features import FEATURES
from replitune.phrase.model import PhraseModel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder as training leaves it."""
    rng = np.random.default_rng(5)
    table = random_table(rng)
    (tmp_path / "lm").mkdir()
    table.save(tmp_path)
    write_arpa(random_ngrams(rng, 3, len(table.target_vocab) - 3), tmp_path / "lm.arpa")
    read_arpa(tmp_path / "lm.arpa", tmp_path / "lm")
    features = {feature.name: feature.arity for feature in FEATURES}
    (tmp_path / "model.json").write_text(json.dumps({"features": features}))
    return tmp_path


def nbest(model: PhraseModel) -> list[str]:
    decoder = Decoder(model, model.layout.sensible())
    return list(decoder.nbest(["f0 f1 f2 f9", "f3 f4"], 10).lines())


def test_mapped_queries_and_computed_ones_decode_the_same(folder):
    computed = PhraseModel.load(folder)
    PhraseModel.save_lm(folder)
    computed.save_queries(folder)
    mapped = PhraseModel.load(folder)
    assert isinstance(mapped.lm.nodes, np.memmap)
    assert isinstance(mapped.index, np.memmap)
    assert nbest(mapped) == nbest(computed)


def test_saving_twice_gives_the_same_bytes(folder):
    def content() -> dict[str, bytes]:
        PhraseModel.save_lm(folder)
        PhraseModel.load(folder).save_queries(folder)
        return {path.name: path.read_bytes() for path in (folder / "decoder").iterdir()}

    first = content()
    assert len(first) >= 6
    assert content() == first


def test_every_source_phrase_is_found(folder):
    model = PhraseModel.load(folder)
    table = model.table
    for s in range(len(table.source_start) - 1):
        words = table.source_words[table.source_start[s] : table.source_start[s + 1]]
        line = " ".join(table.source_vocab[word] for word in words)
        batch = Decoder(model, model.layout.sensible()).prepare([line])
        phrase = batch.spans[0, len(words) - 1]
        first, count = batch.options.first[phrase], batch.options.counts[phrase]
        expected = table.scores[table.option_start[s] : table.option_start[s + 1]]
        found = batch.scores[first : first + count]
        assert sorted(map(tuple, found)) == sorted(map(tuple, expected))


def test_features_can_be_left_out_when_loading(folder):
    PhraseModel.save_lm(folder)
    PhraseModel.load(folder).save_queries(folder)
    model = PhraseModel.load(folder, features=("tm", "penalties"))
    assert model.layout.dimension == 6
    assert " LM0= " not in nbest(model)[0]


def test_a_feature_that_the_model_does_not_have_is_refused(folder):
    features = {feature.name: feature.arity for feature in FEATURES if feature.group != "lexro"}
    (folder / "model.json").write_text(json.dumps({"features": features}))
    assert PhraseModel.load(folder).layout.dimension == 8
    with pytest.raises(ReplituneError, match="lexro"):
        PhraseModel.load(folder, features=("tm", "lexro"))


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ReplituneError, match=r"no model\.json"):
        PhraseModel.load(tmp_path)


@pytest.mark.parametrize("name", ["scores.npy", "decoder/lm.nodes.npy", "lm/ngrams2.npy"])
def test_a_damaged_model_is_named(folder, name):
    if name.startswith("decoder"):
        PhraseModel.save_lm(folder)
        PhraseModel.load(folder).save_queries(folder)
    (folder / name).write_bytes((folder / name).read_bytes()[:100])
    with pytest.raises(ReplituneError, match="incomplete or damaged"):
        PhraseModel.load(folder)
