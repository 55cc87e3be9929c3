from __future__ import annotations

import json

import numpy as np
import pytest

from replitune.errors import ReplituneError
from replitune.metrics.bleu import Bleu
from replitune.tuners import get_tuner
from replitune.tuning.from_files import tune_files
from replitune.tuning.weights import Layout


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """30 segments, 20 hypotheses each: the reference with words dropped and exchanged, which
    the features count with noise."""
    folder = tmp_path_factory.mktemp("nbest")
    rng = np.random.default_rng(0)
    references, lines = [], []
    for s in range(30):
        words = rng.integers(0, 50, rng.integers(8, 15))
        references.append(" ".join(f"w{w}" for w in words))
        for _ in range(20):
            rate = rng.uniform(0, 0.6)
            wrong = rng.random(len(words)) < rate
            text = [f"w{w}" if not bad else "x" for w, bad in zip(words, wrong, strict=True)]
            noise = rng.normal(size=2)
            lines.append(
                f"{s} ||| {' '.join(text)} ||| LM0= {noise[0]:.4f} "
                f"TM0= {0.5 * wrong.sum() + noise[0] + 0.3 * noise[1]:.4f} {noise[1]:.4f} ||| 0"
            )
    (folder / "refs.txt").write_text("\n".join(references) + "\n")
    (folder / "nbest.txt").write_text("\n".join(lines) + "\n")
    (folder / "init.ini").write_text("LM0= 0.3\nTM0= 0.2 0.2\n")
    return folder


def tune(files, tmp_path, **change):
    arguments = {
        "algorithm": "mert",
        "metric": "bleu:tokenize=none",
        "init": files / "init.ini",
        "seed": 3,
        "out": tmp_path / "w.json",
        "log": lambda line: None,
    } | change
    return tune_files([files / "nbest.txt"], [files / "refs.txt"], **arguments)


@pytest.mark.parametrize("algorithm", ["mert", "mira", "pro"])
@pytest.mark.parametrize("name", ["w.json", "w.ini"])
def test_tuning_on_files(files, tmp_path, algorithm, name):
    out = tmp_path / name
    lines: list[str] = []
    result = tune(files, tmp_path, algorithm=algorithm, out=out, log=lines.append)
    before = float(lines[0].rsplit(" ", 1)[1])
    assert result.score > before + 5
    first = out.read_bytes()
    tune(files, tmp_path, algorithm=algorithm, out=out, threads=2)
    assert out.read_bytes() == first
    if name == "w.json":
        record = json.loads(first)
        assert record["dev_score"] == result.score
        assert record["algorithm"] == algorithm
        assert list(record["weights"]) == ["LM0", "TM0"]
        again = tune(files, tmp_path, init=out, out=tmp_path / "again.json", algorithm="mert")
        assert again.history[0]["score"] >= result.score - 1e-9 or algorithm != "mert"


def test_the_score_is_the_corpus_score_of_the_choices(files, tmp_path):
    result = tune(files, tmp_path)
    lists: dict[int, list[tuple[float, str]]] = {}
    for line in (files / "nbest.txt").read_text().splitlines():
        number, text, features, _ = line.split(" ||| ")
        values = [float(word) for word in features.split() if not word.endswith("=")]
        score = float(np.float32(values) @ result.weights)
        lists.setdefault(int(number), []).append((score, text))
    hyps = [max(lists[s])[1] for s in range(30)]
    refs = (files / "refs.txt").read_text().splitlines()
    metric = Bleu(tokenize="none")
    assert metric.score(metric.statistics(hyps, [refs]).sum(axis=0)) == pytest.approx(result.score)


def test_several_files_in_any_order_are_one_pool(files, tmp_path):
    lines = (files / "nbest.txt").read_text().splitlines(keepends=True)
    parts = [tmp_path / "b", tmp_path / "a"]
    parts[0].write_text("".join(lines[1::2]))
    parts[1].write_text("".join(lines[::2] + lines[:7]))
    one = tune(files, tmp_path)
    two = tune_files(
        parts,
        [files / "refs.txt"],
        algorithm="mert",
        metric="bleu:tokenize=none",
        init=files / "init.ini",
        seed=3,
        out=tmp_path / "w2.json",
        log=lambda line: None,
    )
    assert one.weights.tobytes() == two.weights.tobytes()


def test_two_references_and_a_combined_objective(files, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("w1 w2 w3\n" * 30)
    result = tune_files(
        [files / "nbest.txt"],
        [files / "refs.txt", other],
        algorithm="pro",
        metric="0.5*bleu:tokenize=none + 0.5*bleu:max_ngram_order=2",
        out=tmp_path / "w.json",
        log=lambda line: None,
    )
    assert result.score > 0


def test_unknown_names_get_the_nearest_spelling(files, tmp_path):
    wrong = tmp_path / "wrong.ini"
    wrong.write_text("LMO= 0.3\nTM0= 0.2 0.2\n")
    with pytest.raises(ReplituneError, match="did you mean LM0"):
        tune(files, tmp_path, init=wrong)
    with pytest.raises(ReplituneError, match="did you mean `mert`"):
        tune(files, tmp_path, algorithm="mertt")
    with pytest.raises(ReplituneError, match="did you mean `restarts`"):
        tune(files, tmp_path, options={"restart": 3})
    assert not (tmp_path / "w.json").exists()


def test_frozen_features_by_name(files, tmp_path):
    result = tune(files, tmp_path, options={"frozen": ["LM0"], "restarts": 2})
    assert result.weights[0] == 0.3
    tuner = get_tuner("mert", {"frozen": ["TM0[1]"]})
    assert tuner.for_features(Layout(("LM0", "TM0"), (1, 2))).fixed.tolist() == [False, False, True]
    with pytest.raises(ReplituneError, match="did you mean LM0"):
        tune(files, tmp_path, options={"frozen": ["LMO"]})


def test_lattices_need_a_decoder(files, tmp_path):
    with pytest.raises(ReplituneError, match="no lattices"):
        tune(files, tmp_path, algorithm="mert-lattice")
    tuner = get_tuner("mert-lattice", {"rounds": 2, "directions": 3, "restarts": 4})
    assert (tuner.rounds, tuner.directions, tuner.mert.restarts) == (2, 3, 4)
    with pytest.raises(ReplituneError, match="did you mean `restarts`"):
        get_tuner("mert-lattice", {"restart": 4})


def test_references_that_are_too_short_or_too_long(files, tmp_path):
    refs = tmp_path / "refs.txt"
    for n, message in ((29, "without a reference"), (31, "no hypotheses for 1")):
        refs.write_text("w1 w2\n" * n)
        with pytest.raises(ReplituneError, match=message):
            tune_files(
                [files / "nbest.txt"],
                [refs],
                algorithm="pro",
                out=tmp_path / "w.json",
                log=lambda line: None,
            )
