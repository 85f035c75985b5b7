"""append: adds the staged rows to the table."""

from __future__ import annotations

from psycopg import sql

from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
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
from executors.postgres.names import identifier_of
from executors.postgres.rewrite_rules import refuse_replaced_inserts


def _add(conn: Conn, plan: LoadPlan) -> ModeCounts:
    return insert_staged(conn, evolve(conn, plan))


def insert_staged(conn: Conn, plan: LoadPlan) -> ModeCounts:
    return ModeCounts(inserted=conn.execute(insert_from(conn, plan, winning_rows_in_order(conn, plan))).rowcount)


def insert_from(conn: Conn, plan: LoadPlan, source: sql.Composable) -> sql.Composed:
    """Return the INSERT statement. It names the columns, so that their positions do not matter."""
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} AS s{}").format(
        identifier_of(plan.target),
        column_list(insert_columns(plan)),
        staged_values(plan),
        source,
        file_join(plan),
    )


HANDLER = LoadHandler(
    "append",
    ("INSERT",),
    _add,
    effect=effects.added,
    insert=insert_from,
    inspect=refuse_replaced_inserts,
    counts_staged=True,
)
