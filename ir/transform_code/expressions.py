"""Writes the text of a recorded expression. `ir.expressions` checks that text like any other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot.tokenizer_core import TokenType

from ir.diagnostics import shown
from ir.expressions import ExpressionError, parse_expression
from ir.expressions.dialect import Dialect
from ir.expressions.errors import unknown_function
from ir.expressions.functions import FUNCTIONS, WITHOUT_PARENTHESES
from ir.expressions.literals import encode_literal
from ir.transform_code.functions import SQL_ONLY, SWAPPED, TEXT_ARGUMENTS
from ir.transform_code.recording import CodeError, Tree, of_expression

OR, AND, NOT, BITS, TEST, ADD, MULTIPLY, SIGN, ATOM = range(9)
"""The precedence of operators, the weakest first."""

MAX_INTEGER = 2**63 - 1
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPE = re.compile(r"[A-Za-z_]+ *(\( *\d+ *(, *\d+ *)?\))?")


@dataclass(frozen=True, slots=True)
class Written:
    """A text and the precedence of its outermost operator."""

    text: str
    level: int = ATOM

    def within(self, level: int, *, or_equal: bool = False) -> str:
        """Return the text for use below an operator, in parentheses if its precedence is not higher."""
        fits = self.level > level or (or_equal and self.level == level)
        return self.text if fits else f"({self.text})"


def write_expression(value: Any, line: int) -> str:
    """Return the checked text of a tree. Raises CodeError."""
    if not isinstance(value, Tree):
        raise CodeError(
            f"{shown(value)} is not a column.", line, hint='Write F.lit(…) for a value, F.col("…") for a column.'
        )
    text = write(value).text
    try:
        parse_expression(text)
    except ExpressionError as error:
        raise of_expression(error, value.line) from error
    return text


def write(value: Any) -> Written:
    """Return the text of a tree, or of a value as a literal."""
    if not isinstance(value, Tree):
        return _literal(value)
    if value.name.startswith("."):
        method = METHODS.get(value.name[1:])
        if method is None:
            name = value.name[1:]
            hint = OTHER_METHODS.get(name) or "Use a function of F, or F.expr with a Spark SQL expression."
            raise CodeError(f"Columns have no method {name}() here.", value.line, hint=hint)
        return method(value)
    return SPECIAL.get(value.name, _function)(value)


def column_name(name: str) -> str:
    """Return a column in the form of an expression, in backticks if necessary."""
    return name if _needs_no_quotes(name) else "`" + name.replace("`", "``") + "`"


@lru_cache(maxsize=1024)
def _needs_no_quotes(name: str) -> bool:
    if not _PLAIN.fullmatch(name) or name.lower() in WITHOUT_PARENTHESES:
        return False
    tokens = Dialect().tokenize(name)
    return len(tokens) == 1 and tokens[0].token_type == TokenType.VAR


# --- literals -----------------------------------------------------------------------------------------------------


def _literal(value: Any) -> Written:
    match value:
        case None:
            return Written("NULL")
        case bool():
            return Written("TRUE" if value else "FALSE")
        case str():
            return Written(encode_literal(value))
        case int():
            return _number(str(value), value)
        case float():
            return Written(f"double({value!r})")
    raise CodeError(f"{shown(value)} is not a value of an expression.", 0, hint="Use F.array(…) for a list of values.")


def _number(text: str, value: int | float) -> Written:
    if abs(value) > MAX_INTEGER and "." not in text:
        raise CodeError(f"{text} has more than 64 bits.", 0, hint="Write it as a Decimal, or in F.expr.")
    return Written(text, SIGN if text.startswith("-") else ATOM)


def _special(tree: Tree) -> Written:
    text = _only_text(tree, "text")
    if tree.name == "#date":
        return Written(f"CAST({encode_literal(text)} AS DATE)")
    if not re.fullmatch(r"-?\d+(\.\d+)?", text):
        raise CodeError(f"{shown(text)} is not a number.", tree.line)
    return Written(text, SIGN if text.startswith("-") else ATOM)


# --- functions ----------------------------------------------------------------------------------------------------


def _column(tree: Tree) -> Written:
    return Written(column_name(_only_text(tree, "the name of a column")))


def _lit(tree: Tree) -> Written:
    (value,) = _arguments(tree, 1)
    return write(value)


def _expr(tree: Tree) -> Written:
    text = _only_text(tree, "a Spark SQL expression")
    try:
        parse_expression(text)
    except ExpressionError as error:
        raise of_expression(error, tree.line) from error
    is_atom = _PLAIN.fullmatch(text) is not None
    return Written(text, ATOM if is_atom else OR - 1)


def _when(tree: Tree) -> Written:
    return Written(f"CASE {_branch(tree, *_arguments(tree, 2))} END")


def _branch(tree: Tree, condition: Any, value: Any) -> str:
    if not isinstance(condition, Tree):
        raise CodeError("The condition of when() is not a column.", tree.line, hint='Compare one: F.col("a") == 1.')
    return f"WHEN {write(condition).text} THEN {write(value).text}"


def _function(tree: Tree) -> Written:
    name = tree.name.lower()
    if name not in FUNCTIONS:
        error = unknown_function(name)
        raise of_expression(error, tree.line)
    args = [_argument(tree, name, i, arg) for i, arg in enumerate(tree.args)]
    if name in SWAPPED:
        args.reverse()
    return Written(f"{name}({', '.join(args)})")


def _argument(tree: Tree, name: str, position: int, value: Any) -> str:
    if isinstance(value, list | dict):
        raise CodeError(f"{name}() takes columns, not a list.", tree.line, hint="Give them one after the other.")
    if not isinstance(value, str) or position in TEXT_ARGUMENTS.get(name, ()):
        return write(value).text
    if name in SQL_ONLY:
        message = f"In {name}() the text {shown(value)} could be a column or a value."
        raise CodeError(message, tree.line, hint='Write F.col("…") or F.lit("…").')
    return column_name(value)


# --- methods of columns -------------------------------------------------------------------------------------------


def _binary(operator: str, level: int, *, chains: bool = False) -> Callable[[Tree], Written]:
    def written(tree: Tree) -> Written:
        left, right = (write(arg) for arg in _arguments(tree, 2))
        return Written(f"{left.within(level, or_equal=chains)} {operator} {right.within(level)}", level)

    return written


def _bits(operator: str) -> Callable[[Tree], Written]:
    """Return the writer of an operator whose precedence is not well known: its operands are in parentheses."""

    def written(tree: Tree) -> Written:
        left, right = (write(arg).within(SIGN) for arg in _arguments(tree, 2))
        return Written(f"{left} {operator} {right}", BITS)

    return written


def _negated(tree: Tree) -> Written:
    (value,) = _arguments(tree, 1)
    return Written(f"NOT {write(value).within(SIGN)}", NOT)


def _minus(tree: Tree) -> Written:
    (value,) = _arguments(tree, 1)
    return Written(f"-{write(value).within(SIGN)}", SIGN)


def _is(what: str) -> Callable[[Tree], Written]:
    def written(tree: Tree) -> Written:
        (value,) = _arguments(tree, 1)
        return Written(f"{write(value).within(TEST)} {what}", TEST)

    return written


def _is_in(tree: Tree) -> Written:
    column, *values = tree.args
    items = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not items:
        raise CodeError("isin() needs at least one value.", tree.line)
    listed = ", ".join(write(item).within(TEST) for item in items)
    return Written(f"{write(column).within(TEST)} IN ({listed})", TEST)


def _between(tree: Tree) -> Written:
    value, low, high = (write(arg).within(TEST) for arg in _arguments(tree, 3))
    return Written(f"{value} BETWEEN {low} AND {high}", TEST)


def _as_function(name: str, *counts: int) -> Callable[[Tree], Written]:
    """Return the writer of a method that is a function of the column, whose arguments are all values."""

    def written(tree: Tree) -> Written:
        return Written(f"{name}({', '.join(write(arg).text for arg in _arguments(tree, *counts))})")

    return written


def _cast(function: str) -> Callable[[Tree], Written]:
    def written(tree: Tree) -> Written:
        value, to = _arguments(tree, 2)
        if not isinstance(to, str) or not _TYPE.fullmatch(to):
            raise CodeError(
                f"{shown(to)} is not the name of a type.", tree.line, hint='Write for example "decimal(12,2)".'
            )
        return Written(f"{function}({write(value).text} AS {to.upper()})")

    return written


def _further_when(tree: Tree) -> Written:
    before, condition, value = _arguments(tree, 3)
    return Written(f"CASE {_branches(tree, before)} {_branch(tree, condition, value)} END")


def _otherwise(tree: Tree) -> Written:
    before, value = _arguments(tree, 2)
    return Written(f"CASE {_branches(tree, before)} ELSE {write(value).text} END")


def _branches(tree: Tree, before: Any) -> str:
    if not isinstance(before, Tree) or before.name not in ("when", ".when"):
        raise CodeError(f"{tree.name[1:]}() is not called on a when().", tree.line, hint="Begin with F.when(…).")
    return write(before).text.removeprefix("CASE ").removesuffix(" END")


def _arguments(tree: Tree, *counts: int) -> tuple[Any, ...]:
    """Return the arguments. Their number must be one of these, including the column of a method."""
    if len(tree.args) not in counts:
        own = tree.name.startswith(".")
        expected = " or ".join(str(count - own) for count in counts)
        message = f"{tree.name.lstrip('.')}() takes {expected} arguments, not {len(tree.args) - own}."
        raise CodeError(message, tree.line)
    return tree.args


def _only_text(tree: Tree, what: str) -> str:
    (value,) = _arguments(tree, 1)
    if not isinstance(value, str) or not value:
        raise CodeError(f"{tree.name}() takes {what}, not {shown(value)}.", tree.line)
    return value


SPECIAL: Mapping[str, Callable[[Tree], Written]] = {
    "col": _column,
    "column": _column,
    "lit": _lit,
    "expr": _expr,
    "when": _when,
    "#date": _special,
    "#decimal": _special,
    "#integer": _special,
}
METHODS: Mapping[str, Callable[[Tree], Written]] = {
    "eq": _binary("=", TEST),
    "ne": _binary("<>", TEST),
    "lt": _binary("<", TEST),
    "le": _binary("<=", TEST),
    "gt": _binary(">", TEST),
    "ge": _binary(">=", TEST),
    "eqNullSafe": _binary("<=>", TEST),
    "and": _binary("AND", AND, chains=True),
    "or": _binary("OR", OR, chains=True),
    "not": _negated,
    "neg": _minus,
    "add": _binary("+", ADD, chains=True),
    "sub": _binary("-", ADD, chains=True),
    "mul": _binary("*", MULTIPLY, chains=True),
    "div": _binary("/", MULTIPLY, chains=True),
    "mod": _binary("%", MULTIPLY, chains=True),
    "bitwiseAND": _bits("&"),
    "bitwiseOR": _bits("|"),
    "bitwiseXOR": _bits("^"),
    "like": _binary("LIKE", TEST),
    "ilike": _binary("ILIKE", TEST),
    "rlike": _binary("RLIKE", TEST),
    "isNull": _is("IS NULL"),
    "isNotNull": _is("IS NOT NULL"),
    "isin": _is_in,
    "between": _between,
    "startswith": _as_function("startswith", 2),
    "endswith": _as_function("endswith", 2),
    "contains": _as_function("contains", 2),
    "substr": _as_function("substr", 2, 3),
    "cast": _cast("CAST"),
    "astype": _cast("CAST"),
    "try_cast": _cast("TRY_CAST"),
    "when": _further_when,
    "otherwise": _otherwise,
}
"""The methods of columns, by the names that both builders record."""

OTHER_METHODS: Mapping[str, str] = {
    "alias": "Name a column by the key in withColumns, or by alias() directly in select().",
    "name": "Name a column by the key in withColumns, or by alias() directly in select().",
    "getItem": "Use F.element_at, which counts from 1, or F.get, which counts from 0.",
    "getField": "Use F.get_json_object for a field of a JSON text.",
    "over": "An expression reads one row. Use window(…) or aggregate(…), with their fields by name.",
    "asc": 'Write the order as text, such as "updated_at".',
    "desc": 'Write the order as text, such as "updated_at".',
    "isNaN": "Use F.isnan(column).",
}
