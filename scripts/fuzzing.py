"""Coverage-guided fuzzing of every parser for some seconds each; counts of executions.

The corpora that were found stay in .fuzz/ and are where the next run starts; an input that fails
stays there as well. --write puts the counts into docs/faults.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".fuzz"
PAGE = ROOT / "docs" / "faults.md"
GUIDED = ROOT / "tests" / "fuzz" / "guided.py"
BEGIN, END = "<!-- counts of make fuzz -->", "<!-- end of counts -->"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--write", action="store_true", help="the counts, into the page")
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is missing: pip install 'replitune[fuzz]'", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT / "tests"))
    from fuzz.targets import TARGETS

    unknown = sorted(set(options.targets) - set(TARGETS))
    if unknown:
        parser.error(f"no target {unknown[0]}: one of {', '.join(TARGETS)}")
    rows, failed = [], []
    for name in options.targets or TARGETS:
        executions, paths, good, output = fuzz(name, options.seconds)
        rows.append(f"| `{name}` | {executions:,} | {paths:,} | {'none' if good else 'some'} |")
        print(f"{name:<14} {executions:>10,} executions  {'' if good else 'FAILED'}", flush=True)
        if not good:
            failed.append(name)
            print(output[-3000:], file=sys.stderr)
    if options.write and not failed:
        write(rows, options.seconds)
    return 1 if failed else 0


def fuzz(name: str, seconds: int) -> tuple[int, int, bool, str]:
    """Executions, inputs that reach new code, whether nothing failed, and what it printed."""
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(GUIDED), name, str(corpus), f"-max_total_time={seconds}"]
    command += ["-seed=2011", "-max_len=20000", "-timeout=60", "-rss_limit_mb=4096"]
    command += ["-print_final_stats=1", f"-artifact_prefix={FOLDER}/{name}.failed-"]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    text = ran.stdout + ran.stderr
    counted = re.search(r"number_of_executed_units:\s*(\d+)", text)
    return int(counted[1]) if counted else 0, len(list(corpus.iterdir())), not ran.returncode, text


def write(rows: list[str], seconds: int) -> None:
    text = PAGE.read_text("utf-8")
    total = sum(int(row.split("|")[2].replace(",", "")) for row in rows)
    table = "\n".join(
        [
            f"`make fuzz SECONDS={seconds}` on {datetime.now(UTC):%Y-%m-%d}: {total:,} executions.",
            "",
            "| parser | executions | inputs that reach new code | failures |",
            "| --- | ---: | ---: | --- |",
            *rows,
        ]
    )
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
