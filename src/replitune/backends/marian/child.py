"""Marian in a process of its own, which ends when its parent does.

    python -m replitune.backends.marian.child PARENT PROGRAM ARGUMENT ...

PROGRAM is `pymarian`, the Python package that holds Marian, or a binary. A child of a killed
process would otherwise train on, and write into the folder in which the next one has begun.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def leave_with(parent: int) -> None:
    """Have the kernel (Linux) kill this process when its parent ends, however that ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:
        sys.exit(1)  # it ended before we asked


def main() -> None:
    parent, program, *arguments = sys.argv[1:]
    leave_with(int(parent))
    if program != "pymarian":
        os.execvp(program, [program, *arguments])
    from pymarian.__main__ import main as pymarian

    sys.argv[1:] = arguments
    pymarian()


if __name__ == "__main__":
    main()
