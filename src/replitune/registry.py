"""Things that are chosen by name: metrics, tests, intervals, tuners, backends, tables, figures.

All registries have this one shape. Our own things are in a table of names; other packages add theirs
by entry points. A module is imported only when it is needed.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec

from replitune.errors import ReplituneError, did_you_mean
from replitune.settings import (
    WRONG,
    Kind,
    Path_,
    Reading,
    Setting,
    about,
    from_text,
    json_schema,
    read,
    settings_of,
    shown,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

NAME = r"^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$(?!\n)"
"""A safe file name. $ also matches before a line feed at the end, which the last group excludes."""
NAME_WORDS = "a safe file name of letters, digits and . _ + - (at most 64, not starting with a sign)"
Name = Annotated[str, about(NAME_WORDS, pattern=NAME)]
"""A name that a user gives."""
LETTERS = r"A-Za-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u061b\u061d-\u1fff\u3040-\ud7ff"
"""Letters and digits of all scripts in use, without combining marks."""
SYSTEM_NAME = rf"^[{LETTERS}][{LETTERS}._+-]{{0,63}}$(?!\n)"
SystemName = Annotated[str, about(NAME_WORDS, pattern=SYSTEM_NAME)]
"""The name of a system, in any script."""


@dataclass(frozen=True)
class Entry:
    """Something chosen by name, with the options that differ from its defaults:
    ``bleu:tokenize=none``, or ``{name: ter, id: ter-norm, normalized: true}``."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Checked, and as the code uses them."""
    id: str = ""
    """The name of its files and rows; by default `name`."""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", self.name)

    @property
    def word(self) -> str:
        """The entry as on a command line, with the options in the order in which they were given."""
        options = dict(self.options)
        if self.id != self.name:
            options = {"id": self.id, **options}
        words = [f"{key}={_written(value)}" for key, value in options.items()]
        return f"{self.name}:{','.join(words)}" if words else self.name

    @property
    def mapping(self) -> dict[str, Any]:
        """The entry as in an experiment file, or as JSON."""
        id = {"id": self.id} if self.id != self.name else {}
        return {"name": self.name, **id, **self.options}


def _written(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON would make it null
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


BROUGHT: dict[str, str] = {}
"""Other packages from which something was loaded, and what it was."""


def blamed(error: BaseException) -> ReplituneError | None:
    """One message for an error raised in the code of another package; None if it came from elsewhere."""
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__", "").partition(".")[0] in BROUGHT:
            place = frame, line
    if place is None:
        return None
    frame, line = place
    what = BROUGHT[frame.f_globals["__name__"].partition(".")[0]]
    return ReplituneError(
        f"{what} of another package failed",
        file=frame.f_code.co_filename,
        line=line,
        found=f"{type(error).__name__}: {error}",
        fix="tell its authors, or go without it",
    )


def _imported(place: str) -> Any:
    """The object at ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


class Registry(Generic[T]):
    """Things of one kind by name."""

    def __init__(
        self,
        kind: str,
        own: Mapping[str, str],
        *,
        group: str | None = None,
        base: str | None = None,
        expected: str = "",
    ) -> None:
        """`kind`: the word for one of them in messages. `own`: name -> ``module:attribute``. `group`:
        the group of other packages' entry points. `base`: the ``module:class`` whose subclasses they
        are; without it they are functions, which `expected` describes."""
        self.kind, self.own, self.group = kind, own, group
        self._base, self._expected = base, expected
        self._loaded: dict[str, T] = {}

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points

        points = entry_points(group=self.group) if self.group is not None else ()
        return {point.name: point for point in points}

    @property
    def names(self) -> list[str]:
        """All names, our own first."""
        return list(dict.fromkeys([*self.own, *sorted(self._points)]))

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._points

    def __getitem__(self, name: str) -> T:
        """The thing with this name."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        if name in self.own:
            built_in: T = _imported(self.own[name])
            return built_in
        if name not in self._points:
            raise self.unknown(name)
        point = self._points[name]
        try:
            brought: Any = point.load()
        except Exception as error:
            raise ReplituneError(
                f"the {self.kind} {name} of another package cannot be loaded",
                file=f"{point.dist.name} {point.dist.version}" if point.dist else None,
                found=f"{point.value}: {type(error).__name__}: {error}",
                fix="install a version of it that works here, or remove it",
            ) from error
        expected, fits = self._expected, callable(brought)
        if self._base is not None:
            expected = f"a subclass of {self._base.replace(':', '.')}"
            fits = isinstance(brought, type) and issubclass(brought, _imported(self._base))
        if not fits:
            raise ReplituneError(
                f"entry point {name} of {self.group} is not a {self.kind}",
                found=self._points[name].value,
                expected=expected,
            )
        if lacks := sorted(getattr(brought, "__abstractmethods__", ())):
            raise ReplituneError(
                f"the {self.kind} {name} of another package lacks methods",
                found=f"{point.value} without {', '.join(lacks)}",
                expected=f"all methods of {str(self._base).replace(':', '.')}",
            )
        BROUGHT[point.module.partition(".")[0]] = f"the {self.kind} {name}"
        loaded: T = brought
        return loaded

    def unknown(self, name: str) -> ReplituneError:
        return ReplituneError(
            f"unknown {self.kind} {name!r}",
            expected=", ".join(self.names),
            fix=did_you_mean(name.lower(), self.names),
        )

    def settings(self, name: str) -> dict[str, Setting]:
        """The options of a thing: the fields of its class `Settings`, or else its own parameters."""
        named: Any = self[name]
        return settings_of(getattr(named, "Settings", named))

    def entry(self, given: str | Mapping[str, Any] | Entry) -> Entry:
        """The entry that a word or a mapping names; the first mistake is raised."""
        if isinstance(given, Entry):
            return given
        entry: Entry = read(Annotated[Any, Named(self)], given)
        return entry

    def entries(self, given: Iterable[str | Mapping[str, Any] | Entry]) -> list[Entry]:
        """Several with distinct ids, which name files and rows."""
        entries = [self.entry(one) for one in given]
        twice = repeated(entry.id for entry in entries)
        if twice is not None:
            raise ReplituneError(
                f"two {self.kind}s are called {twice!r}", fix="give one of them an `id` of its own"
            )
        return entries


def repeated(ids: Iterable[str]) -> str | None:
    """The first repeated id. Case is ignored, as some file systems ignore it."""
    seen: set[str] = set()
    for id in ids:
        if id.lower() in seen:
            return id
        seen.add(id.lower())
    return None


class Named(Kind):
    """A name in a registry with options: text as on a command line, or a mapping."""

    def __init__(self, registry: Registry[Any]) -> None:
        self.registry = registry

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"the name of a {self.registry.kind}, or a mapping with its name and options"

    def read(self, reading: Reading, value: Any, path: Path_) -> Any:
        kind = self.registry.kind
        if isinstance(value, Entry):
            return value
        if isinstance(value, str):
            name, given, id = self._parsed(reading, value, path)
        elif isinstance(value, Mapping) and isinstance(value.get("name"), str):
            name, id = value["name"], value.get("id")
            given = {k: v for k, v in value.items() if k not in ("name", "id", "options")}
            nested = value.get("options")
            if nested is not None and not isinstance(nested, Mapping):
                return reading.not_allowed(nested, (*path, "options"), "a mapping, key: value")
            for option, item in (nested or {}).items():
                if option in given:
                    return reading.wrong(
                        (*path, "options", option), f"{kind} {name}: option {option} is given twice"
                    )
                given[option] = item
        else:
            return reading.wrong(path, f"a {kind} needs a name", found=shown(value), expected=self.words)
        if name is WRONG:
            return WRONG
        try:
            known = self.registry.settings(name)
        except ReplituneError as error:
            place = (*path, "name") if isinstance(value, Mapping) else path
            return reading.caught(place, error)
        options = self._options(reading, name, known, given, path)
        if id is not None and (not isinstance(id, str) or not re.search(NAME, id)):
            return reading.wrong(
                (*path, "id"),
                f"the id of {kind} {name} is not allowed",
                found=shown(id),
                expected=NAME_WORDS,
            )
        return WRONG if options is WRONG else Entry(name, options, id or name)

    def _parsed(self, reading: Reading, text: str, path: Path_) -> tuple[Any, dict, Any]:
        """``NAME:key=value,key=value``"""
        name, colon, rest = text.partition(":")
        given: dict[str, str] = {}
        for item in rest.split(",") if colon and rest else ():
            key, equals, value = (part.strip() for part in item.partition("="))
            if not equals or not key or key in given:
                twice = key in given
                reading.wrong(
                    path,
                    f"{self.registry.kind} {text!r}: "
                    + (f"option {key} is given twice" if twice else f"{item!r} is not an option"),
                    expected="NAME:key=value,key=value",
                )
                return WRONG, {}, None
            given[key] = value
        return name.strip(), given, given.pop("id", None)

    def _options(
        self,
        reading: Reading,
        name: str,
        known: Mapping[str, Setting],
        given: Mapping[str, Any],
        path: Path_,
    ) -> Any:
        options: dict[str, Any] = {}
        before = len(reading.mistakes)
        for key, value in given.items():
            option = key if key in known else key.replace("-", "_")
            if option not in known:
                reading.wrong(
                    (*path, key),
                    f"{self.registry.kind} {name} has no option {key!r}",
                    expected=", ".join(known) or "no options",
                    fix=did_you_mean(key, known),
                )
                continue
            hint = known[option].type
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                # YAML reads an unquoted 13 as a number even where text is meant
                value = from_text(hint, _written(value))
            options[option] = reading.read(hint, value, (*path, option))
        for key, setting in known.items():
            if setting.required and key not in options:
                reading.wrong(
                    path,
                    f"{self.registry.kind} {name} needs the option {key}",
                    expected=f"{name}:{key}=...",
                )
        return options if len(reading.mistakes) == before else WRONG

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        kind, names = self.registry.kind, self.registry.names
        if kind not in definitions:
            texts = "|".join(map(re.escape, names))
            definitions[kind] = {
                "anyOf": [
                    {"enum": names},
                    {"type": "string", "pattern": f"^({texts}):"},
                    *(self._mapping_schema(name, definitions) for name in names),
                ]
            }
        return {"$ref": f"#/$defs/{kind}"}

    def _mapping_schema(self, name: str, definitions: dict[str, Any]) -> dict[str, Any]:
        known = self.registry.settings(name)
        options = {key: json_schema(setting.type, definitions) for key, setting in known.items()}
        of_entry = {"name": {"const": name}, "id": {"type": "string", "pattern": NAME}}
        nested = {"type": "object", "additionalProperties": False, "properties": options}
        return {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {**of_entry, **options, "options": nested},
        }
