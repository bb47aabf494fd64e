"""Reading files of unknown origin, bounded in size and never pickled; and writing whole files.

Each function that reads takes the path and ``limit``, how many bytes the file, and what it expands
to, may have, and raises nothing but :class:`FileError`, one sentence that names the file, what was
found and what is allowed. What is declared in a header is checked against the limit before memory
for it is taken. What is written replaces a file in one step.
"""

from __future__ import annotations

import errno
import gzip
import json
import math
import os
import pathlib
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, FileError, show, show_reason

Array = npt.NDArray[Any]
Path = str | os.PathLike[str]
MAX_DEPTH = 64  # lists and objects in each other, of JSON
_CHUNK = 1 << 20
_MOST_MEMBERS = 10_000  # of a zip file
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


@contextmanager
def open_regular(path: Path, limit: int) -> Iterator[IO[bytes]]:
    """Open a regular file of at most ``limit`` bytes for reading, as a context manager.

    For libraries that read from an open file; see :func:`check_zip` for those that expand it.
    """
    with open(_open(path), "rb") as file:
        found = os.fstat(file.fileno())
        if found.st_size > limit:
            size = f"{found.st_size:,} bytes, at most {limit:,} are allowed"
            raise FileError(f"{show_path(path)} has {size}.")
        try:
            yield file
        except OSError as error:
            raise FileError(f"{show_path(path)} cannot be read: {show_reason(error)}.") from error


def read_regular(path: Path, limit: int) -> bytes:
    """Return the content of a regular file."""
    with open_regular(path, limit) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def read_gzip(path: Path, limit: int) -> bytes:
    """Return the decompressed content of a gzip file."""
    content = bytearray()
    with open_regular(path, limit) as file, _refuse(path, "no file of gzip"):
        unpacked = gzip.GzipFile(fileobj=file)
        while part := unpacked.read(min(_CHUNK, limit + 1 - len(content))):
            content += part
    if len(content) > limit:
        raise FileError(f"{show_path(path)} expands to more than the {limit:,} bytes allowed.")
    return bytes(content)


def read_json(path: Path, limit: int) -> Any:
    """Return the value of a JSON file; see :func:`parse_json`."""
    return parse_json(read_regular(path, limit), show_path(path))


def parse_json(content: bytes | str, name: str) -> Any:
    """Return the value of JSON in UTF-8, nested at most ``MAX_DEPTH``.

    It has no NaN, no infinities, and in an object no key twice.

    Parameters
    ----------
    content : bytes or str
    name : str
        What a message calls it.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    def convert(number: str) -> float:
        if not math.isfinite(value := float(number)):
            raise ValueError(f"{show(number)} is beyond what a float can be")
        return value

    def convert_whole(number: str) -> int:
        convert(number)  # who reads it may make a float of it
        return int(number)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice = next(key for key, count in counts.items() if count > 1)
            raise ValueError(f"{show(twice)} is twice in an object, must be there once")
        return found

    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        value = json.loads(
            text, parse_constant=refuse, parse_float=convert, parse_int=convert_whole,
            object_pairs_hook=unique,
        )  # fmt: skip
    except RecursionError:
        value = None
        depth = MAX_DEPTH + 1
    except ValueError as error:  # integers of thousands of digits, too
        raise FileError(f"{name} is no JSON: {show_reason(error)}.") from None
    else:
        depth = _depth(value)
    if depth > MAX_DEPTH:
        raise FileError(f"{name} is nested too deeply: at most {MAX_DEPTH} levels are allowed.")
    return value


def read_npy(path: Path, limit: int) -> Array:
    """Return the array of a ``.npy`` file, without objects, writable."""
    with open_regular(path, limit) as file, _refuse(path, "no .npy file"):
        return _read_array(file, os.fstat(file.fileno()).st_size)


def read_npz(path: Path, limit: int, names: Sequence[str] | None = None) -> dict[str, Array]:
    """Return the arrays of a ``.npz`` file, without objects, writable.

    Parameters
    ----------
    path : str or PathLike
    limit : int
        How many bytes the file, and all its members together, may have.
    names : sequence of str, optional
        Those to be read; all of them by default. One that is missing is an error.
    """
    with (
        open_regular(path, limit) as file,
        _refuse(path, "no .npz file"),
        _open_zip(file, path, limit) as archive,
    ):
        members = {each.filename: each for each in archive.infolist()}
        wanted = [each.removesuffix(".npy") for each in members] if names is None else names
        if missing := [each for each in wanted if f"{each}.npy" not in members]:
            raise FileError(f"{show_path(path)} has no array {show(missing[0])}, must have one.")
        arrays = {}
        for each in wanted:
            member = members[f"{each}.npy"]
            with archive.open(member) as content:
                arrays[each] = _read_array(content, member.file_size)
        return arrays


def check_zip(path: Path, limit: int) -> None:
    """Refuse what is no zip file, or one whose members expand to more than ``limit`` bytes.

    For libraries that read such a file themselves, as ``torch.load`` does.
    """
    with open_regular(path, limit) as file, _refuse(path, "no zip file"):
        _open_zip(file, path, limit).close()


def prepare(flag: str, path: pathlib.Path) -> None:
    """Make the folder of a file that a command will write, before it works for minutes.

    Parameters
    ----------
    flag : str
        The option that named it.
    path : pathlib.Path

    Raises
    ------
    ConfigError
        If there can be no such file.
    """
    reason, parent = None, show_path(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{parent} is no folder and none can be made there ({error.strerror})"
    except ValueError:  # a character of value 0
        reason = "there can be no file of this name"
    else:
        reason = _why_not(path)
    if reason is not None:
        raise ConfigError(f"{flag} {show_path(path)}: cannot be written: {reason}.")


def _why_not(path: pathlib.Path) -> str | None:
    """Return why a file cannot be written to a folder that is there, None if it can be."""
    trial = path.parent / f".tmp-{os.getpid()}-{path.name}"  # what `write_bytes` begins with
    try:
        if path.is_dir():
            return "it is a folder, must be a file"
        trial.touch()  # to ask for permission is not enough: root has it everywhere
        trial.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, ValueError) or error.errno == errno.ENAMETOOLONG:
            return "there can be no file of this name"
        return f"{show_path(path.parent)} does not let itself be written to ({error.strerror})"
    return None


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` by a file with this content, atomically and durably.

    A process that is killed meanwhile leaves the old file, and one named ``.tmp-<pid>-...``.
    """
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".tmp-{os.getpid()}-{name}")
    with open(unfinished, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    sync_folder(folder or os.curdir)


def sync_folder(path: Path) -> None:
    """Make what was created, renamed or removed in a folder durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def show_path(path: Path) -> str:
    """Return the path of a file for a message, shortened in the middle."""
    text = os.fsdecode(path).encode("utf-8", "backslashreplace").decode()
    text = text if text.strip() and text.isprintable() else ascii(text)
    return text if len(text) <= 240 else f"{text[:80]}...{text[-157:]}"


def _open(path: Path) -> int:
    """Return the descriptor of a regular file."""
    try:
        _check_kind(path, os.stat(os.fsdecode(path)))  # a device is not even opened
        # Without waiting, should it be a named pipe by now, for whoever writes to it.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK if os.name == "posix" else os.O_RDONLY
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise FileError(f"{show_path(path)} cannot be read: {show_reason(error)}.") from error
    except FileError:
        raise
    except (ValueError, TypeError) as error:  # characters that no path has, or no text at all
        raise FileError(f"{show(path)} is no path of a file: {show_reason(error)}.") from error
    try:
        _check_kind(path, os.fstat(handle))
    except FileError:
        os.close(handle)
        raise
    return handle


def _check_kind(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise FileError(f"{show_path(path)} is {kind}, must be a regular file.")


@contextmanager
def _refuse(path: Path, what: str) -> Iterator[None]:
    """Turn what parsers raise, which is of any class and MemoryError too, into a FileError."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {show_reason(error)}"
        raise FileError(f"{show_path(path)} is {what}, or damaged ({why}).") from error


def _depth(value: Any) -> int:
    """Return how deep lists and objects are in each other, up to one more than ``MAX_DEPTH``."""
    level, depth = [value], 0
    while depth <= MAX_DEPTH:
        level = [each for each in level if isinstance(each, (dict, list)) and each]
        if not level:
            return depth
        level = [x for each in level for x in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return depth


def _open_zip(file: IO[bytes], path: Path, limit: int) -> zipfile.ZipFile:
    parts = iter(lambda: file.read(_CHUNK), b"")
    if sum(part.count(b"PK\1\2") for part in parts) > _MOST_MEMBERS:  # each costs a kilobyte
        raise FileError(f"{show_path(path)} has more than the {_MOST_MEMBERS:,} members allowed.")
    archive = zipfile.ZipFile(file)
    members = archive.infolist()
    size = sum(each.file_size for each in members)
    if size > limit:
        raise FileError(
            f"{show_path(path)} expands to {size:,} bytes, at most {limit:,} are allowed."
        )
    for each in members:
        # The other methods expand a part of a file without asking how much is wanted.
        if each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"compression method {each.compress_type}, must be 0 or 8")
    if len({each.filename for each in members}) < len(members):
        raise ValueError("two members have the same name")
    return archive


def _read_array(file: IO[bytes], size: int) -> Array:
    """Return the array of a ``.npy`` file of ``size`` bytes, which must be all it has."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("version of the format must be 1.0")
    shape, in_columns, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"dtype {show(dtype)}, must be of numbers, flags or text")
    needed, left = math.prod(shape) * dtype.itemsize, size - file.tell()
    if needed != left or min(shape, default=0) < 0:
        raise ValueError(f"{left:,} bytes for {show(dtype)} of shape {show(shape)}")
    flat = np.empty(needed, np.uint8)
    done = 0
    while done < needed:
        part = file.read(min(_CHUNK, needed - done))
        if not part:
            raise ValueError("it is cut short")
        flat[done : done + len(part)] = np.frombuffer(part, np.uint8)
        done += len(part)
    if file.read(1):
        raise ValueError("there is more than was declared")
    return flat.view(dtype).reshape(shape, order="F" if in_columns else "C")
