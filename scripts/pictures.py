"""Make pictures for the documentation from a real run: a recording and a screenshot of the report.

    python scripts/pictures.py

runs the commands of docs/start.md in a temporary folder, and writes docs/figures/terminal.svg (their
output, as it appears on a terminal) and, with Chromium on the PATH, docs/figures/report.png.
Run it again when the report or the output of `compare` has changed.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from replitune.running.files import atomic_open

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
COMMANDS = (
    "replitune new try --from own-outputs",
    "cd try",
    "replitune compare --refs outputs/ref.txt \\\n"
    "    --baseline outputs/baseline.*.txt --system better=outputs/better.*.txt",
    "replitune run",
)
SECONDS = 20.0
SIZE = (1200, 620)
LINE, CHARACTER, MARGIN = 18, 7.85, 14
STYLE = """
rect { fill: #1e2129 } text { font: 13px ui-monospace, "DejaVu Sans Mono", monospace; fill: #d5d9e0;
white-space: pre; opacity: 0; animation: appear .1s linear forwards } .typed { fill: #9fa8da }
@keyframes appear { to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none } }
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        lines = recorded(Path(folder))
        with atomic_open(FIGURES / "terminal.svg") as handle:
            handle.write(terminal(lines))
        report = Path(folder) / "try" / "results" / "own-outputs" / "report.html"
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            print("no Chromium on the PATH: no picture of the report", file=sys.stderr)
            return 1
        shot = Path(folder) / "report.png"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = f"--window-size={SIZE[0]},{SIZE[1]}"
        command = [chromium, *flags, size, f"--screenshot={shot}", report.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        with atomic_open(FIGURES / "report.png", "wb") as picture:
            picture.write(shot.read_bytes())
    return 0


def recorded(folder: Path) -> list[tuple[str, bool]]:
    """Lines on the terminal, each with whether it was typed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    lines: list[tuple[str, bool]] = []
    for command in COMMANDS:
        lines += [(f"{'  ' if i else '$ '}{line}", True) for i, line in enumerate(command.split("\n"))]
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
            continue
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = ran.stdout.rstrip("\n").split("\n")
        if command == "replitune run":
            steps = sum(line.startswith("[") for line in said)
            said = [f"  ... ({steps} lines, one for each step)", *said[steps:]]
        lines += [(line, False) for line in wrapped(said)]
    return lines


def wrapped(lines: list[str], width: int = 100) -> list[str]:
    """Lines broken as a terminal of this width shows them."""
    return [part for line in lines for part in re.findall(f".{{1,{width}}}", line) or [""]]


def terminal(lines: list[tuple[str, bool]]) -> str:
    """A picture in which lines appear one by one; typed lines take longer than printed ones."""
    weights = [8.0 if typed else 1.0 for _, typed in lines]
    rows, at = [], 0.0
    for i, ((line, typed), weight) in enumerate(zip(lines, weights, strict=True)):
        at += SECONDS * weight / sum(weights)
        kind = ' class="typed"' if typed else ""
        rows.append(
            f'<text{kind} x="{MARGIN}" y="{MARGIN + LINE * (i + 1) - 5}" '
            f'style="animation-delay:{at:.1f}s">{html.escape(line, quote=False)}</text>'
        )
    width = round(2 * MARGIN + CHARACTER * max(len(line) for line, _ in lines))
    height = 2 * MARGIN + LINE * len(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">\n'
        f"<title>replitune on a terminal: a comparison and an experiment</title>\n"
        f"<style>{STYLE}</style>\n"
        f'<rect width="{width}" height="{height}" rx="6"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
