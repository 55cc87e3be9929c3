"""Results in a storage of Snakemake's: jobs that begin in empty folders make the same bytes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from replitune.cli.main import main
from replitune.probes import s3
from support import ROOT, changed

from .conftest import TINY, Snakemake, same_bytes

pytestmark = pytest.mark.workflow

SMALL = changed(TINY, corpus={"kind": "synthetic", "dev": None, "tests": {"t1": 30}}, tests={"samples": 99})
ELSEWHERE = [
    *("--executor", "elsewhere", "--jobs", "3", "--seconds-between-status-checks", "1"),
    *("--groups", "decode=most", "score=most", "test=most", "--group-components", "most=20"),
]


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Snakemake:
    """A clone, whose files Snakemake sends to where its jobs are; with the plugins of tests/plugins."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "plugins"))
    folder = tmp_path / "clone"
    for name in ("workflow", "envs", "config"):
        shutil.copytree(ROOT / name, folder / name)
    return Snakemake(folder, folder / "workflow" / "Snakefile", cold=True)


def shelf(folder: Path) -> list[str]:
    return ["--default-storage-provider", "shelf", "--default-storage-prefix", str(folder)]


def test_jobs_that_share_no_folder_make_the_same_bytes(cloned: Snakemake, tmp_path: Path):
    cloned.write(SMALL)
    ran = cloned.run(*shelf(tmp_path / "shelf"), *ELSEWHERE)
    results = tmp_path / "shelf" / "results" / "tiny"
    assert f"report: {results}/report.html" in ran.stderr
    assert len([*tmp_path.glob("node.*")]) == 3  # kernels; decode, score and test; report
    (tmp_path / "local").mkdir()
    Snakemake(tmp_path / "local").in_process(SMALL)
    assert same_bytes(results) == same_bytes(tmp_path / "local" / "results" / "tiny")
    assert main(["verify", str(shutil.copytree(results, tmp_path / "copy"))]) == 0
    assert "Nothing to be done" in cloned.run(*shelf(tmp_path / "shelf"), "--dry-run").stdout


def test_what_needs_a_shared_folder_is_refused_before_work(cloned: Snakemake, capsys):
    needing = changed(SMALL, replicas={"seeds": 4, "until": "settled", "looks": [3, 4]})
    file = cloned.write(needing)
    ran = cloned(*shelf(cloned.folder / "shelf"))
    assert (ran.returncode, "`until: settled`" in ran.stderr) == (1, True)
    assert ran.stderr.splitlines()[-2].startswith("replitune: this needs a folder that all machines share")
    assert not (cloned.folder / "shelf").exists()
    assert main(["check", str(file)]) == 0
    profile = cloned.folder / "profile" / "config.yaml"
    profile.parent.mkdir()
    profile.write_text(yaml.safe_dump({"default-storage-provider": "s3"}))
    assert main(["check", str(file)]) == 2
    assert "`until: settled`" in capsys.readouterr().err
    assert main(["run", str(file)]) == 2
    assert "to do:    start Snakemake itself: snakemake --configfile" in capsys.readouterr().err


def test_folders_in_s3_are_looked_for_again(monkeypatch: pytest.MonkeyPatch):
    class StorageObject:
        keys: tuple[str, ...] = ()

        def get_subkeys(self):
            return iter(self.keys)

    monkeypatch.setitem(
        sys.modules, "snakemake_storage_plugin_s3", SimpleNamespace(StorageObject=StorageObject)
    )
    s3.look_again_for_folders()
    stored = StorageObject()
    assert not stored.is_dir()
    stored.keys = ("model.json",)
    assert stored.is_dir()
