"""Makes the helper modules of this folder, tests/phrase and tests/tuning importable."""

import sys
from pathlib import Path

FOLDERS = ((0, ""), (1, "phrase"), (1, "tuning"))
sys.path[:0] = [str(Path(__file__).parents[n] / name) for n, name in FOLDERS]
