"""A real Slurm of four nodes on this machine, for as long as a test needs it.

Its daemons run in the foreground with a configuration of their own in a folder of their own:
no systemd, no /etc/slurm, no accounting database. It needs root, for munge and for slurmd.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
NODES = 4
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])

CONFIGURATION = """\
ClusterName=mini
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={base}/munge.socket
CredType=cred/munge
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool.%n
SlurmctldPidFile={base}/slurmctld.pid
SlurmdPidFile={base}/slurmd.%n.pid
SlurmctldLogFile={base}/slurmctld.log
SlurmdLogFile={base}/slurmd.%n.log
# without cgroups, processes of a job are found by their ancestors
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
# squeue has to remember finished jobs, because there is no sacct
MinJobAge=3600
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2,sched_min_interval=0
SlurmdParameters=config_overrides
KillWait=2
JobRequeue=0
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=500
"""


def unavailable() -> str:
    """Why Slurm cannot be started here; empty when it can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    missing = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if missing:
        return f"Slurm is not installed (apt-get install slurm-wlm munge): no {', '.join(missing)}"
    return ""


# The plugin's inner `srun` gets an environment without SLURM_CONF: this one has it.
SRUN = """\
#!/bin/sh
SLURM_CONF={base}/slurm.conf exec {program} "$@"
"""
# When no job has ended since the plugin asked, it waits ten seconds longer than before: its question
# is answered as soon as one has, or after fifteen seconds.
SQUEUE = """\
#!/bin/bash
case "$*" in *--states=all*) ;; *) exec {program} "$@" ;; esac
answered={base}/answered.${{!#}}
for ((i = 0; i < 60; i++)); do
  said=$({program} "$@") || exit
  ended=$(grep -cE 'COMPLETED|FAILED|CANCELLED|NODE_FAIL' <<<"$said")
  [ "$ended" = "$(cat "$answered" 2>/dev/null || echo 0)" ] || break
  sleep 0.25
done
echo "$ended" >"$answered"
echo "$said"
"""


class Slurm:
    """The daemons, and what to ask them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        (base / "bin").mkdir()
        for name, text in (("srun", SRUN), ("squeue", SQUEUE)):
            wrapper = base / "bin" / name
            wrapper.write_text(text.format(base=base, program=shutil.which(name, path=PATH)))
            wrapper.chmod(0o755)
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(base / "slurm.conf"),
            "PATH": f"{base}/bin{os.pathsep}{PATH}",
        }

    def start(self) -> None:
        base, host = self.base, socket.gethostname().partition(".")[0]
        ports = _free_ports(NODES + 1)
        nodes = "\n".join(
            f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]}"
            " CPUs=4 RealMemory=16000 State=UNKNOWN"
            for i in range(1, NODES + 1)
        )
        (base / "slurm.conf").write_text(
            CONFIGURATION.format(base=base, host=host, ports=ports, nodes=nodes)
        )
        for name in ("state", *(f"spool.n{i}" for i in range(1, NODES + 1))):
            (base / name).mkdir()
        key = base / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        sock = base / "munge.socket"
        self._launch(
            "munged",
            "--foreground",
            "--force",
            f"--key-file={key}",
            f"--socket={sock}",
            f"--pid-file={base}/munged.pid",
            f"--seed-file={base}/munge.seed",
            f"--log-file={base}/munged.log",
        )
        _until(sock.exists, 10, "munged")
        self._launch("slurmctld", "-D", "-f", str(base / "slurm.conf"))
        for i in range(1, NODES + 1):
            self._launch("slurmd", "-D", "-N", f"n{i}", "-f", str(base / "slurm.conf"), node=f"n{i}")
        _until(lambda: self._idle() == NODES, 30, f"{NODES} idle nodes")
        self("srun", "-n1", "-t1", "--mem=100", "true")

    def _launch(self, program: str, *arguments: str, node: str = "") -> None:
        with open(self.base / f"{program}{node}.out", "wb") as out:
            self.daemons[node or program] = subprocess.Popen(
                [str(shutil.which(program, path=PATH)), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self.environment,
                start_new_session=True,
            )

    def _idle(self) -> int:
        with contextlib.suppress(subprocess.SubprocessError):
            return self("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split().__len__()
        return 0

    def __call__(self, *command: str) -> str:
        """What a command of Slurm's prints."""
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True, timeout=60
        ).stdout

    def jobs(self) -> dict[int, dict[str, str]]:
        """Every job that there was: state, node, memory and minutes asked for, its comment."""
        rows = self("squeue", "-h", "-t", "all", "-o", "%A|%T|%N|%m|%l|%k").splitlines()
        keys = ("state", "node", "memory", "limit", "comment")
        return {int(row.split("|")[0]): dict(zip(keys, row.split("|")[1:], strict=True)) for row in rows}

    def kill_node(self, node: str) -> None:
        """Power off: its slurmd and all processes of its jobs die at once, and Slurm is told."""
        self.daemons[node].kill()
        self.daemons[node].wait()
        pids = self._processes(node)
        # stopped before they are killed: none of them may see another die, and report it
        for sent in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sent)
        self("scontrol", "update", f"nodename={node}", "state=down", "reason=power")

    def _processes(self, node: str = "") -> list[int]:
        """The daemons that watch this cluster's jobs, and the jobs' processes."""
        found = []
        watching = set()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (folder / "environ").read_bytes().split(b"\0")
                ours = f"SLURM_CONF={self.base}/slurm.conf".encode() in words
                there = not node or f"SLURMD_NODENAME={node}".encode() in words
                if ours and there and any(w.startswith(b"SLURMD_NODENAME=") for w in words):
                    found.append(int(folder.name))
                    # slurmstepd writes its title over its environment: it is known by its child
                    parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                    if Path(f"/proc/{parent}/comm").read_text().strip() == "slurmstepd":
                        watching.add(int(parent))
        return [pid for pid in [*sorted(watching), *found] if pid != os.getpid()]

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            self("scancel", "--full", *map(str, self.jobs()))
        for pid in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in reversed(self.daemons.values()):
            process.terminate()
        for process in self.daemons.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running() -> Iterator[Slurm]:
    # a socket's name is short, so not in pytest's folder
    base = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    base.chmod(0o755)
    slurm = Slurm(base)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()
        shutil.rmtree(base, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for item in sockets:
            item.bind(("127.0.0.1", 0))
        return [int(item.getsockname()[1]) for item in sockets]


def _until(true: object, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise TimeoutError(f"Slurm: no {what} within {seconds:.0f} s")
        time.sleep(0.1)
