"""Spark SQL expressions: parsed, checked node by node against an allow-list, and written anew from the checked tree.

Only the text written here ever runs. It differs from what was typed: every operation stands in parentheses, every
column in backticks, every literal is escaped anew, so that Spark reads the very tree that was checked. Functions are
allowed by name (`ir.expression_functions`); sqlglot's own rewriting of functions is switched off, for it would change
what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from ir.diagnostics import listed, shown
from ir.errors import FlowError
from ir.expression_functions import FUNCTIONS, NOT_REPEATABLE, REFUSED, WITHOUT_PARENTHESES
from ir.expression_literals import decode_literal, encode_literal
from ir.names import RESERVED_PREFIX
from ir.spelling import guess

MAX_LENGTH = 10_000
MAX_TOKENS = 2_000
MAX_DEPTH = 200


class ExpressionError(FlowError):
    """An expression that must not run."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: the text to run and the columns that it reads, in the order of first use."""

    sql: str
    columns: tuple[str, ...]


_WRITTEN = "written"


class _Dialect(Spark):
    """Spark without sqlglot's knowledge of functions: each stays as it was written."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        # The parser drops a unary plus, which makes a number of a text in Spark.
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            sign: parse for sign, parse in SparkParser.UNARY_PARSERS.items() if sign != TokenType.PLUS
        }
        STRICT_CAST = True

        def _parse_paren(self) -> exp.Expr | None:
            """Mark parentheses that were written, for the parser puts in others of its own."""
            node = super()._parse_paren()
            if isinstance(node, exp.Paren):
                node.meta[_WRITTEN] = True
            return node


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Check an expression; raises ExpressionError (`expression.malformed`, `.not_allowed` or `.ambiguous`)."""
    if len(text) > MAX_LENGTH:
        raise _refused(f"The expression is longer than {MAX_LENGTH} characters")
    try:
        writer = _Writer()
        return Expression(writer.write(_parse(text)), tuple(writer.columns))
    except ParseError as error:
        raise _malformed(text, error.errors[0]["description"].split(" for <")[0].lower()) from error
    except SqlglotError as error:
        raise _malformed(text, str(error).lower()) from error
    except RecursionError as error:
        raise _refused("The expression is nested too deeply") from error


def bind_expression(text: str, names: Mapping[str, str]) -> str:
    """The text to run, with columns under the names that the engine gives them; raises ExpressionError."""
    return _Writer(names).write(_parse(text))


def _parse(text: str) -> exp.Expr:
    dialect = _Dialect()
    tokens = dialect.tokenize(text)
    if len(tokens) > MAX_TOKENS:
        raise _refused(f"The expression has more than {MAX_TOKENS} words and signs")
    for token in tokens:
        written = text[token.start : token.end + 1]
        if token.comments:
            raise _refused("Comments do not belong in an expression", hint="Use the node's description.")
        if token.token_type == TokenType.STRING:
            _check_literal(written, token.text)
        if token.token_type == TokenType.NUMBER and written[-1].isalpha():
            raise _refused(f"The number {written} has a suffix", hint="Write for example CAST(1 AS BIGINT).")
    trees = dialect.parser().parse_into(exp.Condition, tokens, text)
    if len(trees) != 1 or trees[0] is None:
        raise _malformed(text, f"there are {len(list(filter(None, trees)))} expressions")
    return trees[0]


def _check_literal(written: str, understood: str) -> None:
    """Whether Spark reads this literal as the parser did."""
    try:
        meant = decode_literal(written)
    except ValueError as error:
        raise _refused(str(error), hint="Double every backslash that is meant as one.") from error
    if meant != understood:
        raise _refused(f"The text literal {shown(written)} can be read in two ways")


def _malformed(text: str, reason: str) -> ExpressionError:
    return ExpressionError("expression.malformed", f"{shown(text)} is not one Spark SQL expression: {reason}.")


def _refused(message: str, hint: str = "", code: str = "expression.not_allowed") -> ExpressionError:
    return ExpressionError(code, message + ".", hint=hint)


# --- writing ------------------------------------------------------------------------------------------------------

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
"""Operators of two sides. `==` and `!=` are read as `=` and `<>`."""

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
"""Parent and child without parentheses between them, where Spark and the parser may bind differently."""

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


class _Writer:
    """Writes checked nodes; refuses what it has no way to write. Collects the columns on its way."""

    def __init__(self, names: Mapping[str, str] = MappingProxyType({})) -> None:
        self.columns: dict[str, None] = {}
        self._names = names
        self._depth = 0

    def write(self, node: exp.Expr) -> str:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _refused(f"The expression is nested more than {MAX_DEPTH} levels deep")
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
            raise _refused(f"{_describe(node)} is not allowed in an expression", hint=_HINTS.get(kind, ""))
        return _WRITERS[kind](self, node)

    def _require_clear(self, node: exp.Expr) -> None:
        children = [_without_made_parens(child) for child in node.iter_expressions()]
        for parents, kinds in _AMBIGUOUS:
            # `a & b & c` and `a || b || c` read the same either way; two tests in a row do not.
            if not isinstance(node, parents) or node.args.get("query"):
                continue
            for child in children:
                if isinstance(child, kinds) and not (type(child) is type(node) and isinstance(node, _BITS)):
                    raise _refused("Part of this expression can be read in two ways", code="expression.ambiguous")

    def paren(self, node: exp.Expr) -> str:
        return self.write(node.this)  # operators write parentheses of their own

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
            raise _refused("A star is not allowed in an expression", hint="Name the columns.")
        root = parts[0]
        if not root.args["quoted"] and root.name.lower() in WITHOUT_PARENTHESES:
            raise _not_repeatable(root.name)
        if root.name.startswith(RESERVED_PREFIX):
            raise _refused(f"Columns that begin with {RESERVED_PREFIX} are Flow's own")
        self.columns.setdefault(root.name)
        names = [self._names.get(root.name, root.name), *(part.name for part in parts[1:])]
        return ".".join("`" + name.replace("`", "``") + "`" for name in names)

    def is_test(self, node: exp.Expr) -> str:
        return self._is_test(node, "IS")

    def _is_test(self, node: exp.Expr, word: str) -> str:
        self._require_clear(node)
        if not isinstance(node.expression, exp.Null | exp.Boolean):
            raise _refused("IS goes with NULL, TRUE or FALSE only")
        return f"({self.write(node.this)} {word} {self.write(node.expression)})"

    def is_in(self, node: exp.Expr) -> str:
        _require_only(node, "this", "expressions")
        if not node.expressions:
            raise _refused("IN needs at least one value")
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
            raise _refused("An interval is written as INTERVAL '2' DAY")
        name = unit.name.upper().removesuffix("S")
        if name not in _INTERVAL_UNITS:
            raise _refused(f"{unit.name} is no unit of an interval; there are {listed(_INTERVAL_UNITS)}")
        return f"(INTERVAL {encode_literal(amount.name)} {name})"

    def function(self, node: exp.Expr) -> str:
        name = str(node.this).lower()
        if name not in FUNCTIONS:
            raise _unknown_function(name)
        return f"{name}({self._list(node.expressions)})"

    def _list(self, nodes: list[exp.Expr]) -> str:
        return ", ".join(self.write(node) for node in nodes)


_WRITERS: dict[type[exp.Expr], Callable[[_Writer, exp.Expr], str]] = {
    exp.Paren: _Writer.paren,
    exp.Not: _Writer.negated,
    exp.Neg: _Writer.minus,
    exp.BitwiseNot: _Writer.flipped,
    exp.Literal: _Writer.literal,
    exp.Null: lambda writer, node: "NULL",
    exp.Boolean: lambda writer, node: "TRUE" if node.this else "FALSE",
    exp.Column: _Writer.column,
    exp.Is: _Writer.is_test,
    exp.In: _Writer.is_in,
    exp.Between: _Writer.between,
    exp.Case: _Writer.case,
    exp.Cast: _Writer.cast,
    exp.TryCast: _Writer.cast,
    exp.Interval: _Writer.interval,
    exp.Anonymous: _Writer.function,
}


def _without_made_parens(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren) and _WRITTEN not in node.meta:
        node = node.this
    return node


def _require_only(node: exp.Expr, *names: str) -> None:
    """Refuse parts of a node that would not be written."""
    for name, value in node.args.items():
        if name not in names and value:
            raise _refused(f"{_describe(node)} with {name.rstrip('_')} is not allowed in an expression")


def _type(node: exp.Expr) -> str:
    name = _CAST_TYPES.get(node.this)
    if name is None or (node.expressions and node.this != exp.DType.DECIMAL):
        raise _refused(
            f"A cast to {shown(node.sql('spark'))} is not allowed", hint=f"Cast to {listed(_CAST_TYPES.values())}."
        )
    if not node.expressions:
        return name
    return f"{name}({', '.join(str(int(size.name)) for size in node.expressions)})"


_DESCRIPTIONS: dict[type[exp.Expr], str] = {
    exp.Alias: "A name given with AS",
    exp.Bracket: "An index in brackets",
    exp.Concat: "A text literal right behind another",
    exp.Dot: "A field of a computed value",
    exp.Exists: "A subquery",
    exp.Lambda: "A lambda function",
    exp.Parameter: "A variable",
    exp.Placeholder: "A placeholder",
    exp.RawString: "A raw text literal",
    exp.Select: "A query",
    exp.Star: "A star",
    exp.Subquery: "A subquery",
    exp.Tuple: "A list of values",
    exp.Window: "A window function",
}
_HINTS: dict[type[exp.Expr], str] = {
    exp.Bracket: "Use element_at(column, 1), which counts from 1.",
    exp.Concat: "Write a quote inside a text as \\', and join texts with concat().",
    exp.NullSafeNEQ: "Write NOT (a <=> b).",
    exp.RawString: "Use an ordinary literal and double its backslashes.",
    exp.Star: "Name the columns.",
}


def _describe(node: exp.Expr) -> str:
    return _DESCRIPTIONS.get(type(node), type(node).__name__)


def _not_repeatable(name: str) -> ExpressionError:
    return _refused(
        f"{name} does not give the same value when a run is tried again",
        hint=f"If a column is meant, write `{name}` in backticks.",
    )


def _unknown_function(name: str) -> ExpressionError:
    if name in NOT_REPEATABLE:
        return _refused(f"{name}() does not give the same value when a run is tried again")
    for names, reason in REFUSED:
        if name in names:
            return _refused(f"{name}() is not allowed: {reason}")
    near = guess(name, FUNCTIONS)
    return _refused(f"There is no allowed function {shown(name)}", hint=f"Did you mean {near}?" if near else "")
