"""From the name of a metric and its options to the metric.

A metric is named as on the command line, ``bleu:tokenize=none,lowercase=true``, or as in an
experiment file, ``{name: ter, id: ter-norm, normalized: true}``. Options are the keyword
parameters of the metric's class; their annotations say what values they take. Only the
module of the metric asked for is imported.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from replitune.errors import ReplituneError, nearest
from replitune.metrics.base import Metric

ENTRY_POINTS = "replitune.metrics"

METRICS = {
    "bleu": "replitune.metrics.bleu:Bleu",
    "bleu+1": "replitune.metrics.bleu:BleuPlusOne",
    "chrf": "replitune.metrics.chrf:Chrf",
    "chrf++": "replitune.metrics.chrf:ChrfPlusPlus",
    "external": "replitune.metrics.external:External",
    "length": "replitune.metrics.length:Length",
    "mean": "replitune.metrics.base:MeanMetric",
    "meteor": "replitune.metrics.meteor:Meteor",
    "nist": "replitune.metrics.nist:Nist",
    "ribes": "replitune.metrics.ribes:Ribes",
    "ter": "replitune.metrics.ter:Ter",
}
"""Name -> module:Class; third parties add theirs as entry points."""

_SAFE_ID = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9._+-]*")


def metric_names() -> list[str]:
    """Every metric that can be named, entry points included."""
    return sorted({*METRICS, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def get_metric(spec: str | Mapping[str, Any]) -> Metric:
    """The metric that `spec` names, with its options checked."""
    name, id, options = _parse(spec)
    cls = _metric_class(name)
    metric = cls(**_checked_options(name, cls, options))
    if id is not None:
        metric.id = id
    if not _SAFE_ID.fullmatch(metric.id):
        raise ReplituneError(
            f"the id of metric {name} does not do as a file name",
            found=repr(metric.id),
            expected="letters, digits and . _ + -, and neither . nor - first",
        )
    return metric


def get_metrics(specs: Iterable[str | Mapping[str, Any]]) -> list[Metric]:
    """The metrics of an experiment or command, whose ids must differ: they name files."""
    metrics = [get_metric(spec) for spec in specs]
    seen: set[str] = set()
    for metric in metrics:
        # Some file systems do not tell upper from lower case.
        if metric.id.lower() in seen:
            raise ReplituneError(
                f"two metrics have the id {metric.id}",
                fix=f"name one of them, for example {metric.name}:id={metric.id}-2,...",
            )
        seen.add(metric.id.lower())
    return metrics


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse an option's value that is not among `allowed`."""
    if value not in allowed:
        close = nearest(value, allowed)
        raise ReplituneError(
            f"unknown {option}={value}" + (f", did you mean {close}?" if close else ""),
            expected=f"one of {', '.join(allowed)}",
        )


def _parse(spec: str | Mapping[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
    """(name, id or None, options as given)."""
    options: dict[str, Any] = {}
    if isinstance(spec, str):
        name, _, rest = spec.partition(":")
        for item in rest.split(",") if rest else ():
            option, equals, value = item.partition("=")
            if not equals or not option:
                raise ReplituneError(
                    f"metric {spec!r}: {item!r} is not an option",
                    expected="NAME:OPTION=VALUE,OPTION=VALUE",
                )
            _add(options, option.strip(), value.strip(), name)
        return name.strip(), _id(options.pop("id", None)), options
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise ReplituneError(
            "a metric needs a name",
            found=repr(spec),
            expected="a name, or {name: ..., id: ..., options: {...}}",
        )
    name = spec["name"]
    nested = spec.get("options") or {}
    if not isinstance(nested, Mapping):
        raise ReplituneError(
            f"metric {name}: options are not a mapping",
            found=repr(nested),
            expected="{name: value}",
        )
    inline = {key: value for key, value in spec.items() if key not in ("name", "id", "options")}
    for key, value in (*inline.items(), *nested.items()):
        _add(options, str(key), value, name)
    return name, _id(spec.get("id")), options


def _id(value: Any) -> str | None:
    return None if value is None else str(value)


def _add(options: dict[str, Any], option: str, value: Any, name: str) -> None:
    if option in options:
        raise ReplituneError(f"metric {name}: option {option} is given twice")
    options[option] = value


def _metric_class(name: str) -> type[Metric]:
    target = METRICS.get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        found: type[Metric] = getattr(import_module(module), attribute)
        return found
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            loaded = point.load()
            if not (isinstance(loaded, type) and issubclass(loaded, Metric)):
                raise ReplituneError(
                    f"entry point {name} of {ENTRY_POINTS} is not a metric",
                    found=point.value,
                    expected="a subclass of replitune.metrics.base.Metric",
                )
            return loaded
    names = metric_names()
    close = nearest(name.lower(), names)
    raise ReplituneError(
        f"unknown metric {name!r}" + (f", did you mean {close!r}?" if close else ""),
        expected=f"one of {', '.join(names)}",
    )


def _checked_options(name: str, cls: type[Metric], options: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        key: parameter
        for key, parameter in inspect.signature(cls).parameters.items()
        if key != "id" and parameter.kind is not parameter.VAR_KEYWORD
    }
    hints = typing.get_type_hints(cls.__init__)
    for option in options:
        if option not in parameters:
            close = nearest(option, list(parameters))
            raise ReplituneError(
                f"metric {name} has no option {option!r}"
                + (f", did you mean {close!r}?" if close else ""),
                expected=f"one of {', '.join(parameters)}" if parameters else "no options",
            )
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in options:
            raise ReplituneError(
                f"metric {name} needs the option {key}", expected=f"{name}:{key}=..."
            )
    return {
        option: _typed(f"{name}:{option}", value, _kinds(hints.get(option, str)))
        for option, value in options.items()
    }


def _kinds(hint: Any) -> tuple[type, ...]:
    """The plain types of an annotation: ``float | None`` -> (float, NoneType)."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return tuple(kind for part in typing.get_args(hint) for kind in _kinds(part))
    if typing.get_origin(hint) is typing.Literal:
        return tuple({type(value) for value in typing.get_args(hint)})
    return (hint,) if isinstance(hint, type) else (str,)


_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_KIND_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    types.NoneType: "none",
}


def _typed(what: str, value: Any, kinds: tuple[type, ...]) -> Any:
    """`value`, from YAML or a command line, as the first of `kinds` that takes it."""
    text = value.strip() if isinstance(value, str) else None
    if types.NoneType in kinds and (value is None or (text or "").lower() in ("none", "null")):
        return None
    for kind in kinds:
        if kind is bool:
            if isinstance(value, bool):
                return value
            if text is not None and text.lower() in _WORDS:
                return _WORDS[text.lower()]
        elif kind in (int, float):
            if isinstance(value, bool):
                continue
            if kind is int and isinstance(value, float) and not value.is_integer():
                continue
            try:
                return kind(value)
            except (TypeError, ValueError, OverflowError):
                continue
        elif kind is str:
            # YAML reads an unquoted 13 as a number; nobody means a boolean or a list as text.
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                return str(value)
        elif isinstance(value, kind):
            return value
    raise ReplituneError(
        f"option {what} has a value of the wrong kind",
        found=repr(value),
        expected=" or ".join(_KIND_NAMES.get(kind, "text") for kind in kinds),
    )
