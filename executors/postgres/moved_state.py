"""Reads and writes the state of a pipeline in a target database, to move it to another installation.

Load records and watermarks are moved, row values are not: after a move, the next load looks in the table for rows at or
above the watermark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from executors.postgres.client import Session
from executors.postgres.meta_tables import TABLES
from executors.table_name import quoted

COMMIT_COLUMNS = tuple(c for c in TABLES["load_commits"].columns if c not in ("tenant", "pipeline", "target_oid"))
_JSON = ("source_fields", "record")
WATERMARK_COLUMNS = ("target_schema", "target_table", "column_name", "type", "value", "changed_at")
_OWNED = ("fences", "load_commits", "pipeline_watermarks", "watermark_changes", "backups", "samples")
AT_ONCE = 200


@dataclass
class WrittenState:
    """The result of writing moved state to one target database. `reloaded` are nodes whose table is missing or empty:
    their records were not written, so that their files load again. `newer` are tables with a newer watermark in this
    database. `unmarked` are missing or empty tables: without a watermark, the next load reads from the beginning."""

    adopted: int = 0
    commits: int = 0
    watermarks: int = 0
    reloaded: set[str] = field(default_factory=set)
    newer: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)


def has_meta(conn: Session) -> bool:
    row = conn.execute("SELECT to_regclass('flow_meta.load_commits') IS NOT NULL").fetchone()
    return bool(row and row[0])


def read_commits(conn: Session, tenant: str, pipeline: str) -> Iterator[dict[str, Any]]:
    """Yield every load record of a pipeline, the oldest first, fetched in batches."""
    query = sql.SQL("SELECT {} FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s ORDER BY token, node")
    with conn.transaction(), conn.cursor("moved_commits", row_factory=dict_row) as cursor:
        cursor.itersize = AT_ONCE
        yield from cursor.execute(query.format(_names(COMMIT_COLUMNS)), [tenant, pipeline])


def read_watermarks(conn: Session, tenant: str, pipeline: str) -> list[dict[str, Any]]:
    query = sql.SQL("SELECT {} FROM flow_meta.pipeline_watermarks WHERE tenant = %s AND pipeline = %s ORDER BY 1, 2")
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.format(_names(WATERMARK_COLUMNS)), [tenant, pipeline]).fetchall()


def adopt(conn: Session, before: str, tenant: str, pipeline: str) -> int:
    """Assign the data of the workspace `before` to `tenant`; returns the number of load records. Existing data of
    `tenant` is not changed."""
    if before == tenant:
        return 0
    adopted = 0
    for table in _OWNED:
        keys = [key for key in TABLES[table].key.split(", ") if key != "tenant"]
        query = sql.SQL(
            "UPDATE flow_meta.{table} AS t SET tenant = %s WHERE tenant = %s AND pipeline = %s AND NOT EXISTS"
            " (SELECT 1 FROM flow_meta.{table} AS o WHERE o.tenant = %s AND {same})"
        )
        same = sql.SQL(" AND ").join(sql.SQL("o.{0} = t.{0}").format(sql.Identifier(key)) for key in keys)
        cursor = conn.execute(query.format(table=sql.Identifier(table), same=same), [tenant, before, pipeline, tenant])
        adopted += cursor.rowcount if table == "load_commits" else 0
    return adopted


def write_commits(
    conn: Session, tenant: str, pipeline: str, commits: Iterable[dict[str, Any]], written: WrittenState
) -> None:
    """Write the load records that the database lacks, for tables with rows, in the caller's transaction."""
    columns = ("tenant", "pipeline", "target_oid", *COMMIT_COLUMNS)
    statement = sql.SQL(
        "INSERT INTO flow_meta.load_commits ({}) VALUES (%s, %s, to_regclass(%s)::oid::bigint, {})"
        " ON CONFLICT (run_id, node) DO NOTHING"
    ).format(_names(columns), sql.SQL(", ").join(sql.Placeholder() for _ in COMMIT_COLUMNS))
    filled: dict[tuple[str, str], bool] = {}
    for commit in commits:
        table = (commit["target_schema"], commit["target_table"])
        if table not in filled:
            filled[table] = holds_rows(conn, *table)
        if not filled[table]:
            if not _is_known(conn, commit):
                written.reloaded.add(commit["node"])
            continue
        values = [Jsonb(commit[c]) if c in _JSON else commit[c] for c in COMMIT_COLUMNS]
        written.commits += conn.execute(statement, [tenant, pipeline, quoted(*table), *values]).rowcount


def write_watermark(
    conn: Session, tenant: str, pipeline: str, watermark: dict[str, Any], written: WrittenState
) -> None:
    """Write a watermark in the caller's transaction, unless the one here was changed later. The later change wins."""
    table = (watermark["target_schema"], watermark["target_table"])
    key = [tenant, pipeline, *table]
    found = conn.execute(
        "SELECT value, changed_at FROM flow_meta.pipeline_watermarks"
        " WHERE tenant = %s AND pipeline = %s AND target_schema = %s AND target_table = %s FOR UPDATE",
        key,
    ).fetchone()
    if found and found[1] >= datetime.fromisoformat(watermark["changed_at"]):
        if found[0] != watermark["value"]:
            written.newer.append(".".join(table))
        return
    if not holds_rows(conn, *table):
        written.unmarked += [] if found else [".".join(table)]
        return
    values = [watermark[c] for c in ("column_name", "type", "value", "changed_at")]
    conn.execute(
        "INSERT INTO flow_meta.pipeline_watermarks AS w (tenant, pipeline, target_schema, target_table, column_name,"
        " type, value, changed_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, pipeline, target_schema, target_table) DO UPDATE SET column_name = EXCLUDED.column_name,"
        " type = EXCLUDED.type, value = EXCLUDED.value, known_from = NULL, hashed = NULL,"
        " revision = w.revision + 1, changed_at = EXCLUDED.changed_at",
        [*key, *values],
    )
    conn.execute(
        "DELETE FROM flow_meta.watermark_boundary_rows WHERE watermark = (SELECT id FROM flow_meta.pipeline_watermarks"
        " WHERE tenant = %s AND pipeline = %s AND target_schema = %s AND target_table = %s)",
        key,
    )
    conn.execute(
        "INSERT INTO flow_meta.watermark_changes (tenant, pipeline, target_schema, target_table, action, changed_by,"
        " reason, column_name, old_value, new_value) VALUES (%s, %s, %s, %s, 'set', 'state import', %s, %s, %s, %s)",
        [*key, "Moved from another installation", values[0], found[0] if found else None, values[2]],
    )
    written.watermarks += 1


def _is_known(conn: Session, commit: dict[str, Any]) -> bool:
    query = "SELECT 1 FROM flow_meta.load_commits WHERE run_id = %s AND node = %s"
    return conn.execute(query, [commit["run_id"], commit["node"]]).fetchone() is not None


def holds_rows(conn: Session, schema: str, table: str) -> bool:
    row = conn.execute("SELECT to_regclass(%s) IS NOT NULL", [quoted(schema, table)]).fetchone()
    if not (row and row[0]):
        return False
    query = sql.SQL("SELECT EXISTS (SELECT 1 FROM {})").format(sql.Identifier(schema, table))
    row = conn.execute(query).fetchone()
    return bool(row and row[0])


def _names(columns: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))
