"""Finds rejected rows by their entries, and changes all entries of a row at once.

A change must name the revision of the row that the user has seen, so that users never overwrite each other's changes
silently.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from psycopg import sql
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from executors.postgres.ddl import Conn, exists
from executors.postgres.names import identifier_of
from executors.rejected_rows import RejectedRow
from executors.table_name import TableName
from executors.validation.rows import ESCAPED_KEY, RAW_KEY

TEXT_KEY = "_flow_text"
"""Contains, as text, a row that jsonb cannot represent."""
WHOLE_ROW_FLAGS = (RAW_KEY, TEXT_KEY)
"""Keys of objects that represent a row as a whole text."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner of entries: one table may store those of several pipelines, even of several workspaces."""

    tenant: str
    pipeline: str


@dataclass(frozen=True, slots=True)
class Owners:
    """The pipelines of a workspace whose entries are wanted, in the order of their names."""

    tenant: str
    pipelines: tuple[str, ...]


def is_owned(owner: Owner | Owners, entry: str) -> sql.Composed:
    """Return a condition on an entry."""
    pipelines = (owner.pipeline,) if isinstance(owner, Owner) else owner.pipelines
    mine = sql.SQL('{0}."pipelineId" = {1} AND {0}.tenant = {2}')
    if len(pipelines) == 1:
        whose: sql.Composable = sql.Literal(pipelines[0])
    else:
        whose = sql.SQL("ANY ({}::text[])").format(sql.Literal(list(pipelines)))
    return mine.format(sql.Identifier(entry), whose, sql.Literal(owner.tenant))


_ROW = (
    'q.id, q."runId" AS run_id, q."targetNode" AS node, q.attempt, q."rowId" AS row_id, q.status, q.disposition,'
    ' q.revision, q."sourceFile" AS source_file, q."sourceRecord" AS source_record, q."rowFrom" AS row_from,'
    ' q."sourceNode" AS source_node,'
    ' q."fixRun" AS fix_run'
)


def find_rows(conn: Conn, owner: Owner, table: TableName, ids: Collection[int]) -> list[RejectedRow]:
    """Return the rows of these entries, each once, in the order in which they were rejected."""
    query = sql.SQL(
        'SELECT DISTINCT ON (q."runId", q."rowId") {} FROM {} AS q WHERE q.id = ANY({}::bigint[]) AND {}'
    ).format(sql.SQL(_ROW), identifier_of(table), sql.Literal(list(ids)), is_owned(owner, "q"))
    found = conn.cursor(row_factory=class_row(RejectedRow)).execute(query).fetchall()
    return sorted(found, key=lambda row: row.id)


def texts_of(conn: Conn, table: TableName, ids: Collection[int], field: str) -> dict[int, str | None]:
    """Return the current value of a field, as text, by entry. Texts that jsonb stores escaped are omitted."""
    query = sql.SQL(
        'SELECT id, b.base ->> {field} FROM {table} CROSS JOIN LATERAL (SELECT coalesce("fixedRow", row) AS base) AS b'
        " WHERE id = ANY ({ids}::bigint[]) AND NOT coalesce(b.base -> {escaped} ? {field}, false)"
    ).format(
        field=sql.Literal(field),
        table=identifier_of(table),
        ids=sql.Literal(list(ids)),
        escaped=sql.Literal(ESCAPED_KEY),
    )
    return dict(conn.execute(query).fetchall())


def fixed_in(conn: Conn, table: TableName, ids: Collection[int], field: str) -> set[int]:
    """Return which of these entries have another value of this field than the source."""
    query = sql.SQL(
        'SELECT id FROM {table} WHERE id = ANY ({ids}::bigint[]) AND "fixedRow" IS NOT NULL'
        ' AND "fixedRow" -> {field} IS DISTINCT FROM row -> {field}'
    ).format(table=identifier_of(table), ids=sql.Literal(list(ids)), field=sql.Literal(field))
    return {entry for (entry,) in conn.execute(query).fetchall()}


_OF_KEYS = (
    " FROM ROWS FROM (unnest({runs}::text[]), unnest({rows}::text[])) AS k(run, row_id)"
    " CROSS JOIN unnest({nodes}::text[]) AS n(node) CROSS JOIN generate_series(1, {attempts}) AS a(attempt)"
    ' JOIN {table} AS q ON q."runId" = k.run AND q."targetNode" = n.node AND q.attempt = a.attempt'
    ' AND q."rowId" = k.row_id WHERE {owned}'
)
"""Every entry of these rows, each found by the unique index, which begins with run, node and attempt."""


def entry_ids(
    conn: Conn,
    owner: Owner,
    table: TableName,
    keys: Collection[tuple[str, str]],
    nodes: Collection[str],
    attempts: int,
) -> list[int]:
    """Return the entries of rows by run and row id. Their target is among `nodes`, and the run had `attempts`
    attempts."""
    values = {
        "runs": [run for run, _ in keys],
        "rows": [row_id for _, row_id in keys],
        "nodes": list(nodes),
        "attempts": max(attempts, 1),
    }
    query = sql.SQL("SELECT q.id" + _OF_KEYS + " ORDER BY q.id").format(
        table=identifier_of(table),
        owned=is_owned(owner, "q"),
        **{name: sql.Literal(value) for name, value in values.items()},
    )
    return [row[0] for row in conn.execute(query).fetchall()]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of rows. `before` lists the statuses in which it is allowed; `only_dropped` restricts it to rows that
    were not loaded. `sets` maps columns to the SQL of their values over an entry `q`, its current row `b.base`, and
    `k.cells`. A note does not change the revision, because it does not conflict with other changes."""

    before: tuple[str, ...]
    sets: Mapping[str, sql.Composable]
    only_dropped: bool = False
    is_note: bool = False


# Characters that the database cannot store are refused here: an escaped value would be another value.
_as_given = partial(json.dumps, ensure_ascii=False)

Verb = Literal["fix", "revert", "ignore", "reopen"]

_FIXED = sql.SQL("CASE WHEN q.\"fixedRow\" IS NULL THEN 'open' ELSE 'fixed' END")
# Cells are applied to the row as fixed before, or as read from the source. Escapes of a replaced cell are removed.
_FIXED_ROW = sql.SQL(
    "CASE WHEN b.base ? {escaped} THEN jsonb_set(b.base, ARRAY[{escaped}],"
    " (b.base -> {escaped}) - ARRAY(SELECT jsonb_object_keys(k.cells))) ELSE b.base END || k.cells"
).format(escaped=sql.Literal(ESCAPED_KEY))


def change_of(verb: Verb, by: str, reason: str, run: str | None = None) -> Change:
    """Return a change. `run` is the run that computes the values of a fix."""
    who = {"decidedBy": sql.Literal(by), "decidedAt": sql.SQL("now()"), "reason": sql.Literal(reason or None)}
    match verb:
        case "fix":
            fixed = {
                "fixedRow": _FIXED_ROW,
                "fixedBy": sql.Literal(by),
                "status": sql.SQL("'fixed'"),
                "fixRun": sql.Literal(run),
            }
            return Change(("open", "fixed"), {**who, **fixed}, only_dropped=True)
        case "revert":
            nothing = {"fixedRow": sql.SQL("NULL"), "fixedBy": sql.SQL("NULL"), "status": sql.SQL("'open'")}
            return Change(("fixed",), {**who, **nothing}, only_dropped=True)
        case "ignore":
            return Change(("open", "fixed"), {**who, "status": sql.SQL("'ignored'")})
        case "reopen":
            return Change(("ignored",), {**who, "status": _FIXED})


def change_rows(
    conn: Conn,
    owner: Owner,
    tables: Iterable[TableName],
    rows: Sequence[RejectedRow],
    change: Change,
    cells: Mapping[tuple[str, str], Mapping[str, str | None]] | None = None,
) -> set[tuple[str, str]]:
    """Change all entries of those rows whose revision is unchanged, in the caller's transaction. Return the keys of
    these rows.

    `cells` are new values by the row's key, for changes that have values.
    """
    changed: set[tuple[str, str]] = set()
    for table in dict.fromkeys(tables):
        if exists(conn, table.schema, table.table):
            changed |= set(conn.execute(_update(owner, table, change, _values(rows, cells or {}))).fetchall())
    return changed


def _update(owner: Owner, table: TableName, change: Change, values: Mapping[str, Any]) -> sql.Composed:
    """Return the statement with all values as literals: with parameters, psycopg would interpret a % in one of them,
    such as in a reason."""
    sets = sql.SQL(", ").join(
        sql.SQL("{} = {}").format(sql.Identifier(name), value) for name, value in change.sets.items()
    )
    return sql.SQL(
        "UPDATE {table} AS q SET {sets}, revision = q.revision + {step}"
        " FROM ROWS FROM (unnest({runs}::text[]), unnest({nodes}::text[]), unnest({attempts}::int[]),"
        " unnest({rows}::text[]), unnest({revisions}::int[]), unnest({cells}::jsonb[]))"
        " AS k(run, node, attempt, row_id, revision, cells)"
        ' CROSS JOIN LATERAL (SELECT coalesce(e."fixedRow", e.row - {marks}::text[]) AS base FROM {table} AS e'
        ' WHERE e."runId" = k.run AND e."targetNode" = k.node AND e.attempt = k.attempt AND e."rowId" = k.row_id'
        " LIMIT 1) AS b"
        ' WHERE q."runId" = k.run AND q."targetNode" = k.node AND q.attempt = k.attempt AND q."rowId" = k.row_id'
        " AND q.revision = k.revision AND {owned} AND q.status = ANY ({before}) AND {dropped}"
        ' RETURNING q."runId", q."rowId"'
    ).format(
        table=identifier_of(table),
        sets=sets,
        step=sql.Literal(0 if change.is_note else 1),
        owned=is_owned(owner, "q"),
        before=sql.Literal(list(change.before)),
        dropped=sql.SQL("q.disposition = 'dropped'" if change.only_dropped else "true"),
        **{name: sql.Literal(value) for name, value in values.items()},
    )


def _values(rows: Sequence[RejectedRow], cells: Mapping[tuple[str, str], Mapping[str, str | None]]) -> dict[str, Any]:
    return {
        "runs": [row.run_id for row in rows],
        "nodes": [row.node for row in rows],
        "attempts": [row.attempt for row in rows],
        "rows": [row.row_id for row in rows],
        "revisions": [row.revision for row in rows],
        "cells": [Jsonb(dict(cells.get(row.key, {})), _as_given) for row in rows],
        "marks": list(WHOLE_ROW_FLAGS),
    }
