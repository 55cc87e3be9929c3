from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.backends.interface import ReplicaError
from replitune.errors import ReplituneError
from replitune.running.programs import filled, missing_program, run, run_shell, uses

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\r\n"))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_a_shell_gets_every_value_as_it_is(words: list[str], word: str):
    """The oracle is bash itself."""
    command = filled("printf '%s\\n' {words} a{word}b", {"words": words, "word": word})
    said = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
    assert said.decode().split("\n")[:-1] == [*words, f"a{word}b"]


def test_what_is_no_place_is_left_to_the_shell():
    for text in ("echo ${source} {1..3} {a,b} $((1 + {x}))", "awk '{{print}}'", "a {} \\;"):
        kept = text.replace("{{print}}", "{print}").replace("{x}", "7")
        assert filled(text, {"x": 7}) == kept
    assert uses("cat {source}", "source")
    assert not uses("cat ${source} {{source}}", "source")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("cat {sorce}", "did you mean {source}"),
        ("awk '{print}'", "for the shell write {{print}}"),
        ("echo '{source}'", "inside quotes"),
        ('echo "x {source}"', "inside quotes"),
        ("echo \\'a 'b {source}'", "inside quotes"),
    ],
)
def test_mistakes_in_templates(template: str, message: str):
    with pytest.raises(ReplituneError, match=message.replace("{", "\\{")):
        filled(template, {"source": "f"})
    assert filled("# don't\ncat {source}", {"source": "f"}) == "# don't\ncat f"


def test_exit_codes_and_last_words(capfd: pytest.CaptureFixture[str], tmp_path: Path):
    with pytest.raises(ReplicaError, match=r"(?s)exit code 3.*the last word"):
        run_shell("seq 100; echo the last word >&2; exit 3", "training")
    with pytest.raises(ReplicaError):
        run_shell("false | cat", "a pipe")
    with pytest.raises(ReplituneError, match="no such program") as found:
        run_shell("no-such-program-at-all", "training")
    assert not isinstance(found.value, ReplicaError)
    with pytest.raises(ReplituneError, match="signal 9") as found:
        run_shell("kill -9 $$", "training")
    assert not isinstance(found.value, ReplicaError), "another try may succeed"
    with pytest.raises(ReplituneError, match="cannot start"):
        run([tmp_path / "nothing"], "training")


def test_messages_go_to_the_log_and_output_to_its_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    with open(tmp_path / "out", "wb") as out:
        run_shell("echo text; echo message >&2", "decode", stdout=out)
    assert (tmp_path / "out").read_text() == "text\n"
    said = capsys.readouterr().out
    assert "message" in said
    assert "\ntext\n" not in said


def test_programs_have_the_threads_of_their_job(tmp_path: Path):
    with open(tmp_path / "out", "wb") as out:
        run_shell("echo $OMP_NUM_THREADS $MKL_NUM_THREADS $OPENBLAS_NUM_THREADS", "x", stdout=out,
                  threads=3)  # fmt: skip
    assert (tmp_path / "out").read_text() == "3 3 1\n"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_running(how: signal.Signals, tmp_path: Path):
    """A program's children, too, end with the command that started it."""
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *a: sys.exit(143))\n"
        "from replitune.running.programs import run_shell\n"
        f"run_shell('sleep 100 & echo $$ $! > {tmp_path}/pids.tmp; "
        f"mv {tmp_path}/pids.tmp {tmp_path}/pids; wait', 'training')\n"
    )
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "pids").exists():
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    os.kill(started.pid, how)
    started.wait()
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_programs_are_looked_for(tmp_path: Path):
    assert missing_program("bash", "") == []
    (error,) = missing_program(str(tmp_path / "moses"), "build it")
    assert "is not there" in str(error)
    assert "build it" in str(error)
