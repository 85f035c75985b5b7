"""Evaluates simple expressions on Arrow batches, exactly as Spark does. Spark evaluates all others.

Tests compare every supported operator and type with Spark. No supported operation can fail on a value, so that branches
and rows which SQL would skip may be computed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from ir.expressions import ExpressionError, parse_written

MOST_DIGITS = 38
_INTEGERS = {pa.int32(): 10, pa.int64(): 20}
"""The digits that Spark reserves when it compares an integer with a decimal."""
_ORDERED = (pa.string(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"))
"""Types whose values can be compared with values of the same type; texts are compared byte by byte."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Value:
    value: Any
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Vector, ...]
    type: pa.DataType


Vector = Column | Value | Call
Types = Mapping[str, pa.DataType]


class _NotListed(Exception):
    """The expression is not supported here; Spark evaluates it."""


# --- from SQL ----------------------------------------------------------------------------------------------------


def vector_of(sql: str, types: Types) -> Vector | None:
    """Translate an expression that was checked and bound, for columns of these types. Return None if Spark must
    evaluate it."""
    try:
        return _vector(parse_written(sql), types)
    except (_NotListed, ExpressionError, RecursionError):
        return None


def _vector(node: exp.Expr, types: Types) -> Vector:
    if (leaf := _LEAVES.get(type(node))) is not None:
        return leaf(node, types)
    if (branch := _BRANCHES.get(type(node))) is None:
        raise _NotListed
    return branch(node, [_vector(child, types) for child in _operands(node)])


def _operands(node: exp.Expr) -> Iterable[exp.Expr]:
    """Return the operands of a node in the order in which they are written."""
    match node:
        case exp.Is():
            return (node.this,)
        case exp.In():
            return (node.this, *node.expressions)
        case exp.Between():
            return (node.this, node.args["low"], node.args["high"])
        case exp.Case():
            parts = [part for branch in node.args["ifs"] for part in (branch.this, branch.args["true"])]
            return filter(None, [node.this, *parts, node.args.get("default")])
        case exp.Anonymous():
            return tuple(node.expressions)
        case exp.Binary():
            return (node.left, node.right)
    return (node.this,)


def _column(node: exp.Expr, types: Types) -> Column:
    kind = types.get(node.name) if isinstance(node, exp.Column) and len(node.parts) == 1 else None
    if kind is None or not (kind in _ORDERED or pa.types.is_decimal128(kind) or pa.types.is_boolean(kind)):
        raise _NotListed
    return Column(node.name, kind)


def _literal(node: exp.Expr, types: Types) -> Value:
    return _text(node.name) if node.args["is_string"] else _number(node.name)


def _text(text: str) -> Value:
    if "\\" in text or not text.isprintable():
        raise _NotListed
    return Value(text, pa.string())


def _number(text: str) -> Value:
    """Type a literal as Spark does: the narrowest integer, or a decimal if it has a point."""
    if not text.isascii():
        raise _NotListed
    if text.isdecimal():
        kind = next((kind for kind in _INTEGERS if int(text) < 1 << (kind.bit_width - 1)), None)
        if kind is not None:
            return Value(int(text), kind)
    whole, point, fraction = text.partition(".")
    # Spark's optimizer turns some comparisons of NULL with a value that no integer can have into FALSE, not NULL.
    if not (whole + fraction).isdecimal() or not point or len(whole) > 18 or len(whole) + len(fraction) > MOST_DIGITS:
        raise _NotListed
    return Value(Decimal(text), pa.decimal128(len(whole) + len(fraction), len(fraction)))


def _negated(arg: Vector) -> Value:
    if not isinstance(arg, Value) or not (arg.type in _INTEGERS or pa.types.is_decimal128(arg.type)):
        raise _NotListed
    if arg.value < 0:  # a second sign is arithmetic in Spark, which may overflow: `- -2147483648`
        raise _NotListed
    return Value(-arg.value, arg.type)


def _compared(function: str, *args: Vector) -> Call:
    """One call for all operands: each is evaluated once, and a long list is not a deep tree."""
    kind = _common(*(arg.type for arg in args))
    return Call(function, tuple(_cast(arg, kind) for arg in args), pa.bool_())


def _common(*kinds: pa.DataType) -> pa.DataType:
    """Return the type in which all are compared without loss, as Spark does."""
    if len(set(kinds)) == 1 and kinds[0] in _ORDERED:
        return kinds[0]
    if all(kind in _INTEGERS for kind in kinds):
        return pa.int64()
    digits, scales = zip(*map(_digits_and_scale, kinds), strict=True)
    if max(digits) + max(scales) > MOST_DIGITS:
        raise _NotListed
    return pa.decimal128(max(digits) + max(scales), max(scales))


def _digits_and_scale(kind: pa.DataType) -> tuple[int, int]:
    """Return the numbers of digits before and after the decimal point."""
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return kind.precision - kind.scale, kind.scale
    if kind not in _INTEGERS:
        raise _NotListed
    return _INTEGERS[kind], 0


def _cast(arg: Vector, kind: pa.DataType) -> Vector:
    return arg if arg.type == kind else Call("cast", (arg,), kind)


def _truth(function: str, *args: Vector) -> Call:
    if any(arg.type != pa.bool_() for arg in args):
        raise _NotListed
    return Call(function, args, pa.bool_())


def _is(what: exp.Expr, arg: Vector) -> Call:
    if isinstance(what, exp.Null):
        return Call("is_null", (arg,), pa.bool_())
    if arg.type != pa.bool_():
        raise _NotListed
    return Call("is_true", (arg if what.this else _truth("not", arg),), pa.bool_())


def _function(name: str, args: Sequence[Vector]) -> Call:
    if name == "concat":
        return _concat(args)
    if name != "coalesce" or not args:
        raise _NotListed
    kind = _only_type(args)
    return Call("coalesce", tuple(_typed(arg, kind) for arg in args), kind)


def _concat(args: Sequence[Vector]) -> Call:
    if not args or any(arg.type != pa.string() for arg in args):
        raise _NotListed
    return Call("concat", tuple(args), pa.string())


def _case(node: exp.Expr, args: Sequence[Vector]) -> Call:
    """Arguments are the conditions, the value of each, and the value of rows for which no condition is true."""
    if node.this is not None:
        raise _NotListed
    args = args if node.args.get("default") else [*args, Value(None, pa.null())]
    conditions, values = args[:-1:2], [*args[1::2], args[-1]]
    if any(condition.type != pa.bool_() for condition in conditions):
        raise _NotListed
    kind = _only_type(values)
    return Call("case", (*conditions, *(_typed(value, kind) for value in values)), kind)


def _only_type(args: Iterable[Vector]) -> pa.DataType:
    kinds = {arg.type for arg in args} - {pa.null()}
    if len(kinds) != 1:
        raise _NotListed
    return kinds.pop()


def _typed(arg: Vector, kind: pa.DataType) -> Vector:
    return Value(None, kind) if arg.type == pa.null() else arg


_LEAVES: dict[type[exp.Expr], Callable[[exp.Expr, Types], Vector]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda node, types: Value(bool(node.this), pa.bool_()),
    exp.Null: lambda node, types: Value(None, pa.null()),
}
_BRANCHES: dict[type[exp.Expr], Callable[[exp.Expr, list[Vector]], Vector]] = {
    exp.Paren: lambda node, args: args[0],
    exp.Neg: lambda node, args: _negated(args[0]),
    exp.EQ: lambda node, args: _compared("equal", *args),
    exp.NEQ: lambda node, args: _compared("not_equal", *args),
    exp.GT: lambda node, args: _compared("greater", *args),
    exp.GTE: lambda node, args: _compared("greater_equal", *args),
    exp.LT: lambda node, args: _compared("less", *args),
    exp.LTE: lambda node, args: _compared("less_equal", *args),
    exp.Between: lambda node, args: _compared("between", *args),
    exp.In: lambda node, args: _compared("in", *args),
    exp.Is: lambda node, args: _is(node.expression, args[0]),
    exp.And: lambda node, args: _truth("and", *args),
    exp.Or: lambda node, args: _truth("or", *args),
    exp.Not: lambda node, args: _truth("not", *args),
    exp.DPipe: lambda node, args: _concat(args),
    exp.Case: _case,
    exp.Anonymous: lambda node, args: _function(str(node.this).lower(), args),
}


# --- on a batch --------------------------------------------------------------------------------------------------


def compute(vector: Vector, batch: pa.RecordBatch) -> pa.Array:
    """Return the values of a vector for all rows of a batch."""
    values = _evaluate(vector, batch)
    return pa.repeat(values, batch.num_rows) if isinstance(values, pa.Scalar) else values


def _evaluate(vector: Vector, batch: pa.RecordBatch) -> Any:
    match vector:
        case Column(name):
            return batch.column(name)
        case Value(value, kind):
            return pa.scalar(value, kind)
        case Call("cast", (arg,), kind):
            return pc.cast(_evaluate(arg, batch), kind)
        case Call(function, args):
            return _FUNCTIONS[function](*(_evaluate(arg, batch) for arg in args))


def _pick(*args: Any) -> Any:
    """Return the value of the first true condition; the arguments are those of a `case` call."""
    half = len(args) // 2
    chosen = args[-1]
    for condition, value in reversed(list(zip(args[:half], args[half:-1], strict=True))):
        chosen = pc.if_else(pc.fill_null(condition, False), value, chosen)
    return chosen


def _between(value: Any, low: Any, high: Any) -> Any:
    return pc.and_kleene(pc.greater_equal(value, low), pc.less_equal(value, high))


def _in(value: Any, *others: Any) -> Any:
    return reduce(pc.or_kleene, (pc.equal(value, other) for other in others))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "equal": pc.equal,
    "not_equal": pc.not_equal,
    "greater": pc.greater,
    "greater_equal": pc.greater_equal,
    "less": pc.less,
    "less_equal": pc.less_equal,
    "between": _between,
    "in": _in,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "is_true": lambda values: pc.fill_null(values, False),
    "concat": lambda *texts: pc.binary_join_element_wise(*texts, "", null_handling="emit_null"),
    "coalesce": pc.coalesce,
    "case": _pick,
}
