"""Reading an experiment file: YAML -> chosen scale -> schema and defaults -> cross-checks.

Every complaint names the file, the line, what was found, what is allowed, and the nearest
spelling.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from replitune.errors import ReplituneError, nearest
from replitune.files import read_text
from replitune.plain_values import Path_, Source, require_plain, require_small


@cache
def schema() -> dict[str, Any]:
    """The experiment schema."""
    text = (Path(__file__).parent / "schema" / "experiment.schema.yaml").read_text("utf-8")
    return yaml.safe_load(text)


def read_yaml(file: str | Path) -> tuple[dict[str, Any], Source]:
    """The mapping in a YAML file, and where its keys stand. A key given twice is an error."""
    text = read_text(file)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        require_small(node, file)
        data = yaml.safe_load(text)
    except RecursionError:
        raise ReplituneError("YAML nested too deeply", file=file) from None
    except (ValueError, OverflowError) as error:  # of a date, or a number, that is none
        raise ReplituneError("not valid YAML", file=file, found=str(error)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ReplituneError(
            "not valid YAML",
            file=file,
            line=mark.line + 1 if mark else None,
            found=str(getattr(error, "problem", error)),
        ) from None
    if not isinstance(data, dict):
        raise ReplituneError(
            "an experiment file is a mapping",
            file=file,
            found=type(data).__name__,
            expected="key: value lines, such as `experiment: NAME`",
        )
    lines: dict[Path_, int] = {}
    for path, line, duplicate in _key_lines(node, ()):
        if duplicate:
            raise ReplituneError(
                f"key `{path[-1]}` is given twice",
                file=file,
                line=line,
                fix="remove one of them",
            )
        lines[path] = line
    return data, Source(file, lines)


def _key_lines(node: Any, path: Path_) -> Iterator[tuple[Path_, int, bool]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            here = (*path, key.value)
            yield here, key.start_mark.line + 1, key.value in seen and key.value != "<<"
            seen.add(key.value)
            yield from _key_lines(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*path, index)
            yield here, value.start_mark.line + 1, False
            yield from _key_lines(value, here)


def resolve(data: Mapping[str, Any], source: Source | None = None) -> dict[str, Any]:
    """The complete settings of an experiment: scale applied, validated, defaults filled in."""
    source = source or Source()
    require_plain(data, (), source)
    settings = copy.deepcopy(dict(data))
    scale = settings.get("scale")
    if scale is not None:
        scales = settings.get("scales") or {}
        for value, kind in ((scale, str), (scales, Mapping)):
            if not isinstance(value, kind):
                raise source.error(("scales",), "a scale is named text", found=repr(value)[:80])
        if scale not in scales:
            close = nearest(str(scale), list(scales))
            raise source.error(
                ("scales",),
                f"unknown scale {scale!r}",
                expected=", ".join(scales) or "no scale: this experiment defines none",
                fix=f"did you mean {close!r}?" if close else None,
            )
        if not isinstance(scales[scale], Mapping):
            raise source.error(("scales", scale), "a scale is a mapping", found=repr(scales[scale]))
        settings = merge(settings, scales[scale])
    checked = _validate(schema(), settings, (), source)
    checked["corpus"] = _validate(
        {"$ref": f"#/$defs/corpus_kinds/{checked['corpus']['kind']}"},
        checked["corpus"],
        ("corpus",),
        source,
    )
    for name, system in checked["systems"].items():
        checked["systems"][name] = _validate(
            {"$ref": f"#/$defs/backends/{system['backend']}"}, system, ("systems", name), source
        )
    if checked["scale"] is not None:
        checked["experiment"] = f"{checked['experiment']}-{checked['scale']}"
    _cross_check(checked, source)
    return checked


REPLACED = ("replicas", "pairs")
"""Mappings that a scale replaces as a whole."""


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """`override` over `base`: mappings are merged, but for `REPLACED`; everything else is
    replaced, and null removes."""
    merged = copy.deepcopy(dict(base))
    for key, value in override.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        if value is None:
            merged.pop(key, None)
        elif both and key not in REPLACED:
            merged[key] = merge(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _validate(part: Mapping[str, Any], value: Any, path: Path_, source: Source) -> Any:
    """`value` with defaults filled in; the first violation is raised with its line."""
    import jsonschema

    value = _with_defaults(part, value)
    # JSON Schema takes 3.0 for an integer, and counts and seeds would arrive as 3.0
    checker = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
    strict = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=checker)
    validator = strict({**part, "$defs": schema()["$defs"]})
    errors = sorted(validator.iter_errors(value), key=lambda e: (len(e.absolute_path), str(e.path)))
    for error in errors:
        raise _explain(error, path, source)
    return value


def _is_integer(checker: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _with_defaults(part: Any, value: Any) -> Any:
    while isinstance(part, Mapping) and "$ref" in part:
        target: Any = schema()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = {**target, **{k: v for k, v in part.items() if k != "$ref"}}
    if not isinstance(part, Mapping) or not isinstance(value, Mapping):
        return value
    filled = dict(value)
    for key, sub in part.get("properties", {}).items():
        if key not in filled and isinstance(sub, Mapping) and "default" in sub:
            filled[key] = copy.deepcopy(sub["default"])
        if key in filled:
            filled[key] = _with_defaults(sub, filled[key])
    rest = part.get("additionalProperties")
    if isinstance(rest, Mapping):
        for key in filled.keys() - part.get("properties", {}).keys():
            filled[key] = _with_defaults(rest, filled[key])
    return filled


def _explain(error: Any, path: Path_, source: Source) -> ReplituneError:
    """One jsonschema error in words."""
    where = (*path, *error.absolute_path)
    name = ".".join(map(str, where)) or "the experiment"
    found = repr(error.instance)
    found = found if len(found) <= 200 else found[:197] + "..."
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        close = nearest(str(unknown), known)
        return source.error(
            (*where, unknown),
            f"unknown key `{unknown}` in {name}",
            expected=", ".join(known),
            fix=f"did you mean `{close}`?" if close else None,
        )
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return source.error(where, f"key `{missing}` is missing in {name}", found=found)
    if error.validator == "enum":
        allowed = [str(value) for value in error.validator_value]
        close = nearest(str(error.instance), allowed)
        return source.error(
            where,
            f"{name} is not one of the allowed values",
            found=found,
            expected=", ".join(allowed),
            fix=f"did you mean `{close}`?" if close else None,
        )
    if error.validator == "pattern":
        described = error.schema.get("description") or error.validator_value
        what = "a name" if error.schema.get("pattern", "").startswith("^[A-Za-z0-9]") else name
        return source.error(
            (*where, error.instance),
            f"{what} is not allowed in {name}",
            found=found,
            expected=described,
        )
    described = error.schema.get("description") if isinstance(error.schema, Mapping) else None
    limit = error.validator_value
    expected = {
        "type": " or ".join(_listed(limit)) if error.validator == "type" else "",
        "minimum": f"at least {limit}",
        "maximum": f"at most {limit}",
        "exclusiveMinimum": f"more than {limit}",
        "exclusiveMaximum": f"less than {limit}",
        "minItems": f"at least {limit} item(s)",
        "minProperties": f"at least {limit} item(s)",
        "minLength": "a text that is not empty",
    }.get(error.validator, described or error.message)
    return source.error(where, f"{name} is not allowed", found=found, expected=expected)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _cross_check(settings: dict[str, Any], source: Source) -> None:
    """What a schema cannot say."""
    systems = list(settings["systems"])
    tests = test_names(settings)
    if not tests:
        raise source.error(("corpus",), "no test set", fix="name one under corpus.tests")
    if "dev" in tests:
        raise source.error(
            ("corpus", "tests", "dev"),
            "a test set may not be called dev",
            fix="dev is the tuning set: give it as corpus.dev",
        )
    pairs = settings["tests"]["pairs"]
    named = (
        [pairs["baseline"]]
        if isinstance(pairs, dict)
        else [name for pair in pairs for name in pair]
        if isinstance(pairs, list)
        else []
    )
    for name in named:
        if name not in systems:
            close = nearest(name, systems)
            raise source.error(
                ("tests", "pairs"),
                f"unknown system {name!r} in tests.pairs",
                expected=", ".join(systems),
                fix=f"did you mean {close!r}?" if close else None,
            )
    if isinstance(pairs, list):
        for a, b in pairs:
            if a == b:
                raise source.error(
                    ("tests", "pairs"),
                    f"a pair of {a!r} with itself",
                    expected="two different systems",
                )
    for what, key in (("metric", "metrics"), ("method", "tests")):
        entries = settings["metrics"] if key == "metrics" else settings["tests"]["methods"]
        ids = [entry_id(entry) for entry in entries]
        for id in ids:
            if not re.fullmatch(schema()["$defs"]["name"]["pattern"], id):
                raise source.error(
                    (key,) if key == "metrics" else ("tests", "methods"),
                    f"the name of a {what} is not allowed",
                    found=repr(id)[:80],
                    expected=schema()["$defs"]["name"]["description"],
                )
            if ids.count(id) > 1:
                path = ("metrics",) if key == "metrics" else ("tests", "methods")
                raise source.error(
                    path, f"two {what}s are called {id!r}", fix="give one of them an `id`"
                )
    for name, system in settings["systems"].items():
        if system["backend"] == "phrase":
            _check_phrase(settings, name, system, source)
        if system["backend"] != "outputs":
            continue
        for testset in system["files"]:
            if testset not in (*tests, "dev"):
                close = nearest(testset, [*tests, "dev"])
                raise source.error(
                    ("systems", name, "files", testset),
                    f"unknown test set {testset!r} in system {name}",
                    expected=", ".join([*tests, "dev"]),
                    fix=f"did you mean {close!r}?" if close else None,
                )
        for testset in tests:
            if testset not in system["files"]:
                raise source.error(
                    ("systems", name, "files"),
                    f"system {name} has no files for test set {testset}",
                    fix="name them, or remove the test set",
                )


def _check_phrase(
    settings: dict[str, Any], name: str, system: dict[str, Any], source: Source
) -> None:
    """A phrase-based system needs text to train and tune on, and tuners for replicas."""
    corpus = settings["corpus"]
    for part, what in (("train", "training pairs"), ("dev", "a dev set to tune on")):
        if not corpus.get(part):
            raise source.error(
                ("corpus",), f"system {name} needs {what}", fix=f"name them as corpus.{part}"
            )
    if corpus["kind"] == "files":
        for testset in ("dev", *test_names(settings)):
            given = corpus["dev"] if testset == "dev" else corpus["tests"][testset]
            alone = given.get("format") or given["references"]
            if "source" not in given and isinstance(given["references"], list):
                raise source.error(
                    ("corpus", "tests", testset),
                    f"system {name} needs the source of {testset}",
                    found=str(alone),
                    fix="name it as `source`",
                )
    counts = system.get("replicas") or settings["replicas"]
    if "seeds" in counts:
        raise source.error(
            ("replicas",),
            f"system {name} is tuned: its replicas come from tuners",
            found=f"seeds: {counts['seeds']}",
            expected="mert, mira, pro",
        )


def test_names(settings: Mapping[str, Any]) -> list[str]:
    """The test sets of an experiment, dev not among them."""
    return list(settings["corpus"].get("tests", {}))


def entry_id(entry: str | Mapping[str, Any]) -> str:
    """The id of a metric or method as it stands in an experiment file."""
    if isinstance(entry, str):
        return entry.partition(":")[0]
    return str(entry.get("id") or entry["name"])


def load(file: str | Path, **overrides: Any) -> dict[str, Any]:
    """Read and resolve an experiment file; `overrides` are what `--config` gives."""
    data, source = read_yaml(file)
    given = {key: value for key, value in overrides.items() if value is not None}
    return resolve({**data, **given}, source)
