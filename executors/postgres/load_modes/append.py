"""append: the staged rows are added to what is there."""

from __future__ import annotations

from psycopg import sql

from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import (
    LoadPlan,
    ModeCounts,
    column_list,
    file_join,
    insert_columns,
    staged_values,
    winning_rows_in_order,
)
from executors.postgres.rewrite_rules import refuse_replaced_inserts


def insert_staged(conn: Conn, plan: LoadPlan) -> ModeCounts:
    """Insert by column name, never by position."""
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} AS s{}").format(
        plan.target.identifier,
        column_list(insert_columns(plan)),
        staged_values(plan),
        winning_rows_in_order(conn, plan),
        file_join(plan),
    )
    return ModeCounts(inserted=conn.execute(statement).rowcount)


HANDLER = LoadHandler(
    "append", ("INSERT",), insert_staged, effect=effects.added, inspect=refuse_replaced_inserts, counts_staged=True
)
