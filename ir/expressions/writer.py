"""Generates SQL from a checked tree. Its tables are the allow-list; other nodes are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from ir.diagnostics import listed, shown
from ir.expressions.dialect import is_written
from ir.expressions.errors import describe, hint_of, not_repeatable, refused, unknown_function
from ir.expressions.functions import FUNCTIONS, WITHOUT_PARENTHESES
from ir.expressions.literals import encode_literal
from ir.names import RESERVED_PREFIX

MAX_DEPTH = 200

_BINARY: dict[type[exp.Expr], str] = {
    exp.And: "AND",
    exp.Or: "OR",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
    exp.DPipe: "||",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.RegexpLike: "RLIKE",
}
"""Binary operators. `==` and `!=` are parsed as `=` and `<>`."""

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_PREDICATES = (exp.Like, exp.ILike, exp.RegexpLike, exp.In, exp.Between, exp.Is)
_TESTS = (*_COMPARISONS, *_PREDICATES)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor)
_TERMS = (exp.Add, exp.Sub)

_AMBIGUOUS: tuple[tuple[tuple[type[exp.Expr], ...], tuple[type[exp.Expr], ...]], ...] = (
    (_TESTS, _TESTS),
    (_TESTS, (exp.Not,)),
    (_BITS, _BITS),
    (_BITS, _TERMS),
    (_BITS, (exp.DPipe,)),
    ((exp.DPipe,), (*_TERMS, *_BITS)),
    (_TERMS, (exp.DPipe,)),
)
"""Parent and child operators without parentheses between them, for which Spark and the parser may have different
precedence."""

_CAST_TYPES: dict[exp.DType, str] = {
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.FLOAT: "FLOAT",
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.DECIMAL: "DECIMAL",
    exp.DType.TEXT: "STRING",
    exp.DType.BINARY: "BINARY",
    exp.DType.DATE: "DATE",
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}
_INTERVAL_UNITS = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")


class Writer:
    """Writes the text of checked nodes and refuses all others. Collects the columns."""

    def __init__(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        self.columns: dict[str, None] = {}
        self._names = names
        self._depth = 0

    def write(self, node: exp.Expr) -> str:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise refused(f"The expression is nested more than {MAX_DEPTH} levels deep")
        text = self._write(node)
        self._depth -= 1
        return text

    def _write(self, node: exp.Expr) -> str:
        kind = type(node)
        self._require_clear(node)
        if kind in _BINARY:
            _require_only(node, "this", "expression", "safe", "typed", "negate")
            negation = "NOT " if node.args.get("negate") else ""
            return f"({self.write(node.this)} {negation}{_BINARY[kind]} {self.write(node.expression)})"
        if kind not in _WRITERS:
            raise refused(f"{describe(node)} is not allowed in an expression", hint=hint_of(node))
        return _WRITERS[kind](self, node)

    def _require_clear(self, node: exp.Expr) -> None:
        children = [_without_made_parens(child) for child in node.iter_expressions()]
        for parents, kinds in _AMBIGUOUS:
            # `a & b & c` and `a || b || c` are associative; two comparisons in a row are not.
            if not isinstance(node, parents) or node.args.get("query"):
                continue
            for child in children:
                if isinstance(child, kinds) and not (type(child) is type(node) and isinstance(node, _BITS)):
                    raise refused("Part of this expression can be read in two ways", code="expression.ambiguous")

    def paren(self, node: exp.Expr) -> str:
        return self.write(node.this)  # operators write their own parentheses

    def negated(self, node: exp.Expr) -> str:
        if isinstance(node.this, exp.Is):
            return self._is_test(node.this, "IS NOT")
        return f"(NOT {self.write(node.this)})"

    def minus(self, node: exp.Expr) -> str:
        return f"(- {self.write(node.this)})"

    def flipped(self, node: exp.Expr) -> str:
        return f"(~ {self.write(node.this)})"

    def literal(self, node: exp.Expr) -> str:
        return encode_literal(node.name) if node.args["is_string"] else str(node.name)

    def column(self, node: exp.Expr) -> str:
        parts = node.parts if isinstance(node, exp.Column) else [node]
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise refused("A star is not allowed in an expression", hint="Name the columns.")
        root = parts[0]
        if not root.args["quoted"] and root.name.lower() in WITHOUT_PARENTHESES:
            raise not_repeatable(root.name)
        if root.name.startswith(RESERVED_PREFIX):
            raise refused(f"Column names that begin with {RESERVED_PREFIX} are reserved for Flow")
        self.columns.setdefault(root.name)
        names = [self._names.get(root.name, root.name), *(part.name for part in parts[1:])]
        return ".".join("`" + name.replace("`", "``") + "`" for name in names)

    def is_test(self, node: exp.Expr) -> str:
        return self._is_test(node, "IS")

    def _is_test(self, node: exp.Expr, word: str) -> str:
        self._require_clear(node)
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            raise refused("IS needs NULL, TRUE or FALSE")
        return f"({self.write(node.this)} {word} {self.write(node.expression)})"

    def is_in(self, node: exp.Expr) -> str:
        _require_only(node, "this", "expressions")
        if not node.expressions:
            raise refused("IN needs at least one value")
        return f"({self.write(node.this)} IN ({self._list(node.expressions)}))"

    def between(self, node: exp.Expr) -> str:
        _require_only(node, "this", "low", "high")
        value, low, high = (self.write(node.args[name]) for name in ("this", "low", "high"))
        return f"({value} BETWEEN {low} AND {high})"

    def case(self, node: exp.Expr) -> str:
        _require_only(node, "this", "ifs", "default")
        subject = [self.write(node.this)] if node.this else []
        branches = [f"WHEN {self.write(i.this)} THEN {self.write(i.args['true'])}" for i in node.args["ifs"]]
        default = [f"ELSE {self.write(node.args['default'])}"] if node.args.get("default") else []
        return " ".join(["(CASE", *subject, *branches, *default, "END)"])

    def cast(self, node: exp.Expr) -> str:
        _require_only(node, "this", "to", "safe")
        name = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{name}({self.write(node.this)} AS {_type(node.args['to'])})"

    def interval(self, node: exp.Expr) -> str:
        unit = node.args.get("unit")
        amount = node.this
        if not isinstance(amount, exp.Literal) or not isinstance(unit, exp.Var):
            raise refused("An interval is written as INTERVAL '2' DAY")
        name = unit.name.upper().removesuffix("S")
        if name not in _INTERVAL_UNITS:
            raise refused(f"{unit.name} is not an interval unit. Units: {listed(_INTERVAL_UNITS)}")
        return f"(INTERVAL {encode_literal(amount.name)} {name})"

    def function(self, node: exp.Expr) -> str:
        name = str(node.this).lower()
        if name not in FUNCTIONS:
            raise unknown_function(name)
        return f"{name}({self._list(node.expressions)})"

    def _list(self, nodes: list[exp.Expr]) -> str:
        return ", ".join(self.write(node) for node in nodes)


_WRITERS: dict[type[exp.Expr], Callable[[Writer, exp.Expr], str]] = {
    exp.Paren: Writer.paren,
    exp.Not: Writer.negated,
    exp.Neg: Writer.minus,
    exp.BitwiseNot: Writer.flipped,
    exp.Literal: Writer.literal,
    exp.Null: lambda writer, node: "NULL",
    exp.Boolean: lambda writer, node: "TRUE" if node.this else "FALSE",
    exp.Column: Writer.column,
    exp.Is: Writer.is_test,
    exp.In: Writer.is_in,
    exp.Between: Writer.between,
    exp.Case: Writer.case,
    exp.Cast: Writer.cast,
    exp.TryCast: Writer.cast,
    exp.Interval: Writer.interval,
    exp.Anonymous: Writer.function,
}


def _without_made_parens(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren) and not is_written(node):
        node = node.this
    return node


def _require_only(node: exp.Expr, *names: str) -> None:
    """Refuse parts of a node that the text would not contain."""
    for name, value in node.args.items():
        if name not in names and value:
            raise refused(f"{describe(node)} with {name.rstrip('_')} is not allowed in an expression")


def _type(node: exp.Expr) -> str:
    name = _CAST_TYPES.get(node.this)
    if name is None or (node.expressions and node.this != exp.DType.DECIMAL):
        raise refused(
            f"A cast to {shown(node.sql('spark'))} is not allowed", hint=f"Cast to {listed(_CAST_TYPES.values())}."
        )
    if not node.expressions:
        return name
    sizes = [size.name for size in node.expressions]
    if len(sizes) > 2 or not all(size.isascii() and size.isdecimal() and len(size) < 4 for size in sizes):
        raise refused(
            f"The type {shown(node.sql('spark'))} has an invalid precision or scale",
            hint="Use two whole numbers, such as DECIMAL(18, 2).",
        )
    return f"{name}({', '.join(str(int(size)) for size in sizes)})"
