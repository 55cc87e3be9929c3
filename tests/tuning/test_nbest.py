from __future__ import annotations

import gzip
import random

import pytest

from replitune.errors import ReplituneError
from replitune.tuning.nbest_files import read_nbest

GOOD = (
    "0 ||| a b c ||| LM0= -1.5 TM0= 0.25 1e-05 ||| -3.1\n"
    "0 |||  ||| LM0= -0 TM0= 2 3 ||| -3.1 ||| 0-0 1-1\n"
    "1 ||| ü | x || y ||| LM0= 1 TM0= -2.5E+3 .5 ||| 0\n"
)


def write(folder, text: str, name: str = "nbest.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_names_and_values(tmp_path):
    lists = read_nbest([write(tmp_path, GOOD)], 2)
    assert lists.layout.names == ("LM0", "TM0")
    assert lists.layout.arities == (1, 2)
    assert lists.segments.tolist() == [0, 0, 1]
    assert lists.texts == ["a b c", "", "ü | x || y"]
    assert lists.features.tolist() == [[-1.5, 0.25, 1e-05], [0.0, 2.0, 3.0], [1.0, -2500.0, 0.5]]


def test_gz_carriage_returns_spaces_and_a_missing_last_line_end(tmp_path):
    plain = read_nbest([write(tmp_path, GOOD)], 2)
    path = tmp_path / "nbest.gz"
    text = GOOD.replace("\n", "\r\n").replace("TM0=", "  TM0= ").rstrip("\r\n")
    path.write_bytes(gzip.compress(text.encode()))
    packed = read_nbest([path], 2)
    assert packed.texts == plain.texts
    assert packed.features.tolist() == plain.features.tolist()


def test_several_files_form_one_pool(tmp_path):
    first, second, third = GOOD.splitlines(keepends=True)
    lists = read_nbest([write(tmp_path, third, "a"), write(tmp_path, first + second, "b")], 2)
    assert lists.segments.tolist() == [1, 0, 0]


def test_a_line_may_end_after_the_features(tmp_path):
    lists = read_nbest([write(tmp_path, "0 ||| a ||| F= 1 2\n")], 1)
    assert lists.features.tolist() == [[1.0, 2.0]]


def test_every_number_is_read_as_python_reads_it(tmp_path):
    rng = random.Random(1)
    words = ["0", "-0.0", "+1.5", "1.", "00012.5", "123456789012345", "1e22", "1e23", "5e-324"]
    words += ["-1.7976931348623157e308", "0.1", "0.30000000000000004", "1E5", "1e-22", "1e-30"]
    words += [repr(rng.uniform(-100, 100)) for _ in range(200)]
    words += [f"{rng.uniform(-100, 100):.6g}" for _ in range(200)]
    words += [f"{rng.uniform(-1, 1):.{d}e}" for d in range(17) for _ in range(10)]
    text = "".join(f"0 ||| a ||| F= {word}\n" for word in words)
    lists = read_nbest([write(tmp_path, text)], 1)
    assert lists.features[:, 0].tolist() == [float(word) for word in words]


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("0.25 1e-05", "0.25"), 2, "TM0 has another number of values"),
        (("2 3", "2"), 2, "TM0 has another number of values"),
        (("2 3", "2 3 4"), 2, "TM0 has another number of values"),
        (("LM0= 1 ", ""), 3, "other features"),
        (("LM0= 1 TM0", "TM0= 1 2 LM0"), 3, "feature LM0 has another number"),
        (("LM0= 1", "LMO= 1"), 3, "does not have: LMO"),
        (("LM0= 1", "LM0=1"), 3, "without a name"),
        (("LM0= 1", "LM0="), 3, "LM0 has no value"),
        (("= -0 ", "= nan "), 2, "not a finite number"),
        (("= -0 ", "= -inf "), 2, "not a finite number"),
        (("= -0 ", "= 1e999 "), 2, "not a finite number"),
        (("= -0 ", "= 1_0 "), 2, "not a finite number"),
        (("= -0 ", "= one "), 2, "not a finite number"),
        (("= -0 ", "= 1e "), 2, "not a finite number"),
        (("= -0 ", "= 1\t2 "), 2, "between spaces"),
        (("1 ||| ü", "2 ||| ü"), 3, "without a reference"),
        (("1 ||| ü", "-1 ||| ü"), 3, "not a number from 0"),
        (("1 ||| ü", "1.0 ||| ü"), 3, "not a number from 0"),
        (("1 ||| ü", "99999999999 ||| ü"), 3, "not a number from 0"),
        (("1 ||| ü", " ||| ü"), 3, "not a number from 0"),
        (("0 |||  |||", "\n0 |||  |||"), 2, "blank line"),
        (("0 |||  ||| LM0= -0 TM0= 2 3 ||| -3.1 ||| 0-0 1-1", "0 ||| a"), 2, "not an n-best line"),
        (("1 ||| ü | x || y ||| LM0= 1 TM0= -2.5E+3 .5 ||| 0\n", ""), None, "no hypotheses for 1"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path, change, line, message):
    assert change[0] in GOOD
    path = write(tmp_path, GOOD.replace(*change, 1))
    with pytest.raises(ReplituneError) as caught:
        read_nbest([path], 2)
    error = caught.value
    assert message in str(error)
    assert error.file == str(path)
    expected = 2 if message.startswith("TM0 has") and change[0] == "0.25 1e-05" else line
    assert error.line == expected


def test_files_with_other_features_do_not_mix(tmp_path):
    one = write(tmp_path, "0 ||| a ||| LM0= 1 ||| 0\n", "one")
    two = write(tmp_path, "0 ||| a ||| LM1= 1 ||| 0\n", "two")
    with pytest.raises(ReplituneError, match="did you mean LM0"):
        read_nbest([one, two], 1)


@pytest.mark.parametrize("text", ["", "\n", "hello\n", "0 ||| a |||  ||| 0\n", "0 ||| a ||| 1 2\n"])
def test_a_file_that_is_no_nbest_file(tmp_path, text):
    with pytest.raises(ReplituneError):
        read_nbest([write(tmp_path, text)], 1)
