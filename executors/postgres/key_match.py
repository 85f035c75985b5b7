"""Matches staged rows with rows of the target by key: when keys are equal, and when values differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from psycopg import sql

from executors.model import RecordRef, StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan, staged_value, winning_rows
from executors.postgres.names import own_rows_of
from executors.postgres.unique_keys import UniqueKey
from executors.stage_plan import FILE, RECORD
from executors.validation.tally import MOST_REFS


def key_values(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    return sql.SQL(", ").join(c.collated(staged_value(plan, plan.stage_column(c.name))) for c in key.columns)


def last_of_each_key(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    """Return the winning rows, only the last row of each key by `order_by` (NULL first), then in source order."""
    first: sql.Composable = sql.SQL("")
    if plan.order_by is not None:
        column = plan.stage_column(plan.order_by)
        first = sql.SQL("{} DESC NULLS LAST, ").format(_sortable(column, staged_value(plan, column)))
    return sql.SQL(
        "(SELECT DISTINCT ON ({keys}) s.* FROM {rows} AS s ORDER BY {keys}, {first}s.{file} DESC, s.{record} DESC)"
    ).format(
        keys=key_values(plan, key),
        rows=winning_rows(plan),
        first=first,
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
    )


def repeated_keys(conn: Conn, plan: LoadPlan, key: UniqueKey) -> list[RecordRef]:
    """Return the positions of the first rows whose key is repeated."""
    query = sql.SQL(
        "SELECT r.{file}, r.{record} FROM (SELECT s.{file}, s.{record}, count(*) OVER (PARTITION BY {keys}) AS n"
        " FROM {rows} AS s) AS r WHERE r.n > 1 ORDER BY 1, 2 LIMIT {most}"
    ).format(
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        keys=key_values(plan, key),
        rows=winning_rows(plan),
        most=sql.Literal(MOST_REFS),
    )
    return [RecordRef(file, record) for file, record in conn.execute(query).fetchall()]


def keys_repeated_in_records(conn: Conn, plan: LoadPlan, key: UniqueKey) -> list[RecordRef]:
    """The first records of which several rows have the same key."""
    query = sql.SQL(
        "SELECT DISTINCT r.{file}, r.{record} FROM (SELECT s.{file}, s.{record} FROM {rows} AS s"
        " GROUP BY s.{file}, s.{record}, {keys} HAVING count(*) > 1) AS r ORDER BY 1, 2 LIMIT {most}"
    ).format(
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        keys=key_values(plan, key),
        rows=winning_rows(plan),
        most=sql.Literal(MOST_REFS),
    )
    return [RecordRef(file, record) for file, record in conn.execute(query).fetchall()]


def undecided_keys(conn: Conn, plan: LoadPlan, key: UniqueKey, order_by: str) -> list[RecordRef]:
    """Return the positions of the first rows that share key and highest `order_by` with rows of different content."""
    names = [c.name for c in value_columns(plan, key)]
    content = sql.SQL(", ").join(sql.SQL("s.{}::text").format(sql.Identifier(name)) for name in names)
    query = sql.SQL(
        "SELECT s.{file}, s.{record} FROM (SELECT s.*, min(s._flow_content) OVER k <> max(s._flow_content) OVER k"
        ' AS _flow_differs FROM (SELECT s.*, ROW({content})::text COLLATE "C" AS _flow_content,'
        " rank() OVER (PARTITION BY {keys} ORDER BY {order} DESC NULLS LAST) AS _flow_place FROM {rows} AS s) AS s"
        " WHERE s._flow_place = 1 WINDOW k AS (PARTITION BY {keys})) AS s WHERE s._flow_differs"
        " ORDER BY 1, 2 LIMIT {most}"
    ).format(
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        content=content,
        keys=key_values(plan, key),
        order=_sortable(plan.stage_column(order_by), staged_value(plan, plan.stage_column(order_by))),
        rows=winning_rows(plan),
        most=sql.Literal(MOST_REFS),
    )
    return [RecordRef(file, record) for file, record in conn.execute(query).fetchall()]


def is_newer(plan: LoadPlan, row: str = "x") -> sql.Composed:
    """Return a condition: `row` of the table is newer than the staged row `s` in the form that the table would
    store."""
    if plan.order_by is None:
        return sql.SQL("false").format()
    return is_newer_than(plan, row, stored_value(plan, plan.stage_column(plan.order_by)))


def is_newer_than(plan: LoadPlan, row: str, value: sql.Composable) -> sql.Composed:
    """Return a condition: `row` has a higher value than `value` in the column `order_by`. NULL is the lowest value.
    Without such a column no row is newer."""
    if plan.order_by is None:
        return sql.SQL("false").format()
    column = plan.stage_column(plan.order_by)
    there = sql.Identifier(row, column.name)
    return sql.SQL("({} IS NOT NULL AND ({} IS NULL OR {} > {}))").format(
        there, value, _sortable(column, there), _sortable(column, value)
    )


def _sortable(column: StageColumn, value: sql.Composable) -> sql.Composed:
    """Return a form that sorts identically within a batch and across loads: texts byte by byte, independent of
    collations."""
    if column.type.kind == "string":
        return sql.SQL('{}::text COLLATE "C"').format(value)
    # An array compares its elements by the type's default operators, even if these are not on the search path.
    return sql.SQL("ARRAY[{}]" if column.type.kind == "pg" else "{}").format(value)


def stored_value(plan: LoadPlan, column: StageColumn) -> sql.Composed:
    """Return the staged value as the table would store it: its type may round. Values that it would truncate were
    refused before."""
    return sql.SQL("{}::{}").format(staged_value(plan, column), sql.SQL(plan.destination_column(column.name).declared))


def own_rows(plan: LoadPlan) -> sql.Composed:
    """Return the rows of the table as they are after the changes that the load has yet to make."""
    rows = own_rows_of(plan.target, plan.dest.kind)
    if not any(change.alters for change in plan.changes):
        return rows
    return sql.SQL("(SELECT t.tableoid, {} FROM {} AS t)").format(sql.SQL(", ").join(_columns_after(plan)), rows)


def _columns_after(plan: LoadPlan) -> Iterator[sql.Composed]:
    made = {change.column: change for change in plan.changes if change.alters}
    for column in plan.dest.columns:
        change, name = made.get(column.name), sql.Identifier(column.name)
        if change is not None and change.kind == "add":
            yield sql.SQL("NULL::{} AS {}").format(sql.SQL(column.declared), name)
        elif change is not None and change.kind == "rename":
            yield sql.SQL("{} AS {}").format(sql.Identifier("t", change.before), name)
        else:
            yield sql.SQL("{}").format(sql.Identifier("t", column.name))


def same_key(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    return sql.SQL(" AND ").join(
        c.equals(sql.Identifier("x", c.name), staged_value(plan, plan.stage_column(c.name))) for c in key.columns
    )


def value_columns(plan: LoadPlan, key: UniqueKey) -> list[StageColumn]:
    """Return the staged columns that are not in the key."""
    names = {c.name for c in key.columns}
    return [c for c in plan.columns if c.name not in names]


def differs(plan: LoadPlan, key: UniqueKey, row: str, other: Callable[[StageColumn], sql.Composable]) -> sql.Composed:
    """Return a condition: the values of `row` differ from those of `other`; NULL equals NULL."""
    columns = value_columns(plan, key)
    left = [comparable(plan, c, sql.Identifier(row, c.name)) for c in columns]
    right = [comparable(plan, c, other(c)) for c in columns]
    comma = sql.SQL(", ")
    return sql.SQL("ROW({}) IS DISTINCT FROM ROW({})").format(comma.join(left), comma.join(right))


def comparable(plan: LoadPlan, column: StageColumn, value: sql.Composable) -> sql.Composed:
    """Return a form in which different values are never equal: texts byte by byte (a collation may consider different
    texts equal), and text for types that may lack equality."""
    if column.type.kind == "pg" or plan.destination_column(column.name).base == "json":
        return sql.SQL('{}::text COLLATE "C"').format(value)
    if column.type.kind == "string":
        return sql.SQL('{} COLLATE "C"').format(value)
    return sql.SQL("{}").format(value)
