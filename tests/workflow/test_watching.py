"""What there is to see of a run, from files such as its jobs write; nothing runs here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from replitune.errors import ReplituneError
from replitune.experiment.experiment import Experiment
from replitune.experiment.jobs import jobs_of
from replitune.experiment.reading import resolve
from replitune.ledger.runs import NAME, read_run, write_run
from replitune.running.locks import any_at_work, is_at_work, only_one
from replitune.running.processes import Process
from replitune.tuning.history import Iteration, write_history
from replitune.workflow.watching import Watch

TUNED = {
    "experiment": "live",
    "corpus": {"kind": "synthetic", "train": 100, "dev": 20, "tests": {"t": 20}},
    "systems": {"base": {"backend": "phrase"}, "new": {"backend": "phrase"}},
    "replicas": {"mert": 2, "pro": 1},
}


class Folder:
    """Results as the jobs of a run fill them."""

    def __init__(self, results: Path) -> None:
        self.experiment = Experiment(resolve(TUNED), results)
        self.folder = self.experiment.folder
        self.names = [job.name for job in jobs_of(self.experiment)]
        self.folder.mkdir(parents=True)

    def begins(self) -> None:
        write_run(self.experiment, [f"{self.folder}/logs/{n}.log" for n in self.names], 2)

    def changes(self, **what: object) -> None:
        """The word that the run has left."""
        run = read_run(self.folder)
        assert run is not None
        said = msgspec.structs.replace(run, **what)
        (self.folder / NAME).write_bytes(msgspec.json.encode(said))

    def log(self, name: str, text: str = "") -> Path:
        path = self.folder / "logs" / f"{name}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ends(self, name: str, text: str = "") -> None:
        path = self.log(name, text).with_suffix(".json")
        path.write_text(json.dumps({"seconds": 2.0, "cpu_seconds": 1.5, "outputs": {}}))

    def tuned(self, system: str, replica: str, scores: list[float]) -> None:
        rows = [Iteration(i, s, None, 1, 1, None, 1.0, 0.0) for i, s in enumerate(scores)]
        write_history(self.experiment.at.history(system, replica), rows)
        self.ends(f"tune/{system}/{replica}")


@pytest.fixture
def results(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.begins()
    return folder


def test_stages_and_runs_are_counted(results: Folder):
    results.ends("train/base")
    results.tuned("base", "mert-001", [1.0, 2.0])
    results.log("tune/base/mert-002", "iteration 0: dev bleu 3.25 (best), pool 9\n")
    results.ends("decode/base/mert-001")
    lines = Watch(results.folder).lines()
    assert lines[0].startswith("live: running, began "), "the process that has left word is this one"
    assert f", 3 of {len(results.names)} jobs, 0:04 CPU, about " in lines[0]
    assert any(re.fullmatch(r"  tune +█▌ +1 of 6 runs +1 at work", line) for line in lines)
    assert "  base    mert       1/2  1/2" in lines
    assert "  new     pro        0/1  0/1" in lines
    assert lines[lines.index("at work") + 1 :] == [
        "  tune base mert-002: iteration 0: dev bleu 3.25 (best)"
    ]


def test_files_that_are_half_written_or_vanish_are_not_there(results: Folder):
    watch = Watch(results.folder)
    results.log("decode/base/mert-001").with_suffix(".json").write_text('{"seconds": 1.')
    results.log("tune/new/mert-001")
    watch.look()
    assert {*watch.at_work} == {"tune/new/mert-001", "decode/base/mert-001"}
    for path in sorted((results.folder / "logs").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    watch.look()
    assert watch.at_work == []


def test_a_job_that_is_made_again_is_not_done_until_it_is(results: Folder):
    """A record of an earlier run, of a job that this run is to do."""
    results.ends("tune/base/mert-001")
    for path in (results.folder / "logs/tune/base").iterdir():
        os.utime(path, (1e9, 1e9))
    watch = Watch(results.folder)
    assert "  base    mert       0/2  0/2" in watch.lines()
    results.changes(planned=frozenset(results.names) - {"tune/base/mert-001"})
    watch.look()
    assert "  base    mert       1/2  0/2" in watch.lines()
    assert watch.progress.jobs == (0, len(results.names) - 1)


def test_another_run_is_noticed(results: Folder):
    watch = Watch(results.folder)
    assert watch.progress.jobs[1] == len(results.names)
    results.changes(planned=frozenset({"report/report"}))
    watch.look()
    assert watch.progress.jobs == (0, 1)


def test_how_a_run_ended_is_told(results: Folder):
    watch = Watch(results.folder)
    results.log("tune/base/mert-001", "")
    results.changes(process=Process.this()._replace(mark="another process of this number"))
    watch.look()
    assert (watch.status, watch.at_work) == ("stopped", [])
    assert " left" not in watch.lines()[0]
    results.log("tune/base/mert-001", "replitune: no words\n  found:    none\n")
    watch.look()
    assert watch.status == "failed"
    lines = watch.lines()
    place = lines.index("failed: tune base mert-001")
    assert lines[place + 1].endswith("logs/tune/base/mert-001.log")
    assert lines[place + 2 : place + 4] == ["    no words", "      found:    none"]
    results.changes(process=Process("node17", 1, "x"))
    watch.look()
    assert watch.status == "elsewhere"
    assert "on node17" in "\n".join(watch.lines())
    for name in results.names:
        results.ends(name)
    watch.look()
    assert watch.status == "done"


HOLD = """
import sys
from replitune.running.locks import only_one
with only_one(sys.argv[1]):
    open(sys.argv[1], "w").close()
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_job_that_was_killed_is_told_from_one_at_work(results: Folder):
    """By its lock, which another process has."""
    killed, at_work = (results.folder / "logs/tune/base" / f"mert-00{k}.log" for k in (1, 2))
    results.log("tune/base/mert-001")
    assert not any_at_work(results.folder)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(at_work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_at_work(at_work)
        assert not is_at_work(killed)
        assert any_at_work(results.folder)
        watch = Watch(results.folder)
        assert watch.at_work == ["tune/base/mert-002"]
        assert [*watch.failed] == ["tune/base/mert-001"]
        assert "was it killed?" in "\n".join(watch.lines())
        holder.communicate("")
    assert not any_at_work(results.folder)
    with only_one(killed):
        pass
    assert len(Watch(results.folder).at_work) == 2, "without any lock nothing is said"


def test_no_line_is_too_long_and_rows_that_do_not_fit_are_counted(results: Folder):
    for n in (1, 2):
        results.tuned("base", f"mert-00{n}", [1.0, 2.0, 4.0])
    results.log("tune/new/pro-001", "iteration 0: dev bleu 3.25 (best), pool 9\n")
    results.log("decode/base/mert-001", "replitune: \x1b[31mbroken\n")
    watch = Watch(results.folder)
    shown = watch.lines(100)
    text = "\n".join(shown)
    assert "  tune        ███▌       " in text
    assert "failed: decode base mert-001" in text
    assert "\x1b" not in text
    assert max(len(line) for line in shown if not line.startswith("  log: ")) <= 100
    small = watch.lines(60, 20)
    assert len(small) <= 20
    assert any("more rows: --once" in line for line in small)


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_results_that_are_not_there_are_one_message(tmp_path: Path, replitune, name: str):
    (tmp_path / "empty").mkdir()
    for command in ("watch", "clean"):
        ran = replitune(command, tmp_path / name)
        assert ran.code == 2
        assert "Traceback" not in ran.err
        assert ("no such folder" if name == "missing" else "cannot tell which") in ran.err
        assert ran.out == ""


def test_the_newest_results_are_watched_when_none_are_named(
    results: Folder, tmp_path: Path, replitune, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    ran = replitune("watch")
    assert (ran.code, "no results here" in ran.err) == (2, True)
    tmp_path.joinpath("results").symlink_to(tmp_path)
    ran = replitune("watch")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("live: running")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_hides_nothing(tmp_path: Path, replitune):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(mounted).returncode != 0:
        pytest.skip("a file system in memory cannot be mounted here")
    try:
        results = Folder(disk)
        results.begins()
        results.tuned("base", "mert-001", [1.0, 2.0, 4.0])
        before = replitune("watch", results.folder)
        with pytest.raises(OSError, match="No space left"):
            (disk / "fill").write_bytes(bytes(1 << 20))
        assert replitune("watch", results.folder) == before
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    assert before.code == 0
    assert "base" in before.out


def test_a_folder_that_is_renamed_meanwhile_is_named(results: Folder):
    watch = Watch(results.folder)
    results.folder.rename(results.folder.with_name("other"))
    with pytest.raises(ReplituneError, match="no such folder"):
        watch.look()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_without_a_word(results: Folder, number: signal.Signals):
    import pty

    upper, lower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "replitune", "watch", str(results.folder)],
        stdout=lower,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(lower)
    with process:
        said = os.read(upper, 1000).decode()  # it looks by now
        assert "live: running" in said
        process.send_signal(number)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0 if number == signal.SIGINT else 143, "")
    os.close(upper)
