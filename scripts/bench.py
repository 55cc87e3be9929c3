"""Run the benchmarks in benchmarks/ and write what they print into docs/benchmarks.md.

CPU seconds, with a warm compile cache; peers run in the same process or beside it. Ratios are
reliable only on a quiet machine: under load, results are printed but not written, unless --force is
given. Benchmarks that do not run, because of --only or missing data, keep their section.

--against REV runs them in turn with those of another revision, in a temporary worktree, and prints
the least value of each number, then and now, with their ratio; nothing is written.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from replitune.ledger.provenance import cpu_type, versions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
QUIET = 0.7

Arguments = Callable[[], list[str]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("REPLITUNE_DATA", ""))
    parser.add_argument("--nbest", default="", help="folder with nbest.txt, ref.txt, init.ini")
    parser.add_argument("--multeval", default=os.environ.get("MULTEVAL", ""), help="multeval.sh")
    parser.add_argument("--moses", default=os.environ.get("MOSES", ""), help="its folder bin")
    parser.add_argument("--only", default="", help="part of a benchmark's name")
    parser.add_argument("--force", action="store_true", help="write even under load")
    parser.add_argument("--against", default="", metavar="REV", help="beside another revision")
    parser.add_argument("--rounds", type=int, default=3, help="of --against")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    stamp = f"{datetime.now(UTC):%Y-%m-%d}, load {load:.1f} at the start"
    sections, failed = read_page(), []
    with tempfile.TemporaryDirectory() as folder:
        known = benchmarks(options, Path(folder))
        for name, arguments in known.items():
            if options.only not in name:
                continue
            if arguments is None:
                print(f"-- {name}: its data is not here, left out", file=sys.stderr)
                continue
            print(f"-- {name}", file=sys.stderr)
            if options.against:
                compare(name, arguments(), options, Path(folder) / "then")
                continue
            ran = run([str(ROOT / "benchmarks" / name), *arguments()], options.data)
            if ran.returncode:
                failed.append(name)
                print(ran.stderr, file=sys.stderr)
                continue
            made = name.removesuffix(".py")
            sections[name] = f"<!-- {made} -->\n\n{stamp}\n\n{ran.stdout.strip()}\n\n<!-- /{made} -->"
            print(ran.stdout, flush=True)
    if options.against:
        return 0
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if load > QUIET and not options.force:
        print(f"load {load:.1f}: not written; --force writes anyway", file=sys.stderr)
        return 0
    ordered = [*(name for name in known if name in sections), *(n for n in sections if n not in known)]
    texts = [header(), *(f"## {name}\n\n{sections[name]}\n" for name in ordered)]
    PAGE.write_text("\n".join(texts), encoding="utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}", file=sys.stderr)
    return 0


def benchmarks(options: argparse.Namespace, folder: Path) -> dict[str, Arguments | None]:
    """Scripts and their arguments; None if the data is missing."""
    data, multi30k = Path(options.data or "."), Path(options.data or ".") / "multi30k"
    real = (data / "multeval-example").is_dir()
    pairs = (multi30k / "train.lc.norm.tok.de.gz").is_file()
    sides = [str(multi30k / f"val.lc.norm.tok.{side}.gz") for side in ("de", "en")]

    def decoder() -> list[str]:
        if (folder / "model").exists():
            return [str(folder / "model"), *sides]
        train = [str(multi30k / f"train.lc.norm.tok.{side}.gz") for side in ("de", "en")]
        model = str(folder / "model")
        command = ["-m", "replitune", "train", "--source", train[0], "--target", train[1]]
        run([*command, "--out", model, "--threads", "2"], options.data)
        return [model, *sides]

    def tuners() -> list[str]:
        return [str(Path(options.nbest) / name) for name in ("nbest.txt", "ref.txt", "init.ini")]

    def scores() -> list[str]:
        python = folder_of_peers("scores", "evalstats", "evalsig")
        return ["--peers", str(python)] if python else []

    def peers() -> list[str]:
        found = ["--compare-mt", compare_mt(), "--multeval", options.multeval]
        return [*found, "--moses", options.moses, "--nbest", options.nbest]

    return {
        "bench_jobs.py": list,
        "bench_endpoint.py": list,
        "bench_peers.py": peers if real else None,
        "bench_scores.py": scores,
        "bench_metrics.py": list if real else None,
        "bench_ter_chrf.py": list if real else None,
        "bench_significance.py": list if real else None,
        "bench_phrase_training.py": (lambda: [str(multi30k)]) if pairs else None,
        "bench_decoder.py": decoder if pairs else None,
        "bench_hiero.py": (lambda: [str(multi30k)]) if pairs else None,
        "bench_report.py": list,
        "bench_tuning.py": decoder if pairs else None,
        "bench_tuners.py": tuners if options.nbest else None,
    }


def compare_mt() -> str:
    """The program compare-mt; empty if it cannot be installed."""
    # six: compare-mt imports it without declaring it
    python = folder_of_peers("compare-mt", "compare-mt", "six")
    program = None if python is None else python.with_name("compare-mt")
    return str(program) if program is not None and program.exists() else ""


def folder_of_peers(name: str, *packages: str) -> Path | None:
    """The Python of a separate environment with packages from PyPI, whose libraries may be older than
    ours; None if it cannot be made."""
    folder = ROOT / ".bench" / name
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(folder / "bin" / "pip"), "install", "--quiet", *packages],
        ):
            if subprocess.run(command, check=False).returncode:
                print(f"-- {name} could not be installed, left out", file=sys.stderr)
                return None
        done.touch()
    return python


def run(arguments: list[str], data: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REPLITUNE_DATA": data, **more}
    environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def compare(name: str, arguments: list[str], options: argparse.Namespace, then: Path) -> None:
    """Print what the present version of a benchmark measures for another revision and for this one."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(then), options.against], check=True)
    try:
        for file in (name, "measuring.py"):
            shutil.copy(ROOT / "benchmarks" / file, then / "benchmarks")
        least: dict[tuple[str, str], dict[Path, float]] = {}
        for _ in range(options.rounds):
            for root in (then, ROOT):
                script = str(root / "benchmarks" / name)
                ran = run([script, *arguments], options.data, PYTHONPATH=str(root / "src"))
                if ran.returncode:
                    sys.exit(ran.stderr)
                for key, number in numbers(ran.stdout):
                    known = least.setdefault(key, {})
                    known[root] = min(number, known.get(root, number))
    finally:
        subprocess.run([*git, "remove", "--force", str(then)], check=True)
    print(f"| {name} | | {options.against} | now | ratio |\n|---|---|---|---|---|")
    for (row, column), found in least.items():
        a, b = found.get(then), found.get(ROOT)
        ratio = f"{a / b:.2f}" if a and b else ""
        print(f"| {row} | {column} | {a} | {b} | {ratio} |", flush=True)


def numbers(text: str) -> Iterator[tuple[tuple[str, str], float]]:
    """The numbers of Markdown tables, by row and column."""
    columns: list[str] = []
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if after.startswith("|--") or after.startswith("| --"):
            columns = cells
        elif line.startswith("|"):
            for column, cell in zip(columns[1:], cells[1:], strict=False):
                with contextlib.suppress(ValueError):
                    yield (cells[0], column), float(cell.replace(",", ""))


def read_page() -> dict[str, str]:
    """The sections of the page by title; those that no benchmark prints are written by hand."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    parts = (part.partition("\n") for part in re.split(r"^## ", text, flags=re.M)[1:])
    return {title: section.strip() for title, _, section in parts}


def header() -> str:
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        "# Benchmarks\n\n"
        "*For people who ask what it costs, and whether the peers are faster.*\n\n"
        "Made by `make bench`. CPU seconds (user + system), with a warm compile cache unless noted; "
        "each ratio compares\nruns of the same minutes.\n\n"
        f"<!-- machine -->\n\n- {cpu_type()}, {os.cpu_count()} cores, {platform.system()}\n- {listed}\n\n"
        "<!-- /machine -->\n"
    )


if __name__ == "__main__":
    sys.exit(main())
