"""The documentation site: built strictly; its pages ask for nothing but the files of the site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support import ROOT

PAGES = re.compile(r"<(?:script|img|iframe|source|audio|video)\b[^>]*?\bsrc=\"?([^\"\s>]+)")
LINKS = re.compile(r"<link\b[^>]*>")
REPORT = "<!doctype html><title>report</title><p>All of a report."


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("mkdocs") is None:
        pytest.skip("the extra `docs` is not installed: pip install -r locks/docs.txt")
    folder = tmp_path_factory.mktemp("site")
    (folder / "report.html").write_text(REPORT)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / "s")]
    env = {**os.environ, "REPORT": str(folder / "report.html"), "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder / "s"


def test_every_page_of_the_documentation_is_in_the_menu():
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": ([\w-]+\.md)$", config, re.MULTILINE))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} <= listed


def test_pages_ask_for_files_of_the_site_alone(site: Path):
    asked = 0
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        for target in PAGES.findall(text):
            # the page of what is not there can be shown for any address
            file = page.parent / target.removeprefix("/replitune/").partition("?")[0]
            assert target.startswith("data:") or file.exists(), f"{page.name}: {target}"
            asked += 1
        for link in LINKS.findall(text):
            if "canonical" not in link:  # that is a name, and not loaded
                assert not re.search(r'href="?(\w+:)?//', link), f"{page.name}: {link}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text("utf-8"))
    assert asked > 25


def test_readme_and_report_are_pages(site: Path):
    assert (site / "example" / "report.html").read_text("utf-8") == REPORT
    assert 'src="example/report.html"' in (site / "example.html").read_text("utf-8")
    index = (site / "index.html").read_text("utf-8")
    assert 'href="experiments.html"' in index, "links of README.md lead to pages"
    assert 'href="docs/' not in index


def test_search_knows_pages_and_reference(site: Path):
    text = (site / "search" / "search_index.json").read_text("utf-8")
    for location in ("statistics.html", "commands.html", "reference.html"):
        assert f'"{location}' in text


def test_how_to_cite_is_found_first_and_the_start_page_shows_a_report(site: Path):
    """By the words of a heading, which count most."""
    records = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    citing = [r["location"] for r in records if r["title"].lower() == "how to cite"]
    assert citing == ["index.html#how-to-cite"]
    index = (site / "index.html").read_text("utf-8")
    assert 'src="figures/report.png"' in index.replace("src=figures/report.png", 'src="figures/report.png"')
    assert index.index("replitune compare") < index.index("figures/report.png") < index.index("try-it")
    assert "There is no search in pages from files" in index
