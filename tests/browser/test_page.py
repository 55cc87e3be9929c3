"""The page in a real browser: no error, no request; sorting, filtering and segments work."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from report.report_models import SEGMENTS, finished_experiment, references, write_report
from support import Ran

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
    pytest.mark.slow,
]

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--enable-logging=stderr", "--virtual-time-budget=5000",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser itself asks for things, too
)  # fmt: skip

EVIL = "<img src=x onerror=\"document.title='hacked'\"><b>bold</b>"

PROBE = """
<script>
window.addEventListener("load", () => {
  const said = {};
  const $ = (id) => document.getElementById(id);
  const column = (table, i) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
    .map((row) => row.cells[i].firstChild.textContent);
  try {
    const table = $("table-pairs");
    const heads = table.tHead.rows[0].cells;
    const press = (i) => heads[i].querySelector("button").click();
    said.tabbable = [...heads].every((head) => head.querySelector("button").tabIndex === 0);
    press(4); said.up = column(table, 4); said.ariaUp = heads[4].getAttribute("aria-sort");
    press(4); said.down = column(table, 4); said.ariaDown = heads[4].getAttribute("aria-sort");
    press(5); said.intervals = column(table, 5);
    const metric = table.closest(".scroll").previousElementSibling.querySelectorAll("select")[0];
    metric.value = "TER"; metric.dispatchEvent(new Event("change"));
    said.filtered = [...new Set(column(table, 1))];
    const cards = () => [...document.querySelectorAll("#segment-list article")];
    const heading = (card) => card.querySelector("header").textContent;
    const change = (card) => parseFloat(heading(card).match(/\\(([-+.\\d]+)\\)/)[1]);
    const set = (id, value, event = "change") => {
      $(id).value = value;
      $(id).dispatchEvent(new Event(event));
    };
    said.gains = cards().map(change);
    set("segment-sort", "loss"); said.losses = cards().map(change);
    set("segment-document", "d1"); said.ofDocument = cards().map(heading);
    set("segment-document", "");
    set("segment-find", FIND, "input"); said.found = cards().length;
    set("segment-find", "", "input");
    set("segment-min", 11, "input");
    said.long = $("browser").querySelector("[role=status]").textContent;
    set("segment-min", "", "input");
    said.images = document.images.length;
    said.bold = document.querySelectorAll("#browser b").length;
    said.marks = document.querySelectorAll("#browser mark.won").length;
    said.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    said.title = document.title;
    said.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
  } catch (error) { said.error = String(error); }
  const out = document.createElement("pre");
  out.id = "probe";
  out.textContent = JSON.stringify(said);
  document.body.append(out);
});
</script>
"""


def browse(folder: Path, page: Path, *more: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *more, page.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def page(replitune: Callable[..., Ran], tmp_path: Path) -> Path:
    systems = {name: ["mert-001", "mert-002", "mira-001"] for name in ("a", "b", "c")}
    settings = finished_experiment(
        replitune, tmp_path, systems, edit=lambda lines: [f"{EVIL} {line}" for line in lines]
    )
    write_report(replitune, tmp_path, settings)
    return tmp_path / "report.html"


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_works(page: Path, tmp_path: Path, width: int):
    word = references()[3]
    probed = tmp_path / "probed.html"
    text = page.read_text("utf-8").replace("</body>", f"{PROBE}</body>")
    probed.write_text(text.replace("FIND", json.dumps(word)), "utf-8")
    ran = browse(tmp_path, probed, "--dump-dom", f"--window-size={width},900")
    found = re.search(r'<pre id="probe">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert found, ran.stderr[-2000:]
    said = json.loads(html.unescape(found[1]))
    assert "error" not in said, said["error"]
    assert "CONSOLE" not in ran.stderr, ran.stderr
    assert said["requests"] == []
    up = [float(x) for x in said["up"]]
    assert (said["ariaUp"], said["ariaDown"]) == ("ascending", "descending")
    assert up == sorted(up)
    assert [float(x) for x in said["down"]] == sorted(up, reverse=True)
    assert said["tabbable"]
    dashes = [x == "–" for x in said["intervals"]]
    assert dashes == sorted(dashes), "what is missing stays at the end"
    assert any(dashes)
    assert said["filtered"] == ["TER"]

    assert said["gains"] == sorted(said["gains"], reverse=True)
    assert said["losses"] == sorted(said["losses"])
    assert len(said["gains"]) == 20
    assert len(said["ofDocument"]) == 4
    assert all(", d1" in heading for heading in said["ofDocument"])
    assert said["found"] == 1
    words = [len(f"{EVIL} {line}".split()) for line in references()]
    long = sum(length >= 11 for length in words)
    assert 0 < long < SEGMENTS
    assert said["long"] == f"{min(long, 20)} of {long} segments"

    assert said["images"] == said["bold"] == 0, "markup in segments is text"
    assert said["title"] == f"{tmp_path.name} – replitune"
    assert said["marks"] > 0
    assert said["wide"] <= 0, "nothing but tables scrolls sideways"


def test_a_request_would_be_noticed(page: Path, tmp_path: Path):
    """The page forbids itself everything from elsewhere, and the browser says so."""
    asking = tmp_path / "asking.html"
    image = '<img src="https://example.org/x.png"></body>'
    asking.write_text(page.read_text("utf-8").replace("</body>", image), "utf-8")
    ran = browse(tmp_path, asking, "--dump-dom")
    assert "CONSOLE" in ran.stderr
    assert "Content Security Policy" in ran.stderr


def test_a_page_of_paper_has_no_controls(page: Path, tmp_path: Path):
    """The print style sheet, and a picture of the page."""
    ran = browse(tmp_path, page, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF"), ran.stderr[-2000:]
    style = page.read_text("utf-8").split("@media print")[1]
    assert re.search(r"nav, \.controls.*display: none", style)
