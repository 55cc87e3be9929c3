"""Warming the compile cache covers everything that decoding a trained model calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import importlib, sys
from pathlib import Path
import numpy as np
from decoder_oracle import random_model
from replitune.backends.phrase.decoder import Decoder, Settings
from replitune.backends.phrase.lm import LanguageModel
from replitune.backends.phrase.model import PhraseModel
from replitune.backends.phrase.warm import compile_decoder

NAMES = "lm model options coverage stacks search cube nbest graph".split()

def signatures():
    counts = {}
    for name in NAMES:
        module = importlib.import_module(f"replitune.backends.phrase.{name}")
        for kernel in vars(module).values():
            if hasattr(kernel, "signatures"):
                counts[kernel.py_func.__qualname__] = len(kernel.signatures)
    return counts

compile_decoder()
before = signatures()
assert sum(map(bool, before.values())) >= 11, before
model, _ = random_model(np.random.default_rng(1))
folder = Path(sys.argv[1])
model.lm.save(folder)
model.table.save(folder)
loaded = PhraseModel.build(type(model.table).load(folder), LanguageModel.load(folder))
lines = ["f0 f1 f9 f2", "", "f3 f3"]
for decoder in (
    Decoder(loaded, model.layout.sensible(), Settings(search="stack", distortion_limit=-1)),
    Decoder(loaded, np.zeros(14)),
):
    decoder.decode(lines, threads=2)
    decoder.nbest(lines, 3)
    decoder.graphs(lines)
after = signatures()
assert after == before, {name: after[name] for name in after if after[name] != before[name]}
"""


def test_nothing_is_compiled_after_warming(tmp_path):
    here = Path(__file__).parent
    source = Path(__file__).parents[3] / "src"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{here}"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
