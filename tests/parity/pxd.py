"""Reading a ``_state.pxd``: what the layout tests compare with NumPy and the tables."""

import re
from pathlib import Path


class Pxd:
    """The declarations of a ``_state.pxd``."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text()

    def block(self, head):
        """Return the indented lines below a line, comments left out."""
        lines = re.search(rf"^{head}:.*\n((?:[ \t]+.*\n|\n)+)", self.text, re.MULTILINE)
        assert lines, head
        return re.sub(r"#.*", "", lines[1])

    def enum(self, name):
        """Return the members of an enumeration with their values."""
        members, value = {}, 0
        for item in re.split(r"[,\n]", self.block(f"cdef enum {name}")):
            if item.strip():
                member, _, given = item.partition("=")
                value = int(given) if given.strip() else value
                members[member.strip()] = value
                value += 1
        return members

    def constants(self):
        """Return the numbers that have a name."""
        found = {}
        for text in re.findall(r"^cdef enum:\n((?:[ \t]+.*\n)+)", self.text, re.MULTILINE):
            pairs = re.findall(r"^\s+(\w+) = (\d+)", text, re.MULTILINE)
            found |= {name: int(n) for name, n in pairs}
        return found

    def fields(self, name):
        """Return the fields of a struct: (name, C type, shape)."""
        sizes = self.constants()
        found = []
        for kind, field, shape in re.findall(
            r"^\s+(\w+) (\w+)((?:\[\w+\])*)$", self.block(f"cdef struct {name}"), re.MULTILINE
        ):
            lengths = re.findall(r"\w+", shape)
            found.append((field, kind, tuple(int(sizes.get(n, n)) for n in lengths)))
        return found


def c_fields(record):
    """Return the fields of a structured dtype as C declares them: (name, C type, shape)."""
    names = {"f4": "float", "f8": "double"}
    found = []
    for field, (dtype, *_) in record.fields.items():
        base, code = dtype.base, dtype.base.str[1:]
        kind = names.get(code, f"{'u' * (base.kind == 'u')}int{8 * base.itemsize}_t")
        found.append((field, kind, dtype.shape))
    return found
