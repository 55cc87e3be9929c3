"""Without what other libraries do not document, everything works."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core.caching import Cache

from replitune import probes
from replitune.probes import numba as of_numba
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
        storage_settings=SimpleNamespace(default_storage_provider="fs"),
        modifier=SimpleNamespace(is_main_snakefile=lambda: False),
        local_exec=True,
        scheduler=SimpleNamespace(job_rate_limiter="100/1s"),
    )


def answers(workflow: SimpleNamespace) -> list:
    of_snakemake.start_at_once(workflow)
    names = ("planned", "parallel", "config_files", "default_storage", "is_main")
    return [getattr(of_snakemake, name)(workflow) for name in names]


KNOWN = [[of_snakemake.Planned("results/x/logs/a.log", {"system": "s"})], 100, ["x.yaml"], "fs", False]
UNKNOWN = [None, 3, [], None, True]


def test_what_snakemake_says():
    given = workflow()
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
