"""Naming metrics as on the command line and as in an experiment file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from replitune.errors import ReplituneError
from replitune.metrics import registry
from replitune.metrics.base import Metric
from replitune.metrics.registry import METRICS, get_metric, get_metrics


@pytest.mark.parametrize(
    "spec",
    [
        "bleu:tokenize=none,lowercase=true,smooth_method=floor,smooth_value=0.2,id=mine",
        {
            "name": "bleu",
            "id": "mine",
            "options": {
                "tokenize": "none",
                "lowercase": True,
                "smooth_method": "floor",
                "smooth_value": 0.2,
            },
        },
        {
            "name": "bleu",
            "id": "mine",
            "tokenize": "none",
            "lowercase": True,
            "options": {"smooth_method": "floor", "smooth_value": "0.2"},
        },
    ],
)
def test_string_nested_and_inline_forms_say_the_same(spec):
    metric = get_metric(spec)
    assert metric.id == "mine"
    assert metric.signature() == "case:lc|eff:no|tok:none|smooth:floor[0.20]"


@pytest.mark.parametrize("name", sorted({*METRICS} - {"external"}))  # external needs a file
def test_every_listed_metric_is_there_and_knows_its_name(name):
    metric = get_metric(name)
    assert metric.name == name
    assert metric.id == name
    assert metric.signature()
    assert len(set(metric.statistic_names)) == len(metric.statistic_names)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("blue", "did you mean 'bleu'"),
        ("BLEU", "did you mean 'bleu'"),
        ("nothing-like-it", "one of .*bleu"),
        ("bleu:tokenise=none", "did you mean 'tokenize'.*\n.*one of tokenize, lowercase"),
        ("bleu:lowercase=maybe", "true or false"),
        ("bleu:max_ngram_order=2.5", "a whole number"),
        ("bleu:smooth_value=much", "a number or none"),
        ("bleu:lowercase", "OPTION=VALUE"),
        ("bleu:lowercase=true,lowercase=false", "twice"),
        ("bleu:id=a/b", "file name"),
        ("bleu:id=..", "file name"),
        ("bleu:id=-x", "file name"),
        ({"name": "bleu", "lowercase": 1}, "true or false"),
        ({"name": "bleu", "tokenize": ["13a"]}, "text"),
        ({"name": "bleu", "options": ["13a"]}, "not a mapping"),
        ({"name": "bleu", "max_ngram_order": True}, "a whole number"),
        ({"id": "bleu"}, "needs a name"),
        (7, "needs a name"),
        ({"name": "bleu", "lowercase": True, "options": {"lowercase": True}}, "twice"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(spec, said):
    with pytest.raises(ReplituneError, match=said):
        get_metric(spec)


def test_none_means_the_default():
    assert get_metric("bleu:smooth_value=none").smooth_value == 0.0


def test_two_metrics_need_two_ids():
    assert [m.id for m in get_metrics(["bleu", "bleu:id=bleu-lc,lowercase=yes"])] == [
        "bleu",
        "bleu-lc",
    ]
    with pytest.raises(ReplituneError, match="two metrics have the id bleu"):
        get_metrics(["bleu", "bleu:lowercase=true"])


class Constant(Metric):
    """A third party's metric."""

    name = "constant"
    statistic_names = ("one",)

    def __init__(self, id: str | None = None, *, value: int, label: str = "x") -> None:
        super().__init__(id)
        self.value, self.label = value, label

    def signature(self):
        return f"value:{self.value}"

    def segment_statistics(self, hyps, segments, prepared):
        raise AssertionError("not called")

    def score(self, sums):
        raise AssertionError("not called")


class _Point:
    def __init__(self, name, target):
        self.name, self.target, self.value = name, target, f"somewhere:{name}"

    def load(self):
        return self.target


def test_a_third_party_registers_a_metric_by_entry_point(monkeypatch):
    points = [_Point("constant", Constant), _Point("odd", print)]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    metric = get_metric("constant:value=3,label=13")
    assert (metric.value, metric.label, metric.id) == (3, "13", "constant")
    assert "constant" in registry.metric_names()
    with pytest.raises(ReplituneError, match="needs the option value"):
        get_metric("constant")
    with pytest.raises(ReplituneError, match="is not a metric"):
        get_metric("odd")


def test_the_registry_imports_no_metric_before_it_is_asked_for():
    code = (
        "import sys; from replitune.metrics.registry import metric_names; metric_names();"
        "sys.exit(any(m in sys.modules for m in ('numba', 'sacrebleu', 'pandas', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
