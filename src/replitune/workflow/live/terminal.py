"""Shows the state of a run as lines on a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Sequence
from typing import TextIO

from replitune.workflow.display import clock, counted, words
from replitune.workflow.live.state import Live, State, clock_of

BARS = " ▁▂▃▄▅▆▇█"
STATUS = {
    "running": "running",
    "elsewhere": "running, or stopped, on {host}",
    "done": "done",
    "failed": "ended with errors",
    "stopped": "stopped before its end",
}
NARROW = 40
"""The smallest width that is assumed for a terminal."""


def lines(state: State, width: int = 100, height: int | None = None) -> list[str]:
    """The state in at most `height` lines; rows of replicas and running jobs beyond it are only counted."""
    width = max(width, NARROW)
    head = _head(state, width)
    head += ["", *_stages(state)]
    rows, at_work = _replicas(state), _at_work(state)
    rest = [*_errors(state, width), *_verdict(state, width)]
    if height is not None:
        room = height - len(head) - len(rest)
        at_work = _shortened(at_work, max(room // 3, 3), "jobs")
        rows = _shortened(rows, max(room - len(at_work), 3), "rows")
    shown = [line[:width].rstrip() for line in (*head, *rows, *at_work)] + rest
    return shown if height is None else shown[:height]


def _shortened(rows: list[str], room: int, what: str) -> list[str]:
    if len(rows) <= room:
        return rows
    return [*rows[: room - 1], f"... and {len(rows) - room + 1} more {what}: --once, or --serve"]


def _head(state: State, width: int) -> list[str]:
    (done, known), most = state["jobs"], "at most " if state["most"] else ""
    status = STATUS[state["status"]].format(host=state["host"])
    parts = [f"{state['experiment']}: {status}"]
    if state["began"] is not None:
        parts.append(f"began {clock_of(state['began'])}")
    if known:
        parts.append(f"{done} of {most}{known} jobs")
        parts.append(f"{clock(state['cpu'])} CPU")
    if done and state["left"] is not None:
        parts.append(f"{most or 'about '}{clock(state['left'])} left")
    if state["status"] == "elsewhere":
        parts.append(f"last sign of life {clock_of(state['sign'])}")
    report = [f"report: {state['report']}"] if state["report"] else []
    return textwrap.wrap(", ".join(parts), width, subsequent_indent="  ") + report


def _stages(state: State) -> list[str]:
    rows = []
    for stage in state["stages"]:
        part = stage["done"] / max(stage["all"], 1)
        bar = "█" * int(10 * part) + ("▌" if 10 * part % 1 > 0 else "")
        counts = f"{stage['done']:>4} of {counted(stage['name'], stage['all']):<14}"
        more = [
            f"{stage[key]} {word}"
            for key, word in (("at_work", "at work"), ("failed", "failed"))
            if stage[key]
        ]
        rows.append(f"  {stage['name']:<12}{bar:<10} {counts}{', '.join(more)}")
    return rows


def _replicas(state: State) -> list[str]:
    """A row for each system and tuner: numbers of replicas, and the mean dev score by iteration."""
    if not state["replicas"]:
        return []
    metric = state["metric"]
    name = max([len("system"), *(len(row["system"]) for row in state["replicas"])])
    tuned = any(row["made"] is not None for row in state["replicas"])
    head = f"  {'system':<{name}}  {'from':<6}" + ("    made" if tuned else "") + "  decoded"
    rows = ["", head + (f"  dev {metric} by iteration, and now" if state["curves"] else "")]
    every = [score for curve in state["curves"] for score in curve["scores"]]
    for row in state["replicas"]:
        of = f"{row['all']}" + ("" if row["most"] == row["all"] else f" (most {row['most']})")
        made = "" if row["made"] is None else f"{row['made']}/{of}"
        text = f"  {row['system']:<{name}}  {row['of']:<6}" + (f"  {made:>6}" if tuned else "")
        text += f"  {row['decoded']}/{of:<5}"
        curves = [
            c["scores"] for c in state["curves"] if (c["system"], c["of"]) == (row["system"], row["of"])
        ]
        if curves:
            last = [scores[-1] for scores in curves]
            span = f"{min(last):.2f}" + (f" to {max(last):.2f}" if len(last) > 1 else "")
            text += f"  {spark(_means(curves), min(every), max(every))}  {span}"
        rows.append(text)
    return rows


def _means(curves: Sequence[Sequence[float]]) -> list[float]:
    """Mean over the replicas that have reached each iteration."""
    longest = max(map(len, curves))
    reached = [[c[i] for c in curves if i < len(c)] for i in range(longest)]
    return [sum(scores) / len(scores) for scores in reached]


def spark(values: Sequence[float], low: float, high: float) -> str:
    """Values as a row of bars, one character each."""
    span = (high - low) or 1.0
    return "".join(BARS[1 + min(int(8 * (value - low) / span), 7)] for value in values)


def _at_work(state: State) -> list[str]:
    rows = [
        f"  {words(job['name'])}" + (f": {job['said']}" if job["said"] else "") for job in state["at_work"]
    ]
    return ["", "at work", *rows] if rows else []


def _errors(state: State, width: int) -> list[str]:
    failed = state["failed"]
    if not failed:
        return []
    last = failed[-1]
    more = f" (and {len(failed) - 1} others)" if len(failed) > 1 else ""
    message = [f"    {line}"[:width] for line in last["message"].splitlines()]
    return ["", f"failed: {words(last['name'])}{more}", f"  log: {last['log']}", *message]


def _verdict(state: State, width: int) -> list[str]:
    verdict = state["verdict"]
    if verdict is None:
        return []
    title = "verdict" if verdict["final"] else "verdict so far, NOT FINAL"
    rows = ["", f"{title} ({verdict['where']})"]
    for line in verdict["lines"]:
        rows += textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")
    if verdict["more"]:
        rows.append(f"  ... and {verdict['more']} more pairs")
    if verdict["words"]:
        rows += textwrap.wrap(verdict["words"], width, initial_indent="  ", subsequent_indent="  ")
    return rows


def show(live: Live, period: float, stream: TextIO | None = None) -> None:
    """Redraw the state in place until Ctrl-C."""
    stream = stream or sys.stdout
    drawn: list[str] = []
    while True:
        size = shutil.get_terminal_size()
        now = [printable(line) for line in lines(live.look(), size.columns - 1, size.lines - 1)]
        if now != drawn:
            rows = sum(rows_of(line, size.columns) for line in drawn)
            stream.write(f"\033[{rows}A\r\033[J" if drawn else "")
            stream.write("".join(f"{line}\n" for line in now))
            stream.flush()
            drawn = now
        time.sleep(period)


def rows_of(line: str, width: int) -> int:
    """How many rows of a terminal a line takes: characters of some scripts are two columns wide."""
    wide_signs = sum(unicodedata.east_asian_width(sign) in "WF" for sign in line)
    return max(-(-(len(line) + wide_signs) // width), 1)


def printable(line: str) -> str:
    """A line without control characters, which names and messages may contain."""
    return "".join(sign if sign.isprintable() else "�" for sign in line)
