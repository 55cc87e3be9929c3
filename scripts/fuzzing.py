"""Fuzz every parser, guided by coverage, for some CPU seconds each, and count executions.

The corpora that are found stay in .fuzz/, where the next run starts from them; so does an input that
fails. --write puts the counts into docs/faults.md, row by row.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".fuzz"
PAGE = ROOT / "docs" / "faults.md"
GUIDED = ROOT / "tests" / "fuzz" / "guided.py"
BEGIN, END = "<!-- counts of make fuzz -->", "<!-- end of counts -->"


@dataclass(frozen=True)
class Fuzzed:
    """The fuzzing of one parser; `failure` is what it printed if it failed."""

    seconds: float
    executions: int
    paths: int
    failure: str = ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="CPU seconds for each target")
    parser.add_argument("--write", action="store_true", help="the counts, into the page")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is missing: make fuzz", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "tests"))
    from fuzz.targets import TARGETS

    unknown = sorted(set(options.targets) - set(TARGETS))
    if unknown:
        parser.error(f"no target {unknown[0]}: one of {', '.join(TARGETS)}")
    failed = False
    for name in options.targets or TARGETS:
        found = fuzz(name, options.seconds)
        state = "FAILED" if found.failure else ""
        print(f"{name:<18} {found.executions:>10,} executions  {state}", flush=True)
        if found.failure:
            failed = True
            print(found.failure[-3000:], file=sys.stderr)
        if options.write:
            write(name, found)
    return 1 if failed else 0


def fuzz(name: str, seconds: int) -> Fuzzed:
    """Fuzz for so many CPU seconds. libFuzzer counts seconds of the clock, so it is run again until
    enough CPU time is used."""
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    before, executions, seed = cpu_of_children(), 0, 2011
    left = float(seconds)
    while True:
        command = [sys.executable, str(GUIDED), name, str(corpus)]
        command += [f"-max_total_time={math.ceil(left)}", f"-seed={seed}", "-max_len=20000"]
        command += ["-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1"]
        command += [f"-artifact_prefix={FOLDER}/{name}.failed-"]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        text = ran.stdout + ran.stderr
        counted = re.search(r"number_of_executed_units:\s*(\d+)", text)
        executions, seed = executions + (int(counted[1]) if counted else 0), seed + 1
        left = seconds - (cpu_of_children() - before)
        if ran.returncode or left <= 0:
            break
    spent, paths = cpu_of_children() - before, len(list(corpus.iterdir()))
    return Fuzzed(spent, executions, paths, text if ran.returncode else "")


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write(name: str, found: Fuzzed) -> None:
    """Write the row of one parser into the page, replacing its former row."""
    row = (
        f"| `{name}` | {datetime.now(UTC):%Y-%m-%d} | {found.seconds / 60:.0f} "
        f"| {found.executions:,} | {found.paths:,} | {'one' if found.failure else 'none'} |"
    )
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    lines = [line for line in table.strip().splitlines() if not line.startswith(f"| `{name}` ")]
    page = f"{before}{BEGIN}\n" + "\n".join([*lines, row]) + f"\n{END}{after}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
