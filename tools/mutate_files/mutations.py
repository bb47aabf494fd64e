"""Small changes of a file: of its bytes, or of what its format holds."""

from __future__ import annotations

import ast
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import yaml

Edit = Callable[[bytes, random.Random], bytes | None]
BOMB = 5 << 28  # bytes of a member of zeros: more than a reader may take

# What stands in the place of a value in JSON.
UGLY = (
    "null", "true", "false", "-1", "0", "1", "2", "0.5", "-0.0", "1e308", "-1e308", "1e999", "NaN",
    "-Infinity", str(2**31), str(-(2**31) - 1), str(2**63), str(2**64), "9" * 400, "9" * 5000,
    '""', '"a"', '"\\ud800"', '"\\u0000"', f'"{"a" * 20_000}"', '"../.."', '"/dev/zero"', "[]",
    "{}", "[[]]", "[null]", '[""]', "[1e308, 1e308]", "[" * 40 + "]" * 40, '{"": {}}',
    "[" * 900 + "]" * 900, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000,
    "[" + "0," * 9999 + "0]",
)  # fmt: skip
DTYPES = (
    "'|u1'", "'|i1'", "'|b1'", "'<i2'", "'>i2'", "'<i4'", "'<u4'", "'<i8'", "'<u8'", "'<f2'",
    "'<f4'", "'<f8'", "'<c16'", "'|O'", "'|S3'", "'<U2'", "'|V8'", "'|V0'", "'<M8[s]'", "'no'",
    "[('a', '<i4')]", "[('a', '|u1', (2,)), ('b', '<f8')]", "('|u1', (4,))", "5", "None",
)  # fmt: skip
EXTREME = (b"\0", b"\xff", b"\x7f", b"\x80", b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\xff\x7f")


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return the content of a file after one to three changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = edit(content, rng) if rng.random() < 0.65 else change_bytes(content, rng)
    return content


def edit(content: bytes, rng: random.Random) -> bytes:
    """Return a file with a part of what it holds changed; of its bytes, in no known format."""
    for form in (edit_zip, edit_gzip, edit_npy, edit_safetensors, *_TEXTS):
        try:
            found = form(content, rng)
        except Exception:  # of this format, but damaged by an earlier change
            continue
        if found is not None:
            return found
    return change_bytes(content, rng)


def change_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with some turned, cut off, left out, repeated, moved or overwritten."""
    size = len(content)
    at = rng.randrange(min(size, rng.choice((16, 256, 4096, 1 << 40)))) if size else 0
    length = min(rng.choice((1, 2, 4, 8, 64, 1000)), size - at)
    part, rest = content[at : at + length], content[at + length :]
    way = rng.randrange(10)
    if way < 4 and size:
        turned = bytearray(content)
        for place in [at, *(rng.randrange(size) for _ in range(rng.choice((0, 0, 1, 7))))]:
            turned[place] ^= 1 << rng.randrange(8)
        return bytes(turned)
    if way == 4:
        return content[:at]
    if way == 5:
        return content[:at] + rest
    if way == 6:
        return content[:at] + part * rng.choice((2, 3, 1000)) + rest
    if way == 7:
        other = rng.randrange(size) if size else 0
        return content[:at] + content[other : other + length] + rest
    if way == 8:
        fill = rng.choice((*EXTREME, rng.randbytes(4)))
        return content[:at] + (fill * length)[:length] + rest
    return content + rng.choice((b"\0", b"\n", rng.randbytes(10), content[:1000], bytes(100_000)))


def edit_zip(content: bytes, rng: random.Random) -> bytes | None:
    """Return a zip file with members changed, exchanged, left out, added, or very large."""
    if not content.startswith(b"PK"):
        return None
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(each.file_size for each in archive.infolist()) > 1 << 28:
            return None
        members = [(each.filename, archive.read(each)) for each in archive.infolist()]
        method = archive.infolist()[0].compress_type if members else zipfile.ZIP_STORED
    if not members:
        return None
    at, other, way = rng.randrange(len(members)), rng.randrange(len(members)), rng.randrange(20)
    name, inner = members[at]
    if way < 14:
        members[at] = name, mutate(inner, rng)
    elif way == 14:
        members[at], members[other] = (name, members[other][1]), (members[other][0], inner)
    elif way == 15:
        del members[at]
    elif way == 16:
        members.append((rng.choice(("more.npy", "no", "../out.npy", "")), inner))
    elif way == 17:
        members[at] = rng.choice((name.upper(), f"{name}.npy", "a" * 60_000)), inner
    elif way == 18:
        method = rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    elif name.endswith(".npy"):
        return zeros_of(name)
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", method) as archive:
        for name, inner in members:
            archive.writestr(name, inner)
    return stored.getvalue()


@cache
def zeros_of(name: str) -> bytes:
    """Return a small archive of one array that takes more than a gigabyte."""
    stored = io.BytesIO()
    with (
        zipfile.ZipFile(stored, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        member.write(npy("'|u1'", "False", f"({BOMB},)", b""))
        for _ in range(BOMB >> 20):
            member.write(bytes(1 << 20))
    return stored.getvalue()


def edit_gzip(content: bytes, rng: random.Random) -> bytes | None:
    """Return a file of gzip whose content is changed."""
    if not content.startswith(b"\x1f\x8b"):
        return None
    return gzip.compress(mutate(gzip.decompress(content), rng), 1)


def npy(descr: str, in_columns: str, shape: str, data: bytes) -> bytes:
    """Return a .npy file whose header has these literals."""
    text = f"{{'descr': {descr}, 'fortran_order': {in_columns}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def edit_npy(content: bytes, rng: random.Random) -> bytes | None:
    """Return a .npy file of another shape or dtype, or with other numbers."""
    if not content.startswith(b"\x93NUMPY\x01\x00"):
        return None
    end = 10 + int.from_bytes(content[8:10], "little")
    try:
        header = ast.literal_eval(content[10:end].decode("latin1").strip())
    except SyntaxError:
        return None
    data = content[end:]
    descr, shape = repr(header["descr"]), tuple(header["shape"])
    first = shape[0] if shape else 1
    shapes = (
        (), shape[:-1], shape[::-1], (*shape, 1), (1, *shape), (0, *shape[1:]), (*shape, 0),
        (first + 1, *shape[1:]), (2 * first, *shape[1:]), (2**40, *shape[1:]), (-1, *shape[1:]),
        (2**63, *shape), (len(data),), (0,), tuple(1 for _ in range(70)),
    )  # fmt: skip
    way = rng.randrange(6)
    if way < 2 and data:
        return content[:end] + change_bytes(data, rng)
    if way == 2:
        descr = rng.choice(DTYPES)
    elif way == 3:
        return npy(descr, rng.choice(("True", "5")), repr(shape), data)
    else:
        shape = rng.choice(shapes)
    if rng.random() < 0.7:  # as many bytes as such an array has
        count = 1
        for number in shape:
            count *= number
        each = int("".join(filter(str.isdigit, descr)) or 1) if descr.startswith("'") else 1
        if 0 <= count * each <= 1 << 24:
            data = (data * (count * each // max(1, len(data)) + 1))[: count * each]
    return npy(descr, repr(header["fortran_order"]), repr(shape), data)


def edit_safetensors(content: bytes, rng: random.Random) -> bytes | None:
    """Return a safetensors file with its header changed."""
    size = int.from_bytes(content[:8], "little")
    if not 2 <= size <= len(content) - 8 or content[8:9] != b"{":
        return None
    header = edit_json(content[8 : 8 + size], rng)
    if header is None:
        return None
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def edit_json(content: bytes, rng: random.Random) -> bytes | None:
    """Return a JSON text with a value changed."""
    if content.lstrip()[:1] not in (b"{", b"["):
        return None
    return edit_value(json.loads(content), rng)


def edit_headed(content: bytes, rng: random.Random) -> bytes | None:
    """Return lines of JSON, or one before other bytes, with a value in one of them changed."""
    lines = content.split(b"\n")
    at = 0 if rng.random() < 0.5 else rng.randrange(len(lines))
    for number in (at, 0):
        if lines[number][:1] in (b"{", b"[") and (found := edit_json(lines[number], rng)):
            return b"\n".join([*lines[:number], found, *lines[number + 1 :]])
    return None


def edit_yaml(content: bytes, rng: random.Random) -> bytes | None:
    """Return a YAML text with a value changed, as JSON, which is YAML."""
    if content.startswith(b"PK") or b"\0" in content:
        return None
    value = yaml.safe_load(content.decode("utf-8"))
    return edit_value(value, rng) if isinstance(value, dict) else None


_TEXTS: tuple[Edit, ...] = (edit_json, edit_headed, edit_yaml)


def edit_value(value: Any, rng: random.Random) -> bytes | None:
    """Return the JSON of a value, or of a list or object in which something has changed."""
    places = list(_places(value))
    if not places:
        return None
    holder, key = rng.choice(places)
    mark, way = "@ugly@", rng.randrange(12)
    if way == 0:
        del holder[key]
    elif way == 1:
        other, name = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[name]))
    elif way == 2 and isinstance(holder, dict):
        holder[rng.choice(("", "more", key.upper(), "a" * 300, "\ud800"))] = holder.pop(key)
    elif way <= 4 and type(holder[key]) in (int, float):
        number = holder[key]
        holder[key] = rng.choice((number + 1, number - 1, -number, 2 * number, 10.0 * number))
    elif way == 5:
        holder[key] = rng.choice(([holder[key]], {"a": holder[key]}, str(holder[key])))
    else:
        holder[key] = mark
    return json.dumps(value).replace(f'"{mark}"', rng.choice(UGLY)).encode()


def _places(value: Any) -> Any:
    """Yield each list or object within a value, and an index or key of it."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder))
        for key in list(keys):
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
