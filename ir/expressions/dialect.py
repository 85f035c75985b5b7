"""The parser's dialect of Spark SQL."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from ir.expressions.counting import Counting

_WRITTEN = "written"


class Dialect(Spark):
    """Spark's dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
        # The parser drops a unary plus, which in Spark converts a text to a number.
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            sign: parse for sign, parse in SparkParser.UNARY_PARSERS.items() if sign != TokenType.PLUS
        }
        STRICT_CAST = True

        def _parse_types(
            self,
            check_func: bool = False,
            schema: bool = False,
            allow_identifiers: bool = True,
            with_collation: bool = False,
        ) -> exp.Expr | None:
            """Parse `date(` as a function call. Parsing it as a type with a size first would parse the rest twice, at
            each level again."""
            if check_func and self._curr.token_type in self.TYPE_TOKENS and self._next.token_type == TokenType.L_PAREN:
                return None
            return super()._parse_types(check_func, schema, allow_identifiers, with_collation)

        def _parse_paren(self) -> exp.Expr | None:
            """Mark parentheses of the text, because the parser adds others."""
            node = super()._parse_paren()
            if isinstance(node, exp.Paren):
                node.meta[_WRITTEN] = True
            return node


def is_written(node: exp.Paren) -> bool:
    """Return whether the parentheses are in the text."""
    return _WRITTEN in node.meta
