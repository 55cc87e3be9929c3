from __future__ import annotations

import io

from replitune.running.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_a_bar_that_goes_away():
    terminal = Terminal()
    with Progress(terminal).bar("decode", 4, "lines") as done:
        for number in (1, 4):
            done(number)
    text = terminal.getvalue()
    assert "1 of 4 lines" in text
    assert "[" + "#" * 30 + "]" in text
    assert "\n" not in text
    assert text.endswith("\r\033[K")


def test_a_log_gets_one_plain_line(capsys):
    with Progress(io.StringIO()).bar("decode", 4, "lines") as done:
        done(2)
    out = capsys.readouterr().out
    assert out.startswith("decode: 4 lines in ")
    assert out.count("\n") == 1


def test_steps_overwrite_themselves_on_a_terminal_only(capsys):
    terminal = Terminal()
    say = Progress(terminal)
    for line in ("align step 1 of 2", "align step 2 of 2", "done"):
        say(line)
    assert terminal.getvalue().count("\n") == 1
    plain = Progress(io.StringIO())
    plain("align step 1 of 2")
    plain("done")
    assert capsys.readouterr().out == "align step 1 of 2\ndone\n"
