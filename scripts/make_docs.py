"""Write the files that are made from declarations: config/schema/experiment.schema.json and
docs/configuration.md from settings, docs/commands.md from the commands, docs/answer.schema.json and
docs/compare.schema.json from the classes of answers and of results (`--check`: only say whether they are
current)."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from replitune.backends.registry import BACKENDS
from replitune.cli.main import COMMANDS, parser_of
from replitune.corpus.settings import CORPORA, Columns, TestSetFiles, TrainFiles
from replitune.experiment.settings import Asked, ExperimentSettings, Studies
from replitune.metrics.registry import METRICS
from replitune.notes import Note
from replitune.registry import Registry
from replitune.results.answer import Answer
from replitune.results.document import Document
from replitune.results.summary import Summary
from replitune.settings import Setting, Settings, json_schema, plain, settings_of, words_of
from replitune.significance.base import DETAILS, OF_PEOPLE
from replitune.significance.looks.settings import LookSettings
from replitune.significance.registry import INTERVALS, TESTS
from replitune.significance.settings import ReplicaDesign
from replitune.significance.variances import VarianceRow
from replitune.statistics.findings import Finding
from replitune.tuners import TUNERS

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "config" / "schema" / "experiment.schema.json"
DOCS = ROOT / "docs"

CONFIGURATION = """# Every key of an experiment file

*For people who write an experiment file, to look things up.* Made from the settings where the code
declares them by `python scripts/make_docs.py`; do not edit. `replitune check FILE` lists everything
that is wrong with a file, with its lines. Editors that read JSON schemas complete and check keys
while you type: the first line of the files in `config/` names the schema.

"""

REFERENCE = """# Every command

*For people who type commands, to look things up.* Made from the commands themselves by `python
scripts/make_docs.py`; do not edit. The commands exit with 0 when done, 2 when something given to
them is wrong or missing (one message says what, where, and what to do), 1 for anything else, and
128 + the number of a signal. A metric or a test may have options:
`bleu:tokenize=none,lowercase=true`. All of them also take

| option | meaning |
| --- | --- |
| `--threads N` | threads to use (default 1; `compare`: all), where there is a use for them |
| `--log FILE` | also write messages to this file |

`replitune --completion bash` (or `zsh`, `fish`) prints what a shell needs to complete them:
`eval "$(replitune --completion bash)"` in `~/.bashrc`.

"""

COMMON = ("help", "threads", "log", "record")


def main() -> int:
    wanted = {
        SCHEMA: pretty(schema()),
        DOCS / "answer.schema.json": pretty(
            published(
                "answer",
                "The answers of replitune",
                "About a pair of systems (Answer), and about all of them (Summary).",
                Answer,
                Summary,
            )
        ),
        DOCS / "compare.schema.json": pretty(
            published(
                "compare",
                "Results of replitune",
                "What `replitune compare` and `replitune test` found (--json), and, without a summary, "
                "what an experiment keeps of each test set and metric. Numbers are unrounded. What "
                "cannot be computed is null, and a note says why; there is no NaN.",
                root=Document,
            )
        ),
        DOCS / "configuration.md": CONFIGURATION + "\n".join(pages()) + "\n",
        DOCS / "commands.md": REFERENCE + "\n".join(commands()),
    }
    if "--check" in sys.argv:
        stale = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: python scripts/make_docs.py")
        return int(bool(stale))
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


def pretty(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """The JSON schema of an experiment file."""
    definitions: dict[str, Any] = {}
    root = json_schema(ExperimentSettings, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "replitune experiment",
        "description": "One experiment; everything it makes is under results/<experiment>/.",
        **root,
        "$defs": definitions,
    }


def published(name: str, title: str, about: str, *kinds: Any, root: Any = None) -> dict[str, Any]:
    """The JSON schema of structs, with the docstring of each field."""
    kinds = (*kinds, *([root] if root else []))
    _, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    for module in {
        inspect.getmodule(kind) for kind in (Answer, Summary, Document, VarianceRow, Note, Finding)
    }:
        for node in ast.parse(inspect.getsource(module)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            fields = definitions.get(node.name, {}).get("properties", {})
            for field, after in pairwise(node.body):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    told = fields.get(ast.unparse(field.target))
                    if told is not None:
                        told["description"] = " ".join(ast.literal_eval(after.value).split())
    of_root = definitions.pop(root.__name__) if root else {}
    if root:
        for one in definitions.values():
            one["additionalProperties"] = False
        definitions["Method"]["properties"]["details"]["properties"] = {
            name: {"type": "number", "description": what} for name, what in {**DETAILS, **OF_PEOPLE}.items()
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{name}.schema.json",
        "title": title,
        "description": about,
        **{key: of_root[key] for key in ("type", "properties", "required") if key in of_root},
        "additionalProperties": not root,
        "$defs": definitions,
    }


def commands() -> list[str]:
    lines = [f"- [`{name}`](#{name}): {what}" for name, what in COMMANDS.items()]
    for name in COMMANDS:
        about = importlib.import_module(f"replitune.cli.{name}").__doc__ or ""
        # examples are indented by two on a terminal, but Markdown needs four for code
        lines += ["", f"## {name}", "", re.sub(r"(?m)^(?=  )", "  ", about.strip()), ""]
        lines += ["| option | meaning |", "| --- | --- |"]
        actions = parser_of(name)._actions
        lines += [option(action) for action in actions if action.dest not in COMMON]
    return [*lines, ""]


def option(action: argparse.Action) -> str:
    """The row of one option. (argparse's own help differs between versions of Python.)"""
    values = action.metavar or action.dest.upper()
    if action.choices is not None:
        values = "|".join(map(str, action.choices))
    word = escaped(values[0] if isinstance(values, tuple) else values)
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


def pages() -> Iterator[str]:
    yield from section("## Top level", ExperimentSettings)
    for kind, declared in CORPORA.items():
        yield from section(f"## corpus, kind `{kind}`", declared)
    yield from section("### Parallel text", TrainFiles)
    yield from section("### A test set", TestSetFiles)
    yield from section("### Columns of TSV", Columns)
    for name in BACKENDS.names:
        declared = BACKENDS[name].Settings
        yield from section(f"## A system, backend `{name}`", declared, shown=("backend",))
        for setting in settings_of(declared).values():
            nested = model_of(setting.type)
            if nested is not None and setting.name not in ("resources",):
                yield from section(f"### `{setting.name}` of backend `{name}`", nested)
    yield from section("## resources of a system", model_of(setting_of("phrase", "resources").type))
    yield from section("## replicas, beside their numbers", ReplicaDesign)
    yield from section("### Numbers that the experiment decides itself", LookSettings)
    yield from section("## tuning", type(default("tuning")))
    yield from registry("tuner", "## Tuners", TUNERS)
    yield from registry("metric", "## Metrics", METRICS)
    yield from section("## tests", type(default("tests")))
    yield from registry("test", "## Tests", TESTS)
    yield from registry("interval", "## Intervals", INTERVALS)
    yield from section("## studies", Studies)
    for name, setting in settings_of(Studies).items():
        (asked,) = [extra for extra in get_args(setting.type)[1:] if isinstance(extra, Asked)]
        yield from section(f"### studies: {name}", asked.settings)


def default(name: str) -> Any:
    return settings_of(ExperimentSettings)[name].default


def setting_of(backend: str, name: str) -> Setting:
    return settings_of(BACKENDS[backend].Settings)[name]


def model_of(hint: Any) -> Any:
    """The class of settings in a type, or None."""
    if isinstance(hint, type) and (issubclass(hint, Settings) or is_declared(hint)):
        return hint
    for inner in get_args(hint) if get_origin(hint) is not None else ():
        found = model_of(inner)
        if found is not None:
            return found
    return None


def is_declared(hint: type) -> bool:
    return hasattr(hint, "__dataclass_fields__") and bool(settings_of(hint))


def registry(kind: str, title: str, things: Registry[Any]) -> Iterator[str]:
    yield from ("", title, "")
    if kind == "tuner":
        yield "Their settings, each tuner's under its name in `tuning`."
    else:
        yield "By name; with options as `{name: NAME, option: value}`, or as a text,"
        yield "`NAME:option=value,option=value`. `id` gives rows and files another name."
    for name in things.names:
        options = things.settings(name)
        yield from ("", f"### `{name}`", "")
        if options:
            yield from table(options)
        else:
            yield "No options."


def section(title: str, declared: Any, shown: tuple[str, ...] = ()) -> Iterator[str]:
    yield from ("", title, "") if not title.startswith("## Top") else (title, "")
    said = " ".join((declared.__doc__ or "").split("\n\n")[0].split())
    if said:
        yield from (said, "")
    yield from table(settings_of(declared))


def table(settings: dict[str, Setting]) -> Iterator[str]:
    yield from ("| key | value | default | meaning |", "| --- | --- | --- | --- |")
    for setting in settings.values():
        value = escaped(words_of(setting.type, []))
        said = escaped(" ".join(setting.description.split()))
        yield f"| `{setting.name}` | {value} | {default_words(setting)} | {said} |"


def default_words(setting: Setting) -> str:
    if setting.required:
        return "required"
    value = plain(setting.default, sparse=True)
    if value is None or value in ({}, []):
        return ""
    return f"`{escaped(json.dumps(value, ensure_ascii=False))}`"


if __name__ == "__main__":
    sys.exit(main())
