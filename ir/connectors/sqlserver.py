"""The `sqlserver` connector: a table, view or query of SQL Server."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict
from sqlglot import exp
from sqlglot.dialects.tsql import TSQL
from sqlglot.parsers.tsql import TSQLParser

from ir.arrow_queries import ArrowGrammar, standard_functions
from ir.connectors.arrow_database import ArrowDatabaseConfig, connector
from ir.expressions.counting import Counting


class _Dialect(TSQL):
    """The dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, TSQLParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = standard_functions(TSQLParser)


class SqlServerConfig(ArrowDatabaseConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of SQL Server")
    grammar: ClassVar[ArrowGrammar] = ArrowGrammar(
        "SQL Server",
        _Dialect,
        Path(__file__).parents[1] / "sqlserver_functions.txt",
        (
            (exp.With, "SQL Server takes no WITH here: write its parts as subqueries or as a view."),
            (exp.WithTableHint, "A query has no hints for tables: they read rows that are never committed."),
            (exp.QueryOption, "A query has no options."),
        ),
    )


CONNECTOR = connector("sqlserver", "a SQL Server database", SqlServerConfig)
