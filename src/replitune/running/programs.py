"""External programs in an experiment: shell commands from templates, and what is missing."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from replitune.errors import ReplituneError, nearest

_PLACE = re.compile(r"(?<!\$)\{(\{?)([a-z_]+)\}(\}?)")

Value = str | Path | int | Sequence[str | Path]


def filled(template: str, places: Mapping[str, Value], what: str = "the template") -> str:
    """A shell command from a template: `{name}` becomes a quoted word, or several for a list;
    `{{name}}` becomes `{name}`.

    >>> filled("sort {source} > {output}", {"source": "my file", "output": "out"})
    "sort 'my file' > out"
    """
    quoted = _quoted_parts(template)

    def replace(match: re.Match[str]) -> str:
        opening, name, closing = match.groups()
        if opening and closing:
            return f"{{{name}}}"
        if name not in places:
            close = nearest(name, list(places))
            raise ReplituneError(
                f"{what} has no place {{{name}}}",
                found=template,
                expected=", ".join(f"{{{place}}}" for place in places),
                fix=f"did you mean {{{close}}}?" if close else f"for the shell write {{{{{name}}}}}",
            )
        if quoted[match.start()]:
            raise ReplituneError(
                f"{what}: {{{name}}} is inside quotes",
                found=template,
                fix="close the quotes before it: values are quoted when they are filled in",
            )
        value = places[name]
        words = [value] if isinstance(value, str | Path | int) else value
        return opening + " ".join(shlex.quote(str(word)) for word in words) + closing

    return _PLACE.sub(replace, template)


def uses(template: str, name: str) -> bool:
    """Whether a template has a place of this name."""
    return any(match[2] == name and not (match[1] and match[3]) for match in _PLACE.finditer(template))


def _quoted_parts(template: str) -> list[bool]:
    """For each character, whether a shell is inside quotes there."""
    inside, kind, escaped, comment = [], "", False, False
    before = "\n"
    for character in template:
        inside.append(bool(kind))
        if comment:
            comment = character != "\n"
        elif escaped:
            escaped = False
        elif character == "\\" and kind != "'":
            escaped = True
        elif kind:
            kind = "" if character == kind else kind
        elif character in "'\"":
            kind = character
        elif character == "#" and before in " \t\n;":
            comment = True
        before = character
    return inside


def missing_program(name: str, fix: str) -> list[ReplituneError]:
    """An error if a program is neither on the PATH nor a file that can be run."""
    if shutil.which(name) is not None:
        return []
    where = "is not there" if "/" in name else "is not on the PATH"
    return [ReplituneError(f"the program {name} {where}, or cannot be run", fix=fix)]


def missing_file(path: str | Path, fix: str) -> list[ReplituneError]:
    return [] if Path(path).exists() else [ReplituneError("no such file", file=path, fix=fix)]
