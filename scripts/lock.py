"""Make locks/*.txt from pyproject.toml: exact versions and hashes for Python 3.11 to 3.13.

locks/all.txt is solved first, so that every smaller lock has the same versions.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {
    "all": ["all", "build", "dev", "docs", "fuzz"],
    "run": ["workflow", "build"],
    "dev": ["all", "build", "dev"],
    "nmt": ["workflow", "nmt"],
    "meteor": ["workflow", "meteor"],
    "slurm": ["slurm"],
    "docs": ["workflow", "docs"],
    "fuzz": ["workflow", "fuzz"],
}


def main() -> None:
    for name, extras in EXTRAS.items():
        command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--universal"]
        command += ["--python-version", "3.11", "--generate-hashes", "--no-header"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--quiet"]
        command += ["--output-file", f"locks/{name}.txt"]
        command += [word for extra in extras for word in ("--extra", extra)]
        if name != "all":
            command += ["--constraint", "locks/all.txt"]
        subprocess.run(command, cwd=ROOT, check=True)
        print(f"locks/{name}.txt")


if __name__ == "__main__":
    main()
