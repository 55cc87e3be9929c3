"""Settings: each is declared once, as an annotated field or parameter, and read in one place.

A setting is a field of a `Settings` class, or a parameter of a function or a class, whose
annotation says what it may be and what it means:

    class Tests(Settings):
        alpha: Annotated[float, about("Level of the tests.", gt=0, lt=1)] = 0.05

    def crossed(comparison, *, unit: Annotated[Unit, about("What is drawn.")] = "segment"): ...

The declaration yields the value that code uses (`read`), the messages about a user's mistakes (all
at once), the JSON schema, the pages of the documentation and the options of commands. Parameters
without `about` are not settings.

Types: bool, int, float, str, None, Literal, list, tuple, dict, unions, `Settings` classes,
dataclasses with annotated fields, and any `Kind` (`Annotated[Any, Kind(...)]`), for values that
depend on names that are looked up.
"""

from __future__ import annotations

import inspect
import math
import numbers
import textwrap
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from replitune.errors import ReplituneError, did_you_mean

Path_ = tuple[str | int, ...]
"""The place of a value: keys and positions in lists, from the outside in."""


SEED = 2011
"""The default seed; a seed is the only source of randomness."""


def about(description: str = "", **bounds: Any) -> msgspec.Meta:
    """Declare a setting by a sentence and its bounds: ge, gt, le, lt for numbers, min_length and
    max_length for texts and lists, pattern for texts."""
    return msgspec.Meta(description=description, **bounds)


@typing.dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of classes whose fields are settings. A subclass may raise ReplituneError in
    `__post_init__` for what no single field can check. (msgspec does not inherit `kw_only`: a
    subclass must repeat it where a required field follows one with a default.)"""


class Kind:
    """What a value may be, if that depends on names that are looked up."""

    words: str = ""
    """What a message says is expected."""

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        """The value as the code uses it, or `WRONG` after `reading.wrong(...)`."""
        raise NotImplementedError

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        """The JSON schema of such a value; see `json_schema`."""
        return {}


class _Wrong:
    def __bool__(self) -> bool:
        return False


WRONG: Any = _Wrong()
"""Stands for a value that cannot be used; the mistake has been noted."""


@dataclass(frozen=True)
class Setting:
    """One declared setting."""

    name: str
    type: Any
    default: Any
    """`inspect.Parameter.empty` when it must be given."""
    description: str

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def may_be_empty(self) -> bool:
        """Whether an empty list is allowed and means something other than the default."""
        return bool(self.default) and not any(meta.min_length for meta in opened(self.type)[2])


@cache
def settings_of(declared: Any) -> dict[str, Setting]:
    """The settings of a `Settings` class, a dataclass, or any function or class, by name."""
    hints = _hints(declared)
    settings: dict[str, Setting] = {}
    if isinstance(declared, type) and issubclass(declared, Settings):
        for item in msgspec.structs.fields(declared):
            default = inspect.Parameter.empty
            if item.default is not msgspec.NODEFAULT:
                default = item.default
            elif item.default_factory is not msgspec.NODEFAULT:
                default = item.default_factory()
            hint = hints[item.name]
            settings[item.encode_name] = Setting(item.encode_name, hint, default, _description(hint))
        return settings
    for name, parameter in inspect.signature(declared).parameters.items():
        hint = hints.get(name)
        if opened(hint)[2]:
            settings[name] = Setting(name, hint, parameter.default, _description(hint))
    return settings


def _hints(declared: Any) -> dict[str, Any]:
    if isinstance(declared, type) and not (
        issubclass(declared, Settings) or hasattr(declared, "__dataclass_fields__")
    ):
        declared = declared.__init__
    return typing.get_type_hints(declared, include_extras=True)


@cache
def opened(hint: Any) -> tuple[Any, Kind | None, list[msgspec.Meta]]:
    """A type without its annotations, and the kind and the bounds that were in them."""
    extras: list[Any] = []
    while get_origin(hint) is Annotated:
        hint, *more = get_args(hint)
        extras += more
    kind = next((extra for extra in extras if isinstance(extra, Kind)), None)
    return hint, kind, [extra for extra in extras if isinstance(extra, msgspec.Meta)]


def members_of(hint: Any) -> tuple[Any, ...]:
    """The members of a union; empty for any other type."""
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else ()


def _description(hint: Any) -> str:
    """The outermost sentence: it describes the setting rather than its named type."""
    return next((meta.description for meta in reversed(opened(hint)[2]) if meta.description), "")


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with what a user wrote."""

    path: Path_
    message: str
    found: str | None = None
    expected: str | None = None
    fix: str | None = None

    def error(self, file: Any = None, line: int | None = None) -> ReplituneError:
        return ReplituneError(
            self.message, file=file, line=line, found=self.found, expected=self.expected, fix=self.fix
        )


def joined(path: Path_, otherwise: str = "the settings") -> str:
    """A path as text: ``systems.lexro.search``."""
    return ".".join(map(str, path)) or otherwise


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:197]}..."


@dataclass
class Reading:
    """One reading of what a user wrote, which continues after a mistake."""

    mistakes: list[Mistake] = field(default_factory=list)

    def wrong(self, path: Path_, message: str, **fields: str | None) -> Any:
        """Note a mistake; returns `WRONG`."""
        self.mistakes.append(Mistake(path, message, **fields))
        return WRONG

    def caught(self, path: Path_, error: ReplituneError) -> Any:
        """Note a mistake that was raised as an error."""
        return self.wrong(path, error.message, found=error.found, expected=error.expected, fix=error.fix)

    def not_allowed(self, value: Any, path: Path_, expected: str) -> Any:
        name = joined(path)
        return self.wrong(path, f"{name} is not allowed", found=shown(value), expected=expected)

    # ---- one value

    def read(self, hint: Any, value: Any, path: Path_) -> Any:
        """`value` as the type `hint`, or `WRONG`."""
        hint, kind, bounds = opened(hint)
        if kind is not None:
            return kind.read(self, value, path)
        if is_model(hint):
            return self.read_model(hint, value, path)
        if members_of(hint):
            return self._read_union(hint, value, path, bounds)
        read, origin = value, get_origin(hint)
        if origin is dict and isinstance(value, Mapping):
            read = self._read_items(get_args(hint), value, path)
        elif origin in (list, tuple) and isinstance(value, (list, tuple)):
            types = get_args(hint)
            if Ellipsis in types or origin is list:
                types = types[:1] * len(value)
            if len(types) == len(value):
                read = [self.read(types[i], item, (*path, i)) for i, item in enumerate(value)]
                read = WRONG if any(item is WRONG for item in read) else read
        return WRONG if read is WRONG else self._converted(hint, bounds, read, path)

    def _converted(self, hint: Any, bounds: list[msgspec.Meta], value: Any, path: Path_) -> Any:
        """A plain value, or a list or a mapping whose items have been read."""
        if hint is Any:
            return value
        if isinstance(value, numbers.Number) and hasattr(value, "item"):
            value = value.item()  # numpy's numbers as Python's
        try:
            read = msgspec.convert(value, _shell(hint, *bounds))
        except msgspec.ValidationError:
            read = WRONG
        if read is not WRONG and not (isinstance(read, float) and not math.isfinite(read)):
            return read
        allowed = _literals(hint)
        return self.wrong(
            path,
            f"{joined(path)} is not {'one of the allowed values' if allowed else 'allowed'}",
            found=shown(value),
            expected=words_of(hint, bounds),
            fix=did_you_mean(value, [*map(str, allowed)]),
        )

    def _read_union(self, hint: Any, value: Any, path: Path_, bounds: list[msgspec.Meta]) -> Any:
        """The value as the first member that accepts it; else the mistakes of a member of its form."""
        form = None
        for member in bounded_members(hint, *bounds):
            attempt = Reading()
            read = attempt.read(member, value, path)
            if read is not WRONG:
                return read
            if form is None and isinstance(value, (list, dict)) and _has_form(member, value):
                form = attempt
        if form is not None:
            self.mistakes += form.mistakes
            return WRONG
        allowed = [str(x) for m in get_args(hint) for x in _literals(m)]
        return self.wrong(
            path,
            f"{joined(path)} is not allowed",
            found=shown(value),
            expected=words_of(hint, bounds),
            fix=did_you_mean(value, allowed),
        )

    def _read_items(self, types: tuple[Any, Any], value: Mapping[Any, Any], path: Path_) -> Any:
        of_key, of_value = types
        read: dict[Any, Any] = {}
        before = len(self.mistakes)
        for key, item in value.items():
            if not fits(of_key, key):
                self.wrong(
                    (*path, key),
                    f"a name is not allowed in {joined(path)}",
                    found=shown(key),
                    expected=words_of(of_key, []),
                )
            read[key] = self.read(of_value, item, (*path, key))
        return read if len(self.mistakes) == before else WRONG

    # ---- a mapping of settings

    def read_model(self, declared: Callable[..., Any], value: Any, path: Path_) -> Any:
        """The object that `declared` makes from a mapping of its settings."""
        values = self.read_values(settings_of(declared), value, path)
        if values is WRONG:
            return WRONG
        try:
            return declared(**{key.replace("-", "_"): item for key, item in values.items()})
        except ReplituneError as error:
            return self.caught(path, error)

    def read_values(self, known: Mapping[str, Setting], value: Any, path: Path_) -> Any:
        """The values of the settings that are given in a mapping."""
        if not isinstance(value, Mapping):
            return self.not_allowed(value, path, "a mapping, key: value")
        before = len(self.mistakes)
        values: dict[str, Any] = {}
        for key, item in value.items():
            if key not in known:
                self.unknown(key, list(known), path)
            else:
                values[key] = self.read(known[key].type, item, (*path, key))
        for key, setting in known.items():
            if setting.required and key not in value:
                name = joined(path, "the experiment")
                self.wrong(path, f"key `{key}` is missing in {name}", found=shown(dict(value)))
        return values if len(self.mistakes) == before else WRONG

    def unknown(self, key: Any, known: list[str], path: Path_) -> Any:
        """Note a key that is not among the known ones."""
        return self.wrong(
            (*path, key),
            f"unknown key `{key}` in {joined(path, 'the experiment')}",
            expected=", ".join(known) or "no keys",
            fix=did_you_mean(key, known),
        )


class Chosen(Kind):
    """A mapping whose settings depend on one of its keys: the kind of a corpus, the backend of a
    system."""

    def __init__(self, key: str, names: Callable[[], list[str]], model: Callable[[str], Any]) -> None:
        """`names`: the possible values of `key`; `model`: what declares the settings, for such a value."""
        self.key, self._names, self._model = key, names, model

    words = "a mapping, key: value"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        if not isinstance(value, Mapping):
            return reading.not_allowed(value, path, self.words)
        name, names = joined((*path, self.key)), self._names()
        chosen = value.get(self.key)
        if self.key not in value:
            return reading.wrong(
                path, f"key `{self.key}` is missing in {joined(path)}", expected=", ".join(names)
            )
        if chosen not in names:
            return reading.wrong(
                (*path, self.key),
                f"{name} is not one of the allowed values",
                found=shown(chosen),
                expected=", ".join(names),
                fix=did_you_mean(chosen, names),
            )
        try:
            model = self._model(chosen)
        except ReplituneError as error:
            return reading.caught((*path, self.key), error)
        return reading.read_model(model, value, path)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        names = self._names()
        return {
            "type": "object",
            "required": [self.key],
            "properties": {self.key: {"enum": names}},
            "allOf": [
                {
                    "if": {"properties": {self.key: {"const": name}}},
                    "then": json_schema(self._model(name), definitions),
                }
                for name in names
            ],
        }


def read(hint: Any, value: Any, name: str = "") -> Any:
    """`value` as the type `hint`; the first mistake is raised. `name` is the value's name in messages."""
    reading = Reading()
    result = reading.read(hint, value, (name,) if name else ())
    if reading.mistakes:
        raise reading.mistakes[0].error()
    return result


_F = TypeVar("_F", bound=Callable[..., Any])


def check_arguments(function: _F) -> _F:
    """Make every call of a function check its arguments against its declared settings; the first
    mistake is raised."""
    signature = inspect.signature(function)

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        for name, setting in settings_of(function).items():
            if name in given.arguments:
                given.arguments[name] = read(setting.type, given.arguments[name], name)
        return function(*given.args, **given.kwargs)

    return typing.cast(_F, checking)


def explained(function: _F) -> _F:
    """Put the sentences of a function's declared settings into its docstring, before those that it
    mentions with ``**settings``."""
    text = inspect.cleandoc(function.__doc__ or "")
    own = [
        f"{name}\n{textwrap.indent(textwrap.fill(setting.description, 96), '    ')}\n"
        for name, setting in settings_of(function).items()
    ]
    place = text.rfind("\n", 0, text.find("**settings")) + 1
    function.__doc__ = text[:place] + "".join(own) + text[place:]
    return function


def fits(hint: Any, value: Any) -> bool:
    """Whether a value is of a type: true is not a number, and 3.0 not a whole one."""
    return Reading().read(hint, value, ()) is not WRONG


def is_model(hint: Any) -> bool:
    """Whether a type is a mapping of settings."""
    return isinstance(hint, type) and (issubclass(hint, Settings) or hasattr(hint, "__dataclass_fields__"))


def _bounded(hint: Any, bounds: Sequence[msgspec.Meta]) -> Any:
    return Annotated[(hint, *bounds)] if bounds else hint


OF_NUMBERS = ("ge", "gt", "le", "lt")
OF_LENGTH = ("min_length", "max_length")


@cache
def bounded_members(hint: Any, *bounds: msgspec.Meta) -> list[Any]:
    """The members of a union, each with those of the union's bounds that can hold for it."""
    members = []
    for member in members_of(hint):
        inner, *_ = opened(member)
        names: tuple[str, ...] = ()
        if inner in (int, float):
            names = OF_NUMBERS
        elif inner is str or get_origin(inner) in (list, tuple, dict):
            names = OF_LENGTH if inner is not str else ("pattern", *OF_LENGTH)
        limits = {n: getattr(b, n) for b in bounds for n in names if getattr(b, n) is not None}
        members.append(_bounded(member, [msgspec.Meta(**limits)] if limits else []))
    return members


@cache
def _shell(hint: Any, *bounds: msgspec.Meta) -> Any:
    """A type with its bounds; of lists and mappings, the items may be anything."""
    origin, types = get_origin(hint), get_args(hint)
    if origin in (list, tuple, dict):
        hint = origin[tuple(kind if kind is Ellipsis else Any for kind in types)]
    return _bounded(hint, bounds)


def _has_form(hint: Any, value: Any) -> bool:
    """Whether a type takes mappings, if `value` is one, or else lists, whatever items `value` has."""
    hint, kind, _ = opened(hint)
    if kind is not None:
        return True
    if isinstance(value, dict):
        return get_origin(hint) is dict or is_model(hint)
    return bool(value) and get_origin(hint) in (list, tuple)


def _literals(hint: Any) -> tuple[Any, ...]:
    hint, *_ = opened(hint)
    return get_args(hint) if get_origin(hint) is Literal else ()


# ---- what is expected, in words

WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    None: "null",
    types.NoneType: "null",
}


def words_of(hint: Any, bounds: list[msgspec.Meta]) -> str:
    """What is expected, in words: ``a whole number, at least 1``."""
    hint, kind, own = opened(hint)
    if kind is not None:
        return kind.words
    limits = []
    for bound in (*bounds, *own):
        if bound.pattern is not None:
            return bound.description or f"a text like {bound.pattern}"
        for name, text in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
            limit = getattr(bound, name)
            if limit is not None:
                limits.append(f"{text} {limit}")
        if bound.min_length:
            if hint is str:
                return "a text that is not empty"
            limits.append(f"at least {bound.min_length} item(s)")
    return ", ".join([_plain_words(hint), *limits])


def _plain_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if members_of(hint):
        return " or ".join(dict.fromkeys(words_of(member, []) for member in inner))
    if origin is Literal:
        return ", ".join(map(str, inner))
    if origin is tuple and Ellipsis not in inner:
        return f"a list of {len(inner)}: {', '.join(words_of(kind, []) for kind in inner)}"
    if origin in (list, tuple):
        return f"a list, each of which is {words_of(inner[0], [])}"
    if origin is dict or is_model(hint):
        return "a mapping, key: value"
    return WORDS.get(hint, str(hint))


# ---- values typed on a command line

_YES_NO = {"true": True, "yes": True, "false": False, "no": False}


def from_text(hint: Any, text: str) -> Any:
    """A word on a command line, converted to the type `hint` if possible; it is not checked here.

    >>> from_text(bool, "true"), from_text(float | None, "none"), from_text(str, "13")
    (True, None, '13')
    """
    hint, *_ = opened(hint)
    if members := members_of(hint):
        for member in sorted(members, key=lambda kind: kind is str):
            value = from_text(member, text)
            if fits(member, value):
                return value
        return text
    if get_origin(hint) is Literal:
        return next((item for item in get_args(hint) if str(item) == text), text)
    if hint in (None, types.NoneType):
        return None if text.lower() in ("none", "null") else text
    if hint is bool:
        return _YES_NO.get(text.lower(), text)
    if hint in (int, float):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text
    if hint is str:
        return text
    import yaml

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, *NOT_OF_ITS_KIND):
        return text


NOT_OF_ITS_KIND = (ValueError, OverflowError, LookupError, AttributeError)
"""What PyYAML raises for invalid dates and numbers, and for values that do not match their tags:
``2020-99-99``, ``!!float``, ``!!bool x``."""


# ---- JSON schema


def json_schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a type; those of settings classes are added to `definitions` under their names."""
    hint, kind, bounds = opened(hint)
    schema: dict[str, Any] = {}
    if kind is not None:
        schema = kind.schema(definitions)
    elif is_model(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # it may contain itself
            definitions[hint.__name__] = mapping_schema(settings_of(hint), definitions)
        schema = {"$ref": f"#/$defs/{hint.__name__}"}
    elif members_of(hint):
        schema = {"anyOf": [json_schema(member, definitions) for member in bounded_members(hint, *bounds)]}
    elif get_origin(hint) is Literal:
        schema = {"enum": [*get_args(hint)]}  # msgspec would sort them
    else:
        schema = msgspec.json.schema(_shell(hint, *bounds))
        if get_origin(hint) is dict:
            of_key, of_value = (json_schema(inner, definitions) for inner in get_args(hint))
            schema |= {"propertyNames": of_key, "additionalProperties": of_value}
        elif "prefixItems" in schema:
            schema["prefixItems"] = [json_schema(inner, definitions) for inner in get_args(hint)]
        elif get_origin(hint) in (list, tuple):
            schema["items"] = json_schema(get_args(hint)[0], definitions)
    sentence = _description(_bounded(hint, bounds))
    return {**schema, "description": sentence} if sentence else schema


def mapping_schema(known: Mapping[str, Setting], definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of a mapping of settings."""
    properties = {}
    for name, setting in known.items():
        properties[name] = json_schema(setting.type, definitions)
        if not setting.required and setting.default is not None:
            properties[name]["default"] = plain(setting.default)
    required = [name for name, setting in known.items() if setting.required]
    return {
        "type": "object",
        "additionalProperties": False,
        **({"required": required} if required else {}),
        "properties": properties,
    }


def plain(value: Any, *, sparse: bool = False) -> Any:
    """Settings as mappings, lists and plain values, as in an experiment file; `sparse` leaves out
    values that equal their defaults."""
    if hasattr(value, "mapping"):  # an entry of a registry
        return plain(value.mapping)
    if isinstance(value, Settings) or hasattr(value, "__dataclass_fields__"):
        kind: Any = type(value)
        return {
            name: plain(item, sparse=sparse)
            for name, setting in settings_of(kind).items()
            for item in [getattr(value, name.replace("-", "_"))]
            if not sparse or setting.required or item != setting.default
        }
    if isinstance(value, Mapping):
        return {key: plain(item, sparse=sparse) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, sparse=sparse) for item in value]
    return value
