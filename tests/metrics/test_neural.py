"""COMET by a model: a tiny one of the type that scores without references, trained here for two
updates, because none can be fetched. The oracle is pymarian's own evaluator."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from replitune.metrics.registry import get_metric
from replitune.statistics.scoring import score_outputs
from support import outputs_of

pytestmark = pytest.mark.nmt
pytest.importorskip("pymarian")
sentencepiece = pytest.importorskip("sentencepiece")

WORDS = ["the", "red", "old", "cat", "dog", "house", "sea", "runs", "haus", "katze", "hund", "rot"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with m.npz and v.spm."""
    folder = tmp_path_factory.mktemp("comet")
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS, k=8)) for _ in range(200)]
    (folder / "src").write_text("\n".join(lines) + "\n")
    (folder / "mt").write_text("\n".join(reversed(lines)) + "\n")
    (folder / "label").write_text("0.5\n" * len(lines))
    (folder / "label.yml").write_text('"0.5": 0\n<unk>: 1\n</s>: 2\n')
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "src"),
        model_prefix=str(folder / "v"),
        vocab_size=40,
        hard_vocab_limit=False,
        bos_id=-1,
        unk_id=1,
        eos_id=0,
        pad_id=-1,
        minloglevel=2,
    )
    (folder / "v.model").rename(folder / "v.spm")
    subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "pymarian",
            "train",
            "--type",
            "comet-qe",
            "--input-types",
            "class",
            "sequence",
            "sequence",
            "--train-sets",
            "label",
            "src",
            "mt",
            "--vocabs",
            "label.yml",
            "v.spm",
            "v.spm",
            "--model",
            "m.npz",
            "--dim-emb",
            "16",
            "--transformer-dim-ffn",
            "32",
            "--transformer-heads",
            "2",
            "--enc-depth",
            "1",
            "--tied-embeddings-all",
            "true",
            "--cpu-threads",
            "1",
            "--after",
            "2u",
            "--mini-batch",
            "4",
            "--maxi-batch",
            "2",
            "--workspace",
            "200",
            "--seed",
            "1",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=120,
    )
    return folder


def test_scores_are_those_of_pymarians_evaluator(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REPLITUNE_CACHE", str(tmp_path))
    source = (model / "src").read_text().splitlines()[:12]
    outputs = [(model / "mt").read_text().splitlines()[k : k + 12] for k in (0, 12)]
    word = f"comet:model={model}/m.npz,vocab={model}/v.spm,like=comet-qe,batch=10"
    metric = get_metric(word)
    prepared = metric.prepare_texts([source], source)
    found, distinct = score_outputs(metric, outputs_of(outputs), prepared)
    assert distinct == 24
    texts = "\n".join(f"{s}\t{h}" for hyps in outputs for s, h in zip(source, hyps, strict=True))
    (tmp_path / "texts").write_text(texts + "\n")
    oracle = (
        "import sys\nfrom pymarian import Evaluator\n"
        f"made = Evaluator.new(model_file={str(model / 'm.npz')!r}, "
        f"vocab_file={str(model / 'v.spm')!r}, like='comet-qe', cpu_threads=1, quiet='')\n"
        f"lines = open({str(tmp_path / 'texts')!r}).read().splitlines()\n"
        "for score in made.evaluate(iter(lines)):\n"
        "    print(score[0] if isinstance(score, (tuple, list)) else score)\n"
    )
    ran = subprocess.run([sys.executable, "-P", "-c", oracle], check=True, capture_output=True, text=True)
    expected = np.array([float(line) for line in ran.stdout.split()]).reshape(2, 12)
    assert expected.std() > 0
    np.testing.assert_allclose(found[..., 0], expected, atol=2e-6)
    again = get_metric(word)  # nothing is left to do, not even a program
    monkeypatch.setenv("REPLITUNE_PYMARIAN_EVAL", "false")
    np.testing.assert_array_equal(score_outputs(again, outputs_of(outputs), prepared)[0], found)
