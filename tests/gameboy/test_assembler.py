"""The SM83 assembler: every opcode, every directive, and what it says of mistakes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import walk
from tools.sm83 import AssemblyError, assemble, assemble_text
from tools.sm83.encoding import MNEMONICS, forms
from tools.sm83.expressions import evaluate

# The instruction set as one table, $00 to $FF, typed and not taken from the assembler; 12 and 1234
# stand for operands of one and two bytes, - for opcodes that do not exist, CB for the second page.
OPCODES = """
nop|ld bc,1234|ld [bc],a|inc bc|inc b|dec b|ld b,12|rlca
ld [1234],sp|add hl,bc|ld a,[bc]|dec bc|inc c|dec c|ld c,12|rrca
stop|ld de,1234|ld [de],a|inc de|inc d|dec d|ld d,12|rla
jr @+12|add hl,de|ld a,[de]|dec de|inc e|dec e|ld e,12|rra
jr nz,@+12|ld hl,1234|ld [hl+],a|inc hl|inc h|dec h|ld h,12|daa
jr z,@+12|add hl,hl|ld a,[hl+]|dec hl|inc l|dec l|ld l,12|cpl
jr nc,@+12|ld sp,1234|ld [hl-],a|inc sp|inc [hl]|dec [hl]|ld [hl],12|scf
jr c,@+12|add hl,sp|ld a,[hl-]|dec sp|inc a|dec a|ld a,12|ccf
ld b,b|ld b,c|ld b,d|ld b,e|ld b,h|ld b,l|ld b,[hl]|ld b,a
ld c,b|ld c,c|ld c,d|ld c,e|ld c,h|ld c,l|ld c,[hl]|ld c,a
ld d,b|ld d,c|ld d,d|ld d,e|ld d,h|ld d,l|ld d,[hl]|ld d,a
ld e,b|ld e,c|ld e,d|ld e,e|ld e,h|ld e,l|ld e,[hl]|ld e,a
ld h,b|ld h,c|ld h,d|ld h,e|ld h,h|ld h,l|ld h,[hl]|ld h,a
ld l,b|ld l,c|ld l,d|ld l,e|ld l,h|ld l,l|ld l,[hl]|ld l,a
ld [hl],b|ld [hl],c|ld [hl],d|ld [hl],e|ld [hl],h|ld [hl],l|halt|ld [hl],a
ld a,b|ld a,c|ld a,d|ld a,e|ld a,h|ld a,l|ld a,[hl]|ld a,a
add a,b|add a,c|add a,d|add a,e|add a,h|add a,l|add a,[hl]|add a,a
adc a,b|adc a,c|adc a,d|adc a,e|adc a,h|adc a,l|adc a,[hl]|adc a,a
sub a,b|sub a,c|sub a,d|sub a,e|sub a,h|sub a,l|sub a,[hl]|sub a,a
sbc a,b|sbc a,c|sbc a,d|sbc a,e|sbc a,h|sbc a,l|sbc a,[hl]|sbc a,a
and a,b|and a,c|and a,d|and a,e|and a,h|and a,l|and a,[hl]|and a,a
xor a,b|xor a,c|xor a,d|xor a,e|xor a,h|xor a,l|xor a,[hl]|xor a,a
or a,b|or a,c|or a,d|or a,e|or a,h|or a,l|or a,[hl]|or a,a
cp a,b|cp a,c|cp a,d|cp a,e|cp a,h|cp a,l|cp a,[hl]|cp a,a
ret nz|pop bc|jp nz,1234|jp 1234|call nz,1234|push bc|add a,12|rst 0
ret z|ret|jp z,1234|CB|call z,1234|call 1234|adc a,12|rst 8
ret nc|pop de|jp nc,1234|-|call nc,1234|push de|sub a,12|rst 16
ret c|reti|jp c,1234|-|call c,1234|-|sbc a,12|rst 24
ldh [$FF12],a|pop hl|ldh [c],a|-|-|push hl|and a,12|rst 32
add sp,12|jp hl|ld [1234],a|-|-|-|xor a,12|rst 40
ldh a,[$FF12]|pop af|ldh a,[c]|di|-|push af|or a,12|rst 48
ld hl,sp+12|ld sp,hl|ld a,[1234]|ei|-|-|cp a,12|rst 56
""".strip()
TABLE = [text for line in OPCODES.splitlines() for text in line.split("|")]
SECOND = [
    f"{name} {register}"
    for name in (
        *("rlc", "rrc", "rl", "rr", "sla", "sra", "swap", "srl"),
        *(f"{name} {bit}," for name in ("bit", "res", "set") for bit in range(8)),
    )
    for register in ("b", "c", "d", "e", "h", "l", "[hl]", "a")
]


def built(line: str, address: int = 0x200) -> bytes:
    program = assemble_text(f"org {address}\n{line}\nlast:\n")
    return program.rom[address : program.symbols["last"]]


def test_the_table_has_all_opcodes() -> None:
    assert len(TABLE) == len(SECOND) == 256
    assert TABLE.count("-") == 11


@walk("opcode", [i for i, text in enumerate(TABLE) if text not in ("-", "CB")])
def test_every_opcode_has_its_bytes(opcode: int) -> None:
    text = TABLE[opcode]
    operand = b""
    if "1234" in text:
        operand = (1234).to_bytes(2, "little")
    elif "@+12" in text:
        operand = bytes([12 - 2])
    elif "$FF12" in text:
        operand = b"\x12"
    elif "12" in text:
        operand = b"\x0c"
    elif text == "stop":
        operand = b"\x00"
    assert built(text) == bytes([opcode]) + operand


def test_every_opcode_of_the_second_page_has_its_bytes() -> None:
    source = "org $200\n" + "\n".join(SECOND)
    assert assemble_text(source).rom[0x200:0x400] == bytes(b for i in range(256) for b in (0xCB, i))


def test_no_other_form_exists() -> None:
    written = {text.split(" ")[0] for text in (*TABLE, *SECOND)} - {"-", "CB"}
    assert written == MNEMONICS
    distinct = {form for name in MNEMONICS for form in forms(name)}
    # 244 opcodes, of which ldh and rst are written with n; 64 rotations, 3 * 8 bit forms; short
    # forms of the 8 * 9 instructions on A.
    assert len(distinct) == (244 - 7) + 64 + 24 + 72


@walk(
    ("short", "full"),
    [
        ("cp 5", "cp a, 5"),
        ("add [hl]", "add a, [hl]"),
        ("ld a, [hli]", "ld a, [hl+]"),
        ("LD A, B", "ld a,b"),
        ("ld hl, sp - 3", "ld hl, sp+-3"),
        ("ld hl, SP+3", "ld hl, sp + 3"),
    ],
)
def test_other_ways_to_write_a_form(short: str, full: str) -> None:
    assert built(short) == built(full)


@given(st.integers(-128, 127), st.integers(0, 0xFFFF))
def test_numbers_become_bytes(small: int, large: int) -> None:
    assert built(f"add sp, {small}")[1] == small & 0xFF
    assert built(f"ld a, {small}")[1] == small & 0xFF
    assert built(f"ld hl, ${large:04x}")[1:] == large.to_bytes(2, "little")
    assert built(f"jr @ + 2 + {small}")[1] == small & 0xFF


# -- expressions ---------------------------------------------------------------------------------


@walk(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("$FF & %1010 | 1 << 6", 0x4A),
        ("~0 & $F", 15),
        ("-5 + 'A'", 60),
        ("7 / 2 ^ 1", 2),
        ("high($1234) + low($1234)", 0x46),
        ("@ + 2", 0x102),
        ("name.part >> 1", 21),
        ("3 == 3", 1),
        ("3 != 3", 0),
    ],
)
def test_expressions(text: str, value: int) -> None:
    assert evaluate(text, {"name.part": 42}.__getitem__, 0x100) == value


@given(st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+-*&|^"), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=8,
))  # fmt: skip
def test_expressions_in_brackets_are_those_of_python(text: str) -> None:
    assert evaluate(text, {}.__getitem__, 0) == eval(text)


# -- directives ----------------------------------------------------------------------------------


def test_labels_may_stand_after_their_use_and_be_local() -> None:
    program = assemble_text(
        "org $150\nfirst:\njp second.loop\n.loop:\njr .loop\nsecond:\n.loop:\njr .loop\n"
    )
    assert program.symbols["first.loop"] == 0x153
    assert program.rom[0x150:0x157] == b"\xc3\x55\x01\x18\xfe\x18\xfe"


def test_data_ram_and_banks() -> None:
    program = assemble_text(
        'org $4000, 5\ndb "a;b", 1, -1\ndw $1234, -2\nds 2, 7\norg $C000\na1: ds 2\na2: ds 1\n'
    )
    assert len(program.rom) == 0x20000
    assert program.rom[0x14000:0x1400B] == b"a;b\x01\xff\x34\x12\xfe\xff\x07\x07"
    assert (program.symbols["a1"], program.symbols["a2"]) == (0xC000, 0xC002)


def test_conditions_choose_and_nest() -> None:
    text = "n equ {}\nif n == 1\nif missing\ndb 1\nendif\n"
    text += "else\nif n\ndb 2\nelse\ndb 3\nendif\nendif"
    assert assemble_text(text.format(2)).rom[0] == 2
    assert assemble_text(text.format(0)).rom[0] == 3
    with pytest.raises(AssemblyError, match="missing is not defined"):
        assemble_text(text.format(1))


def test_pictures_become_tiles() -> None:
    row = ".-o#.-o#" + "#" * 8
    program = assemble_text("gfx\n" + f"{row}\n" * 8 + "endgfx\n")
    assert program.rom[:32] == b"\x55\x33" * 8 + b"\xff\xff" * 8


def test_included_files_stand_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "main.asm").write_text('db 1\ninclude "part.asm"\ndb 3\n')
    (tmp_path / "part.asm").write_text("db 2\n")
    assert assemble(tmp_path / "main.asm").rom[:3] == b"\x01\x02\x03"


def test_header_has_title_type_sizes_and_checksums() -> None:
    rom = assemble_text('header "A TITLE", $19, 3\norg $4000, 9\ndb 1\n').rom
    assert rom[0x134:0x144] == b"A TITLE".ljust(16, b"\0")
    assert (rom[0x147], rom[0x148], rom[0x149]) == (0x19, 3, 3)
    checksum = 0
    for byte in rom[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    assert rom[0x14D] == checksum
    total = sum(rom) - rom[0x14E] - rom[0x14F]
    assert int.from_bytes(rom[0x14E:0x150], "big") == total & 0xFFFF
    assert not any(rom[0x104:0x134])


def test_a_logo_of_the_user_is_put_in() -> None:
    logo = bytes(range(48))
    assert assemble_text("nop", logo=logo).rom[0x104:0x134] == logo
    with pytest.raises(AssemblyError, match="47 bytes; allowed are 48"):
        assemble_text("nop", logo=logo[1:])


# -- mistakes ------------------------------------------------------------------------------------


@walk(
    ("line", "message"),
    [
        ("ld b, [de]", "no 'ld b, \\[de\\]'; allowed is .*ld b, \\[hl\\]"),
        ("push sp", "no 'push sp'; allowed is push bc; push de; push hl; push af"),
        ("mov a, b", "'mov' is no instruction; directives are org, db, .*include"),
        ("ld a, 256", "number 256 is out of range; allowed is -128 to 255"),
        ("ld hl, $10000", "number 65536 is out of range; allowed is -32768 to 65535"),
        ("add sp, 128", "number 128 is out of range; allowed is -128 to 127"),
        ("jr @ + 130", "distance 128 is out of range; allowed is -128 to 127"),
        ("ldh a, [$80]", "number 128 is out of range; allowed is 65280 to 65535"),
        ("bit 8, a", "bit number 8 is out of range; allowed is 0 to 7"),
        ("rst 9", "target of rst 9 is out of range; allowed is \\$00, \\$08"),
        ("ld a, nobody", "nobody is not defined"),
        ("ld a, 1 +", "a number or name is missing in '1 \\+'"),
        ("ld a, (1", "'\\)' is missing in '\\(1'"),
        ("ld a, 1 2", "'2' in '1 2' is not expected there"),
        ("ld a, 5 ? 3", "'\\? 3' in '5 \\? 3' is no number, name or sign"),
        ("ld a, 1 / 0", "division by 0"),
        ("ld a, 1 << 40", "shift by 40 in '1 << 40'; allowed is 0 to 31"),
        ("db \"open", "is no text; a text stands in quotes"),
        ("ds -1", "count -1 of ds leads beyond the address space"),
        ("ds later\nlater:", "later is not defined"),
        ("x1:\nx1:", "x1 is already defined"),
        ("hl:", "hl is a register, a condition or an instruction, and no name"),
        ("equ 5", "equ needs a name before it"),
        ("n equ", "equ takes one value"),
        ("org 1, 2, 3", "org takes an address and a bank"),
        ("org $10000", "address 65536 is out of range; allowed is \\$0000 to \\$FFFF"),
        ("org $4000, 512", "bank 512 at \\$4000; allowed is 1 to 511"),
        ("org $C000\nnop", "\\$C000 is RAM, where only labels and ds may stand"),
        ("org $3FFF\nld a, 1", "the bank ends at \\$4000; org says where to go on"),
        ("org $7FFF\nld a, 1", "the bank ends at \\$8000; org says where to go on"),
        ("nop\norg 0\nnop", "byte \\$0 of the ROM is written twice"),
        ("if 1", "if without endif"),
        ("else", "else without if"),
        ("endif", "endif without if"),
        ("endgfx", "endgfx without gfx"),
        ("gfx\n........", "gfx without endgfx"),
        ("gfx\n.......\nendgfx", "gfx takes lines of equal length, 8n wide and 8m high"),
        ("gfx\n" + ".......x\n" * 8 + "endgfx", "pixel 'x' in gfx; allowed are \\. - o #"),
        ("include part", "include takes one file name in quotes"),
        ('include "nowhere.asm"', "cannot read nowhere.asm"),
        ('include "source.asm"', "source.asm includes itself"),
        ('header "THIS TITLE IS TOO LONG", 0', "header takes a title of 1 to 16 characters"),
    ],
)  # fmt: skip
def test_mistakes_name_file_line_and_what_is_allowed(line: str, message: str) -> None:
    with pytest.raises(AssemblyError, match=f": .*{message}") as caught:
        assemble_text(f"; a comment\n{line}\n")
    file, number, _ = str(caught.value).split(":", 2)
    assert file == "source.asm"
    assert 2 <= int(number) < 3 + line.count("\n")


def test_a_mistake_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "main.asm").write_text('nop\ninclude "part.asm"\n')
    (tmp_path / "part.asm").write_text("nop\n\nfly\n")
    with pytest.raises(AssemblyError, match=r"^part\.asm:3: 'fly' is no instruction"):
        assemble(tmp_path / "main.asm")
