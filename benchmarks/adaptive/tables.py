"""Make the tables and the figure of docs/evidence.md about adaptive replication.

    PYTHONPATH=src python benchmarks/adaptive/tables.py

Reads gate.csv (gate.py) and replicas.csv (replicas.py) beside this file; writes adaptive.svg and
adaptive.png in docs/figures, and the text between the markers of docs/evidence.md.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
from gate import ALPHAS, HS, RATIOS, SHIFTS, Row, limits, place, read, saving
from simulate import SCHEDULE

from replitune.report.drawing import Figure, add_legend, render, style
from replitune.running.files import atomic_open

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rate(x: float) -> str:
    return f"{x:.3f}".replace("0.", ".", 1)


def gate_table(rows: list[Row]) -> str:
    found = [[what, found, "holds" if holds else "**fails**"] for what, found, holds in limits(rows)]
    trials = {
        part: max(r.trials for r in rows if r.part == part) for part in dict.fromkeys(r.part for r in rows)
    }
    said = ", ".join(f"{part} {n:,}" for part, n in trials.items())
    return f"{table(['limit', 'found', ''], found)}\n\nTrials a cell: {said}."


def power_table(rows: list[Row]) -> str:
    """What is saved, and power, by h and ratio; means over kinds of noise."""
    lines = []
    for h in HS[:3]:
        for ratio in RATIOS:
            line = [f"{h:g}", f"{ratio:g}"]
            for shift in SHIFTS:
                of = [
                    r
                    for r in rows
                    if r.part == "power"
                    and r.alpha == ALPHAS[0]
                    and (r.h, r.ratio, float(r.shift)) == (h, ratio, shift)
                ]
                line.append(f"{np.mean([r.runs_used for r in of]):.1f}")
                line.append(f"{100 * np.mean([saving(r) for r in of]):.0f}%")
                if shift:
                    rule, always = (
                        float(np.mean([getattr(r, name) for r in of])) for name in ("rule", "always")
                    )
                    line.append(f"{rate(rule)} / {rate(always)}")
            lines.append(line)
    head = [
        "V_int/V_seg",
        "V_rep/V_seg",
        "H0: runs",
        "saved",
        "3 sd: runs",
        "saved",
        f"power / always {SCHEDULE[-1]}",
        "5 sd: runs",
        "saved",
        "power / always",
    ]
    return table(head, lines)


def beyond(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        if row.part not in ("family", "reported") or row.alpha != ALPHAS[0]:
            continue
        key = (row.part, place(row), row.runs)
        other = next(r for r in rows if r.alpha == ALPHAS[1] and (r.part, place(r), r.runs) == key)
        what = f"{row.systems} systems" if row.systems > 2 else f"{row.runs} runs of A alone"
        lines.append(
            [
                what,
                place(row),
                f"{rate(row.rule)} / {rate(other.rule)}",
                f"{rate(row.always)} / {rate(other.always)}",
                f"{row.runs_used:.1f}",
            ]
        )
    head = ["", "cell", ".05 / .01", f"always {SCHEDULE[-1]}", "runs"]
    return table(head, lines)


def real(path: Path) -> str:
    with open(path, newline="") as handle:
        rows = list(csv.DictReader(handle))
    word = {"0": "no difference", "1": "a difference"}
    ordered = [
        [
            row["metric"],
            row["what"],
            f"{row['used']} of {row['of']}",
            word[row["settled"]],
            word[row["all_settled"]],
        ]
        for row in rows
        if row["study"] == "in order"
    ]
    against = [
        [
            row["metric"],
            row["what"],
            row["alpha"],
            rate(int(row["settled"]) / int(row["trials"])),
            rate(int(row["all_settled"]) / int(row["trials"])),
            f"{100 * (1 - int(row['used']) / int(row['of'])):.0f}%",
        ]
        for row in rows
        if row["study"] == "A/A"
    ]
    same = sum(line[3] == line[4] for line in ordered)
    used = sum(int(row["used"]) for row in rows if row["study"] == "in order")
    most = sum(int(row["of"]) for row in rows if row["study"] == "in order")
    first = table(["metric", "dl2 against dl6", "runs", "verdict", "with all runs"], ordered)
    second = table(["metric", "a system against itself", "level", "rule", "all runs", "saved"], against)
    return (
        f"{first}\n\n{same} of {len(ordered)} verdicts are those of all runs, with {used} of "
        f"{most} runs ({100 * (1 - used / most):.0f}% saved).\n\n{second}"
    )


def picture(rows: list[Row]) -> Figure:
    """Mean number of runs by ratio."""

    def draw(panels: Any) -> None:
        for index, shift in enumerate(SHIFTS):
            of = [
                r
                for r in rows
                if r.part == "power"
                and r.alpha == ALPHAS[0]
                and r.h == 0.4
                and r.noise == "equal"
                and float(r.shift) == shift
            ]
            label = f"{shift:g} sd" if shift else "no difference"
            panels.plot(
                [r.ratio for r in of],
                [r.runs_used for r in of],
                ms=5,
                label=label,
                **style(index, "ls", "marker"),
            )
        panels.axhline(SCHEDULE[-1], color="black", lw=0.8)
        panels.set_xscale("log")
        panels.minorticks_off()
        panels.set_xticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
        panels.set_yticks(range(0, SCHEDULE[-1] + 1, 5))
        panels.set_ylim(0, SCHEDULE[-1] + 1)
        panels.set_xlabel("V_rep / V_seg at three runs")
        panels.set_ylabel("mean runs of each system")
        add_legend(panels)

    return Figure("", draw, size=(6.4, 3.2))


def main() -> None:
    rows = read(HERE / "gate.csv")
    page = (DOCS / "evidence.md").read_text(encoding="utf-8")
    parts = {
        "adaptive-gate": gate_table(rows),
        "adaptive-power": power_table(rows),
        "adaptive-beyond": beyond(rows),
        "adaptive-real": real(HERE / "replicas.csv"),
    }
    for name, text in parts.items():
        page, count = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)",
            lambda found, text=text: f"{found[1]}\n{text}\n\n{found[2]}",
            page,
            flags=re.S,
        )
        assert count == 1, name
    with atomic_open(DOCS / "evidence.md") as handle:
        handle.write(page)
    for suffix, drawn in render("adaptive", picture(rows), ("svg", "png")).items():
        with atomic_open(DOCS / "figures" / f"adaptive.{suffix}", "wb") as handle:
            handle.write(drawn)


if __name__ == "__main__":
    main()
