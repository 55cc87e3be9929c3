"""What docs/backends.md and docs/extend.md promise, read from the pages; and the registry."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from replitune.backends.interface import Backend, replica_seed
from replitune.backends.registry import BACKENDS, get_backend
from replitune.backends.settings import SystemSettings
from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.reading import resolve
from replitune.replicas import Replica
from replitune.settings import Reading, settings_of
from support import ROOT

DOCS = ROOT / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S)


def settings(systems: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"experiment": "x", "corpus": {"kind": "synthetic"}, "systems": systems, **more}


def test_the_examples_are_experiments():
    examples = map(yaml.safe_load, blocks("backends.md", "yaml"))
    found = [block for block in examples if "systems" in block]
    assert len(found) == 7
    stages = {
        name: list(backend.stages)
        for block in found
        for name, backend in Experiment(resolve(settings(**block))).backends.items()
    }
    assert stages == {
        "phrases": ["train", "table", "tune", "decode"],
        "hierarchical": ["train", "table", "tune", "decode", "derive"],
        "neural": ["train", "train_replica", "decode"],
        "transformer": ["train", "train_replica", "decode"],
        "small": ["ask", "decode"],
        "marian": ["train_replica", "decode"],
        "hiero": ["tune", "decode"],
        "moses": ["tune", "decode"],
    }


def install(folder: Path, points: dict[str, str]) -> None:
    """What an installer leaves of a package with entry points, beside its module."""
    (folder / "my_package.py").write_text("\n\n".join(blocks("extend.md", "python")))
    info = folder / "my_package-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    lines = [f"[{group}]\n{point}\n" for group, point in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


def run_with(folder: Path, code: str) -> str:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    ).stdout


INSTALLED = """
from typing import Annotated, Any

from replitune.backends.registry import BACKENDS, get_backend
from replitune.backends.settings import ReplicaCounts
from replitune.errors import ReplituneError
from replitune.settings import read
from replitune.tuners import TUNERS, get_tuner, list_tuners
from replitune.tuning.settings import TUNING, tuning_of

mine = get_backend("a", {"backend": "echo", "cut": 3, "resources": {"gpu": 2}})
assert BACKENDS.names[-1] == "echo" and mine.settings.resources.gpu == 2
assert mine.stage_settings("decode") == {"cut": 3}
try:
    get_backend("a", {"backend": "echo", "cutt": 2})
except ReplituneError as error:
    assert "did you mean `cut`" in str(error)
else:
    raise AssertionError

assert TUNERS.names[-1] == "nudge" and "nudge" in list_tuners()
assert read(ReplicaCounts, {"nudge": 3}) == {"nudge": 3}
tuning = read(Annotated[Any, TUNING], {"nudge": {"step": 0.5}})
assert tuning.tuner("nudge").step == 0.5
assert tuning_of(tuning.for_tuner("nudge"), "nudge")["tuner"] == get_tuner("nudge", {"step": 0.5})
moses = get_backend("b", {"backend": "moses"})
assert "nudge" in moses.prefixes and "mert-lattice" not in moses.prefixes

from replitune.tuning.from_files import tune_files
result = tune_files(["nbest.txt"], ["refs.txt"], algorithm="nudge", out="w.json", log=print)
assert len(result.weights) == 2
print("fine")
"""


def test_a_backend_and_a_tuner_of_another_package(tmp_path: Path):
    """The classes are those of the page; nothing of ours names them."""
    points = {
        "replitune.backends": "echo = my_package:Echo",
        "replitune.tuners": "nudge = my_package:Nudge",
    }
    install(tmp_path, points)
    (tmp_path / "nbest.txt").write_text("0 ||| a b ||| X= 1 2 ||| 0\n0 ||| a ||| X= 2 1 ||| 0\n")
    (tmp_path / "refs.txt").write_text("a b\n")
    assert run_with(tmp_path, INSTALLED).endswith("fine\n")


def test_an_entry_point_that_is_something_else_is_named(tmp_path: Path):
    install(tmp_path, {"replitune.tuners": "nudge = my_package:Echo"})
    said = run_with(
        tmp_path,
        "from replitune.tuners import get_tuner\n"
        "try: get_tuner('nudge')\n"
        "except Exception as error: print(error)\n",
    )
    assert "entry point nudge of replitune.tuners is not a tuner" in said


def test_every_backend_says_what_it_is():
    for name in BACKENDS.names:
        cls = BACKENDS[name]
        assert cls.name == name
        assert issubclass(cls, Backend)
        assert issubclass(cls.Settings, SystemSettings)
        assert cls.__doc__
        assert cls.gives_texts == (name == "outputs")
        for setting in settings_of(cls.Settings).values():
            assert setting.description
            assert not setting.required, "a stage is given a part of the settings"
    with pytest.raises(ReplituneError, match="did you mean `phrase`"):
        BACKENDS["phrases"]


def test_a_job_makes_its_system_of_the_settings_of_its_stage():
    given: dict[str, dict[str, Any]] = {
        "phrase": {"training": {"lm_order": 3}, "search": {"stack": 7}, "subset": "odd"},
        "marian": {"vocabulary": {"size": [9, 8], "shared": False}, "options": {"dim-emb": 8}},
        "moses": {"options": ["-s", 3, "-x", 0.5], "ini": "moses.ini"},
        "command": {"train": "a {output}", "decode": "b", "weights": {"X": 1}, "nbest": "{nbest}"},
        "corruption": {"errors": 0.5},
    }
    for name, settings in given.items():
        system = get_backend("a", {**settings, "replicas": {"seeds": 3}}, name)
        for stage in system.stages:
            wire = json.loads(json.dumps(system.stage_settings(stage)))
            assert "replicas" not in wire
            again = get_backend("a", wire, name)
            assert again.stage_settings(stage) == system.stage_settings(stage), (name, stage)
    assert json.dumps(get_backend("a", given["moses"], "moses").stage_settings("decode")).count("3, "), (
        "whole numbers stay whole: they are options of a program"
    )


@pytest.mark.parametrize(
    ("name", "settings", "wrong"),
    [
        ("phrase", {"training": {"lm_ordre": 3}, "search": {"stck": 1}}, ["lm_order", "stack"]),
        ("phrase", {"subset": "evn", "features": ["tm", "tm"]}, ["subset"]),
        ("phrase", {"features": ["tm", "tm"]}, ["distinct"]),
        ("marian", {"training": {"length": "20"}, "decoding": {"beam": 0}}, ["20e", "at least 1"]),
        ("marian", {"options": {"seed": 1, "model": 2}}, ["run has its own seed", "names the files"]),
        ("moses", {"tuner": "mert"}, ["mert-moses"]),
        ("corruption", {"errors": 2, "spred": 0}, ["at most 1", "spread"]),
        ("outputs", {"files": {"t": "x"}, "replicas": {"seeds": 1}}, ["files are its runs"]),
        ("command", {"replicas": {"mertt": 1, "pro": 1000}}, ["`mert`", "at most 999"]),
    ],
)
def test_mistakes_are_said_all_at_once_where_they_stand(name, settings, wrong):
    reading = Reading()
    reading.read_model(BACKENDS[name].Settings, settings, ("systems", "a"))
    said = [str(mistake.error()) for mistake in reading.mistakes]
    assert len(said) == len(wrong), said
    for text, words in zip(said, wrong, strict=True):
        assert words in text


def test_describing_systems_imports_nothing_heavy():
    """Snakemake has imported numpy and pandas by itself."""
    code = (
        "import sys\n"
        "from replitune.backends.registry import BACKENDS, get_backend\n"
        "from replitune.settings import Reading\n"
        "from replitune.tuners import TUNERS\n"
        "from replitune.tuning.settings import TUNING\n"
        "TUNING.read(Reading(), {'metric': 'bleu', **{name: {} for name in TUNERS.names}}, ())\n"
        "for name in BACKENDS.names: get_backend('a', {}, name).stages\n"
        "heavy = {'numba', 'scipy', 'pandas', 'pyarrow', 'sacrebleu', 'yaml'} & {*sys.modules}\n"
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
    with pytest.raises(ReplituneError, match="runs of other kinds"):
        resolve(settings({"smt": {"backend": "phrase"}}, replicas={"seeds": 3}))
