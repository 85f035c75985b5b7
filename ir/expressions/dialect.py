"""Spark's dialect as the parser needs it here."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

_WRITTEN = "written"


class Dialect(Spark):
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


def is_written(node: exp.Paren) -> bool:
    """Whether these parentheses stand in the text."""
    return _WRITTEN in node.meta
