"""Without what other libraries do not document, everything works."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core.caching import Cache

from replitune import probes
from replitune.errors import ReplituneError
from replitune.probes import numba as of_numba
from replitune.probes import slurm as of_slurm
from replitune.probes import snakemake as of_snakemake


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probes, "_failed", set())


def workflow() -> SimpleNamespace:
    job = SimpleNamespace(log={"text": "results/x/logs/a.log"}, wildcards={"system": "s"})
    return SimpleNamespace(
        cores=3,
        dag=SimpleNamespace(needrun_jobs=lambda: [job]),
        resource_settings=SimpleNamespace(nodes=100),
        configfiles=["x.yaml"],
        storage_settings=SimpleNamespace(
            default_storage_provider="s3", default_storage_prefix="s3://bucket"
        ),
        modifier=SimpleNamespace(is_main_snakefile=lambda: False),
        local_exec=True,
        scheduler=SimpleNamespace(job_rate_limiter="100/1s"),
    )


def answers(workflow: SimpleNamespace) -> list:
    of_snakemake.start_at_once(workflow)
    names = ("planned", "parallel", "config_files", "default_storage", "is_main")
    return [getattr(of_snakemake, name)(workflow) for name in names]


KNOWN = [
    [of_snakemake.Planned("results/x/logs/a.log", {"system": "s"})],
    100,
    ["x.yaml"],
    "s3://bucket",
    False,
]
UNKNOWN = [None, 3, [], None, True]


def test_what_snakemake_says():
    given = workflow()
    del given.cores  # a remote executor may have none
    assert answers(given) == KNOWN
    assert given.scheduler.job_rate_limiter is None
    assert not probes.notes()


def test_another_snakemake():
    assert answers(SimpleNamespace(cores=3)) == UNKNOWN
    assert len(probes.notes()) == 1
    assert "snakemake" in probes.notes()[0]


def test_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(probes.VARIABLE, "1")
    given = workflow()
    assert answers(given) == UNKNOWN
    assert given.scheduler.job_rate_limiter == "100/1s"
    assert of_numba.uncounted() == {}
    assert len(probes.notes()) == len(probes.LOSSES)


@pytest.mark.parametrize(("version", "known"), [("0.68.9", True), ("0.69.0rc1", False), ("1.0", False)])
def test_another_numba(monkeypatch: pytest.MonkeyPatch, version: str, known: bool):
    monkeypatch.setattr(numba, "__version__", version)
    monkeypatch.setattr(Cache, "load_overload", Cache.load_overload)
    usual = Cache.load_overload
    of_numba.look_first()
    assert (Cache.load_overload is not usual) == known
    assert bool(of_numba.uncounted()) == known
    prefetch = of_numba.prefetcher()
    ahead = numba.njit(lambda array: prefetch(array, 1))
    ahead(np.arange(3))
    assert ("prefetch" in next(iter(ahead.inspect_llvm().values()))) == known
    assert (not probes.notes()) == known


def test_nothing_else_asks_for_private_parts():
    """`_fields`, `_asdict` (namedtuple) and `os._exit` are documented."""
    root = Path(__file__).resolve().parents[1]
    attribute = r"(?<!\bself)(?<!\bcls)\._(?!fields\b|asdict\b|exit\b)[a-z]\w*"
    private = re.compile(rf"{attribute}|[(,] *_[a-z]\w*=(?!=)")
    of_snakemake = re.compile(r"(?<!replitune\.)\bworkflow\.(?!cores\b|source_path\b)[a-z]\w*")
    files = [*(root / "src").rglob("*.py"), root / "Snakefile", *(root / "workflow").rglob("*")]
    found = {
        f"{path.relative_to(root)}: {line.strip()}"
        for path in files
        if path.is_file() and path.parent.name != "probes" and path.suffix not in (".html", ".rst")
        for line in path.read_text("utf-8").splitlines()
        for code in [line.partition("#")[0]]
        if private.search(code) or (path.suffix != ".py" and of_snakemake.search(code))
    }
    assert not found


def planned(rule: str = "tune", memory: int = 9, group: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(rule=SimpleNamespace(name=rule), resources={"mem_mb": memory}, group=group)


@pytest.mark.parametrize(
    ("jobs", "nodes", "limit", "rate", "refused"),
    [
        ([planned()] * 3, sys.maxsize, 40, 3, None),
        ([planned(), planned("other", 7), planned(memory=7, group="g")], sys.maxsize, 40, 3, None),
        ([planned()] * 3, 1000, 40, 3, "--jobs 1000"),
        ([planned()] * 3, sys.maxsize, 41, 3, "--slurm-array-limit 41"),
        ([planned()] * 3, sys.maxsize, 40, 2, "--max-jobs-per-timespan"),
        ([planned(), planned(memory=7)], sys.maxsize, 40, 3, "different resources"),
    ],
)
def test_arrays_that_would_not_end(jobs: list, nodes: int, limit: int, rate: int, refused: str | None):
    workflow = SimpleNamespace(
        executor_settings=SimpleNamespace(array_jobs="tune, look", array_limit=limit),
        dag=SimpleNamespace(needrun_jobs=lambda: jobs),
        resource_settings=SimpleNamespace(nodes=nodes),
        scheduling_settings=SimpleNamespace(max_jobs_per_timespan=SimpleNamespace(max_jobs=rate)),
    )
    if refused is None:
        of_slurm.require_safe_arrays(workflow)
        return
    with pytest.raises(ReplituneError, match=refused):
        of_slurm.require_safe_arrays(workflow)
    workflow.executor_settings.array_jobs = None
    of_slurm.require_safe_arrays(workflow)


@pytest.mark.parametrize(("task", "runs"), [("4", None), ("5", "echo 5"), ("6", "echo 6")])
def test_a_task_of_an_array_is_its_own_job(monkeypatch: pytest.MonkeyPatch, task: str, runs: str | None):
    """Packed by the plugin's own way."""
    ran: list[list[str]] = []
    commands = {str(i): zlib.compress(f"echo {i}".encode()).hex() for i in (5, 6)}
    packed = base64.b64encode(json.dumps(commands).encode()).decode()
    monkeypatch.setattr(sys, "argv", ["snakemake", f"--slurm-jobstep-array-execs={packed}"])
    monkeypatch.setattr("os.execv", lambda path, words: ran.append(words))
    monkeypatch.setenv("SLURM_ARRAY_TASK_MIN", "4")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", task)
    of_slurm.run_own_command()
    assert ran == ([] if runs is None else [["sh", "-c", runs]])
