"""What there is to see of a run, from files such as its jobs write; nothing runs here."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
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
from replitune.workflow.live.server import Server, is_here
from replitune.workflow.live.so_far import in_order
from replitune.workflow.live.state import Live
from replitune.workflow.live.terminal import lines, printable

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


def row(state: dict, system: str, of: str) -> dict:
    return next(r for r in state["replicas"] if (r["system"], r["of"]) == (system, of))


def test_stages_and_replicas_are_counted(results: Folder):
    results.ends("train/base")
    results.tuned("base", "mert-001", [1.0, 2.0])
    results.log("tune/base/mert-002", "iteration 0: dev bleu 3.25 (best), pool 9\n")
    results.ends("decode/base/mert-001")
    state = Live(results.folder).look()
    assert state["status"] == "running", "the process that has left word is this one"
    assert state["jobs"] == [3, len(results.names)]
    stages = {stage["name"]: stage for stage in state["stages"]}
    assert (stages["tune"]["done"], stages["tune"]["all"], stages["tune"]["at_work"]) == (1, 6, 1)
    assert (row(state, "base", "mert")["made"], row(state, "base", "mert")["all"]) == (1, 2)
    assert row(state, "base", "mert")["decoded"] == 1
    assert row(state, "new", "pro")["made"] == 0
    assert state["at_work"] == [{"name": "tune/base/mert-002", "said": "iteration 0: dev bleu 3.25 (best)"}]


def test_curves_come_from_history_checkpoint_or_log(results: Folder):
    results.tuned("base", "mert-001", [1.0, 2.0])
    results.log("tune/base/mert-002", "resuming at iteration 2\n")
    state = Path(results.experiment.at.work("base", "mert-002")) / "state.json"
    state.parent.mkdir(parents=True)
    history = [{"iteration": i, "dev_score": s} for i, s in enumerate([4.0, 5.0])]
    state.write_text(json.dumps({"fingerprint": "x", "content": {"history": history}}))
    results.log("tune/new/pro-001", "round 1: update 7, cost 3.1, dev bleu 6.50\nround 2: upd")
    curves = {(c["system"], c["replica"]): c for c in Live(results.folder).look()["curves"]}
    assert curves["base", "mert-001"]["scores"] == [1.0, 2.0]
    assert curves["base", "mert-001"]["done"]
    assert curves["base", "mert-002"]["scores"] == [4.0, 5.0]
    assert curves["new", "pro-001"]["scores"] == [6.5]
    assert not curves["new", "pro-001"]["done"]


def test_files_that_are_half_written_or_vanish_are_not_there(results: Folder):
    live = Live(results.folder)
    results.tuned("base", "mert-001", [1.0])
    assert live.look()["curves"]
    results.ends("tune/base/mert-002")
    Path(results.experiment.at.replica("base", "mert-002")).mkdir()
    Path(results.experiment.at.history("base", "mert-002")).write_bytes(b"PAR1")
    results.log("decode/base/mert-001").with_suffix(".json").write_text('{"seconds": 1.')
    work = Path(results.experiment.at.work("new", "mert-001"))
    work.mkdir(parents=True)
    (work / "state.json").write_text('{"content": {"hist')
    results.log("tune/new/mert-001")
    state = live.look()
    assert [curve["replica"] for curve in state["curves"]] == ["mert-001"]
    assert {job["name"] for job in state["at_work"]} == {"tune/new/mert-001", "decode/base/mert-001"}
    for path in sorted((results.folder / "logs").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert live.look()["at_work"] == []


def test_a_job_that_is_made_again_is_not_done_until_it_is(results: Folder):
    """A record of an earlier run, of a job that this run is to do."""
    results.ends("tune/base/mert-001")
    for path in (results.folder / "logs/tune/base").iterdir():
        os.utime(path, (1e9, 1e9))
    live = Live(results.folder)
    assert row(live.look(), "base", "mert")["made"] == 0
    results.changes(planned=frozenset(results.names) - {"tune/base/mert-001"})
    state = live.look()
    assert row(state, "base", "mert")["made"] == 1
    assert state["jobs"] == [0, len(results.names) - 1]


def test_another_run_is_noticed(results: Folder):
    live = Live(results.folder)
    assert live.look()["jobs"][1] == len(results.names)
    results.changes(planned=frozenset({"report/report"}))
    assert live.look()["jobs"] == [0, 1]


def test_how_a_run_ended_is_told(results: Folder):
    live = Live(results.folder)
    results.log("tune/base/mert-001", "")
    results.changes(process=Process.this()._replace(mark="another process of this number"))
    state = live.look()
    assert (state["status"], state["at_work"], state["left"]) == ("stopped", [], None)
    results.log("tune/base/mert-001", "replitune: no words\n  found:    none\n")
    state = live.look()
    assert state["status"] == "failed"
    (failed,) = state["failed"]
    assert failed["message"] == "no words\n  found:    none"
    assert failed["log"].endswith("logs/tune/base/mert-001.log")
    results.changes(process=Process("node17", 1, "x"))
    state = live.look()
    assert state["status"] == "elsewhere"
    assert "on node17" in "\n".join(lines(state))
    for name in results.names:
        results.ends(name)
    assert live.look()["status"] == "done"


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
        state = Live(results.folder).look()
        assert [job["name"] for job in state["at_work"]] == ["tune/base/mert-002"]
        assert [one["name"] for one in state["failed"]] == ["tune/base/mert-001"]
        assert "was it killed?" in state["failed"][0]["message"]
        holder.communicate("")
    assert not any_at_work(results.folder)
    with only_one(killed):
        pass
    assert len(Live(results.folder).look()["at_work"]) == 2, "without any lock nothing is said"


def test_a_terminal_has_all_of_it_and_no_line_is_too_long(results: Folder):
    results.tuned("base", "mert-001", [1.0, 2.0, 4.0])
    results.tuned("base", "mert-002", [1.0, 3.0, 5.0])
    results.log("tune/new/pro-001", "iteration 0: dev bleu 3.25 (best), pool 9\n")
    results.log("decode/base/mert-001", "replitune: \x1b[31mbroken\n")
    state = Live(results.folder).look()
    shown = [printable(line) for line in lines(state, 100)]
    text = "\n".join(shown)
    assert "live: running, began " in text
    assert "tune        ███▌       " in text
    assert re.search(r"base +mert +2/2 +0/2 +▁▄▇|▁.* +4\.00 to 5\.00", text)
    assert "tune new pro-001: iteration 0: dev bleu 3.25 (best)" in text
    assert "failed: decode base mert-001" in text
    assert "\x1b" not in text
    assert max(len(line) for line in shown if not line.startswith("  log: ")) <= 100
    small = lines(state, 60, 20)
    assert len(small) <= 20
    assert any("more rows: --once, or --serve" in line for line in small)


def test_replicas_behind_a_gap_are_not_looked_at():
    import numpy as np

    from replitune.replicas import replica_ids
    from replitune.statistics.systems import SystemStatistics

    ids = ("mert-001", "mert-003", "mert-004", "pro-001")
    system = SystemStatistics("a", ids, ("mert",) * 3 + ("pro",), np.arange(8).reshape(4, 2, 1))
    wanted = replica_ids({"mert": 4, "pro": 1})
    found = in_order(system, wanted, {})
    assert found.replicas == ("mert-001", "pro-001")
    assert found.statistics[:, 0, 0].tolist() == [0, 6]
    assert in_order(system, wanted, {"mert-002": "it failed"}) is system
    assert in_order(system, wanted[:1], {}).replicas == ("mert-001",), "no longer asked for"


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


# ---- the page


@pytest.fixture
def server(results: Folder) -> Iterator[Server]:
    server = Server(Live(results.folder), 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_the_page_and_its_state_are_served_to_this_machine_alone(server: Server):
    assert server.server_address[0] == "127.0.0.1"
    for path in ("/", "/page.css", "/page.js", "/state.json"):
        answer, content = ask(server, path)
        assert answer.status == 200
        assert content
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Access-Control-Allow-Origin"] is None
    answer, content = ask(server, "/state.json")
    assert json.loads(content)["experiment"] == "live"
    again, content = ask(server, "/state.json", If_None_Match=answer.headers["ETag"])
    assert (again.status, content) == (304, b"")
    assert ask(server, "/", "HEAD")[1] == b""


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/state.json/..", "/page.html", "/%2e"])
def test_nothing_else_is_served(server: Server, path: str):
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server: Server, method: str):
    assert ask(server, "/", method)[0].status == 501


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "localhost.evil.example", ""])
def test_another_name_of_this_machine_is_refused(server: Server, host: str):
    """DNS rebinding: a page of theirs asks here, by a name of theirs."""
    answer, content = ask(server, "/state.json", Host=host)
    assert answer.status == 403
    assert b"live" not in content


def test_names_of_this_machine():
    assert all(map(is_here, (["localhost"], ["localhost:9"], ["127.0.0.1:8642"], ["[::1]:1"])))
    assert not is_here([])
    assert not is_here(["localhost", "localhost"])
    for host in (
        "localhost@evil",
        "evil@localhost",
        "localhost:x",
        "evil/localhost",
        "localhost/evil",
        "localhost?x",
        "127.0.0.1.evil",
    ):
        assert not is_here([host]), host


def test_two_watch_at_once_and_a_port_that_is_taken_is_one_message(server: Server, results: Folder):
    first, second = Server(Live(results.folder)), Server(Live(results.folder))
    assert first.url != second.url
    with pytest.raises(ReplituneError, match="cannot be used"):
        Server(Live(results.folder), server.server_address[1])
    with pytest.raises(ReplituneError, match="not a port number"):
        Server(Live(results.folder), 70000)
    first.server_close()
    second.server_close()


def test_a_folder_that_is_removed_is_said_on_the_page(server: Server, results: Folder):
    assert "error" not in json.loads(server.state())
    (results.folder / NAME).unlink()
    server._looked = -10.0
    assert "cannot tell which" in json.loads(server.state())["error"]


def test_a_folder_that_is_renamed_meanwhile_is_named(results: Folder):
    live = Live(results.folder)
    results.folder.rename(results.folder.with_name("other"))
    with pytest.raises(ReplituneError, match="no such folder"):
        live.look()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [["--serve", "0"], []])
def test_ctrl_c_ends_it_without_a_word(results: Folder, words: list[str], number: signal.Signals):
    import pty

    upper, lower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "replitune", "watch", str(results.folder), *words],
        stdout=lower,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(lower)
    with process:
        said = os.read(upper, 1000).decode()  # it looks by now
        assert ("http://127.0.0.1:" if words else "live: running") in said
        process.send_signal(number)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0 if number == signal.SIGINT else 143, "")
    os.close(upper)
