"""What docs/backends.md promises, read from the page itself; and the registry."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml

from replitune.backends import registry
from replitune.backends.interface import Backend, replica_seed
from replitune.errors import ReplituneError
from replitune.experiment.reading import resolve
from replitune.experiment.experiment import Experiment
from replitune.replicas import Replica
from support import ROOT

PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def settings(systems: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"experiment": "x", "corpus": {"kind": "synthetic"}, "systems": systems, **more}


def test_the_examples_are_experiments():
    found = [block for block in map(yaml.safe_load, blocks("yaml")) if "systems" in block]
    assert len(found) == 4
    stages = {
        name: list(backend.stages)
        for block in found
        for name, backend in Experiment(resolve(settings(**block))).backends.items()
    }
    assert stages == {
        "transformer": ["train", "train_replica", "decode"],
        "prompt-a": ["decode"],
        "hiero": ["tune", "decode"],
        "moses": ["tune", "decode"],
    }


def registered(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    point = EntryPoint("mine", value, registry.ENTRY_POINTS)
    monkeypatch.setattr(registry, "_points", lambda: {"mine": point})


def test_the_backend_of_a_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "my_package.py").write_text(blocks("python")[0])
    monkeypatch.syspath_prepend(tmp_path)
    registered(monkeypatch, "my_package:Mine")
    experiment = Experiment(resolve(settings({"a": {"backend": "mine", "resources": {"gpu": 2}}})))
    assert experiment.backends["a"].stage_settings("train_replica") == {"layers": 6}
    assert experiment.having("train_replica") == ["a"]
    assert experiment.having("tune") == []
    assert experiment.trains
    assert experiment.resources("a") == {"gpu": 2}
    assert "pip install mine" in str(experiment.missing(["a", "a"])[0])
    assert len(experiment.missing(["a", "a"])) == 1
    with pytest.raises(ReplituneError, match="did you mean `layers`"):
        resolve(settings({"a": {"backend": "mine", "layer": 2}}))
    registered(monkeypatch, "my_package:ReplicaJob")
    with pytest.raises(ReplituneError, match="not a backend"):
        resolve(settings({"a": {"backend": "mine"}}))


def test_every_backend_says_what_it_is():
    for name in registry.BACKENDS:
        cls = registry.backend_class(name)
        assert cls.name == name
        assert issubclass(cls, Backend)
        assert cls.__doc__
    with pytest.raises(ReplituneError, match="did you mean `phrase`"):
        registry.backend_class("phrases")


def test_describing_a_backend_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from replitune.backends.registry import BACKENDS, backend_class\n"
        "for name in BACKENDS: backend_class(name)\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pandas', 'pyarrow', 'sacrebleu'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_seeds_differ_between_replicas_and_systems_unless_paired():
    def seed(system: str, replica: str, of: int = 1, paired: bool = False) -> int:
        return replica_seed(system, Replica(replica), of, paired=paired)

    names = [(s, f"{p}-{n:03d}") for s in "ab" for p in ("seed", "mert") for n in range(1, 50)]
    assert len({seed(*name) for name in names}) == len(names)
    assert seed("a", "seed-001") != seed("a", "seed-001", of=2)
    assert seed("a", "seed-007", paired=True) == seed("b", "seed-007", paired=True)
    assert all(0 < seed(*name) < 2**31 for name in names)


def test_one_general_number_of_replicas_serves_several_backends():
    experiment = Experiment(
        resolve(
            settings(
                {
                    "smt": {"backend": "phrase"},
                    "shell": {"backend": "command", "decode": "cat {source}"},
                    "own": {"backend": "phrase", "replicas": {"pro": 1}},
                },
                replicas={"mert": 2, "seeds": 3},
            )
        )
    )
    assert [r.id for r in experiment.replicas("smt")] == ["mert-001", "mert-002"]
    assert [r.id for r in experiment.replicas("shell")] == ["seed-001", "seed-002", "seed-003"]
    assert [r.id for r in experiment.replicas("own")] == ["pro-001"]
    with pytest.raises(ReplituneError, match="made otherwise"):
        resolve(settings({"smt": {"backend": "phrase"}}, replicas={"seeds": 3}))
