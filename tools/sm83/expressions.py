"""Numbers, names and operators in an operand."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import add, and_, eq, floordiv, lshift, mul, ne, or_, rshift, sub, xor

TOKEN = re.compile(
    r"\s*(?:(?P<number>\$[0-9A-Fa-f]+|%[01]+|\d+)|(?P<char>'[^']')|(?P<name>[.A-Za-z_][\w.]*)"
    r"|(?P<sign><<|>>|==|!=|[-+*/&|^~()@]))"
)
# Precedence and function; a higher one binds closer.
OPERATORS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "==": (0, eq), "!=": (0, ne), "|": (1, or_), "^": (2, xor), "&": (3, and_),
    "<<": (4, lshift), ">>": (4, rshift), "+": (5, add), "-": (5, sub),
    "*": (6, mul), "/": (6, floordiv),
}  # fmt: skip
FUNCTIONS: dict[str, Callable[[int], int]] = {
    "high": lambda value: value >> 8 & 0xFF,
    "low": lambda value: value & 0xFF,
}


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, text: str, lookup: Callable[[str], int], here: int) -> None:
        self.text, self.lookup, self.here = text, lookup, here
        self.tokens: list[tuple[str, str]] = []
        end = 0
        while text[end:].strip():
            match = TOKEN.match(text, end)
            if match is None:
                raise ValueError(f"{text[end:].strip()!r} in {text!r} is no number, name or sign")
            kind = match.lastgroup or ""
            self.tokens.append((kind, match[kind]))
            end = match.end()
        self.tokens.append(("end", ""))

    def take(self, *expected: str) -> tuple[str, str]:
        kind, token = self.tokens.pop(0)
        if expected and token not in expected:
            raise ValueError(f"{expected[0]!r} is missing in {self.text!r}")
        return kind, token

    def expression(self, lowest: int = 0) -> int:
        value = self.term()
        while self.tokens[0][1] in OPERATORS and self.tokens[0][0] == "sign":
            precedence, function = OPERATORS[self.tokens[0][1]]
            if precedence < lowest:
                break
            self.take()
            right = self.expression(precedence + 1)
            if function is floordiv and right == 0:
                raise ValueError(f"division by 0 in {self.text!r}")
            if function in (lshift, rshift) and not 0 <= right <= 31:
                raise ValueError(f"shift by {right} in {self.text!r}; allowed is 0 to 31")
            value = int(function(value, right))
        return value

    def term(self) -> int:
        kind, token = self.take()
        if kind == "number":
            base = {"$": 16, "%": 2}.get(token[0], 10)
            return int(token.lstrip("$%"), base)
        if kind == "char":
            return ord(token[1])
        if kind == "name":
            if token.lower() not in FUNCTIONS:
                return self.lookup(token)
            self.take("(")
            value = FUNCTIONS[token.lower()](self.expression())
            self.take(")")
            return value
        return self.signed(token)

    def signed(self, sign: str) -> int:
        if sign == "@":
            return self.here
        if sign == "-":
            return -self.term()
        if sign == "~":
            return ~self.term()
        if sign != "(":
            raise ValueError(f"a number or name is missing in {self.text!r}")
        value = self.expression()
        self.take(")")
        return value


def evaluate(text: str, lookup: Callable[[str], int], here: int) -> int:
    """Return the value of an expression.

    Parameters
    ----------
    text
        Decimal, ``$`` hexadecimal and ``%`` binary numbers, ``'c'`` for a character, names, ``@``
        for the current address, ``high(x)``, ``low(x)``, brackets and
        ``== != | ^ & << >> + - * / ~``.
    lookup
        Value of a name.
    here
        The current address.

    Raises
    ------
    ValueError
        If the text is no expression.
    """
    parser = _Parser(text, lookup, here)
    value = parser.expression()
    if parser.tokens[0][0] != "end":
        raise ValueError(f"{parser.tokens[0][1]!r} in {text!r} is not expected there")
    return value
