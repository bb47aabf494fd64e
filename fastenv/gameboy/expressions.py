"""Expressions of a RAM map: whole numbers of 64 bits from fields and their changes.

docs/gameboy.md, 20.1 has the grammar. An expression is parsed once, into steps on a stack
(:class:`Step`), which the compiled core takes; :func:`evaluate` takes them in plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastenv.errors import ConfigError, show
from fastenv.gameboy.state import MAX_EXPRESSION_STACK, Op

MAX_LENGTH = 1000  # characters
MAX_NESTING = 32  # brackets within brackets, and signs before signs
MAX_STEPS = 256
LARGEST = 2**63 - 1
SUM, COUNT = -1, -2  # in place of the number of an element
WHOLES = {"sum": SUM, "count": COUNT}
WORDS = frozenset({"and", "or", "not", "min", "max", "abs", "delta", "previous", *WHOLES})
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
    """What an expression reads: an element of a field, or all of them.

    Parameters
    ----------
    field : str
    element : int
        Its number, or ``SUM`` or ``COUNT`` (of those that are not 0).
    """

    field: str
    element: int


@dataclass(frozen=True)
class Step:
    """A step on the stack: an operation, and the number or the load that it pushes."""

    op: Op
    number: int = 0
    load: Load | None = None


Expression = tuple[Step, ...]


def wrap(number: int) -> int:
    """Return a number modulo 2**64, from -2**63 on."""
    return (number + 2**63) % 2**64 - 2**63


def parse(text: object, where: str, fields: Mapping[str, int]) -> Expression:
    """Return the steps of an expression.

    Parameters
    ----------
    text : str
    where : str
        What a message calls it.
    fields : mapping of str to int
        Elements of each field; 0 for one that is no table.

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
    return _Parser(text, where, fields).whole()


class _Parser:
    """Descends from ``or`` to numbers; pushes operands, then the operation."""

    def __init__(self, text: str, where: str, fields: Mapping[str, int]) -> None:
        self.text, self.where, self.fields = text, where, fields
        self.steps: list[Step] = []
        self.depth = self.nesting = 0
        self.before = self.changing = False  # within previous; within it or delta
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

    def push(self, op: Op, number: int = 0, load: Load | None = None) -> None:
        """Append a step, and follow how many numbers lie on the stack."""
        if len(self.steps) == MAX_STEPS:
            raise self.error(f"more than {MAX_STEPS} steps: take several expressions")
        if op <= Op.BEFORE:
            self.depth += 1
        elif op > Op.ABS:
            self.depth -= 1
        if self.depth > MAX_EXPRESSION_STACK:
            raise self.error("too many numbers wait for an operation: take several expressions")
        self.steps.append(Step(op, number, load))

    # -- the grammar, loosest first --

    def whole(self) -> Expression:
        """Parse all of the text."""
        self.disjunction()
        if self.kind:
            raise self.error(f"{show(self.token)} does not belong here")
        return tuple(self.steps)

    def disjunction(self) -> None:
        self.conjunction()
        while self.take("or"):
            self.conjunction()
            self.push(Op.OR)

    def conjunction(self) -> None:
        self.negation()
        while self.take("and"):
            self.negation()
            self.push(Op.AND)

    def negation(self) -> None:
        if self.token != "not":
            self.comparison()
            return
        self.nest(self.negation)
        self.push(Op.NOT)

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

    def product(self) -> None:
        self.operations(_PRODUCTS, self.sign)

    def operations(self, ops: Mapping[str, Op], operand: Callable[[], None]) -> None:
        """Parse operands with operations of one rank between them."""
        operand()
        while (op := ops.get(self.token)) is not None:
            self.next()
            operand()
            self.push(op)

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

    def primary(self) -> None:
        if self.kind == "number":
            self.number()
        elif self.token == "(":
            self.nest(self.disjunction)
            self.expect(")")
        elif self.token in WORDS - {"and", "or", "not"}:
            self.function()
        elif self.kind == "name" and self.token not in WORDS:
            self.field()
        else:
            found = show(self.token) if self.token else "the end"
            raise self.error(f"a number, a field or a function must stand here, not {found}")

    def number(self) -> None:
        digits = self.token.lower().replace("$", "0x")
        value = int(digits, 16 if digits.startswith("0x") else 10)
        if value > LARGEST:
            raise self.error(f"numbers go up to {LARGEST}")
        self.push(Op.NUMBER, value)
        self.next()

    def field(self) -> None:
        name, at = self.token, self.at
        if name not in self.fields:
            raise self.error(f"{show(name)} is no field: there are {_names(self.fields)}")
        self.next()
        count = self.fields[name]
        element = 0
        if self.token == "[":
            element = self.element(name, count)
        elif count:
            raise self.error(f"{name} has {count} elements: name one as {name}[0], or sum it", at)
        self.push(Op.BEFORE if self.before else Op.NOW, load=Load(name, element))

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

    def function(self) -> None:
        name, at = self.token, self.at
        self.next()
        if self.token != "(":
            self.expect("(")
        if name in WHOLES:
            self.of_table(name)
        elif name in ("delta", "previous"):
            self.change(name, at)
        elif name == "abs":
            if self.arguments() != 1:
                raise self.error("abs takes one number", at)
            self.push(Op.ABS)
        elif self.arguments(_FOLDS[name]) == 1:
            raise self.error(f"{name} takes two numbers or more", at)

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

    def of_table(self, name: str) -> None:
        self.next()
        table = self.token
        if self.kind != "name" or not self.fields.get(table):
            tables = _names([each for each, count in self.fields.items() if count])
            raise self.error(f"{name} takes a field with elements: there are {tables}")
        self.next()
        self.expect(")")
        self.push(Op.BEFORE if self.before else Op.NOW, load=Load(table, WHOLES[name]))

    def change(self, name: str, at: int) -> None:
        """Parse what is taken as it was before the step: all of it, or a second time."""
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


def _names(names: Mapping[str, int] | Sequence[str]) -> str:
    shown = [*names][:10]
    more = ", ..." if len(names) > len(shown) else ""
    return (", ".join(shown) or "none") + more


# -- in plain Python -------------------------------------------------------------------------------


def evaluate(steps: Expression, now: Mapping[Load, int], before: Mapping[Load, int]) -> int:
    """Return what an expression comes to.

    Parameters
    ----------
    steps : tuple of Step
    now, before : mapping of Load to int
        What is read after and before a step of the environment.
    """
    stack: list[int] = []
    for step in steps:
        if step.op == Op.NUMBER:
            stack.append(step.number)
        elif step.load is not None:
            stack.append((now if step.op == Op.NOW else before)[step.load])
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
