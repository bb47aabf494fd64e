"""Expressions of a RAM map: whole numbers of 64 bits from fields and their changes.

docs/gameboy.md, 20.1 has the grammar. An expression is parsed once, into steps on a stack
(:class:`Step`), which the compiled core takes; :func:`evaluate` takes them in plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from fastenv.errors import ConfigError, list_names, show, with_nearest
from fastenv.gameboy.state import MAX_EXPRESSION_STACK, Cells, Op

MAX_LENGTH = 1000  # characters
MAX_NESTING = 32  # brackets within brackets, and signs before signs
MAX_STEPS = 256
LARGEST = 2**63 - 1
MAX_DRAWN = 2**31 - 1  # numbers of which one is drawn
# In place of the number of an element: what all of them come to, and, within that, each of them.
SUM, COUNT, LEAST, MOST, EACH = -1, -2, -3, -4, -5
WHOLES = {"sum": SUM, "count": COUNT, "min": LEAST, "max": MOST}
# Names that no field has. Other functions are known by the bracket behind them.
WORDS = frozenset({"and", "or", "not", "min", "max", "abs", "delta", "previous", "sum", "count"})
_COMPARISONS = {"==": Op.EQ, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_SUMS = {"+": Op.ADD, "-": Op.SUB}
_FOLDS = {"min": Op.MIN, "max": Op.MAX}
_PRODUCTS = {"*": Op.MUL, "//": Op.DIV, "%": Op.MOD}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\$[0-9A-Fa-f]+|0[xX][0-9A-Fa-f]+|[0-9]+)(?![0-9A-Za-z_.])"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>==|!=|<=|>=|//|[-+*%<>()\[\],]))"
)


@dataclass(frozen=True)
class Load:
    """What an expression reads: an element of a field, or what all of them come to.

    Parameters
    ----------
    field : str
        Where all elements are taken, the first of the tables.
    element : int
        Its number; or ``SUM``, ``COUNT`` (of those that are not 0), ``LEAST`` or ``MOST`` of all;
        or within those ``EACH``.
    each : tuple of Step
        What is taken of each element; nothing: the element itself.
    """

    field: str
    element: int
    each: Expression = ()


@dataclass(frozen=True)
class Cell:
    """A number that is remembered from step to step.

    Parameters
    ----------
    kind : Cells
    of : tuple of Step
        What it is made of; nothing where that is a set.
    key : str
        Name of the set.
    """

    kind: Cells
    of: Expression = ()
    key: str = ""


@dataclass(frozen=True)
class Step:
    """A step on the stack: an operation, and the number or what is read that it pushes."""

    op: Op
    number: int = 0
    load: Load | Cell | None = None


Expression = tuple[Step, ...]


@dataclass(frozen=True)
class Scope:
    """What an expression may use beside fields.

    Parameters
    ----------
    sets : mapping of str to tuple of Expression
        Keys of the sets.
    numbers : mapping of str to Expression
        Expressions that have names.
    at_once : bool
        Whether it is taken at a moment within a step: there is nothing before it, nothing is
        remembered, and numbers may be drawn.
    """

    sets: Mapping[str, tuple[Expression, ...]] = field(default_factory=dict)
    numbers: Mapping[str, Expression] = field(default_factory=dict)
    at_once: bool = False


def wrap(number: int) -> int:
    """Return a number modulo 2**64, from -2**63 on."""
    return (number + 2**63) % 2**64 - 2**63


def parse(
    text: object, where: str, fields: Mapping[str, int], scope: Scope | None = None
) -> Expression:
    """Return the steps of an expression.

    Parameters
    ----------
    text : str
    where : str
        What a message calls it.
    fields : mapping of str to int
        Elements of each field; 0 for one that is no table.
    scope : Scope, optional

    Raises
    ------
    ConfigError
        With the column, counted from 1, and what is wrong there.
    """
    if not isinstance(text, str) or not 1 <= len(text) <= MAX_LENGTH:
        raise ConfigError(
            f"{where}={show(text)} is not possible: it must be an expression of 1 to {MAX_LENGTH} "
            "characters."
        )
    return _Parser(text, where, fields, scope or Scope()).whole()


# -- what the page says of the grammar: rows of a table, where each thing is parsed ----------------

_Way = TypeVar("_Way", bound=Callable[..., None])
_RULES: list[tuple[str, str]] = []


def _rule(*rows: tuple[str, str]) -> Callable[[_Way], _Way]:
    """Note what a method of the parser takes: how it is written, and what it means."""

    def mark(method: _Way) -> _Way:
        _RULES.extend(rows)
        return method

    return mark


def grammar() -> str:
    """Return the grammar of expressions as a Markdown table, the loosest binding first."""
    rows = [*_RULES, *((each.shown, each.meaning) for each in FUNCTIONS.values())]
    return "\n".join(["| part | meaning |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


@dataclass(frozen=True)
class Function:
    """What is written with brackets behind its name.

    Parameters
    ----------
    shown, meaning : str
        For the page.
    parse : callable
        Takes parser, name and place; the bracket is the next token.
    """

    shown: str
    meaning: str
    parse: Callable[[_Parser, str, int], None]


class _Parser:
    """Descends from ``or`` to numbers; pushes operands, then the operation."""

    def __init__(self, text: str, where: str, fields: Mapping[str, int], scope: Scope) -> None:
        self.text, self.where, self.fields, self.scope = text, where, fields, scope
        self.steps: list[Step] = []
        self.depth = self.nesting = 0
        self.before = self.changing = False  # within previous; within it or delta
        self.within = ""  # a function of all elements of tables
        self.table = ""  # the first of them
        self.at = self.end = 0
        self.kind = self.token = ""
        self.next()

    # -- tokens --

    def next(self) -> None:
        """Take the next token; its kind is "" at the end."""
        found = _TOKEN.match(self.text, self.end)
        if found is None:
            rest = self.text[self.end :]
            self.at = self.end + len(rest) - len(rest.lstrip())
            self.kind = self.token = ""
            if rest.strip():
                if rest.lstrip()[0] == "/":
                    raise self.error("/ is not known: // divides whole numbers")
                raise self.error(f"{show(rest.split()[0])} is not known")
            self.at = self.end = len(self.text)
            return
        self.kind = str(found.lastgroup)
        self.token = found[self.kind]
        self.at, self.end = found.start(self.kind), found.end()

    def error(self, says: str, at: int | None = None) -> ConfigError:
        """Return an error at a column, by default that of the token."""
        column = (self.at if at is None else at) + 1
        return ConfigError(f"{self.where}: column {column} of {show(self.text)}: {says}.")

    def take(self, token: str) -> bool:
        """Take a token if it is the next one; return whether it was."""
        if self.token != token:
            return False
        self.next()
        return True

    def expect(self, token: str) -> None:
        """Take a token that must come."""
        if not self.take(token):
            found = show(self.token) if self.token else "the end"
            raise self.error(f"{show(token)} must stand here, not {found}")

    # -- steps --

    def push(self, op: Op, number: int = 0, load: Load | Cell | None = None) -> None:
        """Append a step, and follow how many numbers lie on the stack."""
        if len(self.steps) == MAX_STEPS:
            raise self.error(f"more than {MAX_STEPS} steps: take several expressions")
        if op <= Op.RANDOM:
            self.depth += 1
        elif op > Op.ABS:
            self.depth -= 1
        if self.depth > MAX_EXPRESSION_STACK:
            raise self.error("too many numbers wait for an operation: take several expressions")
        self.steps.append(Step(op, number, load))

    def read(self, load: Load | Cell) -> None:
        """Push what is read, as it is now or was before the step."""
        self.push(Op.BEFORE if self.before else Op.NOW, load=load)

    @contextmanager
    def aside(self, within: str = "") -> Iterator[list[Step]]:
        """Take steps of an expression of its own, which is no part of this one."""
        kept = self.steps, self.depth, self.before, self.changing, self.within, self.table
        self.steps, self.depth, self.before, self.changing = [], 0, False, False
        self.within, self.table = within, ""
        yield self.steps
        self.steps, self.depth, self.before, self.changing, self.within, self.table = kept

    # -- the grammar, loosest first --

    def whole(self) -> Expression:
        """Parse all of the text."""
        self.disjunction()
        if self.kind:
            raise self.error(f"{show(self.token)} does not belong here")
        return tuple(self.steps)

    @_rule(("`a or b`", "1 or 0; every number but 0 is true"))
    def disjunction(self) -> None:
        self.conjunction()
        while self.take("or"):
            self.conjunction()
            self.push(Op.OR)

    @_rule(("`a and b`", "1 or 0"))
    def conjunction(self) -> None:
        self.negation()
        while self.take("and"):
            self.negation()
            self.push(Op.AND)

    @_rule(("`not a`", "1 or 0"))
    def negation(self) -> None:
        if self.token != "not":
            self.comparison()
            return
        self.nest(self.negation)
        self.push(Op.NOT)

    @_rule(
        (" ".join(f"`{sign}`" for sign in _COMPARISONS), "1 or 0; two do not follow one another")
    )
    def comparison(self) -> None:
        self.operations(_SUMS, self.product)
        op = _COMPARISONS.get(self.token)
        if op is None:
            return
        self.next()
        self.operations(_SUMS, self.product)
        self.push(op)
        if self.token in _COMPARISONS:
            raise self.error("comparisons do not follow one another: join them by and")

    @_rule(
        (", ".join(f"`a {sign} b`" for sign in _SUMS), "they wrap at 64 bits, as products do"),
        (
            ", ".join(f"`a {sign} b`" for sign in _PRODUCTS),
            "division rounds down, as in Python; by 0 both give 0",
        ),
    )
    def product(self) -> None:
        self.operations(_PRODUCTS, self.sign)

    def operations(self, ops: Mapping[str, Op], operand: Callable[[], None]) -> None:
        """Parse operands with operations of one rank between them."""
        operand()
        while (op := ops.get(self.token)) is not None:
            self.next()
            operand()
            self.push(op)

    @_rule(("`-a`", ""))
    def sign(self) -> None:
        if self.token != "-":
            self.primary()
            return
        self.nest(self.sign)
        self.push(Op.NEG)

    def nest(self, inner: Callable[[], None]) -> None:
        """Take a token, and parse what it stands before, one level deeper."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"more than {MAX_NESTING} levels: take several expressions")
        self.next()
        inner()
        self.nesting -= 1

    @_rule(("`(a)`", ""))
    def primary(self) -> None:
        if self.kind == "number":
            self.number()
        elif self.token == "(":
            self.nest(self.disjunction)
            self.expect(")")
        elif self.token in FUNCTIONS and (self.token in WORDS or self.is_called()):
            self.function()
        elif self.kind == "name" and self.token not in WORDS:
            self.name()
        else:
            found = show(self.token) if self.token else "the end"
            raise self.error(f"a number, a field or a function must stand here, not {found}")

    def is_called(self) -> bool:
        """Whether a bracket follows the token."""
        return self.text[self.end :].lstrip().startswith("(")

    @_rule(("`5`, `$1F`, `0x1F`", "numbers up to 2^63 - 1"))
    def number(self) -> None:
        self.push(Op.NUMBER, self.whole_number())
        self.next()

    def whole_number(self) -> int:
        """Parse the digits of the token as a number."""
        digits = self.token.lower().replace("$", "0x")
        value = int(digits, 16 if digits.startswith("0x") else 10)
        if value > LARGEST:
            raise self.error(f"numbers go up to {LARGEST}")
        return value

    @_rule(
        ("`lives`, `party[2]`", "a field, a constant or a hook; an element of a table"),
        ("`levels`", "a number of `numbers`: its expression, as if in brackets"),
    )
    def name(self) -> None:
        name, at = self.token, self.at
        if name in self.scope.numbers:
            self.next()
            self.named(name, at)
            return
        if name not in self.fields:
            known = {**self.fields, **dict.fromkeys(self.scope.numbers, 0)}
            error = self.error(f"{show(name)} is no field: there are {list_names(known)}")
            raise ConfigError(with_nearest(str(error), name, known))
        self.next()
        count = self.fields[name]
        element = 0
        if self.token == "[":
            element = self.element(name, count)
        elif count and self.within:
            self.each(name, count, at)
            return
        elif count:
            raise self.error(f"{name} has {count} elements: name one as {name}[0], or sum it", at)
        self.read(Load(name, element))

    def element(self, name: str, count: int) -> int:
        """Parse the number of an element of a table."""
        if not count:
            raise self.error(f"{name} has no elements")
        self.next()
        found = int(self.token) if self.kind == "number" and self.token.isdecimal() else -1
        if not 0 <= found < count:
            raise self.error(f"elements of {name} are 0 to {count - 1}")
        self.next()
        self.expect("]")
        return found

    def each(self, name: str, count: int, at: int) -> None:
        """Push each element of a table, within a function of all."""
        first = self.table or name
        if self.fields[first] != count:
            raise self.error(
                f"{name} has {count} elements and {first} {self.fields[first]}: they must have "
                "as many",
                at,
            )
        self.table = first
        self.push(Op.EACH, load=Load(name, EACH))

    def named(self, name: str, at: int) -> None:
        """Push the expression of a number that has a name."""
        steps = self.scope.numbers[name]
        self.refuse_within(name, at)
        if self.changing and any(step.op == Op.BEFORE for step in steps):
            raise self.error(
                f"{name} has delta or previous: it does not stand within delta or previous", at
            )
        for step in steps:
            before = self.before and step.op == Op.NOW
            self.push(Op.BEFORE if before else step.op, step.number, step.load)

    # -- functions --

    def function(self) -> None:
        name, at = self.token, self.at
        self.next()
        if self.token != "(":
            self.expect("(")
        FUNCTIONS[name].parse(self, name, at)

    def refuse_within(self, name: str, at: int) -> None:
        """Refuse what is not taken of each element of a table."""
        if self.within:
            raise self.error(f"{name} does not stand within {self.within} of a table", at)

    def arguments(self, joins: Op | None = None) -> int:
        """Parse what stands between brackets, joined from the second on; return how many."""
        self.nest(self.disjunction)
        given = 1
        while self.take(","):
            self.disjunction()
            given += 1
            if joins is not None:
                self.push(joins)
        self.expect(")")
        return given

    def has_several(self) -> bool:
        """Whether what stands between brackets, the first of which is the token, has a comma."""
        depth, at = 0, self.at
        for at in range(self.at, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[at], 0)
            if depth == 0 or (depth == 1 and self.text[at] == ","):
                break
        return at < len(self.text) and self.text[at] == ","

    def absolute(self, name: str, at: int) -> None:
        if self.arguments() != 1:
            raise self.error("abs takes one number", at)
        self.push(Op.ABS)

    def least_or_most(self, name: str, at: int) -> None:
        """Parse min or max: of several numbers, or of all elements of tables."""
        if self.has_several() or self.within:
            if self.arguments(_FOLDS[name]) == 1:
                raise self.error(f"{name} takes two numbers or more within {self.within}", at)
            return
        self.of_all(name, at)

    def of_all(self, name: str, at: int) -> None:
        """Parse what all elements of tables come to."""
        self.refuse_within(name, at)
        begin = self.end
        with self.aside(name) as steps:
            self.nest(self.disjunction)
            table = self.table
        if not table:
            tables = list_names(each for each, count in self.fields.items() if count)
            more = ", or two numbers or more" if name in _FOLDS else ""
            found = f"{name} takes a field with elements{more}: there are {tables}"
            raise self.error(
                found, begin + len(self.text[begin:]) - len(self.text[begin:].lstrip())
            )
        self.expect(")")
        alone = len(steps) == 1 and steps[0].op == Op.EACH
        self.read(Load(table, WHOLES[name], () if alone else tuple(steps)))

    def change(self, name: str, at: int) -> None:
        """Parse what is taken as it was before the step: all of it, or a second time."""
        self.refuse_within(name, at)
        self.refuse_at_once(name, at)
        if self.changing:
            raise self.error(f"{name} does not stand within delta or previous", at)
        begin = len(self.steps)
        self.changing, self.before = True, name == "previous"
        self.nest(self.disjunction)
        self.expect(")")
        self.changing = self.before = False
        if name == "delta":
            for step in self.steps[begin:]:
                self.push(Op.BEFORE if step.op == Op.NOW else step.op, step.number, step.load)
            self.push(Op.SUB)

    def refuse_at_once(self, name: str, at: int) -> None:
        if self.scope.at_once:
            raise self.error(f"{name} does not stand here: this is taken within a step", at)

    def so_far(self, name: str, at: int) -> None:
        """Parse what is remembered of a number."""
        self.refuse_within(name, at)
        self.refuse_at_once(name, at)
        with self.aside() as steps:
            self.nest(self.disjunction)
        self.expect(")")
        kind = Cells.MOST if name == "max_so_far" else Cells.SUM
        self.read(Cell(kind, tuple(steps)))

    def of_set(self, name: str, at: int) -> None:
        """Parse what is known of a set: it is named, or its key stands there."""
        self.refuse_within(name, at)
        self.refuse_at_once(name, at)
        key = self.key_of_set(name, at)
        self.read(Cell(Cells.SIZE if name == "size" else Cells.VISITS, key=key))
        if name == "first_time":
            self.push(Op.NUMBER, 1)
            self.push(Op.EQ)

    def key_of_set(self, name: str, at: int) -> str:
        """Parse what stands between the brackets; return the name of the set."""
        inner = self.text[self.end :].lstrip()
        for each in self.scope.sets:
            if re.match(rf"{each}\s*\)", inner):
                self.next()
                self.next()
                self.expect(")")
                return each
        keys: list[Expression] = []
        while not keys or self.token == ",":
            with self.aside() as steps:
                self.nest(self.disjunction)
            keys.append(tuple(steps))
        self.expect(")")
        for each, key in self.scope.sets.items():
            if key == tuple(keys):
                return each
        known = list_names(self.scope.sets)
        raise self.error(f"{name} takes a set or the key of one: there are {known}", at)

    def random(self, name: str, at: int) -> None:
        """Parse a number that is drawn."""
        self.refuse_within(name, at)
        if not self.scope.at_once:
            raise self.error("random stands in writes alone", at)
        self.next()
        most = self.whole_number() if self.kind == "number" else 0
        if not 1 <= most <= MAX_DRAWN:
            raise self.error(f"random takes a number from 1 to {MAX_DRAWN}")
        self.next()
        self.expect(")")
        self.push(Op.RANDOM, most)


FUNCTIONS: dict[str, Function] = {
    "sum": Function("`sum(party)`", "of all elements: their sum", _Parser.of_all),
    "count": Function(
        "`count(party)`, `count(hp == 0 and level > 5)`",
        "how many elements are not 0. In the brackets of `sum`, `count`, `min` and `max` of one "
        "thing, a table stands for each of its elements; all tables there have as many",
        _Parser.of_all,
    ),
    "min": Function(
        "`min(a, b, ...)`, `min(party)`", "the least, of all elements too", _Parser.least_or_most
    ),
    "max": Function(
        "`max(a, b, ...)`, `max(party)`", "the most, of all elements too", _Parser.least_or_most
    ),
    "abs": Function("`abs(a)`", "", _Parser.absolute),
    "previous": Function("`previous(a)`", "a, with all as it was before the step", _Parser.change),
    "delta": Function("`delta(a)`", "`a - previous(a)`", _Parser.change),
    "max_so_far": Function(
        "`max_so_far(a)`",
        "the most that a was in this episode, the start state counts; a may have `delta`",
        _Parser.so_far,
    ),
    "sum_so_far": Function(
        "`sum_so_far(a)`",
        "the sum of a over the start state and all steps of this episode",
        _Parser.so_far,
    ),
    "first_time": Function(
        "`first_time(cells)`, `first_time(map, x, y)`",
        "of a set, by its name or its key: 1 in a step whose key is new, else 0",
        _Parser.of_set,
    ),
    "visits": Function(
        "`visits(cells)`",
        f"in how many steps the set has had the key of this step, this one and the start state "
        f"counted; up to {2**16 - 1:,}",
        _Parser.of_set,
    ),
    "size": Function("`size(cells)`", "how many keys the set has", _Parser.of_set),
    "random": Function(
        "`random(256)`", "in `writes` alone: 0 to 255, from the lane's stream", _Parser.random
    ),
}


class Reads(Protocol):
    """What is read, by what says where: a dict, or what looks it up."""

    def __getitem__(self, load: Load | Cell, /) -> int:
        """Return a number."""


# -- in plain Python -------------------------------------------------------------------------------


def evaluate(
    steps: Expression,
    now: Reads,
    before: Reads | None = None,
    draw: Callable[[int], int] | None = None,
) -> int:
    """Evaluate an expression.

    Parameters
    ----------
    steps : tuple of Step
    now, before : mapping of Load or Cell to int
        What is read after and before a step of the environment.
    draw : callable, optional
        Returns a number from 0 on that is below the one it is given.
    """
    stack: list[int] = []
    for step in steps:
        if step.op == Op.NUMBER:
            stack.append(step.number)
        elif step.op == Op.RANDOM:
            assert draw is not None
            stack.append(draw(step.number))
        elif step.load is not None:
            reads = before if step.op == Op.BEFORE else now
            assert reads is not None
            stack.append(reads[step.load])
        elif step.op in _OF_ONE:
            stack.append(wrap(_OF_ONE[step.op](stack.pop())))
        else:
            second, first = stack.pop(), stack.pop()
            stack.append(wrap(_OF_TWO[step.op](first, second)))
    return stack.pop()


_OF_ONE: dict[Op, Callable[[int], int]] = {
    Op.NEG: lambda a: -a,
    Op.NOT: lambda a: a == 0,
    Op.ABS: abs,
}
_OF_TWO: dict[Op, Callable[[int, int], int]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a // b if b else 0,
    Op.MOD: lambda a, b: a % b if b else 0,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
    Op.AND: lambda a, b: a != 0 and b != 0,
    Op.OR: lambda a, b: a != 0 or b != 0,
    Op.MIN: min,
    Op.MAX: max,
}
