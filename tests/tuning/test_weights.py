from __future__ import annotations

import json

import numpy as np
import pytest

from replitune import __version__
from replitune.errors import ReplituneError
from replitune.tuning.weights import Layout, WeightsFile, read_weights, write_weights

LAYOUT = Layout(("LM0", "TM0", "WordPenalty0"), (1, 2, 1))
VECTOR = np.array([0.1 + 0.2, -1e-17, 1 / 3, -1.0])


@pytest.mark.parametrize("name", ["weights.json", "weights.ini"])
def test_weights_survive_exactly(tmp_path, name):
    path = tmp_path / name
    write_weights(path, WeightsFile(LAYOUT.to_weights(VECTOR), dev_score=1.5))
    assert (LAYOUT.to_vector(read_weights(path)) == VECTOR).all()


def test_the_json_has_the_published_keys(tmp_path):
    path = tmp_path / "w.json"
    write_weights(path, WeightsFile(LAYOUT.to_weights(VECTOR), 40.5, "bleu", "mert", 0, 3))
    record = json.loads(path.read_text())
    assert record["weights"]["LM0"] == [VECTOR[0]]
    del record["weights"]
    assert record == {
        "dev_score": 40.5,
        "metric": "bleu",
        "algorithm": "mert",
        "seed": 0,
        "iteration": 3,
        "version": __version__,
    }


def test_moses_ini_lines_and_a_whole_moses_ini(tmp_path):
    lines = "LM0= 0.5\nTM0= 0.1 0.2\n# penalty\n\nWordPenalty0= -1\n"
    path = tmp_path / "w.ini"
    expected = {"LM0": [0.5], "TM0": [0.1, 0.2], "WordPenalty0": [-1.0]}
    path.write_text(lines)
    assert read_weights(path) == expected
    path.write_text(f"[feature]\nKENLM name=LM0 order=3\n[weight]\n{lines}[threads]\n4\n")
    assert read_weights(path) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.json", "{", "not JSON"),
        ("w.json", "[1]", "no weights in this file"),
        ("w.json", '{"weights": {}}', "no weights"),
        ("w.json", '{"weights": {"LM0": ["a"]}}', "not numbers"),
        ("w.json", '{"weights": {"LM0": [true]}}', "not numbers"),
        ("w.ini", "LM0 0.5\n", "not a line of weights"),
        ("w.ini", "LM0= x\n", "not a line of weights"),
        ("w.ini", "LM0= 1\nLM0= 2\n", "twice"),
        ("w.ini", "\n", "no weights"),
    ],
)
def test_files_that_are_no_weights(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ReplituneError, match=message):
        read_weights(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"LM": [1.0]}, "did you mean LM0"),
        ({"TM0": [1.0]}, "wrong number of weights"),
        ({"TM0": [1.0, float("inf")]}, "not finite"),
        ({"LM0": None}, "no weight for feature LM0"),
    ],
)
def test_weights_that_do_not_fit_the_lists(change, message):
    weights = LAYOUT.to_weights(VECTOR) | change
    weights = {name: values for name, values in weights.items() if values is not None}
    with pytest.raises(ReplituneError, match=message):
        LAYOUT.to_vector(weights)


def test_a_mask_of_names_and_single_values():
    assert LAYOUT.mask(["TM0[1]", "LM0"]).tolist() == [True, False, True, False]
    assert LAYOUT.mask(["TM0"]).tolist() == [False, True, True, False]
    for wrong in ("TM", "TM0[2]", "TM0[x]", "TM0[0"):
        with pytest.raises(ReplituneError):
            LAYOUT.mask([wrong])
