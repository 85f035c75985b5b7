"""The `bigquery` connector: a table, view or query of BigQuery."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict
from sqlglot.dialects.bigquery import BigQuery
from sqlglot.parsers.bigquery import BigQueryParser

from ir.arrow_queries import ArrowGrammar, standard_functions
from ir.connectors.arrow_database import ArrowDatabaseConfig, connector
from ir.expressions.counting import Counting


class _Dialect(BigQuery):
    """The dialect without sqlglot's rewriting of functions: calls stay as written."""

    class Parser(Counting, BigQueryParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = standard_functions(BigQueryParser)


class BigQueryConfig(ArrowDatabaseConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of BigQuery")
    grammar: ClassVar[ArrowGrammar] = ArrowGrammar(
        "BigQuery", _Dialect, Path(__file__).parents[1] / "bigquery_functions.txt"
    )


CONNECTOR = connector("bigquery", "a BigQuery dataset", BigQueryConfig)
