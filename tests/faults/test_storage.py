"""Results in a storage of Snakemake's, of which jobs and runs are killed."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from support import ROOT

from .conftest import POINTS
from .harness import STAGES, Faults, contents
from .test_kills import tell

pytestmark = [pytest.mark.workflow, pytest.mark.skipif(POINTS < 2, reason="many moments: make faults")]


class InStorage(Faults):
    """A run whose results are on a shelf."""

    @property
    def results(self) -> Path:
        return self.folder / "shelf" / "results" / "f"

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
        shelf = ["--default-storage-provider", "shelf", "--default-storage-prefix", f"{self.folder}/shelf"]
        return super().start(*arguments, *shelf, **options)

    def run(self, *arguments: str, cores: int = 2) -> int:
        """By a process of its own, which finds the plugin."""
        return self.end(self.start(*arguments, cores=cores))


@pytest.fixture
def faults(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "plugins"))
    (tmp_path / "seconds.json").write_text((whole / "seconds.json").read_text())
    return InStorage(tmp_path, contents(whole / "results" / "f"))


def account(faults: Faults) -> None:
    kinds: Counter[tuple[str, str]] = Counter()
    for (_, kind), count in faults.counts.items():
        kinds["storage", kind] += count
    faults.counts = kinds
    tell(faults)


def test_a_killed_job_of_every_stage_ends_in_the_same_bytes(faults: Faults):
    faults.kill_jobs(dict.fromkeys(STAGES, 1))
    assert {stage for stage, _ in faults.counts} >= {"train", "tune", "decode", "score"}
    account(faults)


def test_a_run_that_is_stopped_again_and_again_ends_in_the_same_bytes(faults: Faults):
    hits = [("train", "SIGKILL"), ("tune", "SIGKILL"), ("decode", "SIGTERM"), ("report", "Ctrl-C")]
    for stage, kind in hits:
        if faults.stop_run(stage, kind, "--rerun-incomplete"):
            faults.unlock()
    assert len(faults.counts) >= 3
    faults.resume()
    account(faults)
