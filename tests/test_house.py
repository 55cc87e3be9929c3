"""The weight of the program: no part of it grows without somebody deciding that it may.

A number of `WEIGHTS` may be changed in the commit that needs it, with the reason beside it. When
something has become lighter, the number is lowered.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import replitune
from support import ROOT

HOUSE = Path(replitune.__file__).parent

WEIGHTS = {
    "lines": 67_000,
    "modules": 412,
    "rooms": 19,
    "longest module": 640,  # api.py: one function for each form of input, with its parameters
    "modules that compare passes through": 108,
    "functions that compare passes through": 950,
}


def modules() -> dict[str, Path]:
    paths = {path.relative_to(HOUSE.parent).with_suffix(""): path for path in HOUSE.rglob("*.py")}
    return {".".join(name.parts).removesuffix(".__init__"): path for name, path in paths.items()}


def lines(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def imported(path: Path) -> list[tuple[str, str]]:
    """(module, name) of everything that a module imports, where it runs: not for type checking alone,
    nor inside a function."""
    found = []
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return found


PROFILED = """
import json, sys, threading
import replitune
root, refs, systems = json.loads(sys.argv[1])
passed = set()

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and code.co_name != "<module>":
        passed.add((code.co_filename, code.co_qualname))

replitune.compare  # imported beforehand: the way is what runs
sys.setprofile(note)
threading.setprofile(note)
print(replitune.compare(refs, systems, samples=99))
sys.setprofile(None)
print(json.dumps([len({name for name, _ in passed}), len(passed)]))
"""


@pytest.fixture(scope="module")
def weighed() -> dict[str, int]:
    data = ROOT / ".test" / "data"
    systems = {
        name: [str(data / f"{name}.{run}.txt") for run in (1, 2, 3)] for name in ("baseline", "better")
    }
    given = json.dumps([f"{HOUSE}{os.sep}", str(data / "reference.txt"), systems])
    ran = subprocess.run(
        [sys.executable, "-c", PROFILED, given], capture_output=True, text=True, check=True
    )
    passed, functions = json.loads(ran.stdout.splitlines()[-1])
    paths = modules().values()
    return {
        "lines": sum(map(lines, paths)),
        "modules": len(paths),
        "rooms": sum((folder / "__init__.py").exists() for folder in HOUSE.iterdir()),
        "longest module": max(map(lines, paths)),
        "modules that compare passes through": passed,
        "functions that compare passes through": functions,
    }


@pytest.mark.parametrize("what", WEIGHTS)
def test_nothing_is_heavier_than_decided(weighed: dict[str, int], what: str):
    assert weighed[what] <= WEIGHTS[what]


def test_no_module_imports_itself_by_way_of_others():
    known = modules()
    graph = {
        name: {
            place
            for module, imports in imported(path)
            for place in (module, f"{module}.{imports}")
            if place in known
        }
        for name, path in known.items()
    }
    assert sum(map(len, graph.values())) > len(known)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def private_parts(path: Path) -> list[str]:
    """What a module uses of other packages though its name begins with an underscore."""
    tree = ast.parse(path.read_text("utf-8"))
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bound |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    used = [place for place in bound.values() if place != "__future__.annotations"]
    for node in ast.walk(tree):
        base: ast.expr | ast.AST = node
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(node, ast.Attribute) and isinstance(base, ast.Name) and base.id in bound:
            used.append(f"{bound[base.id]}.{node.attr}")
    return [
        place
        for place in used
        if place.partition(".")[0] != "replitune"
        and any(part.startswith("_") and not part.startswith("__") for part in place.split("."))
    ]


PUBLIC = {"os._exit"}
"""Documented, whatever its name."""


def test_private_parts_of_other_packages_are_used_in_probes_alone(tmp_path: Path):
    example = tmp_path / "example.py"
    example.write_text("import numba as nb\nfrom a import _b\nnb.core._index.load(nb.njit)\n")
    assert private_parts(example) == ["a._b", "numba._index"]
    used = {
        name: place
        for name, path in modules().items()
        if not name.startswith("replitune.probes")
        for place in private_parts(path)
        if place not in PUBLIC
    }
    assert used == {}
