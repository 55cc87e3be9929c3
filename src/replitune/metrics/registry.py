"""Metrics by name: our own, and those that other packages provide as entry points.

A metric is named as on a command line, ``bleu:tokenize=none,lowercase=true``, or as in an
experiment file, ``{name: ter, id: ter-norm, normalized: true}``. Its options are the parameters
of its class that are declared as settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replitune.registry import Entry, Registry

if TYPE_CHECKING:
    from replitune.metrics.base import Metric


METRICS: Registry[type[Metric]] = Registry(
    "metric",
    {
        "bleu": "replitune.metrics.bleu:Bleu",
        "bleu+1": "replitune.metrics.bleu:BleuPlusOne",
        "bleurt": "replitune.metrics.external_program:Bleurt",
        "chrf": "replitune.metrics.chrf:Chrf",
        "chrf++": "replitune.metrics.chrf:ChrfPlusPlus",
        "comet": "replitune.metrics.external_program:Comet",
        "command": "replitune.metrics.external_program:CommandMetric",
        "external": "replitune.metrics.external:External",
        "given": "replitune.metrics.given:Given",
        "length": "replitune.metrics.length:Length",
        "mean": "replitune.metrics.base:MeanMetric",
        "meteor": "replitune.metrics.meteor:Meteor",
        "nist": "replitune.metrics.nist:Nist",
        "ribes": "replitune.metrics.ribes:Ribes",
        "ter": "replitune.metrics.ter:Ter",
    },
    group="replitune.metrics",
    base="replitune.metrics.base:Metric",
)


def get_metric(given: str | Mapping[str, Any] | Entry) -> Metric:
    """The metric that an entry, a string or a mapping names."""
    entry = METRICS.entry(given)
    metric = METRICS[entry.name](**entry.options)
    metric.id = entry.id
    return metric
