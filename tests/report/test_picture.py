"""The picture: where it shows things, by its own axes, is what the results say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

import replitune as library
from replitune.report.picture import NARROW, WIDE, Picture, pictures
from replitune.report.report import Report
from replitune.report.shapes import OF_SYSTEMS, PALETTE, PER_INCH, Box, Dot, Drawing, Line, Text
from replitune.results.findings import at_the_top
from replitune.results.result import Result

NAMES = ["base", "transformer-big-of-last-year", "新しいシステム", "Übergröße", "same"]


def scores(
    runs: int, systems: list[str], metrics: tuple[str, ...] = ("accuracy",), **settings: object
) -> Report:
    rng = np.random.default_rng(4)
    items = rng.normal(60, 10, 90)
    rows = [
        {
            "system": name,
            "run": run,
            "item": i,
            "metric": metric,
            "score": float(item + (-1 if metric == "ter" else 1) * (7 * k % 16) + rng.normal(0, 4)),
        }
        for metric in metrics
        for k, name in enumerate(systems)
        for run in range(1, runs + 1)
        for i, item in enumerate(items)
    ]
    columns = {
        "system": "system",
        "replica": "run",
        "segment": "item",
        "score": "score",
        "metric": "metric",
    }
    return library.scores(rows_table(rows), columns=columns, samples=99, **settings)  # type: ignore[arg-type]


def rows_table(rows: list[dict[str, object]]) -> dict[str, list[object]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def axes(drawing: Drawing) -> list[list[tuple[float, float]]]:
    """The places and values of ticks, axis by axis."""
    ticks = [
        s for s in drawing.shapes if isinstance(s, Text) and re.fullmatch(r"[-−+]?\d+(\.\d+)?", s.text)
    ]
    found: list[list[tuple[float, float]]] = []
    for before, tick in pairwise([None, *ticks]):
        if (
            before is None
            or tick.y != before.y
            or tick.x < before.x
            or number(tick.text) < number(before.text)
        ):
            found.append([])
        found[-1].append((tick.x, number(tick.text)))
    return found


def value_at(axis: list[tuple[float, float]], x: float) -> float:
    (x1, v1), *_, (x2, v2) = axis
    return v1 + (x - x1) * (v2 - v1) / (x2 - x1)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_runs_differences_and_intervals_are_where_the_axes_say(width: int):
    report = scores(3, NAMES)
    (cell,) = report.results
    (picture,) = pictures(report.material).values()
    drawing = picture.drawn(width)
    left, right = axes(drawing)
    dots = [s for s in drawing.shapes if isinstance(s, Dot)]
    runs = [dot for dot in dots if dot.fill in OF_SYSTEMS]
    shown = sorted(value_at(left, dot.x) for dot in runs)
    assert shown == pytest.approx(
        sorted(x for s in cell.systems.values() for x in s.scores.values()), abs=0.1
    )
    reference = cell.ranked[0]
    tests = [cell.lead_test((reference, name)) for name in cell.ranked[1:]]
    differences = [dot for dot in dots if dot not in runs]
    assert [value_at(right, dot.x) for dot in differences] == pytest.approx(
        [0.0, *(test.delta for test in tests if test)], abs=0.1
    )
    intervals = [s for s in drawing.shapes if isinstance(s, Line) and s.y1 == s.y2]
    for line, test in zip(intervals, tests, strict=True):
        assert test is not None
        ends = [value_at(right, x) for x in (line.x1, line.x2)]
        assert ends == pytest.approx([test.ci_low, test.ci_high], abs=0.15)
    assert [d.fill == "ink" for d in differences[1:]] == [
        test.p_adjusted <= 0.05 for test in tests if test and test.p_adjusted is not None
    ]


def words(picture: Picture) -> dict[str, str]:
    return {row.name: " ".join(filter(None, row.text)) for row in picture.rows}


def test_words_and_signs_are_of_the_row_whatever_leads():
    """Row minus reference; better and worse also where lower is better."""
    report = scores(4, ["a", "b"], ("accuracy", "ter"))
    (picture,) = pictures(report.material).values()
    said = words(picture)
    for cell, name in zip(report.results, ("accuracy", "ter ↓"), strict=True):
        delta = cell.systems["b"].avg - cell.systems["a"].avg
        assert number(said[name].split()[1]) == pytest.approx(delta, abs=0.01)
        assert said[name].split()[0] == "better"
        assert (delta > 0) == (cell.sign > 0)


def test_without_a_baseline_the_best_is_the_reference():
    report = scores(4, NAMES)
    (picture,) = pictures(report.material).values()
    assert picture.reference == report.results[0].ranked[0]
    assert words(picture)[picture.reference].endswith(", best")
    for row in picture.rows[1:]:
        assert row.seen is not None
        assert row.seen.delta < 0


def test_single_runs_have_dots_and_no_interval():
    report = scores(1, NAMES)
    (picture,) = pictures(report.material).values()
    drawing = picture.drawn()
    assert not [s for s in drawing.shapes if isinstance(s, Line) and s.y1 == s.y2]
    assert {row.seen.word for row in picture.rows if row.seen} == {"one run"}
    assert all("(" not in text for text in words(picture).values())


def test_a_margin_is_a_labelled_band():
    report = scores(4, ["a", "b", "c"], margin=2.5)
    (picture,) = pictures(report.material).values()
    drawing = picture.drawn()
    (band,) = [s for s in drawing.shapes if isinstance(s, Box)]
    right = axes(drawing)[1]
    assert [value_at(right, x) for x in (band.x, band.x + band.width)] == pytest.approx(
        [-2.5, 2.5], abs=0.1
    )
    assert [s.text for s in drawing.shapes if isinstance(s, Text)].count("margin ±2.5") == 1


def test_a_system_has_one_colour_in_all_pictures():
    report = scores(3, NAMES, ("accuracy", "chrf"))
    for picture in pictures(report.material).values():
        for name, colour in zip(NAMES, OF_SYSTEMS, strict=False):
            assert picture.colours[name] == colour


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_outside_and_letters_are_large_enough_on_paper(width: int):
    for report in (scores(3, NAMES), scores(3, NAMES[:2], ("accuracy", "chrf")), scores(1, NAMES[:1])):
        for picture in pictures(report.material).values():
            drawing = picture.drawn(width)
            root = ET.fromstring(drawing.svg())
            assert "var(" not in ET.tostring(root, "unicode")
            for text in (s for s in drawing.shapes if isinstance(s, Text)):
                assert text.size * 72 / PER_INCH >= 6.6
                assert 0 <= text.x <= width
                assert 0 < text.y <= drawing.height
            assert "…" not in "".join(row.name for row in picture.rows)


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_dots_and_letters_stand_out(side: int):
    """WCAG: 3:1 for pictures, 4.5:1 for text."""
    paper = luminance(PALETTE["paper"][side])

    def contrast(name: str) -> float:
        other = luminance(PALETTE[name][side])
        return (max(paper, other) + 0.05) / (min(paper, other) + 0.05)

    assert min(map(contrast, OF_SYSTEMS)) >= 3
    assert min(map(contrast, ("ink", "quiet"))) >= 4.5


def test_files_are_the_same_picture_each_time(tmp_path_factory: pytest.TempPathFactory):
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("files")
    figure = scores(3, NAMES[:2] + NAMES[3:]).plot("comparison")
    for suffix, begins in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        figure.save(folder / f"a.{suffix}")
        figure.save(folder / f"b.{suffix}")
        one, two = ((folder / f"{name}.{suffix}").read_bytes() for name in "ab")
        assert one == two
        assert one.startswith(begins)


def test_results_are_seen_from_either_side():
    (cell,) = scores(4, ["a", "b"]).results
    assert isinstance(cell, Result)
    one, two = cell.seen("a", "b"), cell.seen("b", "a")
    assert one is not None
    assert two is not None
    assert (one.delta, one.low, one.high) == (-two.delta, -(two.high or 0), -(two.low or 0))
    assert {one.word, two.word} == {"better", "worse"}


def test_bold_needs_a_test_against_the_best():
    """With a baseline nobody compares the others with the best, so that the best alone is bold."""
    rng = np.random.default_rng(3)
    lines = [" ".join(rng.choice(list("abcdefghij"), 9)) for _ in range(60)]

    def spoilt(rate: float) -> list[str]:
        return [" ".join(w if rng.random() > rate else "x" for w in line.split()) for line in lines]

    runs = {name: [spoilt(rate) for _ in range(2)] for name, rate in (("a", 0.3), ("b", 0.29), ("c", 0.1))}
    runs["copy"] = runs["a"]
    for baseline in ("a", None):
        report = library.compare([lines], runs, ["bleu"], baseline=baseline, samples=50)
        (cell,) = report.results
        tests = {name: cell.lead_test(("c", name)) for name in runs if name != "c"}
        alike = {name for name, test in tests.items() if test and (test.p_adjusted or 0) > 0.05}
        expected = {"c"} if baseline else {"c", *alike}
        assert {name for name in runs if at_the_top(cell, name)} == expected
        assert ("not shown to differ" in report.table("overview").caption) == (baseline is None)
