"""The columns of a window: their types at the position of the log, which may be older than the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from executors.errors import Terminal
from executors.model import DestinationColumn, SourceField, SourceState
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target
from executors.postgres.read import field_of
from executors.postgres_cdc.protocol import RelationColumn
from executors.postgres_cdc.tables import FollowedTable, describe
from ir.types import ColumnType


def current_columns(conn: Conn, table: FollowedTable) -> tuple[DestinationColumn, ...]:
    """Return the followed columns as the table has them now."""
    found = inspect_target(conn, table.schema, table.name)
    names = {column.name for column in table.relation_columns}
    return tuple(column for column in (found.columns if found else ()) if column.name in names)


def logged_columns(
    conn: Conn, table: FollowedTable, columns: Sequence[RelationColumn]
) -> tuple[DestinationColumn, ...]:
    """Return the types of columns as the log names them. Raises Terminal as `describe`."""
    plain = [(column.name, column.type, column.typmod) for column in columns]
    if plain == [(column.name, column.type, column.typmod) for column in table.relation_columns]:
        return current_columns(conn, table)
    return describe(conn, columns)


def fields_of(columns: Sequence[DestinationColumn], beyond: frozenset[int]) -> tuple[SourceField, ...]:
    """Return the fields to read. Columns at the positions `beyond` have values that Arrow cannot represent, and are
    read as PostgreSQL's own types."""
    return tuple(
        SourceField(column.name, ColumnType("pg", pg_name=column.declared)) if i in beyond else field_of(column)
        for i, column in enumerate(columns)
    )


def refuse_filled(table: FollowedTable, before: SourceState, columns: Sequence[DestinationColumn]) -> None:
    """Refuse a new column that may have values in rows that existed before it: the log does not contain them."""
    known = {name for name, _ in before.columns}
    filled = {column.relation.name for column in table.columns if column.is_filled}
    new = [column.name for column in columns if column.name not in known and column.name in filled]
    if new:
        raise Terminal(
            "cdc.column_filled",
            f"The new column {', '.join(new)} of {table} may have values in rows that existed before it (it has a "
            "default or is NOT NULL), and the log does not contain them.",
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )


def refuse_replaced(table: FollowedTable, before: Mapping[str, int], columns: Sequence[DestinationColumn]) -> None:
    """Refuse a column that has got its name from another one: rows that do not change have values in it that the log
    does not contain, and the target has those of the former column. `before` are numbers of columns by their names."""
    now, old_names = table.numbers, {number: name for name, number in before.items()}
    for column in columns:
        number, known = now.get(column.name), before.get(column.name)
        if number is None or number == known:
            continue
        if number in old_names:
            change = f"was renamed to {column.name}"
        elif known is not None:
            change = "was dropped and added again"
        else:
            continue
        raise Terminal(
            "cdc.column_replaced",
            f"The column {old_names.get(number, column.name)} of {table} {change}. Rows that have not changed since "
            "have values that the log does not contain.",
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )
