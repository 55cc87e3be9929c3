"""Every key of an experiment file, wrong in three ways: a value of another type, one of the right type that
is not allowed, and a misspelt name. They are made from the published schema, by which an implementation of
JSON Schema that is not ours says what is wrong, and stand in as few files as possible."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from replitune.experiment.reading import load
from replitune.experiment.settings import ExperimentSettings
from replitune.experiment.yaml_file import ExperimentError
from replitune.settings import json_schema

Keys = tuple[str | int, ...]
Needs = tuple[tuple[Keys, str], ...]

NEEDED = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "tests": {"t": 10}},
    "systems": {"a": {"backend": "corruption"}},
}
CHOOSE = {"kind", "backend", "name", "id", "options"}
"""What chooses the other keys (test_mistakes.py), and options that stand in the entry itself, too."""
WORD = "no such word"
VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "integer": [-1, 0, 10**9, 3],
    "number": [-0.5, 0.0, 1.5, 1e9],
    "string": [WORD, "", "a/b"],
    "array": [[], [WORD], [0], [-1.5], [True]],
    "object": [{}],
    "null": [None],
}
"""Values to try, by their type in JSON Schema."""


@dataclass(frozen=True)
class Spot:
    """A key of an experiment file."""

    keys: Keys
    schema: dict[str, Any]
    needs: Needs = ()
    """What chooses the mapping in which it stands."""
    is_open: bool = False
    """Whether the mapping takes any key."""


@cache
def definitions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    json_schema(ExperimentSettings, found)
    return found


def definition(reference: str) -> dict[str, Any]:
    found: dict[str, Any] = definitions()[reference.removeprefix("#/$defs/")]
    return found


def is_valid(schema: dict[str, Any], value: Any) -> bool:
    text = json.dumps(schema, sort_keys=True)
    return bool(validator(text).is_valid(value))


@cache
def validator(schema: str) -> jsonschema.Draft202012Validator:
    refers = {"$defs": definitions()} if "$ref" in schema else {}
    return jsonschema.Draft202012Validator({**json.loads(schema), **refers})


def spots(
    schema: dict[str, Any], keys: Keys = (), needs: Needs = (), within: tuple[str, ...] = ()
) -> Iterator[Spot]:
    """The keys of a mapping, and of what is in it. `within`: the definitions around it, each only once."""
    if reference := schema.get("$ref"):
        if reference in within:
            return
        schema, within = definition(reference), (*within, reference)
    for key, inner in schema.get("properties", {}).items():
        if key not in CHOOSE:
            yield Spot((*keys, key), inner, needs, schema.get("additionalProperties") is not False)
            yield from spots(inner, (*keys, key), needs, within)
    for part in schema.get("allOf", ()):
        ((chooser, chosen),) = part["if"]["properties"].items()
        own = (*keys[:-1], chosen["const"]) if keys[-1:] == ("*",) else keys
        yield from spots(part["then"], own, (*needs, ((*own, chooser), chosen["const"])), within)
    for number, member in enumerate(schema.get("anyOf", ())):
        own = (*keys[:-1], number) if keys[-1:] == (0,) else keys
        name = member.get("properties", {}).get("name", {}).get("const")
        yield from spots(member, own, (*needs, ((*own, "name"), name)) if name else needs, within)
    if isinstance(inner := schema.get("additionalProperties"), dict):
        yield from spots(inner, (*keys, "*"), needs, within)
    if isinstance(inner := schema.get("items"), dict):
        yield from spots(inner, (*keys, 0), needs, within)


def of_another_type(spot: Spot) -> tuple[Keys, Any] | None:
    allowed = {kind for kind, values in VALUES.items() if any(is_valid(spot.schema, v) for v in values)}
    for kind, values in VALUES.items():
        if kind not in allowed and not is_valid(spot.schema, values[0]):
            return spot.keys, values[0]
    return None


def not_allowed(spot: Spot) -> tuple[Keys, Any] | None:
    for kind, values in VALUES.items():
        if kind != "object" and takes(spot.schema, kind):  # wrong keys of mappings are misspelt ones
            for value in values:
                if not is_valid(spot.schema, value):
                    return spot.keys, value
    return None


def takes(schema: dict[str, Any], kind: str) -> bool:
    """Whether a schema speaks of values of a type."""
    if reference := schema.get("$ref"):
        schema = definition(reference)
    own = schema.get("type") == kind or any(
        jsonschema.Draft202012Validator({"type": kind}).is_valid(v) for v in schema.get("enum", ())
    )
    return own or any(takes(member, kind) for member in schema.get("anyOf", ()))


def misspelt(spot: Spot) -> tuple[Keys, Any] | None:
    *parents, key = spot.keys
    return None if spot.is_open else ((*parents, f"{key}{str(key)[-1]}"), 1)


WAYS = {"type": of_another_type, "value": not_allowed, "name": misspelt}


@dataclass
class File:
    """An experiment file with as many wrong keys as can stand together."""

    given: dict[Keys, Any] = field(default_factory=dict)
    around: set[Keys] = field(default_factory=set)
    """The mappings in which they stand."""
    wrong: list[Keys] = field(default_factory=list)

    def add(self, keys: Keys, value: Any, needs: Needs) -> bool:
        """Whether there is room for it."""
        wanted = {**dict(needs), keys: value}
        around = {place[:end] for place in wanted for end in range(1, len(place))}
        others = {place: self.given[place] for place in wanted if place in self.given}
        if keys in others or others.items() - dict(needs).items() or not self.around.isdisjoint(wanted):
            return False
        if any(place in self.given for place in around):
            return False
        self.given |= wanted
        self.around |= around
        self.wrong.append(keys)
        return True

    def text(self) -> str:
        tree: dict[Any, Any] = {}
        for keys, value in self.given.items():
            place = tree
            for key in keys[:-1]:
                place = place.setdefault(key, {})
            place[keys[-1]] = value
        return yaml.safe_dump(listed({**NEEDED, **tree}), sort_keys=False)

    def lines(self) -> dict[Keys, int]:
        """The lines of all keys."""
        found: dict[Keys, int] = {}

        def walk(node: yaml.Node, keys: Keys) -> None:
            if isinstance(node, yaml.SequenceNode):
                numbers = sorted(
                    {k[len(keys)] for k in self.given if k[: len(keys)] == keys and len(k) > len(keys)}
                )
                for number, item in zip(numbers, node.value, strict=False):
                    walk(item, (*keys, number))
            elif isinstance(node, yaml.MappingNode):
                for name, item in node.value:
                    found[*keys, name.value] = name.start_mark.line + 1
                    walk(item, (*keys, name.value))

        walk(yaml.compose(self.text()), ())
        return found


def listed(tree: Any) -> Any:
    """Mappings from positions are lists; no list stands in two places, for which YAML would write once."""
    if not isinstance(tree, dict):
        return [*tree] if isinstance(tree, list) else tree
    if tree and all(isinstance(key, int) for key in tree):
        return [listed(tree[key]) for key in sorted(tree)]
    return {key: listed(value) for key, value in tree.items()}


def files(way: str) -> list[File]:
    """Files in which every key is wrong in this way."""
    made: list[File] = []
    for spot in spots({"$ref": f"#/$defs/{ExperimentSettings.__name__}"}):
        if (wrong := WAYS[way](spot)) is None:
            continue
        if not any(file.add(*wrong, spot.needs) for file in made):
            made.append(File())
            assert made[-1].add(*wrong, spot.needs)
    return made


@pytest.mark.parametrize("way", WAYS)
def test_every_key_that_is_wrong_is_found_with_its_line(way: str, tmp_path: Path):
    path, count = tmp_path / "x.yaml", 0
    for file in files(way):
        path.write_text(file.text(), "utf-8")
        with pytest.raises(ExperimentError) as raised:
            load(path)
        lines = file.lines()
        for keys in file.wrong:
            is_list = isinstance(file.given[keys], list)
            here = [e for e in raised.value.errors if e.line in {lines[keys], lines[keys] + is_list}]
            named = [e for e in here if is_list or str(keys[-1]) in e.message]
            assert named, (keys, raised.value.render())
            error = named[0]
            assert error.file == str(path)
            assert error.expected, error
            assert error.found or way != "type", error
            count += 1
    assert count > 100
