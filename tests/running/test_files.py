from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replitune.errors import ReplituneError
from replitune.running import files
from replitune.running.files import (
    atomic_open,
    new_folder,
    read_blocks,
    read_lines,
    sha256_lines,
    split_lines,
    together,
    write_ascii_json,
    write_lines,
)

SEGMENTS = st.lists(st.text(st.characters(blacklist_characters="\n\r\0", blacklist_categories=("Cs",))))


@settings(deadline=None, derandomize=True, max_examples=50)
@given(SEGMENTS)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]):
    path = tmp_path_factory.mktemp("files") / "a.txt"
    write_lines(path, lines)
    expected = list(lines)
    if expected and expected[0].startswith("\ufeff"):
        expected[0] = expected[0][1:]  # taken for a byte order mark
    assert read_lines(path) == expected


def test_a_file_is_on_the_disk_before_it_has_its_name_and_the_name_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What would be found after a loss of power."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(number: int) -> None:
        done.append(f"flush {os.path.basename(os.readlink(f'/proc/self/fd/{number}')).split('.')[-1]}")
        fsync(number)

    def renamed(old: Path, new: Path) -> None:
        done.append(f"rename to {new.name}")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    folder = tmp_path / "folder"
    write_lines(folder / "a.txt", ["x"])
    assert done == ["flush tmp", "rename to a.txt", "flush folder"]
    done.clear()
    with new_folder(folder / "model") as model:
        write_lines(model / "b.txt", ["x"])  # flushed with the folder that it is in
    assert done == ["rename to b.txt", "flush txt", "flush tmp", "rename to model", "flush folder"]
    done.clear()
    with together():
        write_lines(folder / "c.txt", ["x"])
        write_lines(folder / "d.txt", ["x"])
    assert done == [*("flush tmp", "rename to c.txt"), *("flush tmp", "rename to d.txt"), "flush folder"]


@pytest.mark.parametrize(
    ("group", "file"),
    [
        ("0::/job/step", "job/memory.max"),
        ("4:memory:/job/step", "memory/job/memory.limit_in_bytes"),
        ("0::/not/seen/from/here", "memory.max"),
    ],
)
def test_memory_is_that_of_the_container_or_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, file: str
):
    limit = tmp_path / file
    limit.parent.mkdir(parents=True, exist_ok=True)
    limit.write_text("734003200\n")
    (tmp_path / "job" / "step").mkdir(parents=True, exist_ok=True)
    (tmp_path / "job" / "step" / "memory.max").write_text("max\n")
    read_text = Path.read_text
    monkeypatch.setattr(files, "CGROUPS", tmp_path)
    monkeypatch.setattr(
        Path,
        "read_text",
        lambda path, *a, **k: group if path == Path("/proc/self/cgroup") else read_text(path, *a, **k),
    )
    assert files.memory() == 734003200


def test_only_line_feeds_end_lines():
    assert split_lines("a\u2028b\x85c\x0cd\re\n") == ["a\u2028b\x85c\x0cd\re"]


def test_one_carriage_return_before_a_line_feed_is_dropped():
    assert split_lines("a\r\nb\r\r\n\r\n") == ["a", "b\r", ""]


def test_the_last_line_feed_may_be_missing():
    assert split_lines("a\nb") == split_lines("a\nb\n") == ["a", "b"]


def test_an_empty_file_has_no_lines_and_blank_lines_count():
    assert split_lines("") == []
    assert split_lines("\n\n") == ["", ""]


def test_gzip_is_recognised_by_content(tmp_path: Path):
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_lines(path) == ["one", "two"]


def test_byte_order_mark_is_dropped(tmp_path: Path):
    path = tmp_path / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n")
    assert read_lines(path) == ["one"]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"ok\nb\xffd\n", 2, "invalid UTF-8"),
        (b"ok\nok\na\0b\n", 3, "NUL"),
        (b"\xed\xa0\x80\n", 1, "invalid UTF-8"),  # an unpaired surrogate
    ],
)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, content: bytes, line: int, message: str):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(ReplituneError, match=message) as error:
        read_lines(path)
    assert error.value.line == line
    assert error.value.file == str(path)


def test_a_cut_gzip_file_is_refused(tmp_path: Path):
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n" * 1000)[:-20])
    with pytest.raises(ReplituneError, match="damaged or cut off"):
        read_lines(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path):
    path = tmp_path / "a.txt"
    write_lines(path, ["old"])
    with pytest.raises(RuntimeError), atomic_open(path) as handle:  # noqa: PT012
        handle.write("half of the new")
        raise RuntimeError
    assert read_lines(path) == ["old"]
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_json_for_other_programs_has_ascii_characters_and_finite_numbers(tmp_path: Path):
    write_ascii_json(tmp_path / "a.json", {"p": 0.1, "names": ["ü"]})
    assert (tmp_path / "a.json").read_bytes() == b'{\n "p": 0.1,\n "names": [\n  "\\u00fc"\n ]\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        write_ascii_json(tmp_path / "a.json", {"p": float("nan")})
    assert b"0.1" in (tmp_path / "a.json").read_bytes()


def test_the_hash_of_segments_does_not_depend_on_how_they_are_stored(tmp_path: Path):
    plain, packed, dos = tmp_path / "a", tmp_path / "b.gz", tmp_path / "c"
    plain.write_bytes(b"one\ntwo\n")
    packed.write_bytes(gzip.compress(b"one\ntwo"))
    dos.write_bytes(b"one\r\ntwo\r\n")
    assert len({sha256_lines(read_lines(path)) for path in (plain, packed, dos)}) == 1
    assert sha256_lines(["one", "two"]) != sha256_lines(["one two"])


def test_a_folder_takes_its_place_whole_or_not_at_all(tmp_path: Path):
    out = tmp_path / "model"
    for content in ("old", "new"):
        with new_folder(out) as folder:
            assert folder.is_absolute()
            write_lines(folder / content, [content])
    assert [path.name for path in out.iterdir()] == ["new"]
    with pytest.raises(RuntimeError), new_folder(out) as folder:  # noqa: PT012
        write_lines(folder / "half", ["half"])
        raise RuntimeError
    assert [path.name for path in out.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("size", [12, 20, 1 << 20])
@pytest.mark.parametrize("text", ["", "one\ntwo", "\ufeffone\r\n\u00e9t\u00e9\u2028\r\r\n\n\nend\n", "\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_blocks_of_lines_are_the_lines(
    tmp_path: Path, text: str, size: int, pack: Callable[[bytes], bytes]
):
    path = tmp_path / "text"
    path.write_bytes(pack(text.encode()))
    assert [line for block in read_blocks(path, size) for line in block] == read_lines(path)
    path.write_bytes(pack(b"one\n" + b"x" * 100))
    if size < 30:
        with pytest.raises(ReplituneError, match="a line that is too long") as error:
            list(read_blocks(path, size))
        assert error.value.line == 2


def test_what_is_wrong_in_a_later_block_is_named_by_its_line(tmp_path: Path):
    path = tmp_path / "text"
    for bad, message in ((b"\xff", "invalid UTF-8"), (b"\0", "NUL character")):
        path.write_bytes(b"one\ntwo\n" * 50 + b"x" + bad + b"\n")
        with pytest.raises(ReplituneError, match=message) as whole:
            read_lines(path)
        with pytest.raises(ReplituneError, match=message) as parts:
            list(read_blocks(path, 16))
        assert str(parts.value) == str(whole.value)
        assert parts.value.line == 101
    path.write_bytes(gzip.compress(b"one\ntwo\n" * 1000)[:-20])
    with pytest.raises(ReplituneError, match="damaged or cut off"):
        list(read_blocks(path, 16))
    for name in ("nothing", "."):
        with pytest.raises(ReplituneError) as error:
            list(read_blocks(tmp_path / name))
        assert error.value.file
