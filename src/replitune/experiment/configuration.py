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
from typing import TYPE_CHECKING, Any

import yaml

from replitune.errors import ReplituneError, nearest
from replitune.experiment.plain_values import Path_, Source, require_plain, require_small
from replitune.metrics.score_files import check_scores
from replitune.running.files import read_text
from replitune.settings import Reading, plain

if TYPE_CHECKING:
    from replitune.backends.interface import Backend


@cache
def schema() -> dict[str, Any]:
    """The experiment schema."""
    text = (Path(__file__).parents[1] / "schema" / "experiment.schema.yaml").read_text("utf-8")
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
    studies = settings.get("studies")
    if isinstance(studies, dict):
        settings["studies"] = {k: {} if given is True else given for k, given in studies.items()}
    checked = _validate(schema(), settings, (), source)
    checked["corpus"] = _validate(
        {"$ref": f"#/$defs/corpus_kinds/{checked['corpus']['kind']}"},
        checked["corpus"],
        ("corpus",),
        source,
    )
    for name, system in checked["systems"].items():
        reading = Reading()
        read = reading.read_model(
            _backend_class(name, system, source).Settings, system, ("systems", name)
        )
        for wrong in reading.mistakes:
            raise source.error(
                wrong.path, wrong.message, found=wrong.found, expected=wrong.expected,
                fix=wrong.fix,
            )  # fmt: skip
        checked["systems"][name] = plain(read)
    if checked["scale"] is not None:
        checked["experiment"] = f"{checked['experiment']}-{checked['scale']}"
    _cross_check(checked, source)
    return checked


def _backend_class(name: str, system: Mapping[str, Any], source: Source) -> type[Backend]:
    from replitune.backends.registry import BACKENDS

    try:
        return BACKENDS[system["backend"]]
    except ReplituneError as error:
        raise source.error(
            ("systems", name, "backend"), f"systems.{name}.backend: {error.message}",
            expected=error.expected, fix=error.fix,
        ) from None  # fmt: skip


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
    draft = jsonschema.Draft202012Validator
    strict = jsonschema.validators.extend(draft, type_checker=checker)  # type: ignore[no-untyped-call]
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
    if settings["corpus"]["kind"] == "files":
        for where, given in described_testsets(settings["corpus"]):
            others = [key for key in given if key != "parts"]
            if "parts" in given and (others or "parts" in where):
                raise source.error(
                    ("corpus", *where),
                    "a test set that is joined has `parts` and nothing else",
                    found=", ".join(given),
                    fix="give each part its own files; parts have no parts",
                )
            if "parts" not in given and "references" not in given:
                raise source.error(
                    ("corpus", *where),
                    f"key `references` is missing in corpus.{'.'.join(where)}",
                    found=repr(given),
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
    for what, path in (
        ("metric", ("metrics",)),
        ("method", ("tests", "methods")),
        ("interval", ("tests", "intervals")),
    ):
        entries = settings["metrics"] if what == "metric" else settings["tests"][path[-1]]
        ids = [entry_id(entry) for entry in entries]
        for id in ids:
            if not re.fullmatch(schema()["$defs"]["name"]["pattern"], id):
                raise source.error(
                    path,
                    f"the name of a {what} is not allowed",
                    found=repr(id)[:80],
                    expected=schema()["$defs"]["name"]["description"],
                )
            if ids.count(id) > 1:
                raise source.error(
                    path, f"two {what}s are called {id!r}", fix="give one of them an `id`"
                )
    from replitune.backends.registry import get_backend
    from replitune.experiment.studies import check

    check(settings, source)
    for entry in settings["metrics"]:
        check_scores(entry, tests, source.error)

    def complain(path: Path_, message: str, **said: Any) -> None:
        raise source.error(path, message, **said)

    for name, system in settings["systems"].items():
        backend = get_backend(name, system)
        _check_parts(settings, backend, source)
        replicas_wanted(settings, name, backend, source)
        backend.check(settings, complain)


PARTS = {"train": "training pairs", "dev": "a dev set to tune on"}


def _check_parts(settings: Mapping[str, Any], backend: Backend, source: Source) -> None:
    """The text that a system reads must be there."""
    corpus, name = settings["corpus"], backend.system
    read = {part for parts in backend.stages.values() for part in parts}
    for part, what in PARTS.items():
        if part in read and not corpus.get(part):
            raise source.error(
                ("corpus",), f"system {name} needs {what}", fix=f"name them as corpus.{part}"
            )
    if corpus["kind"] != "files":
        return
    for where, given in described_testsets(corpus):
        wanted = "source" in read or ("dev" in read and where == ("dev",))
        if wanted and "source" not in given and isinstance(given.get("references"), list):
            raise source.error(
                ("corpus", *where),
                f"system {name} needs the source of {where[-1]}",
                found=str(given.get("format") or given["references"]),
                fix="name it as `source`",
            )


def replicas_wanted(
    settings: Mapping[str, Any], name: str, backend: Backend, source: Source | None = None
) -> dict[str, int]:
    """How many replicas of each kind a system has: its own `replicas`, or of the experiment's
    those that its backend can make."""
    known = backend.prefixes
    own = settings["systems"][name].get("replicas")
    wanted = own or {k: n for k, n in settings["replicas"].items() if k in known}
    given = own or settings["replicas"]
    bad = next((key for key in wanted if key not in known), None)
    if known and (bad is not None or not wanted):
        raise (source or Source()).error(
            ("systems", name, "replicas") if own else ("replicas",),
            f"system {name} has backend {backend.name}, whose replicas are made otherwise",
            found=", ".join(f"{key}: {n}" for key, n in given.items()),
            expected=", ".join(known),
            fix="give the system its own `replicas`",
        )
    return dict(wanted)


def described_testsets(corpus: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], dict]]:
    """Dev and the test sets of a corpus of files, and the parts of those that are joined, each
    with its place below `corpus`."""
    found: list[tuple[tuple[str, ...], Any]] = [(("dev",), corpus.get("dev"))]
    found += [(("tests", name), given) for name, given in corpus.get("tests", {}).items()]
    for where, given in found:
        if given:
            yield where, given
            for part, own in given.get("parts", {}).items():
                yield (*where, "parts", part), own


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
