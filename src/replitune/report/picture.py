"""The picture of the results: a row for each system, with every run on the metric's own scale, and with the
difference from one system, the reference, beside it. Of two systems, a row for each metric.

It shows answers and scores, and computes nothing but places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from replitune.report.drawing import Figure, Figures, elided
from replitune.report.material import Material
from replitune.report.shapes import OF_SYSTEMS, PER_INCH, Box, Dot, Drawing, Line, Shape, Text, breadth
from replitune.report.tables_scores import anchor
from replitune.results.numbers import score
from replitune.results.result import Result, Seen
from replitune.results.wording import listed

WIDE, NARROW = 900, 380
"""Pixels: of a page of two columns or a screen, and of a telephone, where panels are above each other."""
GAP = 38
BOLD = 1.14
"""How much wider bold letters are."""
LONGEST = 34
"""Letters of a name."""
MANY_DOTS = 60
"""Of more runs of a system, dots have no names."""


@dataclass(frozen=True)
class Row:
    """What a line of the picture is about."""

    name: str
    cell: Result
    lanes: tuple[str, ...]
    """The systems whose runs are shown."""
    seen: Seen | None
    """None for the reference, and where nothing was tested."""
    said: str
    """What stands beside it where there is no verdict."""
    above: str = ""
    """Of two systems: their means."""

    @property
    def ends(self) -> list[float]:
        """Where its interval ends, if it has one."""
        ends = [] if self.seen is None else [self.seen.low, self.seen.high]
        return [end for end in ends if end is not None]

    @property
    def margin(self) -> float | None:
        return None if self.seen is None else self.seen.answer.margin

    @property
    def text(self) -> tuple[str, str]:
        """The verdict in a word, and the numbers."""
        if self.seen is None:
            return "", self.said
        return self.seen.word, minus(self.seen.text)


def minus(text: str) -> str:
    return text.replace("-", "−")


@dataclass(frozen=True)
class Picture:
    """Rows with what they have in common."""

    rows: tuple[Row, ...]
    reference: str
    titles: tuple[str, str]
    caption: str
    colours: dict[str, str]
    """Of systems."""

    @property
    def common(self) -> bool:
        """Whether all rows are on one scale."""
        return len({id(row.cell) for row in self.rows}) == 1 and len(self.rows[0].lanes) == 1

    @property
    def label(self) -> str:
        """The picture in words."""
        said = (f"{row.name}: {' '.join(filter(None, row.text))}" for row in self.rows)
        return f"{self.caption} {'; '.join(said)}."

    def drawn(self, width: int = WIDE) -> Drawing:
        return _Layout(self, width).drawing()


# ---- what is shown


def pictures(material: Material) -> dict[str, Picture]:
    """The pictures of an experiment, by what they are about: a (test set, metric), or of two systems a
    test set, or a metric if there is but one."""
    cells = [cell for cell in material.cells if cell.systems]
    cells.sort(key=lambda cell: cell.metric not in material.people)  # people's answer first
    made = {f"{c.testset}.{c.metric}": _of_many(material, c) for c in cells if len(c.systems) != 2}
    pairs = [cell for cell in cells if len(cell.systems) == 2]
    metrics = list(dict.fromkeys(cell.metric for cell in pairs))
    if len(metrics) == 1 < len(pairs) and len({frozenset(cell.systems) for cell in pairs}) == 1:
        return made | {metrics[0]: _of_two(material, pairs, lambda cell: cell.testset)}
    rows: dict[tuple[str, frozenset[str]], list[Result]] = {}
    for cell in pairs:
        rows.setdefault((cell.testset, frozenset(cell.systems)), []).append(cell)
    for (testset, _), own in rows.items():
        about = testset if testset not in made else f"{testset}.{own[0].metric}"
        made[about] = _of_two(material, own, lambda cell: cell.name)
    return made


def other_references(material: Material, most: int) -> dict[str, list[Picture]]:
    """The pictures of three systems and more with each other system as the reference, where it was compared
    with all: of the first cells, `most` pictures at most."""
    found: dict[str, list[Picture]] = {}
    for about, picture in pictures(material).items():
        cell = picture.rows[0].cell
        if not picture.common or len(cell.systems) < 3:
            continue
        others = [name for name in cell.ranked if name != picture.reference]
        if len(cell.answers) * 2 == len(others) * (len(others) + 1) and len(others) <= most:
            most -= len(others)
            found[about] = [_of_many(material, cell, name) for name in others]
    return found


def colours(material: Material) -> dict[str, str]:
    """The colour of each system: the same in all pictures."""
    names = dict.fromkeys(name for cell in material.cells for name in cell.systems)
    return {name: OF_SYSTEMS[k % len(OF_SYSTEMS)] for k, name in enumerate(names)}


def _runs(cells: Sequence[Result]) -> str:
    """What is shown of each system: ``Every run``."""
    kind = listed(list(dict.fromkeys(cell.kind for cell in cells)))
    single = all(system.n == 1 for cell in cells for system in cell.systems.values())
    return f"One {kind} each" if single else f"Every {kind}"


def _of_many(material: Material, cell: Result, reference: str | None = None) -> Picture:
    reference = reference or anchor(cell, material)
    rows = []
    for name in cell.ranked:
        seen = None if name == reference else cell.seen(name, reference)
        said = f"{score(cell.mean(name), cell.decimals)} {cell.name}"
        if len(cell.systems) > 1 and name in (material.baseline, cell.ranked[0]):
            said += ", baseline" if name == material.baseline else ", best"
        if seen is None and name != reference:
            said = "not tested"
        rows.append(Row(name, cell, (name,), seen, said))
    better = "" if cell.sign > 0 else " (lower is better)"
    return Picture(
        tuple(rows),
        reference,
        (
            f"{_runs([cell])}: {cell.name}{better}",
            f"Difference from {reference}{_intervals(rows)}" if len(rows) > 1 else "",
        ),
        f"{_runs([cell])} of every system by {cell.name} on {cell.testset}, with the mean; "
        f"and differences from {reference}{_intervals(rows)}."
        + (" Lower is better." if better else "")
        + _filled(rows),
        colours(material),
    )


def _of_two(material: Material, cells: Sequence[Result], named: Callable[[Result], str]) -> Picture:
    a, b = (cells[0].answers[0].a, cells[0].answers[0].b) if cells[0].answers else [*cells[0].systems]
    reference, other = (b, a) if b == material.baseline else (a, b)
    rows = []
    for cell in cells:
        down = "" if cell.sign > 0 else " ↓"
        means = " → ".join(score(cell.mean(name), cell.decimals) for name in (reference, other))
        seen = cell.seen(other, reference)
        rows.append(Row(named(cell) + down, cell, (reference, other), seen, "not tested", means))
    units = {cell.name for cell in cells}
    unit = f" by {cells[0].name}" if len(units) == 1 else ""
    lower = " ↓: lower is better." if any(row.name.endswith(" ↓") for row in rows) else ""
    return Picture(
        tuple(rows),
        reference,
        (_runs(cells), f"{other} minus {reference}{_intervals(rows)}"),
        f"{_runs(cells)} of {reference} and {other}{unit}, with the mean, each row on its own scale; and "
        f"{other} minus {reference}{_intervals(rows)}.{lower}" + _filled(rows),
        colours(material),
    )


def _intervals(rows: Sequence[Row]) -> str:
    names = dict.fromkeys(row.seen.answer.interval for row in rows if row.seen and row.ends)
    return ", " + listed([name for name in names if name]) if any(names) else ""


def _filled(rows: Sequence[Row]) -> str:
    text = " Filled: decided." if any(row.seen and row.seen.decided for row in rows) else ""
    return text + (" Shaded: the margin." if any(row.margin for row in rows) else "")


# ---- where it is shown


@dataclass(frozen=True)
class Scale:
    """From numbers to places."""

    low: float
    high: float
    left: float
    right: float

    @classmethod
    def over(cls, values: Sequence[float], left: float, right: float, round_zero: bool = False) -> Scale:
        """For these values, with some room; `round_zero`: with as much on both sides of 0 as on one."""
        low, high = min(values), max(values)
        if round_zero:
            low, high = min(low, 0.0), max(high, 0.0)
        room = 0.06 * (high - low) or max(abs(high), 1.0) * 0.1
        return cls(low - room, high + room, left, right)

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return self.left + part * (self.right - self.left)

    def ticks(self, signed: bool) -> list[tuple[float, str]]:
        """Round numbers and how they are printed, at most one for each 46 pixels."""
        most = max((self.right - self.left) / 46, 2)
        step = round_step((self.high - self.low) / most)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        form = f"+.{decimals}f" if signed else f".{decimals}f"
        return [(k * step, minus(f"{k * step:{form}}") if k else "0") for k in range(first, last + 1)]


def round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, `least` at the least."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{times * power:.12g}") for times in (1, 2, 5, 10) if times * power >= least)


class _Layout:
    """Places of everything in a picture of some width."""

    def __init__(self, picture: Picture, width: int) -> None:
        self.picture, self.width = picture, width
        self.rows = picture.rows
        self.narrow = width < 600
        self.short = elided([row.name for row in self.rows], LONGEST)
        self.shapes: list[Shape] = []
        many = len(self.rows)
        self.size = 13.0 if many < 30 else 12.0
        self.step = (34 if many < 15 else 26 if many < 30 else 20) if picture.common else 64
        self.radius = 4.6 if many < 30 else 3.6

    def drawing(self) -> Drawing:
        paired = bool(self.picture.titles[1])
        if self.narrow:
            bottom = self._panel(self._left, 0, 4, self.width - 4, self.picture.titles[0])
            if paired:
                bottom = self._panel(
                    self._right, bottom + 18, 4, self.width - 4, self.picture.titles[1], said=True
                )
            return Drawing(self.width, bottom, tuple(self.shapes))
        names = max(breadth(self._name(row), self.size) for row in self.rows) + 12
        words = max(breadth(" ".join(row.text), self.size) + 14 for row in self.rows) * 1.04
        if self.rows[0].above:
            words = max(words, max(breadth(row.above, 12) for row in self.rows) + 14)
        left, right = min(names, 0.3 * self.width), self.width - words
        middle = right if not paired else left + (right - left) * 0.47
        bottom = self._panel(self._left, 0, left, middle - GAP / 2, self.picture.titles[0])
        if paired:
            self._panel(self._right, 0, middle + GAP / 2, right - 8, self.picture.titles[1])
        for y, row in zip(self._centres(0), self.rows, strict=True):
            self._write(Text(0, y + 4.5, self._name(row), self.size))
            self._verdict(row, right, y - 6 if row.above else y)
            if row.above:
                self._write(Text(right, y + 16, row.above, 12, "quiet"))
        return Drawing(self.width, bottom, tuple(self.shapes))

    def _name(self, row: Row) -> str:
        return row.name if self.narrow else self.short.get(row.name, row.name)

    def _write(self, *shapes: Shape) -> None:
        self.shapes += shapes

    def _verdict(self, row: Row, x: float, y: float) -> None:
        word, numbers = row.text
        sure = row.seen is not None and row.seen.decided
        if word:
            self._write(Text(x, y + 4.5, word, self.size, "ink" if sure else "quiet", bold=sure))
            x += breadth(f"{word} ", self.size) * (BOLD if sure else 1.0)
        self._write(Text(x, y + 4.5, numbers, self.size, "ink" if row.seen is None or sure else "quiet"))

    # -- panels

    def _top(self, start: float) -> float:
        """Where rows begin below a title."""
        return start + 26

    def _centres(self, start: float) -> list[float]:
        step = self.step + (20 if self.narrow else 0)
        return [
            self._top(start) + step * k + self.step / 2 + (20 if self.narrow else 0)
            for k in range(len(self.rows))
        ]

    def _panel(
        self,
        draw: Callable[[Row, Scale, float], None],
        start: float,
        left: float,
        right: float,
        title: str,
        said: bool = False,
    ) -> float:
        """A title, rows with their axes, and in a narrow picture their names; returns where it ends."""
        signed = draw == self._right
        self._title(title, left if not self.narrow else 0, start, right, signed)
        centres = self._centres(start)
        top, end = self._top(start), centres[-1] + self.step / 2
        values = [self._reach(row, signed) for row in self.rows]
        own = [Scale.over(one or [0.0], left, right, signed) for one in values]
        if self.picture.common:
            scale = Scale.over([x for one in values for x in one] or [0.0], left, right, signed)
            own = [scale] * len(own)
            self._axis(scale, top, end, signed)
            self._band(self.rows, scale, top, end, signed)
        elif signed:
            own = _zero_together(own)
        for row, scale, y in zip(self.rows, own, centres, strict=True):
            if self.narrow:
                self._write(Text(0, y - self.step / 2 - 4, self._name(row), 13))
                if said or len(self.picture.titles[1]) == 0:
                    self._verdict(row, breadth(f"{self._name(row)}  ", 13), y - self.step / 2 - 8.5)
            if not self.picture.common:
                self._axis(scale, y - 24, y + 20, signed)
                self._band([row], scale, y - 24, y + 20, signed)
            draw(row, scale, y)
        return end + (24 if self.picture.common else 6)

    def _title(self, title: str, left: float, start: float, right: float, signed: bool) -> None:
        """In one line, or cut where the panel ends; systems beside it are named with their colours."""
        x = left
        lanes = self.rows[0].lanes
        if not signed and len(lanes) > 1:
            self._write(Text(x, start + 14, f"{title}:", 13, "quiet"))
            x += breadth(f"{title}: ") + 6
            for name in lanes:
                self._write(Dot(x, start + 9.5, 4.6, self.picture.colours[name]))
                text = elided([*lanes]).get(name, name)
                self._write(Text(x + 8, start + 14, text, 13, "quiet"))
                x += breadth(text) + 24
            return
        most = (self.width if signed or self.narrow else right) - left
        words = title.split(" ")
        while breadth(" ".join(words)) > most and len(words) > 3 and "," in title:
            words = " ".join(words).rpartition(",")[0].split(" ")
            title = " ".join(words)
        self._write(Text(left, start + 14, title, 13, "quiet"))

    def _reach(self, row: Row, signed: bool) -> list[float]:
        """The numbers that a row shows in a panel."""
        if not signed:
            return [x for name in row.lanes for x in row.cell.systems[name].scores.values()]
        margin = [] if row.margin is None else [-row.margin, row.margin]
        return [*([] if row.seen is None else [row.seen.delta]), *row.ends, *margin]

    def _axis(self, scale: Scale, top: float, end: float, signed: bool) -> None:
        for value, text in scale.ticks(signed):
            x, zero = scale(value), signed and value == 0
            self._write(Line(x, top, x, end, "quiet" if zero else "line", 1.4 if zero else 1))
            if x + breadth(text, 12) / 2 > self.width:
                continue
            self._write(Text(x, end + (16 if self.picture.common else 12), text, 12, "quiet", "middle"))

    def _band(self, rows: Sequence[Row], scale: Scale, top: float, end: float, signed: bool) -> None:
        """The margin, if all rows have the same one."""
        margins = {row.margin for row in rows if row.margin is not None}
        if len(margins) != 1 or not signed:
            return
        (margin,) = margins
        left, right, text = scale(-margin), scale(margin), f"margin ±{margin:g}"
        self.shapes.insert(0, Box(left, top, right - left, end - top, "band"))
        fits = right - left > breadth(text, 12) + 6
        self._write(Text(left + 3 if fits else right + 3, top + 10, text, 12, "quiet"))

    def _left(self, row: Row, scale: Scale, y: float) -> None:
        """Every run, and the mean."""
        for k, name in enumerate(row.lanes):
            system = row.cell.systems[name]
            at = y if len(row.lanes) == 1 else y - 13 + 18 * k
            named = len(system.scores) <= MANY_DOTS
            for run, value in system.scores.items():
                tip = f"{name} {run}: {score(value, row.cell.decimals)}" if named else ""
                ink = self.picture.colours[name]
                self._write(Dot(scale(value), at, self.radius, ink, opacity=0.85, tip=tip))
            mean = row.cell.mean(name)
            if system.n > 1 and mean is not None:
                x = scale(mean)
                self._write(Line(x, at - 9, x, at + 9, width=2))

    def _right(self, row: Row, scale: Scale, y: float) -> None:
        """The difference with its interval: filled where it is decided."""
        at = y if self.picture.common else y - 4
        if row.seen is None:
            if row.name == self.picture.reference:
                self._write(Dot(scale(0.0), at, 3.6, "ink", "ink"))
            return
        sure = row.seen.decided
        ink = "ink" if sure else "quiet"
        if row.ends:
            low, high = map(scale, row.ends)
            dotted = row.seen.answer.state == "these-outputs"
            self._write(Line(low, at, high, at, ink, 4 if sure else 3, dotted))
        self._write(Dot(scale(row.seen.delta), at, 5.6, "ink" if sure else "paper", ink, 2.4))


def _zero_together(scales: Sequence[Scale]) -> list[Scale]:
    """The same scales with 0 at the same place."""
    before = max(-one.low / (one.high - one.low) for one in scales)
    after = max(one.high / (one.high - one.low) for one in scales)
    whole = before + after
    made = []
    for one in scales:
        size = max(-one.low / (before / whole), one.high / (after / whole))
        made.append(Scale(-size * before / whole, size * after / whole, one.left, one.right))
    return made


# ---- as figures


def comparison(material: Material) -> Figures:
    """Every run, and differences from the baseline or the best system with their intervals, by the test
    that leads. Of two systems, a row for each metric."""
    figures = {}
    for about, picture in pictures(material).items():
        drawing = picture.drawn()
        size = (drawing.width / PER_INCH, drawing.height / PER_INCH)
        figures[about] = Figure(picture.caption, drawing.draw, size, drawing=drawing)
    return figures
