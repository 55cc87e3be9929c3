"""Run every benchmark in benchmarks/ and write docs/benchmarks.md.

CPU seconds, with a warm compile cache; peers run in the same process or beside it. Ratios are
worth something on a quiet machine only: above a load of half a core beside our own, the page is
printed and not written, unless --force.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from replitune.provenance import cpu_type, versions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA", ""))
    parser.add_argument("--only", default="", help="part of a benchmark's name")
    parser.add_argument("--force", action="store_true", help="write even under load")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    quiet = load < 0.5
    sections = [header(load)]
    failed = []
    environment = {**os.environ, "REPLITUNE_DATA": options.data, "OMP_NUM_THREADS": "1"}
    for script in sorted((ROOT / "benchmarks").glob("bench_*.py")):
        if options.only not in script.name:
            continue
        print(f"-- {script.name}", file=sys.stderr)
        # once to compile what is not in the cache, once to measure
        ran = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, env=environment, check=False
        )
        if ran.returncode:
            failed.append(script.name)
            print(ran.stderr, file=sys.stderr)
            continue
        sections.append(f"## {script.stem}\n\n{ran.stdout.strip()}\n")
        print(ran.stdout)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if options.only:
        return 0
    if quiet or options.force:
        PAGE.write_text("\n".join(sections), encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}", file=sys.stderr)
        return 0
    print(f"load {load:.1f}: not written; --force writes anyway", file=sys.stderr)
    return 0


def header(load: float) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        "# Benchmarks\n\n"
        "Made by `make bench`. CPU seconds (user + system), warm compile cache unless it says "
        "otherwise; ratios compare runs of the same minutes.\n\n"
        f"- {datetime.now(UTC):%Y-%m-%d}, {cpu_type()}, {os.cpu_count()} cores, "
        f"load {load:.1f} at the start, {platform.system()}\n- {listed}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
