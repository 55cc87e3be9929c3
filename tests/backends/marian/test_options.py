"""Marian's options: what replitune sets itself is refused, all others are Marian's to judge."""

from __future__ import annotations

import json
import re
import string
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest

from replitune.backends.marian.program import PYMARIAN, run
from replitune.backends.marian.settings import (
    PRESETS,
    RESERVED,
    MarianOptions,
    VocabularySettings,
    training_options,
)
from replitune.backends.marian.vocabulary import make_vocabularies
from replitune.errors import ReplituneError
from replitune.settings import Reading, read


def test_given_options_stand_over_the_architecture_and_each_name_stands_once():
    options = training_options("transformer", {"dim-emb": 32, "skip": True}, True)
    assert options["dim-emb"] == 32
    assert options["skip"] is True
    assert options["transformer-heads"] == PRESETS["transformer"]["transformer-heads"]


def test_embeddings_are_tied_as_far_as_vocabularies_are():
    assert training_options("rnn", {}, True)["tied-embeddings-all"] is True
    separate = training_options("rnn", {}, False)
    assert separate["tied-embeddings"] is True
    assert "tied-embeddings-all" not in separate
    own = training_options("rnn", {"tied-embeddings": True}, True)
    assert "tied-embeddings-all" not in own


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim-emb": 3.5}, "such as 128"),
        ({"shuffle-in-ram": "perhaps"}, "such as True"),
        ({"learn-rate": "fast"}, "such as 0.003"),
        ({"seed": 3}, "each run has its own seed"),
        ({"cpu-threads": 4}, "threads: N"),
        ({"lr-decay-strategy": "epoch+stalled"}, "never stall"),
        ({"cost-type": "perplexity"}, "ce-mean-words"),
    ],
)
def test_what_is_wrong_is_said(options: dict, message: str):
    with pytest.raises(ReplituneError, match=re.escape(message)):
        training_options("transformer", read(Annotated[Any, MarianOptions()], options), True)


def test_every_option_that_is_wrong_is_said():
    reading = Reading()
    MarianOptions().read(reading, {"model": "m", "skip": True, "seed": 1}, ("options",))
    assert [mistake.path for mistake in reading.mistakes] == [("options", "model"), ("options", "seed")]


def test_tying_both_languages_needs_one_vocabulary():
    with pytest.raises(ReplituneError, match="needs one vocabulary"):
        training_options("rnn", {"tied-embeddings-all": True}, False)


@pytest.mark.nmt
def test_marian_has_the_options_that_replitune_sets_by_these_names():
    pytest.importorskip("pymarian", reason="pymarian is not installed")
    command = [sys.executable, "-m", "pymarian", "train", "--help"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    names = set(re.findall(r"^ +(?:-\w,)?--([a-z0-9-]+)", said, re.M))
    presets = {name for preset in PRESETS.values() for name in preset}
    assert not {*RESERVED, *presets} - names


@pytest.mark.nmt
@pytest.mark.parametrize(
    ("options", "message"),
    [({"dim-embb": 3}, "not expected: dim-embb"), ({"dropout-src": "half"}, "value has the wrong type")],
)
def test_marian_refuses_what_it_does_not_know(options: dict, message: str, tmp_path: Path):
    pytest.importorskip("pymarian", reason="pymarian is not installed")
    text = tmp_path / "text"
    text.write_text("".join(f"{letter * 5} {letter * 7} b c d\n" for letter in string.ascii_lowercase))
    files = make_vocabularies(text, text, VocabularySettings(size=40), tmp_path)
    config = {
        "train-sets": [str(text)] * 2,
        "vocabs": [str(file) for file in files],
        "model": str(tmp_path / "model.npz"),
        "cpu-threads": 1,
        "after": "1u",
        **training_options("rnn", options, True),
        "workspace": 64,
    }
    (tmp_path / "config.yml").write_text(json.dumps(config))
    with pytest.raises(ReplituneError, match=message):
        run(PYMARIAN, ["train", "--config", str(tmp_path / "config.yml")])
