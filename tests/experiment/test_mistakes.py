"""Mistakes that people make: each is found before anything runs, with its line. Those of single keys are
made from the settings in test_wrong_keys.py."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from replitune.errors import ReplituneError
from replitune.experiment.reading import load
from replitune.experiment.yaml_file import ExperimentError

SMT = {
    "experiment": "x",
    "seed": 1,
    "corpus": {"kind": "synthetic", "train": 100, "dev": 10, "tests": {"t1": 10, "t2": 10}},
    "systems": {
        "a": {"backend": "phrase", "features": ["tm", "lm"], "subset": "all"},
        "b": {"backend": "phrase", "training": {"lm_order": 3}, "search": {"stack": 50}},
        "c": {"backend": "corruption", "errors": 0.2, "replicas": {"mert": 3, "pro": 2}},
    },
    "replicas": {"mert": 3, "pro": 2},
    "tuning": {"metric": "bleu", "nbest": 100, "mert": {"restarts": 5}, "pro": {"samples": 9}},
    "metrics": ["bleu", {"name": "ter", "id": "ter-norm", "normalized": True}],
    "tests": {"samples": 99, "methods": ["crossed", "clark"], "intervals": ["riezler"]},
    "studies": {"power": {"replicas": [3, 5]}},
    "scales": {"small": {"corpus": {"dev": 5}}},
}
FILES = {
    "experiment": "x",
    "corpus": {"kind": "files", "tests": {"t": {"references": "r.txt"}}},
    "systems": {"a": {"backend": "outputs", "files": {"t": ["o.1", "o.2"]}}},
}
APART = {
    "experiment": "x",
    "corpus": {"kind": "files", "tests": {"t": {"references": "r"}, "u": {"references": "r"}}},
    "systems": {
        "a": {"backend": "outputs", "files": {"t": "a.t", "u": "a.u"}},
        "b": {"backend": "outputs", "files": {"t": "b.t"}, "without": ["u"]},
        "c": {"backend": "outputs", "files": {"u": "c.u"}, "without": ["t"]},
    },
    "tests": {"methods": ["riezler"]},
}
"""Two language pairs."""
NMT = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "tests": {"t": 10}},
    "systems": {"a": {"backend": "marian", "architecture": "transformer"}},
    "replicas": {"seeds": 2},
}
COMMAND = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "tests": {"t": 10}},
    "systems": {"a": {"backend": "command", "decode": "cat {source} > {output}"}},
    "replicas": {"seeds": 2},
}
MOSES = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "tests": {"t": 10}},
    "systems": {"a": {"backend": "moses", "moses": "bin"}},
    "replicas": {"mert": 2},
}

LOOKS = {**COMMAND, "replicas": {"seeds": 20, "until": "settled", "looks": [3, 5, 8]}}
"""How many replicas it needs, it decides itself."""
LOOKS_AT_TUNERS = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "train": 100, "dev": 10, "tests": {"t": 10}},
    "systems": {"a": {"backend": "phrase"}, "b": {"backend": "phrase", "subset": "top"}},
    "replicas": {"mert": 20, "mira": 20, "until": "settled"},
}
ON_GRAPHS = {
    "experiment": "x",
    "corpus": {"kind": "synthetic", "train": 100, "dev": 10, "tests": {"t": 10}},
    "systems": {"a": {"backend": "phrase"}},
    "replicas": {"mert": 2, "mert-lattice": 2},
}
LOOKS_AT_TWO = {**LOOKS, "corpus": {"kind": "synthetic", "tests": {"t": 10, "u": 10}}}

MISTAKES: list[tuple[dict[str, Any], str, Any, str]] = [
    (ON_GRAPHS, "tuning.resample_dev", True, "found:    mert-lattice"),
    # looks
    (LOOKS, "replicas.until", "done", "expected: settled"),
    (LOOKS, "replicas.looks", [2, 5], "the first look is at 2"),
    (LOOKS, "replicas.looks", [3, 8, 5], "looks do not rise"),
    (LOOKS, "replicas.looks", [3, 3], "looks do not rise"),
    (LOOKS, "replicas.looks", [], "at least 1 item"),
    (LOOKS, "replicas.looks", [3, 30], "a look at 30, but no system may have so many runs"),
    (LOOKS, "replicas.seeds", 3, "already has all runs"),
    (LOOKS_AT_TUNERS, "replicas.mira", 10, "the same number of runs of each kind"),
    (LOOKS, "replicas.metric", "ter", "unknown metric 'ter' in replicas.metric"),
    (LOOKS, "replicas.metric", ["bleu", "ter"], "2 metrics cannot decide together"),
    (LOOKS, "replicas.testset", "u", "unknown test set 'u' in replicas.testset"),
    (LOOKS_AT_TWO, "replicas.looks", [3, 5], "no test set is named as the one that decides"),
    (LOOKS, "replicas.design", "samples", "samples have no run effect"),
    (LOOKS, "replicas.start", 3, "unknown key `start` in replicas"),
    (LOOKS, "tests.methods", ["clark"], "looks use `crossed`"),
    (LOOKS, "tests.methods", [{"name": "crossed", "scope": "segments"}], "scope: segments"),
    (LOOKS, "tests.methods", [{"name": "crossed", "noise_ratio": 3}], "noise_ratio: 3"),
    (LOOKS, "tests.correction", "bh", "looks have no correction `bh`"),
    (COMMAND, "replicas.looks", [3, 5], "replicas.looks without `until: settled`"),
    (FILES, "replicas", {"seeds": 5, "until": "settled"}, "no system makes runs"),
    (LOOKS, "replicas.record", "looks/2.json", "looks are repeated only at outputs that are given"),
    (COMMAND, "replicas.record", "looks/2.json", "replicas.record without `until: settled`"),
    # suites, margins, designs
    (SMT, "tests.suites", {"s": ["t1", "t3"]}, "unknown test set 't3' in tests.suites.s"),
    (SMT, "tests.suites", {"s": ["t1"]}, "a suite of one test set"),
    (SMT, "tests.suites", {"t1": "all"}, "a suite and a test set are both called 't1'"),
    (SMT, "tests.suites", {"s": {"t1": 1, "t2": 0}}, "more than 0"),
    (SMT, "tests.suites", {"s": 3}, "all"),
    (SMT, "tests.margin", {"blue": 0.5}, "did you mean `bleu`"),
    (SMT, "tests.margin", {"bleu": -1}, "more than 0"),
    (SMT, "tests.family", "metrics", "pairs x metrics"),
    (SMT, "tests.correction", "max_t", "did you mean `max-t`"),
    (SMT, "tests.methods", [{"name": "crossed", "scope": "run"}], "did you mean `runs`"),
    (SMT, "replicas", {"mert": 3, "pro": 2, "design": "sample"}, "did you mean `samples`"),
    (SMT, "replicas", {"mert": 3, "pro": 2, "desing": "samples"}, "did you mean `design`"),
    (SMT, "systems.c.replicas", {"mert": 3, "design": "samples"}, "unknown key `design`"),
    # the experiment
    (SMT, "sede", 1, "did you mean `seed`"),
    (SMT, "seed", -1, "at least 0"),
    (SMT, "seed", 1.0, "a whole number"),
    (SMT, "seed", "one", "a whole number"),
    (SMT, "experiment", "a/b", "a safe file name"),
    (SMT, "experiment", 3, "a safe file name"),
    (SMT, "corpora", 3, "corpora is not allowed"),
    (SMT, "systems", {}, "at least 1"),
    (SMT, "systems", [], "a mapping"),
    # the corpus
    (SMT, "corpus.kind", "synthetc", "did you mean `synthetic`"),
    (SMT, "corpus", {"train": 100}, "key `kind` is missing in corpus"),
    (SMT, "systems.a", {"features": ["tm"]}, "key `backend` is missing in systems.a"),
    (SMT, "corpus.trian", 100, "did you mean `train`"),
    (SMT, "corpus.tests.t1", 0, "at least 1"),
    (SMT, "corpus.tests.t 3", 10, "a safe file name"),
    (SMT, "corpus.tests", {}, "no test set"),
    (SMT, "corpus.tests.dev", 10, "corpus.dev"),
    (FILES, "corpus.tests.t.refrences", "r.txt", "did you mean `references`"),
    (FILES, "corpus.tests.t.format", "smg", "did you mean `sgm`"),
    (FILES, "corpus.tests.t.columns", {"refs": 1}, "unknown key `refs`"),
    (FILES, "corpus.tests.t.columns", {"header": "maybe"}, "true or false"),
    (FILES, "corpus.tests.t.parts", {"p": {"references": "r"}}, "nothing else"),
    (FILES, "corpus.tests.t.references", [], "references"),
    (FILES, "corpus.train", {"source": "s"}, "`target` is missing"),
    (FILES, "corpus.train", {"source": ["s", "s2"], "target": ["t"]}, "the same number of each"),
    # systems
    (SMT, "systems.a.backend", "phrse", "did you mean `phrase`"),
    (SMT, "systems.a.features", ["tm", "lmm"], "did you mean `lm`"),
    (SMT, "systems.a.features", [], "one or more"),
    (SMT, "systems.a.features", ["tm", "tm"], "distinct"),
    (SMT, "systems.a.subset", "half", "subset"),
    (SMT, "systems.a.serach", {}, "did you mean `search`"),
    (SMT, "systems.a.resources", {"treads": 2}, "did you mean `threads`"),
    (SMT, "systems.a.resources", {"threads": 0}, "at least 1"),
    (SMT, "systems.a.resources", {"mem_mb": "4G"}, "a whole number"),
    (SMT, "systems.a.replicas", {"mret": 3}, "did you mean `mert`"),
    (SMT, "systems.a.replicas", {"seeds": 3}, "makes runs of other kinds"),
    (SMT, "systems.b.training.lm_ordre", 3, "did you mean `lm_order`"),
    (SMT, "systems.b.training.alignment", "hmmm", "did you mean `hmm`"),
    (SMT, "systems.b.search.stck", 50, "did you mean `stack`"),
    (SMT, "systems.c.spred", 0.1, "did you mean `spread`"),
    (NMT, "systems.a.architecture", "transfomer", "did you mean `transformer`"),
    (NMT, "systems.a.training", {"patiense": 3}, "did you mean `patience`"),
    (NMT, "systems.a.decoding", {"beam": 0}, "at least 1"),
    (NMT, "systems.a.vocabulary", {"sise": 100}, "did you mean `size`"),
    (NMT, "systems.a.options", {"seed": 64}, "each run has its own seed"),
    (NMT, "systems.a.options", {"dim-emb": "wide"}, "such as 128"),
    (NMT, "systems.a.options", {"seed": 3}, "each run has its own seed"),
    (NMT, "systems.a.resources", {"threads": 4}, "deterministic: false"),
    (COMMAND, "systems.a.decode", "cat {sorce} > {output}", "sorce"),
    (COMMAND, "systems.a.decod", "cat", "did you mean `decode`"),
    (COMMAND, "systems.a.weights", {"LM0": "x"}, "a number"),
    (COMMAND, "systems.a.weights", {"LM0": 0.5}, "n-best lists"),
    (COMMAND, "systems.a.weights_format", "xml", "ini, json"),
    (MOSES, "systems.a.tuner", "mert", "mert-moses"),
    (MOSES, "systems.a.training", {"lm-order": 5}, "lm_order"),
    (MOSES, "systems.a.programs", ["moses"], "a mapping"),
    (FILES, "systems.a.files", {"u": "o.*"}, "unknown test set 'u'"),
    (FILES, "systems.a.files.t", 3, "systems.a.files.t"),
    (FILES, "systems.a.file", {"t": "o.1"}, "did you mean `files`"),
    (FILES, "systems.a.like", {"u": "w.xml"}, "unknown test set 'u'"),
    (FILES, "systems.a.without", ["u"], "unknown test set 'u'"),
    (FILES, "systems.a.without", ["t"], "has files for test set t and names it under `without`"),
    (APART, "systems.b", {"backend": "outputs", "files": {"t": "b.t"}}, "under `without`"),
    (APART, "tests.pairs", {"baseline": "a"}, "lack translations of some test sets"),
    (APART, "tests.pairs", [["a", "b"]], "lack translations of some test sets"),
    # replicas
    (SMT, "replicas", {"mret": 3}, "did you mean `mert`"),
    (SMT, "replicas.mert", 0, "at least 1"),
    (SMT, "replicas.mert", 1000, "at most 999"),
    (SMT, "replicas", {}, "seeds, mert"),
    (SMT, "systems.b.replicas", {"mert": 2, "pro": 3}, "different shares"),
    # tuning
    (SMT, "tuning.iteration", 3, "did you mean `iterations`"),
    (SMT, "tuning.metric", "bleuu", "bleu"),
    (SMT, "tuning.init", "randon", "did you mean `random`"),
    (SMT, "tuning.init_range", [1, -1], "low"),
    (SMT, "tuning.init_range", [0], "a list of 2"),
    (SMT, "tuning.mert.restrats", 5, "did you mean `restarts`"),
    (SMT, "tuning.mert.averaging", [2.0], "averaging"),
    (SMT, "tuning.pro.interpolation", "lines", "line"),
    (SMT, "tuning.mira", {"decay": 1.5}, "less than 1"),
    (SMT, "tuning.mera", {"epochs": 3}, "did you mean `mira`"),
    # metrics
    (SMT, "metrics", ["bleuu"], "did you mean `bleu`"),
    (SMT, "metrics", [], "at least 1"),
    (SMT, "metrics", ["bleu:tokenise=none"], "did you mean `tokenize`"),
    (SMT, "metrics", ["bleu:tokenize=13b"], "13a"),
    (SMT, "metrics", ["bleu:max_ngram_order=0"], "max_ngram_order"),
    (SMT, "metrics", [{"name": "ter", "normalised": True}], "did you mean `normalized`"),
    (SMT, "metrics", [{"id": "x"}], "needs a name"),
    (SMT, "metrics", ["bleu", "bleu:tokenize=none"], "called 'bleu'"),
    (SMT, "metrics", [{"name": "bleu", "id": "a b"}], "a safe file name"),
    (SMT, "metrics", [{"name": "external"}], "file"),
    (SMT, "metrics", [{"name": "external", "file": "scores.tsv"}], "{testset}"),
    # tests
    (SMT, "tests.alfa", 0.05, "did you mean `alpha`"),
    (SMT, "tests.methods", ["clrk"], "did you mean `clark`"),
    (SMT, "tests.methods", [{"name": "clark", "unit": "sentence"}], "segment, document"),
    (SMT, "tests.methods", [{"name": "clark", "pairs": "index"}], "did you mean `pairing`"),
    (SMT, "tests.methods", [{"name": "riezler", "replica": "mert-009"}], "mert-001"),
    (SMT, "tests.methods", ["clark", {"name": "clark", "unit": "document"}], "called 'clark'"),
    (SMT, "tests.intervals", ["clrk"], "did you mean `clark`"),
    (SMT, "tests.intervals", [{"name": "riezler", "half": "yes"}], "with replacement"),
    (SMT, "tests.pairs", [["a", "d"]], "unknown system 'd'"),
    (SMT, "tests.pairs", {"baselin": "a"}, "baseline"),
    (SMT, "tests.correction", "holmes", "did you mean `holm`"),
    (SMT, "tests.paired_replicas", 1, "true or false"),
    # studies
    (SMT, "studies.powr", True, "did you mean `power`"),
    (SMT, "studies.power.replicas", [1], "at least 2"),
    (SMT, "studies.power.metrics", ["chrf"], "unknown metric 'chrf'"),
    (SMT, "studies.replication", {"size": [1]}, "did you mean `sizes`"),
    (SMT, "studies.replication", {"methods": ["clrk"]}, "did you mean `clark`"),
    (SMT, "studies.calibrate", {"trials": 0}, "at least 1"),
    (SMT, "studies.calibrate", {"unit": "word"}, "segment, document"),
    (SMT, "studies.meta", True, "`human` is missing"),
    (SMT, "studies.meta", {"human": {"t3": "h.tsv"}}, "unknown test set 't3'"),
    # scales
    (SMT, "scale", "smal", "did you mean `small`"),
    (SMT, "scales.small", 3, "a mapping"),
    (SMT, "scales.small.replicas", {"mret": 1}, "did you mean `mert`"),
    (SMT, "scales.small.tuning", {"mert": {"restrats": 1}}, "did you mean `restarts`"),
    (SMT, "scales.small.systems", {"a": {"subst": "top"}}, "did you mean `subset`"),
]


TWO_COMPLAINTS = (
    "replicas.looks",
    "systems.a.files",
    "systems.a.weights",
    "systems.b.replicas",
    "tests.pairs",
)
"""Mistakes of which two things are wrong: a test set that is named wrongly has no files."""


def changed(base: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(base)
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return data


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "x.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


@pytest.mark.parametrize("base", [SMT, FILES, NMT, COMMAND, MOSES, LOOKS, LOOKS_AT_TUNERS])
def test_without_a_mistake_nothing_is_said(tmp_path: Path, base: dict[str, Any]):
    load(written(tmp_path, base))


@pytest.mark.parametrize(
    ("base", "path", "value", "hint"), MISTAKES, ids=[f"{p}={v}" for _, p, v, _ in MISTAKES]
)
def test_a_mistake_is_found_with_its_place(
    tmp_path: Path, base: dict[str, Any], path: str, value: Any, hint: str
):
    file = written(tmp_path, changed(base, path, value))
    most = 2 if path in TWO_COMPLAINTS else 1
    with pytest.raises(ExperimentError) as raised:
        load(file)
    errors = [error for error in raised.value.errors if hint in error.render()]
    assert errors, raised.value.render()
    assert len(raised.value.errors) <= most, raised.value.render()
    places = places_of(file, ["scales"] if path == "scale" else path.split("."))
    assert errors[0].file == str(file)
    assert errors[0].line in places


def places_of(file: Path, path: list[str]) -> set[int]:
    """Lines of a key, of what stands below it, and of what it stands in."""
    node = yaml.compose(file.read_text())
    lines = set()
    for key in path:
        found = [(k, v) for k, v in node.value if k.value == key]
        if not found:
            break
        (name, node), *_ = found
        lines.add(name.start_mark.line + 1)
    end = node.end_mark.line + (1 if node.end_mark.column else 0)
    return lines | set(range(max(lines), end + 1))


def test_all_mistakes_of_a_file_are_said_in_its_order(tmp_path: Path):
    data = copy.deepcopy(SMT)
    data["systems"]["b"]["training"]["lm_ordre"] = 3
    data["systems"]["b"]["search"]["stck"] = 3
    data["tuning"]["mert"]["restrats"] = 3
    data["metrics"].append("bleuu")
    data["tests"]["methods"].append("clrk")
    data["tests"]["intervals"].append("clrk")
    with pytest.raises(ExperimentError) as raised:
        load(written(tmp_path, data))
    found = raised.value
    assert [error.line for error in found.errors] == sorted(e.line for e in found.errors)
    assert len(found.errors) == 6
    assert found.render().endswith("6 mistakes")


def test_a_mistake_in_one_place_hides_none_in_another(tmp_path: Path):
    data = changed(SMT, "corpus.kind", "synthetc")
    data["tests"]["pairs"] = [["a", "z"]]
    data["systems"]["a"]["resources"] = {"threads": 0}
    with pytest.raises(ExperimentError) as raised:
        load(written(tmp_path, data))
    text = raised.value.render()
    assert "synthetc" in text
    assert "unknown system 'z'" in text
    assert "threads" in text


def test_messages_say_what_to_do_where_a_system_lacks_its_texts(tmp_path: Path):
    corpus = {"kind": "files", "tests": {"t": {"references": "r.txt"}}}
    with pytest.raises(ReplituneError) as raised:
        load(written(tmp_path, {**SMT, "corpus": corpus}))
    text = raised.value.render()
    assert "need training pairs" in text
    assert "need a dev set to tune on" in text
    assert "need the source of t" in text
