"""Adds pages to the documentation site that are not in docs/; a hook of mkdocs.yml.

README, CHANGELOG, CONTRIBUTING, RELEASE, SECURITY and config/README.md lie where people and programs
look for them. This hook makes pages of them, and turns their links into links between pages. Folders of
results, to which pages link, get a list of their files. The report of an experiment (`extra: report`
names its file) is shown as it is.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASE.md": "release.md",
    "SECURITY.md": "reporting.md",
    "config/README.md": "experiments.md",
}
REPORT = "example/report.html"
EXAMPLE = f"""# A report

*For everybody: what an experiment ends with.* One file, with all tables, figures and segments in
it; this one is of the default experiment (`make run`).
[Read the report](reading-the-report.md) goes through it;
<a href="{REPORT}">here it has a window of its own</a>.

<iframe src="{REPORT}" title="report of an experiment" loading="lazy"
  style="width: 100%; height: 80vh; border: 1px solid #8888"></iframe>
"""

NO_SEARCH = """<script>
if (location.protocol === "file:") {
  const note = document.createElement("p");
  note.style.fontSize = ".65rem";
  note.textContent = "There is no search in pages from files, but in those that are served: "
    + "python3 -m http.server -d build/site";
  document.querySelector("article").prepend(note);
}
</script>
"""
"""The search is a worker, which browsers do not start for a page from a file; so the theme hides it."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        text = linked((ROOT / source).read_text("utf-8"), posixpath.dirname(source))
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "example.md", content=EXAMPLE))
    for folder in sorted((ROOT / "docs" / "results").iterdir()):
        links = [f"- [{path.name}]({path.name})\n" for path in sorted(folder.iterdir())]
        text = f"# Results of {folder.name}\n\n{''.join(links)}"
        files.append(File.generated(config, f"results/{folder.name}/index.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    for source, page in PAGES.items():
        markdown = markdown.replace(f"](../{source})", f"]({page})")
    return re.sub(r"\]\((results/\w+)\)", r"](\1/index.md)", markdown)


def on_post_page(output: str, **_: object) -> str:
    return output.replace("</body>", f"{NO_SEARCH}</body>")


def on_post_build(config: MkDocsConfig) -> None:
    report = ROOT / config.extra["report"]
    if not report.is_file():
        raise PluginError(f"no report to show: {config.extra['report']}; `make run` makes it")
    out = Path(config.site_dir) / REPORT
    out.parent.mkdir(exist_ok=True)
    shutil.copyfile(report, out)


def linked(text: str, folder: str) -> str:
    """The Markdown of a file in a folder of the project, with links as for a page in docs/."""

    def led(match: re.Match[str]) -> str:
        label, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        page = PAGES.get(path, path.removeprefix("docs/"))
        if label == target and path.startswith("docs/"):
            label = page
        return f"[{label}]({page}{anchor or ''})"

    return re.sub(r"\[([^][]*)\]\((?!\w+:)([^)#]+)(#[^)]*)?\)", led, text)
