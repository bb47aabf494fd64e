"""The C structs that tools/structs.py writes from dtypes: the committed ones, and small ones."""

import importlib
import subprocess
import sys
from enum import IntEnum
from types import SimpleNamespace

import numpy as np
import pytest

import fastenv
from tests.needs import COMPILER, needs_compiler
from tests.tables import walk
from tools import structs


def aligned(*fields):
    return np.dtype(list(fields), align=True)


def declare(**names):
    """Return what generate takes, as a state.py with these names."""
    return SimpleNamespace(__name__="fastenv.toy.state", **names)


class Colour(IntEnum):
    RED = 0
    BLUE = 5


class Mood(IntEnum):
    CALM = 0
    BLUE = 5


RULES = aligned(("share", "f8"), ("short_game", "?"))
TABLES = aligned(("weights", "f4", (3, 2)), ("words", "u8", (2,)))
STATE = aligned(
    *(("rng", "u8", (4,)), ("done", "i1"), ("grid", "u2", (2, 3, 4)), ("small", "f4")),
    *(("won", "?", (2,)), ("total", "i8"), ("kind", "u4"), ("pair", TABLES, (2,))),
)
SHARED = aligned(("rules", RULES), ("tables", TABLES))
TOY = declare(
    STRUCTS={"Tables": TABLES, "State": STATE, "Rules": RULES, "Shared": SHARED},
    CONSTANTS={"SIDES": 6, "NONE": -1},
    ENUMS={Colour: "", Mood: "MOOD_"},
    RENAMED={"SAD": Mood.BLUE},
)


# -- the committed files ---------------------------------------------------------------------------


@pytest.mark.parametrize("game", structs.games())
def test_committed_files_are_what_the_tool_writes(game):
    module = importlib.import_module(f"fastenv.{game}.state")
    assert list(structs.stale(module)) == [], f"run {structs.COMMAND}"


@pytest.mark.parametrize("game", structs.games())
def test_a_field_more_changes_both_files(game, monkeypatch):
    module = importlib.import_module(f"fastenv.{game}.state")
    before = structs.generate(module)
    record, dtype = next(iter(module.STRUCTS.items()))
    fields = [(name, kind) for name, (kind, *_) in dtype.fields.items()]
    monkeypatch.setitem(module.STRUCTS, record, aligned(*fields, ("one_more", "i1")))
    for old, new in zip(before, structs.generate(module), strict=True):
        assert "int8_t one_more" in new
        assert "one_more" not in old
    assert len(structs.stale(module)) == 2


def test_another_number_changes_the_declarations():
    other = SimpleNamespace(**{**vars(TOY), "CONSTANTS": {"SIDES": 7}})
    assert structs.generate(other)[0] == structs.generate(TOY)[0]
    assert structs.generate(other)[1] != structs.generate(TOY)[1]


# -- what is written -------------------------------------------------------------------------------


def test_fields_keep_their_order_types_and_bounds():
    header, pxd = structs.generate(TOY)
    state = ["uint64_t rng[4]", "int8_t done", "uint16_t grid[2][3][4]", "float small"]
    state += ["uint8_t won[2]", "int64_t total", "uint32_t kind", "Tables pair[2]"]
    assert "typedef struct State {\n    " + ";\n    ".join(state) + ";\n} State;" in header
    assert "    ctypedef struct State:\n        " + "\n        ".join(state) + "\n" in pxd
    assert "from libc.stdint cimport int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t" in pxd
    assert 'cdef extern from "_state.h":' in pxd


def test_size_and_every_offset_are_asserted():
    header, _ = structs.generate(TOY)
    for name, dtype in TOY.STRUCTS.items():
        assert f"FASTENV_SIZE({name}, {dtype.itemsize});" in header
        for field, (_, offset, *_) in dtype.fields.items():
            assert f"FASTENV_AT({name}, {field}, {offset});" in header


def test_constants_and_enumerations_have_their_names_in_c():
    _, pxd = structs.generate(TOY)
    assert "cdef enum:\n    SIDES = 6\n    NONE = -1\n\n" in pxd
    assert "cdef enum Colour:\n    RED = 0\n    BLUE = 5\n\n" in pxd
    assert "cdef enum Mood:\n    MOOD_CALM = 0\n    SAD = 5\n\n" in pxd


def test_structs_alone_are_enough():
    header, pxd = structs.generate(declare(STRUCTS={"Rules": aligned(("share", "f8"))}))
    assert "double share" in header
    assert "enum" not in pxd
    assert "stdint" not in pxd


def test_a_struct_ends_before_the_tail():
    state = aligned(("rng", "u8"), ("flags", "u1", (8,)), ("ram", "u1", (300,)), ("view", "u1", 3))
    header, pxd = structs.generate(declare(STRUCTS={"State": state}, TAIL=("ram", "view")))
    assert "FASTENV_SIZE(State, 16);" in header
    assert "ram" not in header + pxd
    assert "view" not in header + pxd


# -- what is refused -------------------------------------------------------------------------------


def state(*fields, **names):
    return {"STRUCTS": {"State": aligned(*fields)}, **names}


BYTE, WORD = ("byte", "u1"), ("word", "u8")


@walk(
    ("names", "message"),
    [
        ({"STRUCTS": {"State": np.dtype([WORD])}}, "State: .* align=True"),
        ({"STRUCTS": {"State": np.dtype("u8")}}, "State: .* align=True"),
        (state(("x", "f2")), r"State\.x: .f2 is not one of"),
        (state(("x", "c8")), r"State\.x: .c8"),
        (state(("x", "S4")), r"State\.x: \|S4"),
        (state(("x", "M8[s]")), r"State\.x: .M8\[s\]"),
        (state(("x", np.dtype("i4").newbyteorder())), r"State\.x: .i4"),
        (state(("x", "u1", (2, 0)), BYTE), r"State\.x: an array of length 0"),
        (state(("a b", "u1")), "field of State 'a b': not a name in C"),
        (state(), "State: a struct has at least one field"),
        (state(("inside", TABLES)), r"State\.inside: a record that STRUCTS does not name"),
        (
            {"STRUCTS": {"State": aligned(("rules", RULES)), "Rules": RULES}},
            r"State\.rules: a record that STRUCTS does not name before",
        ),
        (
            {"STRUCTS": {"State": np.dtype(
                {"names": ["b", "a"], "formats": ["u1", "u8"], "offsets": [0, 16]}, align=True
            )}},
            r"State\.a: at byte 16, where C",
        ),
        (
            {"STRUCTS": {"State": np.dtype(
                {"names": ["a"], "formats": ["u8"], "offsets": [0], "itemsize": 16}, align=True
            )}},
            "State: 16 bytes, where C would take 8",
        ),
        (state(WORD, BYTE, TAIL=("word",)), "TAIL must name its last fields"),
        (state(BYTE, WORD, TAIL=("word",)), r"State\.word: a field of TAIL must be of type u1"),
        (state(WORD, ("flag", "u1"), BYTE, TAIL=("byte",)), "take 9 bytes; fill them up to 16"),
        (state(BYTE, TAIL=("byte",)), "State: a struct has at least one field"),
        ({"STRUCTS": {"Rules": RULES}, "TAIL": ("share",)}, "STRUCTS has none"),
        (state(WORD, CONSTANTS={"BIG": 2**31}), "BIG: 2147483648 is not a C int"),
        (state(WORD, CONSTANTS={"HALF": 0.5}), "HALF: 0.5 is not a C int"),
        (state(WORD, ENUMS={Colour: "", Mood: ""}), "BLUE would be declared twice"),
        (state(WORD, ENUMS={Colour: ""}, CONSTANTS={"Colour": 1}), "Colour would be declared"),
        (state(WORD, ENUMS={Colour: ""}, RENAMED={"SAD": Mood.BLUE}), "SAD: .* no class in ENUMS"),
    ],
)  # fmt: skip
def test_what_c_cannot_have_is_refused(names, message):
    with pytest.raises(structs.StructError, match=message):
        structs.generate(declare(**names))


def test_a_struct_with_a_tail_is_in_no_other():
    longer = aligned(WORD, ("ram", "u1", (8,)))
    both = {"State": longer, "Pair": aligned(("both", longer, (2,)))}
    with pytest.raises(structs.StructError, match=r"Pair\.both: a record"):
        structs.generate(declare(STRUCTS=both, TAIL=("ram",)))


# -- what a C compiler says ------------------------------------------------------------------------


def compiled(header, folder):
    path = folder / "_state.h"
    path.write_text(header, encoding="utf-8")
    command = [COMPILER, "-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-x", "c", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_compiler
def test_header_compiles(tmp_path):
    done = compiled(structs.generate(TOY)[0], tmp_path)
    assert done.returncode == 0, done.stderr


@needs_compiler
@pytest.mark.parametrize(
    ("line", "falsified", "blamed"),
    [
        ("FASTENV_AT(State, small, 84)", "FASTENV_AT(State, small, 88)", "State.small"),
        ("FASTENV_SIZE(Rules, 16)", "FASTENV_SIZE(Rules, 9)", "Rules"),
        ("    float small;", "    double small;", "State.small"),
        ("    uint8_t won[2];", "", "won"),
    ],
)
def test_header_of_another_layout_does_not_compile(line, falsified, blamed, tmp_path):
    header, _ = structs.generate(TOY)
    assert header.count(line) == 1
    done = compiled(header.replace(line, falsified), tmp_path)
    assert done.returncode != 0
    assert blamed in done.stderr


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A game in a folder outside of the package."""
    folder = tmp_path / "fastenv" / "coin"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "state.py").write_text(
        "import numpy as np\n"
        "STRUCTS = {'State': np.dtype([('rng', 'u8', 4), ('done', 'i1')], align=True)}\n"
    )
    monkeypatch.setattr(fastenv, "__path__", [*fastenv.__path__, str(folder.parent)])
    yield folder
    for name in ("fastenv.coin.state", "fastenv.coin"):
        sys.modules.pop(name, None)
    vars(fastenv).pop("coin", None)


def test_command_writes_what_differs_and_checks(outside, capsys):
    assert structs.main(["coin", "--check"]) == 1
    assert capsys.readouterr().out.count("differs; run python -m tools.structs") == 2
    assert not (outside / "_state.h").exists()
    assert structs.main(["coin"]) == 0
    assert capsys.readouterr().out.count("written") == 2
    assert "uint64_t rng[4]" in (outside / "_state.pxd").read_text()
    (outside / "_state.h").write_text("typed by hand")
    assert structs.main(["coin", "--check"]) == 1
    assert structs.main(["coin"]) == 0
    assert "_state.pxd" not in capsys.readouterr().out
    assert structs.main(["coin", "--check"]) == 0


def test_command_refuses_a_game_without_structs(outside, capsys):
    (outside / "state.py").write_text("")
    for name, message in (("coin", "no STRUCTS"), ("pinball", "no state.py; there are coin")):
        with pytest.raises(SystemExit, match="2"):
            structs.main([name])
        assert message in capsys.readouterr().err


def test_command_says_what_cannot_be_written(outside, capsys):
    (outside / "state.py").write_text(
        "import numpy as np\nSTRUCTS = {'State': np.dtype([('x', 'f2')], align=True)}\n"
    )
    assert structs.main(["coin"]) == 2
    assert "error: coin: State.x: " in capsys.readouterr().err


def test_files_go_where_they_are_asked_to(tmp_path):
    assert structs.write(TOY, tmp_path) == [tmp_path / "_state.h", tmp_path / "_state.pxd"]
    assert structs.write(TOY, tmp_path) == []
