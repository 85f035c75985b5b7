"""Searches for a row by the values of some of its columns, each search within a time limit and without writing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads

from executors.model import Destination
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.inspect import inspect_target
from executors.postgres.meta import META
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owner, is_owned
from executors.row_search import (
    MOST_FOUND,
    NO_TABLE,
    SECONDS,
    TOO_LONG,
    UNREADABLE,
    Origin,
    SearchResult,
    SourceKey,
    unknown_columns,
)
from executors.stage_plan import FILLED
from executors.table_name import TableName

EXACT = partial(json.loads, parse_float=str)
"""Numbers with a point become texts as the database writes them, because a float would change their digits."""

_ENTRY = (
    "runId",
    "nodeId",
    "ruleId",
    "field",
    "message",
    "severity",
    "disposition",
    "status",
    "sourceFile",
    "sourceRecord",
    "sourceNode",
    "rowId",
    "row",
    "createdAt",
)


@translate()
def look_in_table(conn: Conn, name: TableName, key: Mapping[str, str]) -> SearchResult:
    """Return the rows of a table with these values in some columns, in the form in which the database writes them."""
    dest = inspect_target(conn, name.schema, name.table)
    if dest is None:
        return NO_TABLE
    known = {column.name: column for column in dest.columns}
    if missing := [name for name in key if name not in known]:
        return unknown_columns(missing, known)
    wanted = [
        sql.SQL("t.{} = {}::{}").format(sql.Identifier(n), sql.Literal(value), sql.SQL(known[n].base or "text"))
        for n, value in key.items()
    ]
    query = sql.SQL("SELECT to_json(t.*) AS row FROM {} AS t WHERE {}").format(
        identifier_of(name), sql.SQL(" AND ").join(wanted)
    )
    found = _look(conn, query)
    if found.trouble and not _has_index(conn, dest, name, key):
        return SearchResult(trouble=f"{found.trouble} No index begins with {' or '.join(key)}.")
    lacks = tuple(column for column in FILLED if column not in known)
    return SearchResult(tuple(row["row"] for row in found.rows), found.has_more, found.trouble, lacks)


@translate()
def look_in_quarantine(
    conn: Conn, name: TableName, owner: Owner, target: str, keys: Sequence[SourceKey], origins: Sequence[Origin]
) -> SearchResult:
    """Return the owner's entries of rows with the values of one of the keys in the source, and entries of the rows with
    these origins."""
    if not exists(conn, name.schema, name.table):
        return SearchResult()
    either = [
        sql.SQL('("runId" = {} AND "sourceRecord" = {})').format(sql.Literal(o.run), sql.Literal(o.record))
        for o in origins
    ]
    for source, key in keys:
        of_source = sql.SQL('"sourceNode" = {} AND ').format(sql.Literal(source)) if source else sql.SQL("")
        either.append(sql.SQL("({}{})").format(of_source, _same_texts(key)))
    if not either:
        return SearchResult()
    query = sql.SQL('SELECT {} FROM {} AS q WHERE {} AND "targetNode" = {} AND ({}) ORDER BY id DESC').format(
        sql.SQL(", ").join(map(sql.Identifier, _ENTRY)),
        identifier_of(name),
        is_owned(owner, "q"),
        sql.Literal(target),
        sql.SQL(" OR ").join(either),
    )
    return _look(conn, query)


@translate()
def look_in_samples(conn: Conn, tenant: str, pipeline: str, target: str, key: Mapping[str, str]) -> SearchResult:
    """Return the sampled rows of recent loads."""
    if not exists(conn, META, "samples"):
        return SearchResult()
    query = sql.SQL(
        "SELECT run_id, source_file, source_record, row, taken_at FROM flow_meta.samples"
        " WHERE tenant = {} AND pipeline = {} AND node = {} AND kind = 'load' AND {} ORDER BY id DESC"
    ).format(sql.Literal(tenant), sql.Literal(pipeline), sql.Literal(target), _same_texts(key))
    return _look(conn, query)


def _same_texts(key: Mapping[str, str]) -> sql.Composed:
    same = (sql.SQL("row ->> {} = {}").format(sql.Literal(name), sql.Literal(value)) for name, value in key.items())
    return sql.SQL(" AND ").join(same)


def _look(conn: Conn, query: sql.Composed) -> SearchResult:
    """Run a search. Invalid values and exceeded time limits are results; a database error raises."""
    bounded = sql.SQL("{} LIMIT {}").format(query, sql.Literal(MOST_FOUND + 1))
    try:
        with conn.transaction():
            conn.execute("SET TRANSACTION READ ONLY")
            conn.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(sql.Literal(SECONDS * 1000)))
            cursor = conn.cursor(row_factory=dict_row)
            set_json_loads(EXACT, cursor)
            rows = cursor.execute(bounded).fetchall()
    except psycopg.errors.QueryCanceled:
        return SearchResult(trouble=TOO_LONG)
    except psycopg.errors.DataError:
        return UNREADABLE
    except psycopg.errors.InsufficientPrivilege:
        return SearchResult(trouble="The connection's user has no read permission.")
    return SearchResult(tuple(rows[:MOST_FOUND]), len(rows) > MOST_FOUND)


def _has_index(conn: Conn, dest: Destination, name: TableName, key: Mapping[str, str]) -> bool:
    if any(unique & set(key) for unique in dest.unique_keys):
        return True
    with conn.transaction():
        found = conn.execute(
            "SELECT EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
            " WHERE n.nspname = %s AND c.relname = %s AND i.indisvalid AND a.attname = ANY(%s))",
            [name.schema, name.table, list(key)],
        ).fetchone()
    return bool(found and found[0])
