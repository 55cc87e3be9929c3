from __future__ import annotations

import re
import subprocess
import sys

from support import ROOT


def test_the_configuration_page_is_current():
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_docs.py", "--check"], check=False
    )
    assert ran.returncode == 0, "run: python scripts/make_docs.py"


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_option_of_every_command_is_explained():
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert not re.findall(r"^\| `[^`]*` \| +(?:\(required\) )?\|$", page, flags=re.MULTILINE)
