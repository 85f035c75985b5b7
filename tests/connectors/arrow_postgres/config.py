"""What `ir` knows of the connector `arrow_postgres`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser

from ir.arrow_queries import ArrowGrammar, standard_functions
from ir.connectors.arrow_database import ArrowDatabaseConfig, connector
from ir.expressions.counting import Counting


class _Dialect(Postgres):
    class Parser(Counting, PostgresParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = standard_functions(PostgresParser)


class ArrowPostgresConfig(ArrowDatabaseConfig):
    """The rows of a table or of a query."""

    grammar: ClassVar[ArrowGrammar] = ArrowGrammar("PostgreSQL", _Dialect, Path(__file__).parent / "functions.txt")


CONNECTOR = connector("arrow_postgres", "a PostgreSQL database", ArrowPostgresConfig)
