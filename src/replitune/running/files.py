"""Reads text strictly, and writes files completely or not at all.

Rules for every file of segments: UTF-8; gzip if the content is gzip, whatever the name; one segment
per line; lines end at LF, and one CR before it is dropped; a byte order mark at the start is dropped;
NUL is an error. A file may have at most `largest_text()` bytes when unpacked, and a line at most
`LONGEST_LINE` characters. A last line without LF counts as a line. Other "line ends" of Unicode
(U+2028, U+0085, ...) are text.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gzip
import hashlib
import io
import json
import os
import re
import resource
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from replitune.errors import ReplituneError
from replitune.running.supervisor import leave_if_orphaned

GZIP_MAGIC = b"\x1f\x8b"

LONGEST_LINE = 1_000_000
"""The most characters of a segment: twice as many as in a book."""

UNPACKED_MB, UNPACKED_RATIO = "REPLITUNE_UNPACKED_MB", "REPLITUNE_UNPACKED_RATIO"
"""Environment variables: the most megabytes of JSON that a compressed file may contain; and how many times
its size any compressed file may contain, if that is more than `HARMLESS` bytes."""
USUAL = {UNPACKED_MB: 512, UNPACKED_RATIO: 100}
"""JSON takes ten times its size in memory. Text unpacks to a few times its size, logs to 20 times."""
HARMLESS = 64 << 20


CGROUPS = Path("/sys/fs/cgroup")


def memory() -> int:
    """Bytes of memory that this process may use: the least of the machine's memory, the ulimit, and the
    limit of its container or cluster job."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return min([there, *_cgroup_limits(), *([] if limit == resource.RLIM_INFINITY else [limit])])


def free_mb(folder: Path) -> int:
    """Free space on the disk of a folder, which need not exist yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free >> 20


def _cgroup_limits() -> Iterator[int]:
    """The memory limits of the groups that this process is in, from the innermost outwards."""
    try:
        lines = Path("/proc/self/cgroup").read_text(errors="replace").splitlines()
    except OSError:
        return
    for _, controllers, name in (line.split(":", 2) for line in lines if line.count(":") > 1):
        if controllers not in ("", "memory"):
            continue
        group = Path(name.lstrip("/"))
        for place in (group, *group.parents):
            for file in (
                CGROUPS / place / "memory.max",
                CGROUPS / "memory" / place / "memory.limit_in_bytes",
            ):
                with contextlib.suppress(OSError, ValueError):  # not there, or "max"
                    yield int(file.read_text())


def largest_text() -> int:
    """The most bytes of text that are read on this machine: a quarter of its memory, because text split
    into lines takes four times its size."""
    return memory() // 4


HALF_MADE = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.(?:tmp|old)")
"""Names of files that are not complete yet, or no longer used."""

written: dict[Path, None] = {}
"""Files and folders that this process has renamed to their final names, in order."""


def limit(variable: str) -> int:
    """What one of the variables in `USUAL` says."""
    given = os.environ.get(variable, str(USUAL[variable]))
    if not (given.isascii() and given.isdecimal()):
        raise ReplituneError(
            f"{variable} is not a number",
            found=given,
            expected=f"a whole number, such as {USUAL[variable]}",
        )
    return int(given)


def unpacked_bytes(packed: int, *, is_json: bool = False) -> int:
    """The most bytes to which a file of `packed` bytes is unpacked."""
    allowed = max(HARMLESS, limit(UNPACKED_RATIO) * packed)
    return min(allowed, limit(UNPACKED_MB) << 20) if is_json else allowed


def check_unpacked(path: str | Path, packed: int, size: int, *, is_json: bool = False) -> None:
    """Refuse a compressed file that has `size` bytes, or at least as many, when it is unpacked."""
    if size <= unpacked_bytes(packed, is_json=is_json):
        return
    by_ratio = size > unpacked_bytes(packed)
    variable = UNPACKED_RATIO if by_ratio else UNPACKED_MB
    raise ReplituneError(
        "compressed data that unpacks to too much",
        file=path,
        found=f"{size:,} bytes or more in {packed:,}",
        expected=f"at most {limit(variable):,} " + ("times its size" if by_ratio else "MB"),
        fix=f"if you trust it, set {variable} to a larger number",
    )


def read_bytes(path: str | Path, *, is_json: bool = False) -> bytes:
    """The content of `path`, unpacked if it is gzip."""
    path = Path(path)
    most = largest_text()
    with _opened(path) as handle:
        data = b"" if os.fstat(handle.fileno()).st_size > most else _all_of(handle, most)
        size = max(len(data), os.fstat(handle.fileno()).st_size)
    if size > most:
        raise _too_large(path, most)
    if data[:2] == GZIP_MAGIC:
        with _undamaged(path):
            data = _unpacked(data, path, most, is_json)
    return data


OPEN_ALREADY = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Names of what this process was given open, such as standard input and `<(zcat x.gz)`."""


def require_regular(path: str | Path) -> None:
    """Refuse what would be waited for without end: named pipes, sockets, devices, links in a circle. An
    archive that somebody else made may contain them. What is not there is for the caller to say."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:  # a NUL in the name
        return
    except OSError as error:
        if error.errno != errno.ELOOP:
            return
        found = "a link that leads back to itself"
    else:
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith(OPEN_ALREADY):
            return
        found = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise ReplituneError(
        "not a regular file",
        file=path,
        found=found,
        fix="remove it, or put the file there (what another program writes: `/dev/stdin`)",
    )


def open_regular(path: str | Path) -> io.BufferedReader:
    """A regular file, opened for reading bytes."""
    require_regular(path)
    return open(path, "rb")


def bytes_of(path: str | Path) -> bytes:
    """The bytes of a regular file, as they are."""
    with open_regular(path) as handle:
        return handle.read()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading bytes, or raise an error that says why it cannot be opened."""
    try:
        with open_regular(path) as handle:
            yield handle
    except (FileNotFoundError, ValueError):  # a NUL in a name is a ValueError
        raise ReplituneError(
            "no such file", file=path, fix=f"check the path; a relative one starts at {Path.cwd()}"
        ) from None
    except IsADirectoryError:
        raise ReplituneError("is a folder", file=path, expected="a text file") from None
    except PermissionError:
        raise ReplituneError("not readable", file=path, fix="check its permissions") from None


@contextlib.contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Raise an error of ours for gzip data that cannot be unpacked."""
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        raise ReplituneError(
            "gzip data is damaged or cut off",
            file=path,
            found=str(error),
            fix="make or fetch the file again",
        ) from None


def _all_of(handle: IO[bytes], most: int) -> bytes:
    """The whole content; of an endless source (a pipe, a device), only a little more than `most` bytes."""
    pieces: list[bytes] = []
    size = 0
    while size <= most and (piece := handle.read(1 << 24)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces) if len(pieces) != 1 else pieces[0]


def _unpacked(data: bytes, path: Path, most: int, is_json: bool) -> bytes:
    """The content of gzip data. It is unpacked in pieces, so that a small file that unpacks to terabytes
    is refused before it fills the memory."""
    pieces: list[bytes] = []
    size = 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(1 << 22):
            size += len(piece)
            if size > most:
                raise _too_large(path, most)
            check_unpacked(path, len(data), size, is_json=is_json)
            pieces.append(piece)
    return b"".join(pieces)


def _too_large(path: Path, most: int) -> ReplituneError:
    return ReplituneError(
        "too large for the memory of this machine",
        file=path,
        found=f"more than {most:,} bytes of text",
        expected="at most a quarter of the memory",
        fix="split the file, or take a larger machine",
    )


def read_text(path: str | Path, *, is_json: bool = False) -> str:
    """The text of `path`: strict UTF-8, no NUL, no byte order mark."""
    return _decoded(read_bytes(path, is_json=is_json), path)


def _decoded(data: bytes, path: str | Path, lines: int = 0, offset: int = 0) -> str:
    """A part of a file as text; `lines`, `offset`: how many lines and bytes of the file precede it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReplituneError(
            "invalid UTF-8",
            file=path,
            line=lines + data.count(b"\n", 0, error.start) + 1,
            found=f"byte 0x{data[error.start]:02x} at offset {offset + error.start}",
            expected="UTF-8 text",
            fix="convert it, for example with iconv -t UTF-8",
        ) from None
    nul = text.find("\0")
    if nul >= 0:
        raise ReplituneError(
            "NUL character in text",
            file=path,
            line=lines + text.count("\n", 0, nul) + 1,
            expected="plain text",
            fix="remove it, or check that the right file was given",
        )
    return text if offset else text.removeprefix("\ufeff")


def split_lines(text: str) -> list[str]:
    """Lines of `text` by the rules above."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def read_blocks(path: str | Path, size: int = 1 << 24) -> Iterator[list[str]]:
    """The lines of a text file, gz or plain, in blocks of about `size` bytes, so that the file need not
    fit into memory."""
    path = Path(path)
    lines = offset = 0
    with _opened(path) as packed:
        packing = packed.peek(2)[:2] == GZIP_MAGIC
        handle = gzip.GzipFile(fileobj=packed) if packing else packed
        rest = b""
        while True:
            with _undamaged(path) if packing else contextlib.nullcontext():
                read = handle.read(size)
            data = rest + read
            end = data.rfind(b"\n") + 1 if read else len(data)
            if len(read) == size and not end:
                raise ReplituneError(
                    "a line that is too long",
                    file=path,
                    line=lines + 1,
                    found=f"more than {size:,} bytes",
                    fix="is this the right file?",
                )
            block = split_lines(_decoded(data[:end], path, lines, offset))
            yield block
            if not read:
                return
            lines, offset, rest = lines + len(block), offset + end, data[end:]


def read_lines(path: str | Path) -> list[str]:
    """The lines of a text file, gz or plain."""
    lines = split_lines(read_text(path))
    if lines and len(longest := max(lines, key=len)) > LONGEST_LINE:
        raise ReplituneError(
            "a line that is too long for a segment",
            file=path,
            line=lines.index(longest) + 1,
            found=f"{len(longest):,} characters",
            expected=f"at most {LONGEST_LINE:,}",
            fix="is this a text with one segment a line?",
        )
    return lines


def sha256_file(path: str | Path) -> str:
    """Hexadecimal SHA-256 of the bytes on disk."""
    with open_regular(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_lines(lines: Iterable[str]) -> str:
    """SHA-256 of segments: the same for a file, its gz copy, and its CRLF copy."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogatepass"))
        digest.update(b"\n")
    return digest.hexdigest()


def put(temporary: Path, path: Path) -> None:
    """Rename a complete file or folder to its final name, so that it survives a power failure."""
    leave_if_orphaned()
    is_part = any(HALF_MADE.fullmatch(part) for part in path.parts[:-1])  # flushed with its folder
    if not is_part:
        flush(temporary)
    if temporary.is_dir() and path.is_dir():
        old = temporary.with_suffix(".old")
        os.replace(path, old)
        os.replace(temporary, path)
        shutil.rmtree(old)
    else:
        os.replace(temporary, path)
    if not is_part:
        if _folders is None:
            _flush_one(path.parent)
        else:
            _folders[path.parent] = None
    written[path] = None


_folders: dict[Path, None] | None = None
"""Folders that `together` flushes at its end."""


@contextlib.contextmanager
def together() -> Iterator[None]:
    """Write many small files, and flush each of their folders only once, at the end."""
    global _folders
    folders = _folders = {}
    try:
        yield
    finally:
        _folders = None
        for folder in folders:
            _flush_one(folder)


def flush(path: Path) -> None:
    """Flush a file, or a folder with everything in it, to the disk."""
    if path.is_dir():
        for place, _, files in os.walk(path):
            for one in (*(os.path.join(place, file) for file in files), place):
                if not os.path.islink(one):
                    _flush_one(one)
    else:
        _flush_one(path)


def _flush_one(path: str | Path) -> None:
    """Flush one file or folder, if its file system can (else EINVAL or ENOTSUP)."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(number)


def flush_all(folder: Path) -> None:
    """Flush the whole file system of a folder, other programs' files included, if the C library can."""
    if syncfs := getattr(ctypes.CDLL(None), "syncfs", None):
        number = os.open(folder, os.O_RDONLY)
        syncfs(number)
        os.close(number)


def remove(path: Path) -> None:
    """Remove a file or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, which is renamed to it on success and removed on failure."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        put(temporary, path)
    except BaseException:
        remove(temporary)
        raise


@contextlib.contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """An empty folder beside `path`, which replaces `path` on success and is removed on failure."""
    with atomic_path(Path(path).absolute()) as temporary:
        temporary.mkdir()
        yield temporary


@contextlib.contextmanager
def atomic_open(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file for writing text (UTF-8, LF) or bytes ("wb"); it appears complete or not at all."""
    with atomic_path(path) as temporary:
        if "b" in mode:
            with open(temporary, mode) as handle:
                yield handle
        else:
            with open(temporary, mode, encoding="utf-8", newline="\n") as handle:
                yield handle


def write_json(path: str | Path, value: Any, indent: int | None = 1) -> None:
    """Write a value as JSON."""
    with atomic_open(path) as handle:
        handle.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def write_ascii_json(path: str | Path, value: Any) -> None:
    """Write a value as JSON of ASCII characters; numbers that are not finite are an error."""
    with atomic_open(path) as handle:
        handle.write(json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write segments, one per line."""
    with atomic_open(path) as handle:
        buffer = io.StringIO()
        for line in lines:
            buffer.write(line)
            buffer.write("\n")
        handle.write(buffer.getvalue())
