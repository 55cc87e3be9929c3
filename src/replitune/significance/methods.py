"""The tests by name: where each lives, and which options it takes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from replitune.errors import ReplituneError, nearest

METHODS: dict[str, str] = {
    "crossed": "replitune.significance.tests.crossed:crossed",
    "multi-bootstrap": "replitune.significance.tests.multi_bootstrap:multi_bootstrap",
    "riezler": "replitune.significance.tests.riezler:riezler_many",
    "koehn": "replitune.significance.tests.koehn:koehn",
    "graham": "replitune.significance.tests.graham:graham",
    "clark": "replitune.significance.tests.clark:clark_many",
    "clark-bootstrap": "replitune.significance.tests.clark_bootstrap:clark_bootstrap",
    "fu-ar": "replitune.significance.tests.fu_ar:fu_ar",
    "fu-bootstrap": "replitune.significance.tests.fu_bootstrap:fu_bootstrap",
    "replica-permutation": "replitune.significance.tests.replica_permutation:replica_permutation",
}
"""Where each test lives; imported when first asked for. `..._many` take several metrics."""


@dataclass(frozen=True)
class Method:
    """A test by name, with the options that differ from its defaults."""

    name: str
    options: tuple[tuple[str, Any], ...] = ()
    id: str | None = None
    """What the result rows are called; by default the name."""

    @property
    def label(self) -> str:
        return self.id or self.name


def get_method(given: str | Mapping[str, Any] | Method) -> Method:
    """A method from its name, or from a mapping {name: ..., id: ..., <option>: ...}."""
    if isinstance(given, Method):
        method = given
    elif isinstance(given, str):
        method = Method(given)
    else:
        options = dict(given)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise ReplituneError("a method needs a `name`", found=repr(dict(given)))
        options = {key.replace("-", "_"): value for key, value in options.items()}
        label = options.pop("id", None)
        method = Method(name, tuple(sorted(options.items())), label)
    if method.name not in METHODS:
        close = nearest(method.name, list(METHODS))
        raise ReplituneError(
            f"no test is called {method.name!r}",
            expected="one of " + ", ".join(METHODS),
            fix=f"did you mean {close!r}?" if close else None,
        )
    allowed = sorted(parameters(load(method.name)) - _GIVEN)
    for option, _ in method.options:
        if option not in allowed:
            close = nearest(option, allowed)
            raise ReplituneError(
                f"test {method.name!r} has no option {option!r}",
                expected="one of " + ", ".join(allowed),
                fix=f"did you mean {close!r}?" if close else None,
            )
    return method


_GIVEN = {"alpha", "comparison", "comparisons", "rng", "segment_rng", "draws", "samples"}


def load(name: str) -> Callable[..., Any]:
    module, _, function = METHODS[name].partition(":")
    return getattr(importlib.import_module(module), function)


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)
