"""Uses of undocumented parts of other libraries, in a module for each library.

Nothing depends on them: without them work is slower, or messages say less, as `notes` reports. The
environment variable REPLITUNE_WITHOUT_PROBES switches them off.
"""

from __future__ import annotations

import os

VARIABLE = "REPLITUNE_WITHOUT_PROBES"
LOSSES = {
    "numba": "kernels start and run slower",
    "pyarrow": "every command imports pandas",
    "s3": "folders that jobs on other machines have put into S3 are missing until the next run",
    "snakemake": "each finished job wakes Snakemake's scheduler once a second until the run ends, the jobs "
    "of a run are guessed from what is missing, and mistakes are reported without line numbers",
}
"""What is lost without the undocumented parts of a library."""
_failed: set[str] = set()


def allowed() -> bool:
    return not os.environ.get(VARIABLE)


def failed(library: str) -> None:
    """Note that undocumented parts of a library are not as expected."""
    _failed.add(library)


def notes() -> list[str]:
    """What is lost in this process."""
    lost = [name for name in LOSSES if name in _failed or not allowed()]
    return [f"without undocumented parts of {name}: {LOSSES[name]}" for name in lost]
