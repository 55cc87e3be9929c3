from __future__ import annotations

import copy
from pathlib import Path

import pytest
import yaml

from replitune.errors import ReplituneError
from replitune.experiment.configuration import load, merge, resolve, schema

MINIMAL = {
    "experiment": "x",
    "corpus": {"kind": "synthetic"},
    "systems": {"a": {"backend": "corruption"}, "b": {"backend": "corruption"}},
}


def write(folder: Path, text: str) -> Path:
    path = folder / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def changed(path: str, value: object) -> dict:
    data = copy.deepcopy(MINIMAL)
    *parents, last = path.split(".")
    place = data
    for key in parents:
        place = place.setdefault(key, {})
    place[last] = value
    return data


def test_defaults_are_filled_in_at_every_depth():
    settings = resolve(MINIMAL)
    assert settings["seed"] == 2011
    assert settings["tests"]["samples"] == 10_000
    assert settings["corpus"]["tests"] == {"test1": 300, "test2": 300}
    assert settings["systems"]["a"]["errors"] == 0.2


def test_resolving_twice_changes_nothing():
    assert resolve(resolve(MINIMAL)) == resolve(MINIMAL)


def test_the_input_is_left_alone():
    data = copy.deepcopy(MINIMAL)
    resolve(data)
    assert data == MINIMAL


def test_seed_zero_is_a_seed():
    assert resolve(changed("seed", 0))["seed"] == 0


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (changed("sede", 1), "unknown key `sede`", "did you mean `seed`"),
        (changed("tests.sampels", 1), "unknown key `sampels`", "did you mean `samples`"),
        (changed("tests.samples", -1), "tests.samples", "at least 1"),
        (changed("tests.alpha", 1), "tests.alpha", "less than 1"),
        (changed("tests.correction", "holmes"), "tests.correction", "did you mean `holm`"),
        (changed("systems.a.backend", "corupption"), "backend", "did you mean `corruption`"),
        (changed("systems.a.erors", 0.1), "unknown key `erors`", "did you mean `errors`"),
        (changed("corpus.kind", "synthetc"), "corpus.kind", "did you mean `synthetic`"),
        (changed("experiment", "../up"), "experiment", "letters, digits"),
        (changed("systems.a/b", {"backend": "corruption"}), "systems", "letters, digits"),
        (changed("tests.pairs", [["a", "c"]]), "unknown system 'c'", "a, b"),
        (changed("tests.pairs", {"baseline": "aa"}), "unknown system 'aa'", "did you mean 'a'"),
        (changed("tests.pairs", [["a", "a"]]), "with itself", "two different systems"),
        (changed("metrics", ["bleu", "bleu:tokenize=none"]), "called 'bleu'", "id"),
        (changed("replicas", {"seeds": 0}), "replicas.seeds", "at least 1"),
        (changed("systems", {}), "systems", "at least 1"),
        (changed("corpus.tests", {"dev": 3}), "called dev", "corpus.dev"),
    ],
)  # fmt: skip
def test_a_mistake_is_explained(data: dict, message: str, hint: str):
    with pytest.raises(ReplituneError) as error:
        resolve(data)
    assert message in error.value.render()
    assert hint in error.value.render()


def test_a_missing_key_is_named():
    with pytest.raises(ReplituneError, match="`corpus` is missing"):
        resolve({"experiment": "x", "systems": MINIMAL["systems"]})


def test_messages_have_file_and_line(tmp_path: Path):
    path = write(tmp_path, yaml.safe_dump(MINIMAL, sort_keys=False) + "tests:\n  samples: -1\n")
    with pytest.raises(ReplituneError) as error:
        load(path)
    assert error.value.file == str(path)
    assert path.read_text().split("\n")[error.value.line - 1] == "  samples: -1"


def test_a_key_given_twice_is_an_error(tmp_path: Path):
    path = write(tmp_path, "experiment: x\nseed: 1\nseed: 2\n")
    with pytest.raises(ReplituneError, match="`seed` is given twice") as error:
        load(path)
    assert error.value.line == 3


@pytest.mark.parametrize(
    "text", ["experiment: [", "- a\n- b\n", "", "!!python/object:os.system {}"]
)
def test_what_is_no_experiment_is_refused(tmp_path: Path, text: str):
    with pytest.raises(ReplituneError):
        load(write(tmp_path, text))


def test_a_scale_overrides_and_renames():
    data = {**MINIMAL, "scales": {"small": {"replicas": {"seeds": 2}, "metrics": ["bleu"]}}}
    settings = resolve({**data, "scale": "small"})
    assert settings["experiment"] == "x-small"
    assert settings["replicas"] == {"seeds": 2}
    with pytest.raises(ReplituneError, match="unknown scale 'smal'"):
        resolve({**data, "scale": "smal"})


def test_merging_goes_into_mappings_and_replaces_lists():
    base = {"a": {"b": 1, "c": [1, 2]}, "d": 3}
    assert merge(base, {"a": {"c": [9]}}) == {"a": {"b": 1, "c": [9]}, "d": 3}
    assert base["a"]["c"] == [1, 2]
    assert merge(base, {"a": {"b": None}}) == {"a": {"c": [1, 2]}, "d": 3}
    assert merge({"replicas": {"mert": 3, "pro": 3}}, {"replicas": {"mert": 1}}) == {
        "replicas": {"mert": 1}
    }


def test_every_key_is_described():
    def walk(part: object, path: str) -> None:
        if not isinstance(part, dict):
            return
        for key, sub in part.get("properties", {}).items():
            if key in ("kind", "backend") and "const" in sub:
                continue
            assert "description" in sub or "$ref" in sub, f"{path}.{key} has no description"
            walk(sub, f"{path}.{key}")

    walk(schema(), "")
    for name, part in schema()["$defs"].items():
        walk(part, name)
        for sub in ("synthetic", "files", "corruption", "outputs"):
            walk(part.get(sub), f"{name}.{sub}")
