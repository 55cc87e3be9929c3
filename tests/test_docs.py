"""What the pages say is so: links lead somewhere, commands are commands, and those that need
nothing but what is here are run, word for word.

A block of code that begins with ```sh is run by `test_a_page_does_what_it_says`, all of a page in
one go: start.md in an empty folder, every other page in the folder that start.md has left.
Commands in all other blocks need data or programs that are not here; they are parsed.
"""

from __future__ import annotations

import html
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from replitune.cli.main import COMMANDS, parser_of
from support import ROOT

DOCS = ROOT / "docs"
GENERATED = ("configuration.md", "commands.md")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [path for path in sorted(DOCS.glob("*.md")) if path.name not in GENERATED]


def blocks(path: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(path.read_text("utf-8"))
    return [text for language, text in found if language in languages]


def test_the_configuration_page_is_current():
    ran = subprocess.run([sys.executable, ROOT / "scripts" / "make_docs.py", "--check"], check=False)
    assert ran.returncode == 0, "run: python scripts/make_docs.py"


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_pages_that_messages_and_comments_name_are_there():
    kinds = {".py", ".yaml", ".smk", ".md", ".json", ".ipynb", ".toml", ".cff", ".html"}
    tops = ("src", "scripts", "benchmarks", "config", "workflow", "tests", "docs", "paper")
    files = [path for top in tops for path in (ROOT / top).rglob("*") if path.suffix in kinds]
    named = 0
    for path in [*files, *ROOT.glob("*.*")]:
        if path.suffix not in kinds or not path.is_file():
            continue
        for name in re.findall(r"\bdocs/([\w-]+\.md)\b", path.read_text("utf-8")):
            assert (DOCS / name).exists(), f"{path.relative_to(ROOT)}: docs/{name}"
            named += 1
    assert named > 50


def test_every_option_of_every_command_is_explained():
    page = (DOCS / "commands.md").read_text("utf-8")
    assert not re.findall(r"^\| `[^`]*` \| +(?:\(required\) )?\|$", page, flags=re.MULTILINE)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_says_first_for_whom_it_is(page: Path):
    title, _, rest = page.read_text("utf-8").partition("\n")
    assert title.startswith("# ")
    assert rest.lstrip().startswith("*For ")


def commands(path: Path) -> list[list[str]]:
    """Words of every line that begins with `replitune`, in blocks and in indented lines."""
    text = path.read_text("utf-8").replace("\\\n", " ")
    lines = re.findall(r"^ *(?:\.venv/bin/)?(replitune [^\n]*)", text, re.MULTILINE)
    code = "\n".join(body for _, body in BLOCK.findall(text))
    lines = [line for line in lines if line in code or f"    {line}" in text]
    return [shlex.split(line, comments=True) for line in lines]


TYPED = [ROOT / "README.md", DOCS / "commands.md", *PAGES]


@pytest.mark.parametrize("page", TYPED, ids=lambda path: path.stem)
def test_commands_of_a_page_are_commands(page: Path, capsys: pytest.CaptureFixture[str]):
    for _, name, *words in commands(page):
        assert name in COMMANDS, f"{page.name}: replitune {name}"
        if words[:1] == ["STAGE"]:
            continue
        own = words[: words.index("--")] if name == "run" and "--" in words else words
        try:
            parser_of(name).parse_args(own)
        except SystemExit:
            pytest.fail(f"{page.name}: replitune {name} {shlex.join(words)}\n{capsys.readouterr()}")


def test_options_beside_those_of_other_programs_exist():
    known = {name for option in parser_of("compare").options for name in option.option_strings}
    text = (DOCS / "coming-from.md").read_text("utf-8")
    ours = [line.split(" | ")[1] for line in text.split("\n") if re.match(r"\| [^|]* \| ", line)]
    options = [option for cell in ours for option in re.findall(r"(?<!\S)`?(--[a-z][a-z-]+)", cell)]
    assert len(options) > 25
    assert not set(options) - known


def test_the_recording_is_of_what_start_says():
    drawn = html.unescape((DOCS / "figures" / "terminal.svg").read_text("utf-8"))
    (table,) = [text for text in blocks(DOCS / "start.md", "text") if "p crossed" in text]
    assert all(f">{line}<" in drawn for line in table.splitlines()), "python scripts/pictures.py"


def run(page: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = "\n".join(["set -euxo pipefail", *blocks(DOCS / page, "sh")])
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder `try` that start.md makes, and what its commands printed."""
    folder = tmp_path_factory.mktemp("start")
    ran = run("start.md", folder)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder / "try", ran.stdout


@pytest.mark.workflow
@pytest.mark.slow
def test_start_prints_what_it_says(started: tuple[Path, str]):
    (table,) = [text for text in blocks(DOCS / "start.md", "text") if "p crossed" in text]
    assert table in started[1]
    assert (started[0] / "results" / "own-outputs" / "report.html").exists()


RUN = [p.name for p in PAGES if p.name != "start.md" and blocks(p, "sh")]


@pytest.mark.workflow
@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_a_page_does_what_it_says(page: str, started: tuple[Path, str], tmp_path: Path):
    shutil.copytree(started[0], tmp_path / "try")
    ran = run(page, tmp_path / "try")
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_pages_with_commands_to_run_are_many():
    assert set(RUN) >= {"compare.md", "run.md", "adaptive.md", "statistics.md", "operations.md"}
