"""A command that is started lightly does what it always does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from replitune.cli.main import main

assert main(sys.argv[1:]) == 0
for name in ("pandas", "scipy.linalg"):
    assert name not in sys.modules, name

import pyarrow as pa

frame = pa.table({"x": [1, None]}).to_pandas()
assert pa.array(frame["x"]).null_count == 1, "pandas is known when it is there"

import numpy as np
from numba import njit

square = njit(lambda x: (x @ x.T).sum())
assert square(np.eye(3)) == 3, "what is in no cache is compiled"
"""


def test_scoring_imports_neither_pandas_nor_blas(tmp_path: Path):
    text = tmp_path / "text"
    text.write_text("the cat sat\non the mat\n")
    score = ["score", "--refs", text, "--hyps", f"a={text}", "--out", tmp_path / "s.parquet"]
    subprocess.run([sys.executable, "-m", "replitune", *score], check=True)  # compiles
    subprocess.run([sys.executable, "-c", PROGRAM, *score], check=True)
