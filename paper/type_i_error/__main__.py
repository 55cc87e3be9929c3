"""python -m paper.type_i_error [--out DIR]: the PDF, from the CSV files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper.type_i_error import latex

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make paper", description="The paper on type-I error and power, as PDF."
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "paper")
    options = parser.parse_args()
    lacking = latex.missing()
    if lacking:
        print(latex.advice(lacking), file=sys.stderr)
        return 2
    from paper.type_i_error.making import make

    try:
        found = make(options.out)
    except (latex.LatexError, AssertionError) as error:
        print(f"make paper: {error}", file=sys.stderr)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
