"""The page in a real browser: first screen, one switcher for all, keyboard, phone, dark, hostile
texts, without JavaScript; no error, no request."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser.chromium import CHROMIUM, Browser
from replitune.results.numbers import interval, score, signed
from replitune.results.result import Result
from report.report_models import SEGMENTS, call, finished_experiment, references, write_report
from support import Ran, made_once

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"), pytest.mark.slow]

EVIL = "<img src=x onerror=\"document.title='hacked'\"><b>bold</b>"
RUNS = ["mert-001", "mert-002", "mira-001", "mira-002"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def page_of(factory: pytest.TempPathFactory, systems: str) -> Path:
    """The page of an experiment, in its folder. Not to be changed by a test."""

    def make(folder: Path) -> None:
        settings = finished_experiment(
            call,
            folder,
            dict.fromkeys(systems, RUNS),
            edit=lambda lines: [f"{EVIL} {line}" for line in lines],
        )
        write_report(call, folder, settings)

    return made_once(factory, f"page-{systems}", make) / "report.html"


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three systems. Not to be changed by a test."""
    return page_of(tmp_path_factory, "abc")


def choose(browser: Browser, id: str, value: str) -> None:
    box = f"document.getElementById({json.dumps(id)})"
    browser.js(
        f"{box}.value = {json.dumps(value)}; {box}.dispatchEvent(new Event('change'));"
        f"{box}.dispatchEvent(new Event('input'))"
    )


SHOWN = "[...document.querySelectorAll('figure.first')].filter((f) => !f.hidden)"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("width", "height", "screens"), [(1280, 900, 1), (390, 844, 2)])
@pytest.mark.parametrize("systems", ["ab", "abc"])
def test_the_first_screen_has_sentence_picture_and_what_is_next(
    browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
    systems: str,
    width: int,
    height: int,
    screens: int,
    dark: bool,
):
    page = page_of(tmp_path_factory, systems)
    browser.look(width, height, dark=dark)
    browser.open(page)
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.js(f"{SHOWN}.length") == 1
    assert browser.js(f"{SHOWN}[0].getBoundingClientRect().top") < height / 2
    bottom = browser.js("document.querySelector('#answer .next').getBoundingClientRect().bottom")
    assert bottom < screens * height
    summary = browser.js("document.querySelector('.headline strong').textContent")
    assert len(summary.split()) <= 30
    assert "a" in summary
    assert "BLEU" in summary
    # the picture has the words of the answers, in one of its two forms
    kind = "wide" if width > 640 else "narrow"
    words = browser.js(f"{SHOWN}[0].querySelector('.{kind}').textContent")
    other = "narrow" if kind == "wide" else "wide"
    assert browser.js(f"getComputedStyle({SHOWN}[0].querySelector('.{other}')).display") == "none"
    cells = [Result.read(page.parent / "tests" / "t1", metric) for metric in ("bleu", "ter-norm")]
    for cell in cells if systems == "ab" else cells[:1]:
        reference = "a" if systems == "ab" else cell.ranked[0]
        for name in {*cell.systems} - {reference}:
            seen = cell.seen(name, reference)
            assert seen is not None
            assert seen.word in words
            assert seen.text.replace("-", "−") in words
    assert browser.js("document.documentElement.scrollWidth") <= width, "nothing is cut off"
    ink, paper = browser.js("['color', 'backgroundColor'].map((n) => getComputedStyle(document.body)[n])")
    light = [sum(map(int, re.findall(r"\d+", colour))) for colour in (ink, paper)]
    assert (light[0] > light[1]) == dark
    drawn = browser.js(f"getComputedStyle({SHOWN}[0].querySelector('svg text[fill=\"var(--ink)\"]')).fill")
    assert drawn == ink, "pictures take the page's colours"
    assert browser.js("performance.getEntriesByName('first-picture')[0].startTime") < 5000


@pytest.mark.parametrize("systems", ["a", "ab", "abc"])
def test_single_runs_and_one_system_have_a_page(
    replitune: Callable[..., Ran], browser: Browser, tmp_path: Path, systems: str
):
    settings = finished_experiment(
        replitune, tmp_path, {name: ["run-001"] for name in systems}, metrics=["length", "bleu"]
    )
    write_report(replitune, tmp_path, settings)
    browser.look(1280)
    browser.open(tmp_path / "report.html")
    assert browser.complaints == []
    assert "One run each" in browser.js(f"{SHOWN}[0].textContent")
    assert browser.js("page.state.metric") == "bleu", "length says nothing of better"
    assert browser.js("document.querySelectorAll('#segment-list article').length") == 5


def test_one_choice_sets_the_whole_page_and_the_fragment(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page)
    for id, value in (("metric", "ter-norm"), ("a", "c"), ("b", "a")):
        choose(browser, f"choose-{id}", value)
    fragment = browser.js("location.hash")
    assert fragment == "#t=t1&m=ter-norm&a=c&b=a"
    assert "TER" in browser.js(f"{SHOWN}.map((f) => f.textContent).join()")
    assert browser.js(f"{SHOWN}.length") == 1
    reasons = browser.js("document.getElementById('reasons').textContent")
    assert "By TER, mean over runs, a is better on " in reasons
    labels = browser.js("[...document.querySelectorAll('#segment-list .label')].map((l) => l.textContent)")
    assert any(label.startswith("A: c ") for label in labels)
    assert any(label.startswith("B: a ") for label in labels)
    said = browser.js("document.querySelector('.said').textContent")
    assert " TER " in said
    # and the address alone brings it back
    browser.open(page, fragment)
    assert browser.js("['metric', 'a', 'b'].map((n) => document.getElementById('choose-' + n).value)") == [
        "ter-norm",
        "c",
        "a",
    ]
    assert browser.complaints == []


def test_any_system_may_be_the_reference(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page)
    cell = Result.read(page.parent / "tests" / "t1", "bleu")
    assert browser.js(f"{SHOWN}[0].dataset.reference") == cell.ranked[0]
    choose(browser, "choose-reference", cell.ranked[2])
    words = browser.js(f"{SHOWN}.map((f) => f.querySelector('.wide').textContent).join()")
    assert browser.js(f"{SHOWN}.length") == 1
    for name in cell.ranked[:2]:
        seen = cell.seen(name, cell.ranked[2])
        assert seen is not None
        assert f"{seen.word}{seen.text.replace('-', '−')}" in words
    choose(browser, "choose-metric", "ter-norm")
    assert browser.js(f"{SHOWN}[0].dataset.reference") == cell.ranked[2]
    assert browser.complaints == []


def test_a_range_filters_the_segments(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    status = "document.querySelector('#browser [role=status]').textContent"
    whole = browser.js(status)
    assert whole == f"5 of {SEGMENTS} segments", "five first"
    browser.js("document.querySelector('#browser button.more').click()")
    assert browser.js("document.querySelectorAll('#segment-list article').length") == SEGMENTS
    choose(browser, "range-low", "-1000")
    choose(browser, "range-high", "-0.001")
    low, high = browser.js("page.state.range")
    assert low < high < 0
    inside = browser.js(
        "JSON.parse(document.getElementById('segment-data').textContent)[0].rows.map(why.difference)"
        ".filter((d) => d >= page.state.range[0] && d <= page.state.range[1]).length"
    )
    assert 0 < inside < SEGMENTS
    said = browser.js(status)
    assert re.match(rf"\d+ of {inside} segments? with a difference in the chosen range", said)
    choose(browser, "choose-b", "c")
    assert browser.js("page.state.range") is None, "another pair has other differences"
    assert browser.js("document.getElementById('range-low').value") == ""


def test_with_the_keyboard_alone(browser: Browser, page: Path):
    """Every control is reached by Tab, is seen where it is, and works."""
    browser.look(1280)
    browser.open(page)
    browser.js("document.getElementById('segments').open = true")
    reached: list[str] = []
    for _ in range(140):
        browser.press("Tab")
        reached.append(
            browser.js(
                "(document.activeElement.id || document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent).slice(0, 40)"
            )
        )
        if reached[-1] == "segment-find":
            break
        outline = browser.js(
            "(() => { const s = getComputedStyle(document.activeElement);"
            "return s.outlineStyle !== 'none' || document.activeElement.matches(':focus-visible');"
            "})()"
        )
        assert outline, reached[-1]
    expected = ["choose-metric", "choose-a", "choose-b", "why-kind", "range-low", "segment-sort"]
    places = [reached.index(id) for id in expected]
    assert places == sorted(places)
    browser.type(references()[3].split()[0])
    assert " of " in browser.js("document.querySelector('#browser [role=status]').textContent")
    browser.js("document.getElementById('choose-metric').focus()")
    browser.press("ArrowDown")
    assert browser.js("page.state.metric") == "ter-norm"
    browser.js("document.getElementById('range-low').focus()")
    browser.type("5")
    browser.press("Enter")
    assert browser.js("page.state.range[0]") == 5
    browser.js("document.querySelector('#pairs > summary').focus()")
    browser.press("Enter")
    assert browser.js("document.querySelector('#pairs').open")


def test_tables_sort_and_filter(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page)
    said = browser.js("""(() => {
      const table = document.getElementById("table-pairs");
      table.closest("details").open = true;
      const column = (i) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
        .map((row) => row.cells[i].firstChild.textContent);
      const heads = table.tHead.rows[0].cells;
      const press = (i) => heads[i].querySelector("button").click();
      press(4); const up = [column(4), heads[4].getAttribute("aria-sort")];
      press(4); const down = [column(4), heads[4].getAttribute("aria-sort")];
      press(5); const intervals = column(5);
      const metric = table.closest(".scroll").previousElementSibling.querySelectorAll("select")[0];
      metric.value = "TER"; metric.dispatchEvent(new Event("change"));
      return { up, down, intervals, filtered: [...new Set(column(1))] };
    })()""")
    up = [float(x) for x in said["up"][0]]
    assert (said["up"][1], said["down"][1]) == ("ascending", "descending")
    assert up == sorted(up)
    assert [float(x) for x in said["down"][0]] == sorted(up, reverse=True)
    dashes = [x == "–" for x in said["intervals"]]
    assert any(dashes)
    assert dashes == sorted(dashes), "what is missing stays at the end"
    assert said["filtered"] == ["TER"]


def test_segments_are_sorted_and_found(browser: Browser, page: Path):
    browser.look(390, 844)
    browser.open(page, "#a=a&b=b")
    browser.js("document.querySelector('#browser button.more').click()")
    headings = "[...document.querySelectorAll('#segment-list header')].map((h) => h.textContent)"

    def changes() -> list[float]:
        found = [re.search(r"all runs, BLEU: ([-+.\d]+)", text) for text in browser.js(headings)]
        return [float(match[1]) for match in found if match]

    gains = changes()
    assert len(gains) == SEGMENTS
    assert gains == sorted(gains, reverse=True)
    choose(browser, "segment-sort", "loss")
    browser.js("document.querySelector('#browser button.more').click()")
    assert changes() == sorted(gains)
    choose(browser, "segment-document", "d1")
    of_document = browser.js(headings)
    assert len(of_document) == 4
    assert all(", d1" in heading for heading in of_document)
    choose(browser, "segment-document", "")
    choose(browser, "segment-find", references()[3])
    assert browser.js("document.querySelectorAll('#segment-list article').length") == 1
    assert browser.js("document.querySelectorAll('#browser mark.won').length") > 0


def test_markup_of_texts_and_names_is_text(
    replitune: Callable[..., Ran], browser: Browser, page: Path, tmp_path: Path
):
    scores = tmp_path / "scores.csv"
    names = [EVIL, "</script><script>document.title='hacked'</script>", "${1}`'\"&amp;"]
    with scores.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["system", "run", "segment", "score"])
        rng = np.random.default_rng(1)
        for shift, name in enumerate(names):
            for run in (1, 2, 3):
                for i, x in enumerate(rng.normal(shift, 1, 30)):
                    writer.writerow([name, run, i, x])
    ran = replitune("compare", "--scores", scores, "--samples", 99, "--html", tmp_path / "names.html")
    assert ran.code == 0, ran.err
    for one in (page, tmp_path / "names.html"):
        browser.look(1280)
        browser.open(one)
        assert browser.complaints == []
        assert browser.js("document.images.length") == 0
        assert browser.js("document.querySelectorAll('main b').length") == 0
        assert browser.js("document.title") != "hacked"
    shown = browser.js("document.getElementById('choose-a').textContent")
    assert all(name in shown for name in names)


def test_without_javascript_every_picture_stands_there(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, scripts=False)
    found = browser.do("DOM.getDocument", depth=-1)["root"]
    tops = []
    for metric in ("bleu", "ter-norm"):
        selector = f"figure.first[data-metric='{metric}'] .wide svg"
        node = browser.do("DOM.querySelector", nodeId=found["nodeId"], selector=selector)["nodeId"]
        tops.append(browser.do("DOM.getBoxModel", nodeId=node)["model"]["content"][1])
    assert tops[0] < 450
    assert tops[0] < tops[1]
    box = browser.do("DOM.querySelector", nodeId=found["nodeId"], selector="#pair")["nodeId"]
    assert "hidden" in browser.do("DOM.getAttributes", nodeId=box)["attributes"]
    assert browser.do("DOM.querySelector", nodeId=found["nodeId"], selector="noscript p")["nodeId"]


def test_no_other_script_runs_and_nothing_is_asked_for(browser: Browser, page: Path, tmp_path: Path):
    """The page forbids it to itself, and the browser says so."""
    asking = tmp_path / "asking.html"
    more = "<script>document.title = 'hacked'</script><img src='https://example.org/x.png'></body>"
    asking.write_text(page.read_text("utf-8").replace("</body>", more), "utf-8")
    browser.open(asking)
    said = " ".join(browser.complaints)
    assert "Content Security Policy" in said
    assert browser.js("document.title") != "hacked"
    browser.open(page)
    assert (browser.complaints, browser.requests) == ([], [])


def test_the_picture_is_saved_as_it_is_shown(browser: Browser, page: Path, tmp_path: Path):
    browser.look(1280, dark=True)
    browser.open(page)
    folder = tmp_path / "saved"
    folder.mkdir()
    browser.do("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    for number in (1, 2):
        browser.js(f"{SHOWN}[0].querySelector('.save button:nth-child({number})').click()")
        time.sleep(0.5)
    files = {path.suffix: path for path in folder.iterdir()}
    assert {".svg", ".png"} <= set(files), list(folder.iterdir())
    svg = files[".svg"].read_text("utf-8")
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    assert "#14191e" in svg, "the colour of the page"
    assert files[".png"].read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def single_runs(replitune: Callable[..., Ran], tmp_path: Path) -> Path:
    """Scores of two systems of which many are equal; the ends of A's are not those of B's."""
    rng = np.random.default_rng(4)
    a = rng.normal(30, 10, 200)
    b = np.where(rng.random(200) < 0.6, a, rng.normal(33, 10, 200))
    b[:2] = -40, 120
    rows = [f"{name},{i},{x!r}" for name, xs in (("a", a), ("b", b)) for i, x in enumerate(xs.tolist())]
    (tmp_path / "scores.csv").write_text("\n".join(["system,segment,score", *rows]) + "\n", "utf-8")
    html = tmp_path / "single.html"
    ran = replitune("compare", "--scores", tmp_path / "scores.csv", "--samples", 99, "--html", html)
    assert ran.code == 0, ran.err
    (tmp_path / "counts.json").write_text(
        json.dumps([int((b > a).sum()), int((b < a).sum()), int((b == a).sum())]), "utf-8"
    )
    return html


def test_equal_segments_are_counted_as_equal(browser: Browser, single_runs: Path):
    better, worse, equal = json.loads((single_runs.parent / "counts.json").read_text("utf-8"))
    assert equal > 100
    browser.look(1280)
    for a, b, counts in (("a", "b", (better, worse)), ("b", "a", (worse, better))):
        browser.open(single_runs, f"#a={a}&b={b}")
        text = browser.js("document.getElementById('reasons').textContent")
        assert f"{b} is better on {counts[0]} segments, {a} on {counts[1]}, and {equal} are equal." in text
        choose(browser, "range-low", "0")
        choose(browser, "range-high", "0")
        assert browser.js("page.state.range") == [0, 0]


def test_numbers_are_printed_as_python_prints_them(browser: Browser, page: Path):
    browser.open(page)
    for x in (0.0, -0.004, 0.0004, 0.0234, 0.9996, 12.345, -3.0):
        y = x + 0.001
        calls = f"score({x}, 2)", f"signed({x}, 3)", f"interval({x}, {y}, 2)"
        said = [browser.js(f"page.said.{call}") for call in calls]
        assert said == [score(x, 2), signed(x, 3), interval(x, y, 2)]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rules of axe-core, by npm where there is one and a network."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm for axe-core")
    folder = tmp_path_factory.mktemp("axe")
    ran = subprocess.run(
        [npm, "install", "--no-save", "--silent", "--prefix", str(folder), "axe-core@4"],
        capture_output=True,
        timeout=120,
    )
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if ran.returncode or not script.exists():
        pytest.skip("axe-core cannot be installed by npm")
    return script.read_text("utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(browser: Browser, page: Path, axe: str, width: int, dark: bool):
    browser.look(width, dark=dark)
    browser.open(page)
    browser.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    browser.js(f"{axe}; 1")
    found: list[dict[str, Any]] = browser.js(
        "axe.run().then((r) => r.violations.map((v) => ({id: v.id, help: v.help,"
        "nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 200) + ' | ' + n.failureSummary)})))"
    )
    assert found == []


def test_a_page_of_paper_has_no_controls(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page)
    browser.do("Emulation.setEmulatedMedia", media="print")
    shown = browser.js(
        "['.save', '.controls'].map((s) => getComputedStyle(document.querySelector(s)).display)"
    )
    assert shown == ["none"] * 2
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert browser.js("document.querySelectorAll('details:not([open])').length") == 0
    browser.js("dispatchEvent(new Event('afterprint'))")
    assert browser.js("document.querySelectorAll('details[open]').length") == 0
    browser.open(page, scripts=False)
    browser.do("DOM.getDocument")
    root = browser.do("DOM.getDocument")["root"]["nodeId"]
    node = browser.do("DOM.querySelector", nodeId=root, selector="#table-pairs")["nodeId"]
    box = browser.do("DOM.getBoxModel", nodeId=node)["model"]
    assert box["height"] > 100, "without scripts, too"
    browser.do("Emulation.setEmulatedMedia", media="")


LONG = "transformer-{}-back-translated-2025-07-31"


def test_names_are_elided_where_they_agree_and_whole_on_a_telephone(
    replitune: Callable[..., Ran], browser: Browser, tmp_path: Path
):
    rng = np.random.default_rng(1)
    rows = [
        f"{LONG.format(name)},{run},{i},{x!r}"
        for shift, name in enumerate(("alpha", "beta", "gamma"))
        for run in (1, 2, 3)
        for i, x in enumerate(rng.normal(shift, 1, 30).tolist())
    ]
    (tmp_path / "t.csv").write_text("\n".join(["system,run,segment,score", *rows]) + "\n", "utf-8")
    ran = replitune(
        "compare", "--scores", tmp_path / "t.csv", "--samples", 99, "--html", tmp_path / "p.html"
    )
    assert ran.code == 0, ran.err
    for width, kind in ((1280, "wide"), (390, "narrow")):
        browser.look(width, 844)
        browser.open(tmp_path / "p.html")
        texts = f"[...{SHOWN}[0].querySelectorAll('.{kind} text')]"
        words = browser.js(f"{texts}.map((t) => t.textContent)")
        for name in ("alpha", "beta", "gamma"):
            shown = LONG.format(name) if kind == "narrow" else f"…{name}…"
            assert shown in words
        heights = browser.js(f"{texts}.map((t) => t.getBoundingClientRect().height)")
        assert min(heights) >= 11
        assert browser.js("document.documentElement.scrollWidth") <= width
