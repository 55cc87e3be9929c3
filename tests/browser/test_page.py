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
from replitune.results.result import Result
from replitune.significance.studies.pilot import model_of
from replitune.significance.studies.planned import FEW_NODES, Plan, Planned
from report.report_models import SEGMENTS, finished_experiment, references, write_report
from support import Ran

pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"), pytest.mark.slow]

EVIL = "<img src=x onerror=\"document.title='hacked'\"><b>bold</b>"
RUNS = ["mert-001", "mert-002", "mira-001", "mira-002"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


def experiment(replitune: Callable[..., Ran], folder: Path, systems: str) -> Path:
    settings = finished_experiment(
        replitune,
        folder,
        dict.fromkeys(systems, RUNS),
        edit=lambda lines: [f"{EVIL} {line}" for line in lines],
    )
    write_report(replitune, folder, settings)
    return folder / "report.html"


@pytest.fixture
def page(replitune: Callable[..., Ran], tmp_path: Path) -> Path:
    """Of three systems."""
    return experiment(replitune, tmp_path, "abc")


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
def test_the_first_screen_has_headline_picture_and_table(
    replitune: Callable[..., Ran],
    browser: Browser,
    tmp_path: Path,
    systems: str,
    width: int,
    height: int,
    screens: int,
    dark: bool,
):
    page = experiment(replitune, tmp_path, systems)
    browser.look(width, height, dark=dark)
    browser.open(page)
    assert browser.complaints == []
    assert browser.requests == []
    tops = dict(browser.js(TOPS))
    first = "forest" if systems == "ab" else "ranks"
    assert min(tops, key=lambda id: tops[id]) == first
    assert tops[first] < height / 2
    wanted = ["forest"] if systems == "ab" else ["ranks", "matrix"]
    table = browser.js("document.getElementById('table-overview').getBoundingClientRect().top")
    assert all(tops[id] < screens * height for id in wanted)
    assert table < screens * height
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
    assert said.startswith("TER: ")
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
        "[...why.differences()].filter((d) => d >= page.state.range[0] && d <= page.state.range[1]).length"
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
        assert "hacked" not in browser.js("document.title")
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
    for id in ("ranks", "matrix", "strip"):
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
    assert "hacked" not in browser.js("document.title")
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
    assert float(rows["BLEU"]["delta"]) == pytest.approx(test.delta, rel=1e-5)
    assert float(rows["BLEU"]["ci_low"]) == pytest.approx(test.ci_low, rel=1e-5)
    assert "\\toprule" in files[".tex"].read_text("utf-8")


def test_power_of_the_sliders_is_pythons(browser: Browser, page: Path):
    browser.look(1280)
    browser.open(page, "#a=a&b=b")
    result = Result.read(page.parent / "tests" / "t1", "bleu")
    test = result.lead_test(("a", "b"))
    assert test is not None
    assert test.variances
    model = model_of(test.variances, SEGMENTS)
    for n, N, tuners in ((4, SEGMENTS, 2), (12, 500, 1), (3, 5000, 1)):
        plan = Planned(model, Plan(n, n, N, tuners), nodes=FEW_NODES)
        deltas = [0.0, 0.5, 2.0, 8.0]
        power, detectable, se = browser.js(f"""(() => {{
          const c = page.cell(), pair = page.pairOf(c, "a", "b");
          const m = power.model(pair.parts, c.segments);
          const plan = power.planned(m, [{n}, {n}], {N}, {tuners}, 0.05);
          return [{deltas}.map(plan.power), plan.detectable(), plan.se];
        }})()""")
        assert se == pytest.approx(float(plan.se), rel=1e-4)
        assert power == pytest.approx([float(plan.power(d)) for d in deltas], abs=1e-3)
        assert detectable == pytest.approx(float(plan.detectable()), rel=2e-3)
    moved = "document.getElementById('picture-power').textContent"
    before = browser.js(moved)
    assert f"it speaks of {test.generalises_to}." in before
    choose(browser, "power-n", "30")
    assert browser.js(moved) != before
    assert "the plan" in browser.js(moved)
    ndtr, chi, t = browser.js("[power.ndtr(1.3), power.chiQuantile(7, 0.9), power.tQuantile(4.5, 0.025)]")
    from scipy import stats

    assert (ndtr, chi, t) == pytest.approx(
        (stats.norm.cdf(1.3), stats.chi2.ppf(0.9, 7), stats.t.isf(0.025, 4.5)), rel=1e-8
    )


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
    browser.do("Emulation.setEmulatedMedia", media="")
