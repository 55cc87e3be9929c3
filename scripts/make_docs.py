"""Write docs/configuration.md from the schema (`--check`: only say whether it is current)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "config" / "schema" / "experiment.schema.yaml"
TARGET = ROOT / "docs" / "configuration.md"

HEAD = """# Every key of an experiment file

Made from `config/schema/experiment.schema.yaml` by `python scripts/make_docs.py`; do not edit.
`replitune check FILE` validates a file against it. An unknown key is an error.

"""


def main() -> int:
    text = HEAD + "\n".join(pages(yaml.safe_load(SCHEMA.read_text("utf-8"))))
    if "--check" in sys.argv:
        return 0 if TARGET.read_text("utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


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
