from __future__ import annotations

from pathlib import Path

from replitune.running.failures import SHOWN, last_words


def test_the_last_message_of_a_log_is_told(tmp_path: Path):
    log = tmp_path / "a.log"
    log.write_text(
        "$ moses\nreplitune: of the first try\nreading\nreplitune: x.txt: bad\n  to do:    better\n"
    )
    assert last_words({"decode a": log}) == (
        "replitune: a job failed\n"
        "  decode a:\n"
        "    x.txt: bad\n"
        "      to do:    better\n"
        "  put this right and run again (replitune run, make resume); what is done stays done"
    )


def test_other_programs_words_are_cut_and_silence_is_named(tmp_path: Path):
    log = tmp_path / "a.log"
    log.write_text("".join(f"line {i}\n" for i in range(10)))
    (tmp_path / "silent.log").touch()
    said = last_words({"a": log, "b": tmp_path / "silent.log", "c": tmp_path / "elsewhere.log"})
    assert "line 7\n    line 8\n    line 9\n" in said
    assert "line 6" not in said
    log.write_text("replitune: a warning\n" + log.read_text() * 5)
    assert "a warning" not in last_words({"a": log})
    assert "  b:\n    ended without a message" in said
    assert "  c:\n    its log is not on this machine" in said


def test_many_messages_are_counted(tmp_path: Path):
    for i in range(20):
        (tmp_path / f"{i}.log").write_text(f"replitune: message {i % 10}\n")
    said = last_words({f"job {i:02d}": tmp_path / f"{i}.log" for i in range(20)})
    assert said.startswith("replitune: 20 jobs failed\n  job 00, and 1 more:\n")
    assert f"... and {10 - SHOWN} other messages" in said


def test_a_stopped_run_says_how_to_go_on():
    assert "make resume" in last_words({})
