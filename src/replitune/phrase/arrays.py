"""Arrays of a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replitune.errors import ReplituneError


def load_array(path: Path) -> NDArray[Any]:
    """Memory-map one .npy file of a model."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        found = "no such file"
    except (EOFError, OSError, ValueError) as error:
        found = str(error)
    raise ReplituneError(
        "the model is not whole", file=path, found=found, fix="train it again, or copy all of it"
    )
