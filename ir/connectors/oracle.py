"""The `oracle` connector: a table, view or query of Oracle."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict
from sqlglot.dialects.oracle import Oracle
from sqlglot.parsers.oracle import OracleParser

from ir.arrow_queries import ArrowGrammar, standard_functions
from ir.connectors.arrow_database import ArrowDatabaseConfig, connector
from ir.expressions.counting import Counting


class _Dialect(Oracle):
    """The dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, OracleParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = standard_functions(OracleParser)


class OracleConfig(ArrowDatabaseConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of Oracle")
    grammar: ClassVar[ArrowGrammar] = ArrowGrammar(
        "Oracle", _Dialect, Path(__file__).parents[1] / "oracle_functions.txt"
    )


CONNECTOR = connector("oracle", "an Oracle database", OracleConfig)
