"""Arithmetic of columns in a rule: ``round(weight / (height / 100) ** 2, 1)``.

An expression is parsed once into a tree of the node types below; nothing else is allowed, and
nothing is ever run as Python. Numbers are doubles. A moment minus a moment is a number of days, and
so is a length of time; a moment plus a number of days is a moment. What has no value (a missing
part, a division by zero, an overflow) is missing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown, stated

FloatArray = NDArray[np.float64]
#: Letters and parts of an expression.
LONGEST, MOST_PARTS = 1_000, 200
#: Microseconds of a day: amounts of moments and lengths of time are in microseconds.
DAY = 86_400_000_000.0
#: Decimals to which a number may be rounded.
MOST_DECIMALS = 12
NUMBER, MOMENT, LENGTH = "number", "moment", "length"
#: A name in backticks may hold anything.
QUOTED = re.compile(r"`([^`]+)`")
Operation = Callable[..., Any]
BINARY: dict[type[ast.operator], tuple[str, Operation]] = {
    ast.Add: ("+", np.add),
    ast.Sub: ("-", np.subtract),
    ast.Mult: ("*", np.multiply),
    ast.Div: ("/", np.divide),
    ast.Pow: ("**", np.power),
}


@dataclass(frozen=True)
class Value:
    """What a part of an expression is worth in each row; NaN where it has no value."""

    amounts: FloatArray
    quantity: str = NUMBER


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    tree: ast.expr
    #: Columns by the identifiers that stand for them in the tree.
    columns: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order in which they occur."""
        return tuple(dict.fromkeys(self.columns.values()))

    @classmethod
    def parse(cls, text: Any) -> Expression:
        """An expression, or one ``SchemaError`` that says what is wrong.

        Examples
        --------
        >>> Expression.parse("price * `number of items`").names
        ('price', 'number of items')
        """
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            rule = f"must be an expression of at most {LONGEST:,} letters, such as price * quantity"
            raise SchemaError(f"as ({stated(text)}) {rule}")
        quoted: dict[str, str] = {}

        def stand_in(found: re.Match[str]) -> str:
            name = f"quoted_{len(quoted)}_"
            quoted[name] = found[1]
            return f" {name} "

        try:
            tree = ast.parse(QUOTED.sub(stand_in, text).strip(), mode="eval").body
            parts = list(ast.walk(tree))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise SchemaError(f"as ({shown(text)}) is no expression: {ALLOWED}") from None
        if len(parts) > MOST_PARTS:
            raise SchemaError(f"as ({shown(text)}) must have at most {MOST_PARTS} parts")
        columns: dict[str, str] = {}
        _check(tree, text, quoted, columns)
        if not columns:
            raise SchemaError(f"as ({shown(text)}) must name a column")
        return cls(text, tree, columns)

    def quantity(self, quantities: Mapping[str, str]) -> str:
        """Whether the result is a number or a moment, by what the columns are."""
        values = {name: Value(np.ones(1), kind) for name, kind in quantities.items()}
        return self.value(values).quantity

    def value(self, columns: Mapping[str, Value], *, skip_missing: bool = False) -> Value:
        """The result in each row; with ``skip_missing`` missing parts of it count as 0."""
        with np.errstate(all="ignore"):
            found = self._of(self.tree, columns, skip_missing)
        size = len(next(iter(columns.values())).amounts)
        amounts = np.broadcast_to(np.asarray(found.amounts, dtype=float), (size,))
        return Value(np.where(np.isfinite(amounts), amounts, np.nan), found.quantity)

    def _of(self, node: ast.expr, columns: Mapping[str, Value], skip: bool) -> Value:
        match node:
            case ast.Constant():
                return Value(np.array(float(node.value)))  # type: ignore[arg-type]
            case ast.Name():
                found = columns[self.columns[node.id]]
                amounts = found.amounts
                if skip:
                    amounts = np.where(np.isnan(amounts), 0.0, amounts)
                if found.quantity == LENGTH:
                    return Value(amounts / DAY)
                return Value(amounts, found.quantity)
            case ast.UnaryOp():
                inner = self._number(node.operand, columns, skip)
                return Value(-inner if isinstance(node.op, ast.USub) else inner)
            case ast.BinOp():
                sides = (self._of(side, columns, skip) for side in (node.left, node.right))
                return self._operated(node.op, *sides)
            case ast.Call(func=ast.Name(id=name)):
                return self._called(name, [self._of(a, columns, skip) for a in node.args])
        raise AssertionError("checked when it was parsed")

    def _number(self, node: ast.expr, columns: Mapping[str, Value], skip: bool) -> FloatArray:
        found = self._of(node, columns, skip)
        self._need_numbers("-", found)
        return found.amounts

    def _operated(self, operator: ast.operator, left: Value, right: Value) -> Value:
        kinds = (left.quantity, right.quantity)
        sign, compute = BINARY[type(operator)]
        if kinds == (MOMENT, MOMENT) and sign == "-":
            return Value((left.amounts - right.amounts) / DAY)
        if kinds == (MOMENT, NUMBER) and sign in "+-":
            return Value(compute(left.amounts, right.amounts * DAY), MOMENT)
        if kinds == (NUMBER, MOMENT) and sign == "+":
            return Value(left.amounts * DAY + right.amounts, MOMENT)
        self._need_numbers(sign, left, right)
        return Value(compute(left.amounts, right.amounts))

    def _called(self, name: str, given: list[Value]) -> Value:
        amounts = [value.amounts for value in given]
        if name in ("min", "max"):
            if len({value.quantity for value in given}) > 1:
                raise self._error(f"{name} takes numbers, or dates, not both")
            chosen = np.minimum if name == "min" else np.maximum
            return Value(reduce(chosen, amounts), given[0].quantity)
        if name == "year":
            if given[0].quantity != MOMENT:
                raise self._error("year takes a date")
            known = np.isfinite(amounts[0])
            moments = np.where(known, amounts[0], 0.0).astype("datetime64[us]")
            years = moments.astype("datetime64[Y]").astype(float) + 1970
            return Value(np.where(known, years, np.nan))
        self._need_numbers(name, *given)
        if name == "round":
            decimals = int(amounts[1]) if len(amounts) > 1 else 0
            return Value(np.round(amounts[0], decimals))
        return Value({"floor": np.floor, "abs": np.abs}[name](amounts[0]))

    def _need_numbers(self, sign: str, *values: Value) -> None:
        if any(value.quantity == MOMENT for value in values):
            raise self._error(
                f"{sign!r} takes numbers: with dates only date - date (a number of days), "
                "date + days, min, max and year(date) have a meaning"
            )

    def _error(self, rule: str) -> SchemaError:
        return SchemaError(f"as ({shown(self.text)}): {rule}")


#: Functions, and how many arguments they take.
FUNCTIONS = {
    "min": (2, 20),
    "max": (2, 20),
    "round": (1, 2),
    "floor": (1, 1),
    "abs": (1, 1),
    "year": (1, 1),
}
ALLOWED = (
    "allowed are numbers, columns (in `backticks` if the name has spaces), + - * / **, "
    f"and {', '.join(FUNCTIONS)}"
)


def _check(node: ast.expr, text: str, quoted: dict[str, str], columns: dict[str, str]) -> None:
    """Refuse every part that is not listed here, and note the columns."""
    parts: list[ast.expr] = []
    good = False
    match node:
        case ast.Constant(value=value):
            good = type(value) in (int, float) and abs(value) < 2**53  # type: ignore[arg-type]
        case ast.Name(id=name):
            columns[name] = quoted.get(name, name)
            good = True
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            parts, good = [node.operand], True
        case ast.BinOp():
            parts, good = [node.left, node.right], type(node.op) in BINARY
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in FUNCTIONS:
            least, most = FUNCTIONS[name]
            if not least <= len(node.args) <= most:
                several = f"{least} to {most}" if least < most else str(least)
                raise SchemaError(f"as ({shown(text)}): {name} takes {several} arguments")
            parts, good = list(node.args), True
            if name == "round" and len(parts) == 2:
                _check_decimals(parts.pop(), text)
    if not good:
        raise SchemaError(f"as ({shown(text)}) holds what no rule may: {ALLOWED}")
    for part in parts:
        _check(part, text, quoted, columns)


def _check_decimals(node: ast.expr, text: str) -> None:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is not int or not 0 <= value <= MOST_DECIMALS:
        rule = f"must round to a whole number of decimals from 0 to {MOST_DECIMALS}"
        raise SchemaError(f"as ({stated(text)}) {rule}")
