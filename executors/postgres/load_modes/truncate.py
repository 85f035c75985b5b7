"""truncate: replaces all rows with the staged rows."""

from __future__ import annotations

from psycopg import sql

from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.load_modes.append import insert_from, insert_staged
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import LoadPlan, ModeCounts
from executors.postgres.names import own_rows_of
from executors.postgres.rewrite_rules import refuse_replaced_inserts


def _replace_all(conn: Conn, plan: LoadPlan) -> ModeCounts:
    # No CASCADE: a load must not empty other tables that refer to this one. `lock_timeout` limits the wait.
    conn.execute(sql.SQL("TRUNCATE TABLE {}").format(own_rows_of(plan.target, plan.dest.kind)))
    # An empty table is altered at once, whatever the change.
    return insert_staged(conn, evolve(conn, plan))


HANDLER = LoadHandler(
    "truncate",
    ("INSERT", "TRUNCATE"),
    _replace_all,
    effect=effects.replaced,
    insert=insert_from,
    inspect=refuse_replaced_inserts,
    counts_staged=True,
)
