"""The `snowflake` connector: a table, view or query of Snowflake."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict
from sqlglot.dialects.snowflake import Snowflake
from sqlglot.parsers.snowflake import SnowflakeParser

from ir.arrow_queries import ArrowGrammar, standard_functions
from ir.connectors.arrow_database import ArrowDatabaseConfig, connector
from ir.expressions.counting import Counting


class _Dialect(Snowflake):
    """The dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, SnowflakeParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = standard_functions(SnowflakeParser)


class SnowflakeConfig(ArrowDatabaseConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of Snowflake")
    grammar: ClassVar[ArrowGrammar] = ArrowGrammar(
        "Snowflake", _Dialect, Path(__file__).parents[1] / "snowflake_functions.txt"
    )


CONNECTOR = connector("snowflake", "a Snowflake database", SnowflakeConfig)
