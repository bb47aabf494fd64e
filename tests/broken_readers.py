"""Kinds of files whose readers do what none may."""

import hashlib
import os
import time

from fastenv.errors import FileError
from tools.mutate_files.kinds import Kind

TEXT = "abc"


def make(folder):
    (folder / "file").write_text(TEXT)


def reads(damage):
    """Return a kind that reads its original, and does this with any other file."""

    def read(folder):
        if (folder / "file").read_bytes() != TEXT.encode():
            damage()

    return Kind("some", make, read)


def refuse(text="no file", cause=None):
    raise FileError(text) from cause


def fail():
    raise KeyError("x")


def take_memory():
    try:
        bytearray(3 << 29)
    except MemoryError as error:
        refuse("no memory", error)


FINE = reads(lambda: None)
REFUSES = reads(refuse)
FAILS = reads(fail)
TALKS = reads(lambda: refuse("a" * 601))
TAKES = reads(take_memory)
DIES = reads(lambda: os._exit(3))
WAITS = reads(lambda: time.sleep(60))
EXITS = reads(lambda: exit("bye"))


def make_two_halves(folder):
    half = os.urandom(32).hex()
    (folder / "file").write_text(half + half)


def quote(folder):
    content = (folder / "file").read_bytes()
    if content[:64] != content[64:]:
        raise KeyError(hashlib.sha256(content).hexdigest())


QUOTES = Kind("some", make_two_halves, quote)
