"""Marian's options: names and kinds are Marian's; what is the workflow's business is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Annotated, Any

import pytest

from replitune.backends.marian.options import KIND, PRESETS, RESERVED, MarianOptions, training_options
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
        ({"dim-embb": 3}, "did you mean `dim-emb`?"),
        ({"dim-emb": 3.5}, "a whole number"),
        ({"dim-emb": True}, "a whole number"),
        ({"skip": 1}, "true or false"),
        ({"learn-rate": "fast"}, "a number"),
        ({"seed": 3}, "the replica is the seed"),
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
    MarianOptions().read(reading, {"dim-embb": 3, "skip": True, "seed": 1}, ("options",))
    assert [mistake.path for mistake in reading.mistakes] == [("options", "dim-embb"), ("options", "seed")]


def test_tying_both_languages_needs_one_vocabulary():
    with pytest.raises(ReplituneError, match="needs one vocabulary"):
        training_options("rnn", {"tied-embeddings-all": True}, False)


@pytest.mark.nmt
def test_marian_knows_every_option_by_that_name_and_kind():
    pytest.importorskip("pymarian", reason="pymarian is not installed")
    said = subprocess.run(
        [sys.executable, "-m", "pymarian", "train", "--help"], capture_output=True, text=True
    ).stdout
    found = dict(
        re.findall(r"^ +(?:-\w,)?--([a-z0-9-]+)(?:=\w+)?(?: +(U?INT|TEXT|FLOAT|VECTOR))?", said, re.M)
    )
    kinds = {
        "INT": "a whole number",
        "UINT": "a whole number",
        "FLOAT": "a number",
        "TEXT": "a text",
        "VECTOR": "a list",
        "": "true or false",
    }
    assert {name: kinds.get(found.get(name, "missing")) for name in KIND} == KIND
    assert not set(RESERVED) - set(found)
    assert not set(RESERVED) & set(KIND)
