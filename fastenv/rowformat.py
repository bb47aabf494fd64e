"""A state row as plain Python values: one compiled call each way.

The reference implementations convert between rows and attributes once a step in the backends that
mix Python with compiled code. A :class:`struct.Struct` does it without a NumPy object a field: the
204 values of a Skull King row take it 2 us to pack and 1.3 us to unpack, where
``np.array(values, dtype)`` and a join of one ``array`` or ``bytes`` object a field take 17 us,
``record.item()`` 6 us (one core of an AMD EPYC, Python 3.11).

>>> dtype = np.dtype([("flag", "?"), ("scores", "<i4", (2,)), ("name", "u1", (3,))], align=True)
>>> rows = RowFormat(dtype, raw=("name",))
>>> row = rows.pack(True, 7, -1, b"abc")
>>> row.hex(" ", 4)
'01000000 07000000 ffffffff 61626300'
>>> rows.unpack(row), rows.fields
((True, 7, -1, b'abc'), {'flag': 0, 'scores': slice(1, 3, None), 'name': 3})
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Iterator
from operator import itemgetter
from typing import Any

import numpy as np

# In struct's standard sizes: NumPy's own letters stand for other sizes on other systems.
_CODES = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "f2": "e", "f4": "f",
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f8": "d",
}  # fmt: skip


class RowFormat:
    """The byte layout of the values in one record of a structured dtype.

    Values come in the order of the fields, without nesting: a field of a number is one value, one
    of an array (of arrays) as many as it has elements, a raw field one ``bytes`` object.

    Parameters
    ----------
    dtype : dtype
        Structured, of numbers and booleans in the byte order of the machine and arrays of them.
        Bytes of no field are padding: written as 0, never read. ``dtype[["a", "b"]]`` is a
        dtype in which all other fields are padding.
    raw : collection of str
        Fields that are taken and given as ``bytes``, of whatever type.

    Attributes
    ----------
    fields : dict of str to int or slice
        Where the values of a field are among all values: the number of the one, or a slice.

    Raises
    ------
    ValueError
        If a field has another type, or the fields do not follow one another in memory.
    """

    def __init__(self, dtype: np.dtype[Any], raw: Collection[str] = ()) -> None:
        if dtype.names is None or dtype.fields is None:
            raise ValueError(f"{dtype} has no fields")
        if unknown := set(raw) - {*dtype.names}:
            raise ValueError(f"no field {min(unknown)!r} that could be raw")
        self._made_from = dtype, tuple(raw)
        self.fields: dict[str, Any] = {}
        where: int | slice
        self._raw: list[tuple[str, int, int]] = []  # name, which value, bytes
        codes, values, end = ["="], 0, 0  # "=": no padding but what is written out
        for name in dtype.names:
            field, offset = dtype.fields[name][:2]
            if offset < end:
                raise ValueError(f"field {name!r} does not begin behind the one before it")
            count, where = 1, values
            if name in raw:
                code = f"{field.itemsize}s"
                self._raw.append((name, values, field.itemsize))
            else:
                element = field
                while element.subdtype:  # an array may be one of arrays
                    count, element = count * math.prod(element.shape), element.base
                code = _code(name, element)
                if field.shape:
                    where = slice(values, values + count)
            codes += [f"{offset - end}x", count * code]
            self.fields[name] = where
            values, end = values + count, offset + field.itemsize
        self._struct = struct.Struct("".join([*codes, f"{dtype.itemsize - end}x"]))
        # Raw bytes that are too many are cut, those that are too few filled up with 0.
        self.pack_as_is: Callable[..., bytes] = self._struct.pack
        # all that are raw, as a tuple; the first value twice, since of one there would be no tuple
        self._raw_of = itemgetter(*[i for _, i, _ in self._raw], 0, 0)
        self._raw_sizes = [size for _, _, size in self._raw]

    def __reduce__(self) -> Any:
        """Pickle what it was made from: a compiled ``struct.Struct`` cannot be."""
        return RowFormat, self._made_from

    def pack(self, *values: Any) -> bytes:
        """Return the row of these values.

        Raises
        ------
        struct.error
            If there are more or fewer values than the dtype has, or one that its field cannot hold.
        ValueError
            If raw bytes are not exactly those of their field.
        """
        row: bytes = self.pack_as_is(*values)
        if self._raw_sizes and [*map(len, self._raw_of(values)[:-2])] != self._raw_sizes:
            for name, i, size in self._raw:  # struct would cut or fill them in silence
                if len(values[i]) != size:
                    raise ValueError(f"field {name!r} takes {size} bytes, not {len(values[i])}")
        return row

    def unpack(self, row: Any) -> tuple[Any, ...]:
        """Return the values of a row.

        Parameters
        ----------
        row : object with the buffer protocol
            ``bytes``, a ``memoryview``, or an array or scalar of the dtype; ``itemsize`` bytes.

        Raises
        ------
        struct.error
            If it has another size.
        """
        return self._struct.unpack(row)

    def unpack_all(self, rows: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the values of each of several rows that follow one another; see :meth:`unpack`.

        Raises
        ------
        struct.error
            If their bytes are no whole number of rows, or none.
        """
        return self._struct.iter_unpack(rows)


def _code(name: str, element: np.dtype[Any]) -> str:
    """Return struct's letter for an element of a field."""
    code = _CODES.get(element.str[1:])
    if code is None or not element.isnative:
        raise ValueError(f"field {name!r} is of {element}: only numbers and booleans have a value")
    return code
