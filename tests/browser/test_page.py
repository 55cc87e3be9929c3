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
from replitune.report.planning import RUN_STOPS, SEGMENT_STOPS
from replitune.results.numbers import interval, p_value, score, signed
from replitune.results.result import Result
from replitune.results.wording import generalises_to
from replitune.significance.studies.pilot import model_of
from replitune.significance.studies.planned import FEW_NODES, Plan, Planned
from replitune.significance.variances import bottleneck, shares
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


TOPS = """[...document.querySelectorAll('.picture')].filter((f) => !f.hidden)
.map((f) => [f.id.replace('picture-', ''), f.getBoundingClientRect().top + scrollY])"""


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
    tops = dict(browser.js(TOPS))
    first = "forest" if systems == "ab" else "against"
    assert min(tops, key=lambda id: tops[id]) == first
    assert tops[first] < height / 2
    bottom = browser.js("document.querySelector('#answer .counts').getBoundingClientRect().bottom")
    assert bottom < screens * height
    summary = browser.js("document.querySelector('.headline strong').textContent")
    assert len(summary.split()) <= 30
    # the picture has the words of the answers, of a narrow one the sizes
    words = browser.js(f"document.getElementById('picture-{first}').textContent")
    told = "(p) => [c.systems[p.a].name, c.systems[p.b].name, p.told.text]"
    anchor, cells = browser.js(f"[page.cell().anchor, page.data.cells.map((c) => c.pairs.map({told}))]")
    every = [pair for cell in cells for pair in cell] if systems == "ab" else cells[0]
    shown = [text for a, b, text in every if anchor in (a, b)]
    assert len(shown) == 2
    for text in shown:
        wanted = text if width > 620 or systems == "ab" else text.split(" by ")[1].split()[0]
        assert wanted.replace(" ", "") in words.replace(" ", "")
    assert browser.js("document.documentElement.scrollWidth") <= width, "nothing is cut off"
    ink, paper = browser.js("['color', 'backgroundColor'].map((n) => getComputedStyle(document.body)[n])")
    light = [sum(map(int, re.findall(r"\d+", colour))) for colour in (ink, paper)]
    assert (light[0] > light[1]) == dark
    drawn = browser.js("getComputedStyle(document.querySelector('.canvas > svg')).color")
    assert drawn == ink, "pictures take the page's colours"
    said = browser.js("document.querySelector('.headline strong').textContent")
    assert "a" in said
    assert "BLEU" in said
    assert browser.js("performance.getEntriesByName('first-picture')[0].startTime") < 5000


@pytest.mark.parametrize("systems", ["a", "ab", "abc"])
def test_single_runs_have_no_pictures_of_runs(
    replitune: Callable[..., Ran], browser: Browser, tmp_path: Path, systems: str
):
    """One run of each system, and one system."""
    settings = finished_experiment(
        replitune, tmp_path, {name: ["run-001"] for name in systems}, metrics=["length", "bleu"]
    )
    write_report(replitune, tmp_path, settings)
    browser.look(1280)
    browser.open(tmp_path / "report.html")
    assert browser.complaints == []
    shown = {id for id, _ in browser.js(TOPS)}
    assert not shown & {"strip", "doubt", "power", "convergence", "looks"}
    assert ("forest" in shown) == (len(systems) > 1)
    assert browser.js("document.getElementById('doubts').hidden")
    assert browser.js("page.state.metric") == "bleu", "length says nothing of better"
    assert browser.js("document.querySelectorAll('#segment-list article').length") == 5


def test_one_switcher_sets_the_whole_page_and_the_fragment(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page)
    for id, value in (("metric", "ter-norm"), ("a", "c"), ("b", "a"), ("test", "clark")):
        choose(browser, f"choose-{id}", value)
    fragment = browser.js("location.hash")
    assert fragment == "#t=t1&m=ter-norm&k=clark&a=c&b=a"
    for picture in ("forest", "strip", "histogram", "groups", "words"):
        text = browser.js(f"document.getElementById('picture-{picture}').textContent")
        assert re.search(r"TER|n-gram", text), picture
        assert "c" in text
    labels = browser.js("[...document.querySelectorAll('#segment-list .label')].map((l) => l.textContent)")
    assert any(label.startswith("A: c ") for label in labels)
    assert any(label.startswith("B: a ") for label in labels)
    said = browser.js("document.getElementById('said').textContent")
    assert " TER " in said
    # and the address alone brings it back
    browser.open(page, fragment)
    assert browser.js(
        "['metric', 'test', 'a', 'b'].map((n) => document.getElementById('choose-' + n).value)"
    ) == ["ter-norm", "clark", "c", "a"]
    assert browser.complaints == []


def test_a_click_in_the_matrix_sets_the_pair_everywhere(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=b&b=a")
    cell = '#picture-matrix [data-mark="cell"] rect:nth-of-type(1)'
    expected = browser.js(f"Plot.select(document.querySelector({json.dumps(cell)})).datum()")
    assert expected == 0
    before = browser.js("[page.state.a, page.state.b]")
    for number in range(1, 7):
        browser.click(f'#picture-matrix [data-mark="cell"] rect:nth-of-type({number})')
        if browser.js("[page.state.a, page.state.b]") != before:
            break
    a, b = browser.js("[page.state.a, page.state.b]")
    assert [a, b] != before
    assert browser.js("document.getElementById('choose-a').value") == a
    labels = browser.js("[...document.querySelectorAll('#segment-list .label')].map((l) => l.textContent)")
    assert any(label.startswith(f"A: {a} ") for label in labels)


def test_a_run_of_the_strip_shows_its_segments_and_all_outputs_are_counted(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    browser.click('#picture-strip [data-mark="dot"] path:nth-of-type(3)')
    system, run = browser.js("page.state.run")
    assert run in RUNS
    labels = browser.js("[...document.querySelectorAll('#segment-list .label')].map((l) => l.textContent)")
    assert any(f": {system} {run}" in label for label in labels)
    browser.js("document.querySelector('#segment-list details').open = true")
    counts = browser.js(
        "[...document.querySelector('#segment-list details').querySelectorAll('.pair > div')].map("
        "(side) => [...side.querySelectorAll('.times')].map((t) => parseInt(t.textContent)))"
    )
    assert [sum(side) for side in counts] == [len(RUNS), len(RUNS)]


def test_a_brush_filters_the_segments(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    status = "document.querySelector('#browser [role=status]').textContent"
    whole = browser.js(status)
    assert whole == f"5 of {SEGMENTS} segments", "five first"
    browser.click("#browser button.more")
    assert browser.js("document.querySelectorAll('#segment-list article').length") == SEGMENTS
    x, y = browser.place("#picture-histogram svg .overlay")
    browser.mouse(
        ("mousePressed", x - 150, y),
        ("mouseMoved", x - 60, y),
        ("mouseMoved", x - 20, y),
        ("mouseReleased", x - 20, y),
    )
    low, high = browser.js("page.state.range")
    assert low < high < 0
    inside = browser.js(
        "JSON.parse(document.getElementById('segment-data').textContent)[0].rows.map(why.difference)"
        ".filter((d) => d >= page.state.range[0] && d <= page.state.range[1]).length"
    )
    assert 0 < inside < SEGMENTS
    said = browser.js(status)
    assert re.match(rf"\d+ of {inside} segments? with a difference in the chosen range", said)
    assert browser.js("document.getElementById('range-low').value") != ""
    choose(browser, "choose-b", "c")
    assert browser.js("page.state.range") is None, "another pair has other differences"


def test_with_the_keyboard_alone(browser: Browser, page: Path):
    """Every control is reached by Tab, is seen where it is, and works."""
    browser.look(1280)
    browser.open(page)
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
    expected = ["choose-metric", "choose-a", "choose-b", "range-low", "why-kind", "segment-sort"]
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
    browser.js("document.querySelector('#tables details summary').focus()")
    browser.press("Enter")
    assert browser.js("document.querySelector('#tables details').open")


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


def test_without_javascript_the_static_pictures_stand_there(
    replitune: Callable[..., Ran], browser: Browser, page: Path, tmp_path: Path
):
    browser.look(1280)
    browser.open(page, scripts=False)
    found = browser.do("DOM.getDocument", depth=-1)["root"]
    text = json.dumps(found)
    assert "t1.bleu.ranking" in text
    tops = []
    for id in ("against", "matrix", "strip"):
        node = browser.do("DOM.querySelector", nodeId=found["nodeId"], selector=f"#picture-{id} svg")[
            "nodeId"
        ]
        tops.append(browser.do("DOM.getBoxModel", nodeId=node)["model"]["content"][1])
    assert tops[0] < 450
    box = browser.do("DOM.querySelector", nodeId=found["nodeId"], selector="#switch")["nodeId"]
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


def test_pictures_are_saved_with_their_numbers(browser: Browser, page: Path, tmp_path: Path):
    browser.look(1280, dark=True)
    browser.open(page, "#a=a&b=b")
    folder = tmp_path / "saved"
    folder.mkdir()
    browser.do("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    for kind in ("SVG", "PNG", "CSV", "LaTeX"):
        label = f'#picture-forest .save button[aria-label^="{kind}"]'
        browser.js(f"document.querySelector({json.dumps(label)}).click()")
        time.sleep(0.5)
    files = {path.suffix: path for path in folder.iterdir()}
    assert {".svg", ".png", ".csv", ".tex"} <= set(files), list(folder.iterdir())
    svg = files[".svg"].read_text("utf-8")
    assert svg.startswith("<svg")
    assert "var(--" not in svg
    assert "#14191e" in svg, "the colour of the page"
    assert files[".png"].read_bytes().startswith(b"\x89PNG")
    with files[".csv"].open(encoding="utf-8", newline="") as handle:
        rows = {row["metric"]: row for row in csv.DictReader(handle)}
    tests = Result.read(page.parent / "tests" / "t1", "bleu")
    test = tests.lead_test(("a", "b"))
    assert test is not None
    assert float(rows["BLEU"]["better_by"]) == pytest.approx(test.delta, rel=1e-5)
    assert float(rows["BLEU"]["low"]) == pytest.approx(test.ci_low, rel=1e-5)
    assert "\\toprule" in files[".tex"].read_text("utf-8")


PATHS = """(() => {
  const figure = document.querySelector("#picture-power .canvas > svg");
  const [x, y] = ["x", "y"].map(figure.scale);
  return [...figure.querySelectorAll('[data-mark="line"] path')].map((path) =>
    Array.from({ length: 81 }, (_, i) => {
      const { x: left, y: top } = path.getPointAtLength((i * path.getTotalLength()) / 80);
      return [x.invert(left), y.invert(top)];
    }));
})()"""


AT_WANTED = """(() => {
  page.data.plans.wanted = 0.5;
  page.set({});
  const figure = document.querySelector("#picture-power .canvas > svg"), y = figure.scale("y");
  return [['[data-mark="rule"] line', "y1"], ['[data-mark="dot"] circle', "cy"]].map(([mark, name]) =>
    y.invert(Number(figure.querySelector(mark).getAttribute(name))));
})()"""


def test_the_sliders_show_the_power_that_python_computes(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    result = Result.read(page.parent / "tests" / "t1", "bleu")
    test = result.lead_test(("a", "b"))
    assert test is not None
    model = model_of(test.variances, SEGMENTS)
    sizes = sorted({*SEGMENT_STOPS, SEGMENTS})
    text = "document.querySelector('#picture-power figcaption').textContent"
    assert f"it holds for {generalises_to(test)}." in browser.js(text)
    own = Planned(model, Plan(4, 4, SEGMENTS, 2), nodes=FEW_NODES)
    plans: list[tuple[int | None, int | None, Planned]] = [(None, None, own)]
    for row in (0, 6, len(RUN_STOPS) - 1):
        for column in (0, 3, len(sizes) - 1):
            n = 2 * RUN_STOPS[row]
            plans.append((row, column, Planned(model, Plan(n, n, sizes[column], 2), nodes=FEW_NODES)))
    for row, column, plan in plans:
        said = f"With 4 runs and {SEGMENTS} segments"
        if row is not None and column is not None:
            choose(browser, "power-n", str(row))
            choose(browser, "power-segments", str(column))
            said = f"With {2 * RUN_STOPS[row]} runs and {sizes[column]:,} segments"
        found = score(float(plan.detectable()), result.decimals)
        caption = browser.js(text)
        assert caption.startswith(f"{said}, a difference of {found} BLEU is found"), caption
        percent = re.search(r"with probability ([<>]?)(\d+)%", caption)
        assert percent
        power = 100 * float(plan.power(test.delta))
        assert percent[1] or abs(int(percent[2]) - power) <= 0.51
        curve = np.array(browser.js(PATHS)[-1])
        inside = curve[:, 0] <= 3 * float(plan.detectable())
        assert inside.sum() > 20
        assert curve[inside, 1] == pytest.approx(plan.power(curve[inside, 0]), abs=0.02)
    assert browser.js(AT_WANTED) == pytest.approx([0.5, 0.5]), "the line, and the first dot on it"
    assert browser.complaints == []


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


def test_equal_segments_are_equal_and_have_a_bin_of_their_own(browser: Browser, single_runs: Path):
    better, worse, equal = json.loads((single_runs.parent / "counts.json").read_text("utf-8"))
    assert equal > 100
    browser.look(1280)
    for a, b, counts in (("a", "b", (better, worse)), ("b", "a", (worse, better))):
        browser.open(single_runs, f"#a={a}&b={b}")
        caption = browser.js("document.querySelector('#picture-histogram figcaption').textContent")
        assert f"{b} is better on {counts[0]}, {a} on {counts[1]}, equal on {equal}." in caption
        grey, left, right = browser.js("""(() => {
          const figure = document.querySelector("#picture-histogram .canvas > svg");
          const x = figure.scale("x");
          const bars = [...figure.querySelectorAll('[data-mark="rect"] rect')].map((bar) => {
            const [left, width] = ["x", "width"].map((name) => Number(bar.getAttribute(name)));
            return [bar.getAttribute("fill"), x.invert(left), x.invert(left + width)];
          });
          const of = (fill) => bars.filter(([colour]) => colour === `var(--${fill})`);
          return [of("quiet"), of("c1"), of("c2")];
        })()""")
        assert len(grey) == 1
        assert grey[0][1] < 0 < grey[0][2]
        assert all(end < 0 for _, _, end in left), "where A is better"
        assert all(start > 0 for _, start, _ in right), "where B is better"
        # typed ends filter by the same differences
        choose(browser, "range-low", "0")
        choose(browser, "range-high", "0")
        assert browser.js("page.state.range") == [0, 0]


def test_the_bar_has_the_shares_of_the_sentence(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    test = Result.read(page.parent / "tests" / "t1", "bleu").lead_test(("a", "b"))
    assert test is not None
    expected = shares(test.variances)
    caption = browser.js("document.querySelector('#picture-doubt figcaption').textContent")
    for one in expected:
        what = "the test set" if one.row.about is None else f"runs of {one.row.about}"
        first = f"{one} of the doubt about b − a by BLEU is due to {what}"
        assert not one.row.share or f"{what} {one}" in caption or caption.startswith(first)
    sentence = bottleneck(test.variances)
    assert sentence is not None
    percents = {one.percent for one in expected} | {100 - expected[0].percent}
    without_limits = re.sub(r"\([^)]* with so few runs\)", "", sentence)
    assert {int(number) for number in re.findall(r"(\d+)%", without_limits)} <= percents


def test_numbers_are_printed_as_python_prints_them(browser: Browser, page: Path):
    browser.open(page)
    for x in (0.0, -0.004, 0.0004, 0.0234, 0.9996, 12.345, -3.0):
        y = x + 0.001
        calls = f"score({x}, 2)", f"signed({x}, 3)", f"interval({x}, {y}, 2)"
        said = [browser.js(f"page.said.{call}") for call in calls]
        assert said == [score(x, 2), signed(x, 3), interval(x, y, 2)]
        if 0 <= x <= 1:
            assert browser.js(f"page.said.p({x})") == p_value(x)


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
        "['.switch', 'nav', '.save', '.controls'].map((s) =>"
        "getComputedStyle(document.querySelector(s)).display)"
    )
    assert shown == ["none"] * 4
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


LONG = "transformer-{}-back-translated-2025"


def test_names_are_elided_where_they_agree_and_nowhere_else(
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
    for width in (1280, 390):
        browser.look(width, 844)
        browser.open(tmp_path / "p.html")
        for picture in ("against", "matrix", "strip"):
            texts = f"[...document.querySelectorAll('#picture-{picture} .canvas text')]"
            words = browser.js(f"{texts}.map((t) => t.textContent)")
            for name in ("alpha", "beta", "gamma"):
                assert any(text.startswith("…") and name in text for text in words), (picture, name)
        sizes = "(t) => parseFloat(getComputedStyle(t).fontSize)"
        assert min(browser.js(f"[...document.querySelectorAll('.canvas text')].map({sizes})")) >= 11
        assert browser.js("document.documentElement.scrollWidth") <= width
