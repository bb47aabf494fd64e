"""Write the C structs of a game from the dtypes in its ``state.py``.

``python -m tools.structs`` writes ``_state.h``, for the C compiler, and ``_state.pxd``, for Cython,
beside the ``state.py`` of every game, or of the games named. With ``--check`` nothing is written;
the exit status is 1 where a file differs.

What compiled code sees is declared at the end of ``state.py``; all but the first may be left out:

``STRUCTS``
    Name -> aligned structured dtype. A record inside of another one comes before it.
``CONSTANTS``
    Name -> int.
``ENUMS``
    ``IntEnum`` class -> prefix of its members' names in C, mostly empty.
``RENAMED``
    Name in C -> member of such a class whose name is already taken.
``TAIL``
    The last fields of ``State``, bytes, if their lengths depend on the configuration. The struct
    ends before them.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from tools.command import new_parser

COMMAND = "python -m tools.structs"

# By kind and bytes. A bool holds 0 or 1, and so must what C writes into its byte.
C_TYPES = {"f4": "float", "f8": "double", "b1": "uint8_t"} | {
    f"{kind}{size}": f"{prefix}{8 * size}_t"
    for kind, prefix in (("i", "int"), ("u", "uint"))
    for size in (1, 2, 4, 8)
}
SIZED = {name for name in C_TYPES.values() if name.endswith("_t")}

# An array of -1 bytes is refused by every compiler; MSVC takes _Static_assert only with /std:c11.
HEADER = """\
/* Generated from {module} by "{command}"; not to be edited. */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>

/* A compiler that lays records out otherwise than NumPy did must not go on. */
#ifdef _MSC_VER
#define FASTENV_HOLDS(truth, otherwise) extern char fastenv_holds[(truth) ? 1 : -1]
#else
#define FASTENV_HOLDS(truth, otherwise) _Static_assert(truth, otherwise)
#endif
#define FASTENV_SIZE(record, bytes) \\
    FASTENV_HOLDS(sizeof(record) == bytes, #record " is not " #bytes " bytes long")
#define FASTENV_AT(record, field, byte) \\
    FASTENV_HOLDS(offsetof(record, field) == byte, #record "." #field " is not at byte " #byte)

{structs}

#undef FASTENV_AT
#undef FASTENV_SIZE
#undef FASTENV_HOLDS

#endif
"""


class StructError(ValueError):
    """A ``state.py`` declares what has no C struct, or not the same one everywhere."""


@dataclass(frozen=True)
class Field:
    """One field of a struct: ``bounds`` are the lengths of its array, ``offset`` is in bytes."""

    name: str
    c_type: str
    bounds: tuple[int, ...]
    offset: int

    @property
    def declaration(self) -> str:
        """Its declaration, the same in C and in Cython."""
        return f"{self.c_type} {self.name}" + "".join(f"[{length}]" for length in self.bounds)


@dataclass(frozen=True)
class Enum:
    """An enumeration as Cython sees it, or, without a name, all single constants."""

    name: str
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Struct:
    """A record as C sees it; ``size`` is in bytes."""

    name: str
    fields: tuple[Field, ...]
    size: int


# -- from dtypes to structs ------------------------------------------------------------------------


def generate(module: Any) -> tuple[str, str]:
    """Return the texts of a game's C header and Cython declarations.

    Parameters
    ----------
    module : module
        A ``state.py``; see the top of this file for the names that are read.

    Returns
    -------
    header, pxd : str

    Raises
    ------
    StructError
        With the name of the struct and field that has no C counterpart.
    """
    structs = _structs(module.STRUCTS, getattr(module, "TAIL", ()))
    enums = [Enum("", _numbers(getattr(module, "CONSTANTS", {}).items()))]
    enums += _enums(getattr(module, "ENUMS", {}), getattr(module, "RENAMED", {}))
    _check_unique(structs, enums)
    return _header(module.__name__, structs), _pxd(module.__name__, structs, enums)


def _structs(dtypes: dict[str, np.dtype[Any]], tail: Sequence[str]) -> list[Struct]:
    structs: list[Struct] = []
    inner: dict[str, np.dtype[Any]] = {}
    if tail and "State" not in dtypes:
        raise StructError("TAIL names fields of the struct State, and STRUCTS has none")
    for name, dtype in dtypes.items():
        if name == "State" and tail:
            # The record is longer than the struct, so that it cannot be part of another one.
            structs.append(_struct(name, dtype, inner, tuple(tail)))
        else:
            structs.append(_struct(name, dtype, inner))
            inner[name] = dtype
    return structs


def _struct(
    name: str, dtype: np.dtype[Any], inner: dict[str, np.dtype[Any]], tail: tuple[str, ...] = ()
) -> Struct:
    """Return the struct of a dtype, if C lays it out as NumPy does."""
    _check_name(name, "struct")
    if not dtype.isalignedstruct:
        raise StructError(f"{name}: the dtype must be structured and made with align=True")
    assert dtype.fields is not None
    assert dtype.names is not None
    _check_tail(name, dtype, tail)
    fields, end, alignment = [], 0, 1
    for field in dtype.names[: len(dtype.names) - len(tail)]:
        kind, offset = dtype.fields[field][:2]
        _check_name(field, f"field of {name}")
        if 0 in kind.shape:
            raise StructError(f"{name}.{field}: an array of length 0 does not exist in C")
        c_type = _c_type(f"{name}.{field}", kind.base, inner)
        if offset != _rounded_up(end, kind.alignment):
            raise StructError(f"{name}.{field}: at byte {offset}, where C would not put it")
        fields.append(Field(field, c_type, kind.shape, offset))
        end, alignment = offset + kind.itemsize, max(alignment, kind.alignment)
    if not fields:
        raise StructError(f"{name}: a struct has at least one field")
    size = _rounded_up(end, alignment)
    if tail and size != end:
        raise StructError(
            f"{name}: the fields before {tail[0]} take {end} bytes; fill them up to {size}, a "
            f"multiple of {alignment}"
        )
    if not tail and size != dtype.itemsize:
        raise StructError(f"{name}: {dtype.itemsize} bytes, where C would take {size}")
    return Struct(name, tuple(fields), size)


def _c_type(where: str, dtype: np.dtype[Any], inner: dict[str, np.dtype[Any]]) -> str:
    if dtype.names is not None:
        for name, known in inner.items():
            if known == dtype:
                return name
        raise StructError(f"{where}: a record that STRUCTS does not name before this one")
    c_type = C_TYPES.get(f"{dtype.kind}{dtype.itemsize}")
    if c_type is None or not dtype.isnative:
        raise StructError(f"{where}: {dtype.str} is not one of ?, i1 to i8, u1 to u8, f4, f8")
    return c_type


def _check_tail(name: str, dtype: np.dtype[Any], tail: tuple[str, ...]) -> None:
    assert dtype.fields is not None
    assert dtype.names is not None
    if tail and dtype.names[-len(tail) :] != tail:
        raise StructError(f"{name}: TAIL must name its last fields, in their order")
    for field in tail:
        if dtype.fields[field][0].base != np.uint8:
            raise StructError(f"{name}.{field}: a field of TAIL must be of type u1")


def _enums(prefixes: dict[type[IntEnum], str], renamed: dict[str, IntEnum]) -> list[Enum]:
    enums = []
    for kind, prefix in prefixes.items():
        own = {member.name: name for name, member in renamed.items() if type(member) is kind}
        members = ((own.get(member.name, prefix + member.name), member.value) for member in kind)
        enums.append(Enum(kind.__name__, _numbers(members)))
    for name, member in renamed.items():
        if type(member) not in prefixes:
            raise StructError(f"{name}: {member!r} belongs to no class in ENUMS")
    return enums


def _numbers(declared: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    numbers = tuple(declared)
    for name, value in numbers:
        _check_name(name, "constant")
        if not isinstance(value, int) or not -(2**31) <= value < 2**31:
            raise StructError(f"constant {name}: {value!r} is not a C int")
    return tuple((name, int(value)) for name, value in numbers)


def _check_name(name: str, what: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise StructError(f"{what} {name!r}: not a name in C")


def _check_unique(structs: Sequence[Struct], enums: Sequence[Enum]) -> None:
    names = [struct.name for struct in structs] + [enum.name for enum in enums if enum.name]
    names += [name for enum in enums for name, _ in enum.members]
    for name, times in Counter(names).items():
        if times > 1:
            raise StructError(f"{name} would be declared twice; see RENAMED")


def _rounded_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


# -- from structs to texts -------------------------------------------------------------------------


def _header(module: str, structs: Sequence[Struct]) -> str:
    text = "\n\n".join("\n".join(_c_lines(struct)) for struct in structs)
    guard = re.sub(r"\W", "_", module).upper() + "_H"
    return HEADER.format(module=module, command=COMMAND, guard=guard, structs=text)


def _c_lines(struct: Struct) -> Iterator[str]:
    name = struct.name
    yield f"typedef struct {name} {{"
    yield from (f"    {field.declaration};" for field in struct.fields)
    yield f"}} {name};"
    yield f"FASTENV_SIZE({name}, {struct.size});"
    yield from (f"FASTENV_AT({name}, {field.name}, {field.offset});" for field in struct.fields)


def _pxd(module: str, structs: Sequence[Struct], enums: Sequence[Enum]) -> str:
    top = [f'# Generated from {module} by "{COMMAND}"; not to be edited.']
    types = {field.c_type for struct in structs for field in struct.fields}
    if sized := sorted(types & SIZED):
        top.append(f"from libc.stdint cimport {', '.join(sized)}")
    blocks = ["\n".join(top)]
    for enum in enums:
        if enum.members:
            members = (f"    {name} = {value}" for name, value in enum.members)
            blocks.append("\n".join([f"cdef enum {enum.name}".rstrip() + ":", *members]))
    blocks.append('cdef extern from "_state.h":')
    declared = "\n\n".join(_cython_struct(struct) for struct in structs)
    return "\n\n".join(blocks) + "\n" + declared + "\n"


def _cython_struct(struct: Struct) -> str:
    fields = (f"        {field.declaration}" for field in struct.fields)
    return "\n".join([f"    ctypedef struct {struct.name}:", *fields])


# -- files -----------------------------------------------------------------------------------------


def stale(module: Any, folder: Path | None = None) -> dict[Path, str]:
    """Return the files of a game that are not what would be written now, with their texts.

    Parameters
    ----------
    module : module
        As for ``generate``.
    folder : Path, optional
        Where the files lie; by default, beside the module.
    """
    folder = folder or Path(module.__file__).parent
    files = zip((folder / "_state.h", folder / "_state.pxd"), generate(module), strict=True)
    return {
        path: text
        for path, text in files
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def write(module: Any, folder: Path | None = None) -> list[Path]:
    """Write the files of a game, and leave those alone that are right; the rest is compiled anew.

    Parameters
    ----------
    module, folder
        As for ``stale``.

    Returns
    -------
    list of Path
        What was written.
    """
    changed = stale(module, folder)
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(changed)


def games() -> list[str]:
    """Return the names of the packages in ``fastenv`` that have a ``state.py``."""
    roots = (Path(root) for root in fastenv.__path__)
    return sorted(path.parent.name for root in roots for path in root.glob("*/state.py"))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("structs", __doc__)
    parse.add_argument("games", nargs="*", metavar="GAME", help="folders in fastenv; default: all")
    parse.add_argument("--check", action="store_true", help="write nothing; exit 1 on a difference")
    return parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = parser()
    args = parse.parse_args(argv)
    known = games()
    for name in args.games:
        if name not in known:
            parse.error(f"{name}: no state.py; there are {', '.join(known)}")
    status = 0
    for name in args.games or known:
        module = importlib.import_module(f"fastenv.{name}.state")
        if not hasattr(module, "STRUCTS"):
            if args.games:
                parse.error(f"{name}: its state.py has no STRUCTS")
            continue
        try:
            changed = list(stale(module)) if args.check else write(module)
        except StructError as error:
            print(f"error: {name}: {error}", file=sys.stderr)
            return 2
        for path in changed:
            print(f"{path}: " + (f"differs; run {COMMAND}" if args.check else "written"))
        if args.check and changed:
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
