"""`snakemake` and its jobs, as processes that need no second for their imports.

Most of what a run of a small experiment costs is the same imports again in every job. A server
imports everything once; a program that is started is a fork of it, with the folder, the environment
and the files of a small client, which gives it signals and ends as it does. When the client is
killed, so is the fork.

What depends on how a process starts or dies is tested with real ones: the runs with which others
are compared, and whatever is sent a signal or killed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import logging
import marshal
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

CLIENT = """#!{python} -IS
import marshal, os, sys, _signal, _socket
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
said = marshal.dumps((sys.argv, os.getcwd(), os.umask(0), dict(os.environ)))
rights = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2))
server.sendmsg([len(said).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
server.sendall(said)
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(number, lambda number, frame: server.sendall(bytes([number])))
code = int.from_bytes(server.recv(4), "big", signed=True)
if code < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code != 9 else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""
OTHERS = ("snakemake.cli", "snakemake.workflow", "matplotlib.pyplot", "pyarrow.parquet")
BACKENDS = ("agg", "pdf", "svg")


@functools.cache
def program(name: str) -> str:
    """The path of `snakemake` or `replitune`."""
    return str(_server() / "bin" / name)


@functools.cache
def _server() -> Path:
    """Start it; it ends with this process. Its clients are in a folder, with a Python that has the
    same packages: Snakemake's jobs find `replitune` beside it."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))  # a socket's name is short
    address, programs = str(folder / "socket"), folder / "bin"
    programs.mkdir()
    for name in ("snakemake", "replitune"):
        (programs / name).write_text(CLIENT.format(python=sys.executable, address=address))
        (programs / name).chmod(0o755)
    (programs / "python").symlink_to(Path(sys.executable).resolve())
    (folder / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    (folder / "lib").symlink_to(Path(sys.prefix) / "lib")
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **one},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(process.communicate)  # closes its input, and waits
    assert process.stdout.readline() == b"ready\n"
    return folder


# ---- in the server


def serve(folder: Path) -> Callable[[], object]:
    """Answer until nobody is left who may ask. Returns in a fork, with what it is to do."""
    import matplotlib

    import replitune

    matplotlib.use("agg")
    ours = (module.name for module in pkgutil.walk_packages(replitune.__path__, "replitune."))
    for name in (*ours, *OTHERS, *(f"matplotlib.backends.backend_{one}" for one in BACKENDS)):
        if not name.endswith("__main__"):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            shutil.rmtree(folder)
            while True:
                try:
                    os.wait()
                except ChildProcessError:
                    return lambda: 0
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return attend(client, folder)
        client.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def attend(client: socket.socket, folder: Path) -> Callable[[], object]:
    """Start what a client asks for, and tell it how that ended."""
    head, files, _, _ = socket.recv_fds(client, 8, 3)
    size, said = int.from_bytes(head, "big"), b""
    while len(said) < size:
        said += client.recv(size - len(said))
    words, place, mask, variables = marshal.loads(said)
    child = os.fork()
    if child == 0:
        client.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(place)
        os.umask(mask)
        os.environ.clear()
        os.environ.update(variables)
        return functools.partial(become, words, str(folder / "bin" / "python"))
    ended = os.pidfd_open(child)
    while ended not in (ready := select.select([client, ended], [], [])[0]):
        assert client in ready
        number = client.recv(1)
        os.kill(child, number[0] if number else signal.SIGKILL)
        if not number:
            break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        client.sendall(status.to_bytes(4, "big", signed=True))
    os._exit(0)


def become(words: list[str], python: str) -> int:
    code = 1

    def leave() -> None:
        """In place of taking apart, object by object, what the server has imported."""
        logging.shutdown()
        sys.stdout.flush()
        os._exit(code)

    atexit.register(leave)
    sys.argv, sys.executable = words, python
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if Path(words[0]).name == "snakemake":
        from snakemake.cli import main
    else:
        from replitune.cli.main import main
    try:
        code = main() or 0
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    return code


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]))())
