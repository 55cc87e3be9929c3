"""Write the reference pages: docs/configuration.md from the schema, docs/commands.md from the
commands themselves (`--check`: only say whether they are current)."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

import yaml

from replitune.cli.main import COMMANDS, parser_of

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "config" / "schema" / "experiment.schema.yaml"
DOCS = ROOT / "docs"

CONFIGURATION = """# Every key of an experiment file

Made from `config/schema/experiment.schema.yaml` by `python scripts/make_docs.py`; do not edit.
`replitune check FILE` validates a file against it. An unknown key is an error.

"""

REFERENCE = """# Every command

Made from the commands themselves by `python scripts/make_docs.py`; do not edit. The commands
exit with 0 when done, 2 when something given to them is wrong or missing (one message says what,
where, and what to do), 1 for anything else, and 128 + the number of a signal. A metric or a test
may carry options: `bleu:tokenize=none,lowercase=true`. All of them also take

| option | meaning |
| --- | --- |
| `--threads N` | threads to use (default 1; `compare`: all) |
| `--log FILE` | also write messages to this file |
| `--record FILE` | write how this command ran, as JSON |

"""

COMMON = ("help", "threads", "log", "record")


def main() -> int:
    schema = yaml.safe_load(SCHEMA.read_text("utf-8"))
    wanted = {
        DOCS / "configuration.md": CONFIGURATION + "\n".join(pages(schema)),
        DOCS / "commands.md": REFERENCE + "\n".join(commands()),
    }
    if "--check" in sys.argv:
        return int(any(page.read_text("utf-8") != text for page, text in wanted.items()))
    for page, text in wanted.items():
        page.write_text(text, encoding="utf-8")
    return 0


def commands() -> list[str]:
    lines = [f"- [`{name}`](#{name}): {what}" for name, what in COMMANDS.items()]
    for name in COMMANDS:
        about = importlib.import_module(f"replitune.cli.{name}").__doc__ or ""
        lines += ["", f"## {name}", "", about.strip(), ""]
        lines += ["| option | meaning |", "| --- | --- |"]
        actions = parser_of(name)._actions
        lines += [option(action) for action in actions if action.dest not in COMMON]
    return [*lines, ""]


def option(action: argparse.Action) -> str:
    """One row. argparse's own help differs from one Python to the next."""
    values = action.metavar or action.dest.upper()
    if action.choices is not None:
        values = escaped("|".join(map(str, action.choices)))
    word = values[0] if isinstance(values, tuple) else values
    if action.nargs == 0:
        word = ""
    elif action.nargs in ("+", "*"):
        word += "..."
    name = ", ".join(action.option_strings)
    asked = " (required)" if action.required and action.option_strings else ""
    about = " ".join((action.help or "").replace("%(default)s", shown_default(action)).split())
    return f"| `{' '.join(filter(None, (name, word)))}` | {escaped(about)}{asked} |"


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def shown_default(action: argparse.Action) -> str:
    listed = isinstance(action.default, (list, tuple))
    return " ".join(map(str, action.default)) if listed else str(action.default)


def pages(schema: dict[str, Any]) -> list[str]:
    defs = schema["$defs"]
    lines = ["## Top level", "", *table(schema, defs)]
    for kind, part in defs["corpus_kinds"].items():
        lines += ["", f"## corpus, kind `{kind}`", "", *table(part, defs)]
    lines += ["", "## A test set (kind `files`)", "", *table(defs["testset"], defs)]
    for backend, part in defs["backends"].items():
        lines += ["", f"## A system, backend `{backend}`", "", part.get("description", ""), ""]
        lines += table(part, defs)
    sections = {
        "replicas": "replicas", "metric": "A metric", "tests": "tests", "method": "A test",
        "tuning": "tuning", "resources": "resources of a system", "studies": "studies",
        "power": "studies: power", "replication": "studies: replication",
        "calibrate": "studies: calibrate", "meta": "studies: meta",
    }  # fmt: skip
    for name, title in sections.items():
        if name not in defs:
            continue
        part = defs[name]
        objects = [part, *part.get("anyOf", [])]
        described = part.get("description", "")
        lines += ["", f"## {title}", "", described, ""]
        for choice in objects:
            if choice.get("properties"):
                lines += table(choice, defs)
    return [*lines, ""]


def table(part: dict[str, Any], defs: dict[str, Any]) -> list[str]:
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    required = part.get("required", [])
    for key, sub in part.get("properties", {}).items():
        whole = resolved(sub, defs)
        default = "required" if key in required else shown(whole)
        description = " ".join(str(whole.get("description", "")).split()).replace("|", "\\|")
        rows.append(f"| `{key}` | {kind(whole, defs)} | {default} | {description} |")
    return rows


def resolved(part: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        target: Any = {"$defs": defs}
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return part


def shown(part: dict[str, Any]) -> str:
    if "default" not in part or part["default"] in ({}, None):
        return ""
    text = yaml.safe_dump(part["default"], default_flow_style=True, width=1000).strip()
    return f"`{text.removesuffix('...').strip()}`"


def kind(part: dict[str, Any], defs: dict[str, Any]) -> str:
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(kind(resolved(p, defs), defs) for p in part["anyOf"]))
    name = part.get("type", "")
    names = [name] if isinstance(name, str) else [n for n in name if n != "null"]
    limits = [
        f"{sign} {part[key]}"
        for key, sign in (
            ("minimum", "≥"),
            ("maximum", "≤"),
            ("exclusiveMinimum", ">"),
            ("exclusiveMaximum", "<"),
        )
        if key in part
    ]  # fmt: skip
    words = {"object": "mapping", "array": "list", "string": "text"}
    return " or ".join(words.get(n, n) for n in names) + (f" {', '.join(limits)}" if limits else "")


if __name__ == "__main__":
    sys.exit(main())
