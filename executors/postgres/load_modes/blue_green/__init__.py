"""blue_green: replaces all rows without blocking readers, by a swap of tables or, if that is impossible, by DELETE and
INSERT."""

from __future__ import annotations

from dataclasses import replace

from executors.errors import Terminal
from executors.model import Destination
from executors.postgres import effects
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target
from executors.postgres.load_modes.append import insert_from
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_modes.blue_green.in_place import delete_and_insert
from executors.postgres.load_modes.blue_green.obstacles import find_obstacles
from executors.postgres.load_modes.blue_green.swap import swap
from executors.postgres.load_plan import LoadPlan, ModeCounts
from executors.table_name import TableName
from ir.destinations import Replacing


def inspect_with_dependents(conn: Conn, schema: str, table: str) -> Destination | None:
    """Return the current definition of the table with its dependents; None if it does not exist."""
    dest = inspect_target(conn, schema, table)
    return dest and _with_dependents(conn, dest)


@translate()
def _with_dependents(conn: Conn, dest: Destination) -> Destination:
    with conn.transaction():
        return replace(dest, replacing=find_obstacles(conn, TableName(dest.schema, dest.table)))


def _inspect(conn: Conn, dest: Destination) -> Destination:
    dest = _with_dependents(conn, dest)
    if dest.replacing:
        _require_strategy(TableName(dest.schema, dest.table), dest.replacing)
    return dest


def _load(conn: Conn, plan: LoadPlan) -> ModeCounts:
    """Load the rows. The strategy is chosen again, because dependents of the table may have changed since the run
    began."""
    strategy = _require_strategy(plan.target, find_obstacles(conn, plan.target))
    return {"swap": swap, "replace": delete_and_insert}[strategy](conn, plan)


def _require_strategy(table: TableName, found: Replacing) -> str:
    if found.strategy is None:
        raise Terminal(
            "blue_green.not_possible",
            found.sentence(str(table)),
            hint="Remove one of the obstacles, or use load mode truncate or upsert.",
        )
    return found.strategy


HANDLER = LoadHandler(
    "blue_green",
    ("DELETE", "INSERT", "SELECT"),
    _load,
    effect=effects.replaced,
    insert=insert_from,
    inspect=_inspect,
    calls_before_swap=True,
)
