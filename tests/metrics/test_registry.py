"""Naming metrics as on the command line and as in an experiment file."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import pytest

from replitune.errors import ReplituneError
from replitune.metrics.base import Metric
from replitune.metrics.bleu import Bleu
from replitune.metrics.chrf import Chrf
from replitune.metrics.length import Length
from replitune.metrics.registry import METRICS, get_metric
from replitune.settings import about


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


@pytest.mark.parametrize("name", sorted({*METRICS.own} - {"external", "command"}))  # need options
def test_every_listed_metric_is_there_and_knows_its_name(name):
    metric = get_metric(name)
    assert metric.name == name
    assert metric.id == name
    assert metric.signature()
    assert len(set(metric.statistic_names)) == len(metric.statistic_names)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("blue", "did you mean `bleu`"),
        ("BLEU", "did you mean `bleu`"),
        ("nothing-like-it", "expected: .*bleu"),
        ("bleu:tokenise=none", "(?s)has no option 'tokenise'.*did you mean `tokenize`"),
        ("bleu:tokenize=int", "did you mean `intl`"),
        ("bleu:lowercase=maybe", "true or false"),
        ("bleu:max_ngram_order=2.5", "a whole number"),
        ("bleu:max_ngram_order=17", "at most 16"),
        ("bleu:smooth_value=much", "a number or null"),
        ("bleu:smooth_value=0.5", "takes no smooth_value"),
        ("bleu:lowercase", "key=value"),
        ("bleu:lowercase=true,lowercase=false", "twice"),
        ("bleu:id=a/b", "file name"),
        ("bleu:id=..", "file name"),
        ("bleu:id=-x", "file name"),
        ({"name": "bleu", "lowercase": 1}, "true or false"),
        ({"name": "bleu", "tokenize": ["13a"]}, "13a, char"),
        ({"name": "bleu", "options": ["13a"]}, "a mapping"),
        ({"name": "bleu", "max_ngram_order": True}, "a whole number"),
        ({"id": "bleu"}, "needs a name"),
        (7, "needs a name"),
        ({"name": "bleu", "lowercase": True, "options": {"lowercase": True}}, "twice"),
        ("meteor:language=en,normalise=true", "did you mean `normalize`"),
        ("meteor:language=dd", "en, cz, cs, de"),
    ],
)
def test_a_mistake_is_named_with_what_is_allowed(spec, said):
    with pytest.raises(ReplituneError, match=said):
        get_metric(spec)


@pytest.mark.parametrize(
    ("construct", "said"),
    [
        (lambda: Bleu(max_ngram_order=99), "at most 16"),
        (lambda: Bleu(None, "13b"), "did you mean `13a`"),
        (lambda: Chrf(beta=float("nan")), "beta is not allowed"),
        (lambda: Length(ref_length="longest"), "closest, shortest"),
    ],
)
def test_who_makes_a_metric_without_a_name_is_held_to_the_same(construct, said):
    with pytest.raises(ReplituneError, match=said):
        construct()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("bleu", "bleu"),
        ("bleu:tokenize=none", "bleu:tokenize=none"),
        ({"name": "ter", "id": "ter-norm", "normalized": True}, "ter:id=ter-norm,normalized=true"),
        ({"name": "chrf", "options": {"beta": 3}}, "chrf:beta=3"),
        ({"name": "external", "file": "a b.tsv"}, "external:file=a b.tsv"),
    ],
)
def test_the_word_of_a_metric_is_what_stores_have(given, word):
    assert METRICS.entry(given).word == word
    assert METRICS.entry(word) == METRICS.entry(given)


def test_none_means_the_default():
    assert get_metric("bleu:smooth_value=none").smooth_value == 0.0


def test_two_metrics_need_two_ids():
    two = METRICS.entries(["bleu", "bleu:id=bleu-lc,lowercase=yes"])
    assert [get_metric(entry).id for entry in two] == ["bleu", "bleu-lc"]
    with pytest.raises(ReplituneError, match="two metrics are called 'bleu'"):
        METRICS.entries(["bleu", "bleu:lowercase=true"])


class Constant(Metric):
    """A third party's metric."""

    name = "constant"
    statistic_names = ("one",)

    def __init__(
        self,
        id: str | None = None,
        *,
        value: Annotated[int, about("The score.")],
        label: Annotated[str, about("Its label.")] = "x",
    ) -> None:
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
        self.module = "somewhere"

    def load(self):
        return self.target


def test_a_third_party_registers_a_metric_by_entry_point(monkeypatch):
    points = {"constant": _Point("constant", Constant), "odd": _Point("odd", print)}
    monkeypatch.setattr(METRICS, "_points", points)
    monkeypatch.setattr(METRICS, "_loaded", {})
    metric = get_metric("constant:value=3,label=13")
    assert (metric.value, metric.label, metric.id) == (3, "13", "constant")
    assert "constant" in METRICS.names
    with pytest.raises(ReplituneError, match="needs the option value"):
        get_metric("constant")
    with pytest.raises(ReplituneError, match="is not a metric"):
        get_metric("odd")


def test_the_options_of_all_metrics_are_known_without_compilers():
    code = (
        "import sys; from replitune.metrics.registry import METRICS;"
        "all(map(METRICS.settings, METRICS.names));"
        "METRICS.entries(['bleu:tokenize=intl', 'chrf', 'ter', 'nist', 'ribes', 'meteor']);"
        "sys.exit(any(m in sys.modules for m in ('numba', 'sacrebleu', 'pandas', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
