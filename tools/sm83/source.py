"""Sources as a list of statements: files and what they include, comments, labels, operands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

LABEL = re.compile(r"(?P<label>\.?[A-Za-z_]\w*):|(?P<constant>[A-Za-z_]\w*)(?=\s+equ\b)", re.I)
# Parts of a line in which a comma or a semicolon is nothing special.
QUOTED = re.compile(r'"[^"]*"|\'[^\']\'')


class AssemblyError(ValueError):
    """A source cannot be assembled; the message names file, line and what is allowed."""


class Statement(NamedTuple):
    """One line of a source; ``word`` is its instruction or directive, lower-case."""

    place: str
    label: str
    word: str
    operands: list[str]

    def error(self, message: str) -> AssemblyError:
        """Return an error that names the line."""
        return AssemblyError(f"{self.place}: {message}")


def split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators that are not quoted."""
    hidden = QUOTED.sub(lambda match: "_" * len(match[0]), text)
    parts, start = [], 0
    for part in hidden.split(separator):
        parts.append(text[start : start + len(part)].strip())
        start += len(part) + 1
    return parts


def parse(line: str, place: str) -> Statement:
    """Return the statement of a line."""
    text = split(line, ";")[0]
    label = ""
    if match := LABEL.match(text):
        label, text = match["label"] or match["constant"], text[match.end() :].strip()
    word, _, rest = text.partition(" ")
    return Statement(place, label, word.lower(), split(rest, ",") if rest.strip() else [])


def statements(text: str, file: Path) -> list[Statement]:
    """Return the statements of a source with those of the files it includes in their places.

    The lines between ``gfx`` and ``endgfx`` are pixels; they come as operands of ``gfx``.
    """
    found: list[Statement] = []
    pixels: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        statement = parse(line, f"{file.name}:{number}")
        if statement.word == "endgfx":
            if pixels is None:
                raise statement.error("endgfx without gfx")
            pixels = None
        elif pixels is not None:
            if line.strip():
                pixels.append(line.strip())
        elif statement.word == "include":
            found += included(statement, file)
        elif statement.label or statement.word:
            found.append(statement)
            if statement.word == "gfx":
                pixels = statement.operands
    if pixels is not None:
        raise found[-1].error("gfx without endgfx")
    return found


def included(statement: Statement, file: Path) -> list[Statement]:
    """Return the statements of an included file, which lies beside the one that names it."""
    name = statement.operands[0] if len(statement.operands) == 1 else ""
    if not re.fullmatch(r'"[^"]+"', name):
        raise statement.error('include takes one file name in quotes: include "file.asm"')
    path = file.parent / name.strip('"')
    if path.resolve() == file.resolve():
        raise statement.error(f"{file.name} includes itself")
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise statement.error(f"cannot read {path.name}: {error}") from None
    return statements(text, path)
