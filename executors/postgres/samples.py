"""Stores some rows of each load, and the newest sample of the source, beside the target for a limited time. They show
which rows a new rule would reject, and where a row was loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb

from executors.load_record import RunRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.load_plan import LoadPlan
from executors.postgres.meta import META
from executors.postgres.staging import is_winner
from executors.stage_plan import FILE, HIDDEN, RECORD

MOST_ROWS, MOST_LOADS, RETENTION_DAYS = 100, 10, 30
LONGEST_ROW = 32 * 1024
"""In characters of its JSON; a longer row is not sampled."""
NO_TYPES: Mapping[str, str] = MappingProxyType({})
AT_RANDOM_FROM = 10_000
"""Below this number of rows, the first rows are sampled; above it, the rows of random pages."""


def keep_samples(conn: Conn, plan: LoadPlan) -> None:
    """Store some of the staged rows in the transaction of their load, and delete samples of older loads."""
    run = plan.run
    conn.execute(_insert(plan))
    conn.execute(
        "DELETE FROM flow_meta.samples WHERE tenant = %(tenant)s AND pipeline = %(pipeline)s AND node = %(node)s"
        " AND kind = 'load' AND (taken_at < now() - make_interval(days => %(days)s) OR run_id NOT IN ("
        "  SELECT run_id FROM flow_meta.samples WHERE tenant = %(tenant)s AND pipeline = %(pipeline)s"
        "  AND node = %(node)s AND kind = 'load' GROUP BY run_id ORDER BY max(id) DESC LIMIT %(loads)s))",
        {"tenant": run.tenant, "pipeline": run.pipeline, "node": run.node, "days": RETENTION_DAYS, "loads": MOST_LOADS},
    )


def _insert(plan: LoadPlan) -> sql.Composed:
    run = plan.run
    return sql.SQL(
        "INSERT INTO flow_meta.samples (tenant, pipeline, node, run_id, source_file, source_record, row, columns,"
        " types) SELECT {tenant}, {pipeline}, {node}, {run_id}, f.name, s.{record}, s.row,"
        " CASE WHEN row_number() OVER () = 1 THEN {columns}::text[] END,"
        " CASE WHEN row_number() OVER () = 1 THEN {types}::text[] END FROM ("
        "SELECT w.{file}, w.{record}, to_jsonb(w.*) - {hidden}::text[] AS row FROM {good} AS w{sample}"
        " WHERE {winner} AND length((w.*)::text) <= {longest} LIMIT {most}) AS s"
        " LEFT JOIN ROWS FROM (unnest({seqs}::int[]), unnest({names}::text[])) AS f(seq, name) ON f.seq = s.{file}"
    ).format(
        tenant=sql.Literal(run.tenant),
        pipeline=sql.Literal(run.pipeline),
        node=sql.Literal(run.node),
        run_id=sql.Literal(run.run_id),
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        columns=sql.Literal([column.name for column in plan.columns]),
        types=sql.Literal([str(column.type) for column in plan.columns]),
        hidden=sql.Literal(list(HIDDEN)),
        good=plan.tables.good_identifier,
        sample=_some_pages(plan.staged),
        winner=is_winner(plan.winners, "w"),
        longest=sql.Literal(LONGEST_ROW),
        most=sql.Literal(MOST_ROWS),
        seqs=sql.Literal([f.seq for f in plan.files]),
        names=sql.Literal([f.name for f in plan.files]),
    )


def _some_pages(staged: int) -> sql.Composable:
    if staged < AT_RANDOM_FROM:
        return sql.SQL("")
    return sql.SQL(" TABLESAMPLE SYSTEM ({})").format(sql.Literal(100.0 * 5 * MOST_ROWS / staged))


def keep_source_sample(
    conn: Conn, run: RunRef, rows: Sequence[tuple[str, int, Mapping[str, Any]]], types: Mapping[str, str] = NO_TYPES
) -> None:
    """Store rows of (file, record, values) as the newest sample of a target's source, in place of the previous one.
    `types` are the types of the columns; other columns are text."""
    sampled = [row for row in rows if sum(len(str(value)) for value in row[2].values()) <= LONGEST_ROW]
    columns = list(dict.fromkeys(name for *_, row in sampled for name in row))
    whose, typed = (run.tenant, run.pipeline, run.node, run.run_id), [types.get(name, "string") for name in columns]
    values = [
        (*whose, file, record, Jsonb(_storable(row)), *((None, None) if index else (columns, typed)))
        for index, (file, record, row) in enumerate(sampled)
    ]
    with conn.transaction(), conn.cursor() as cursor:
        cursor.execute(
            "DELETE FROM flow_meta.samples WHERE tenant = %s AND pipeline = %s AND node = %s AND kind = 'source'",
            [run.tenant, run.pipeline, run.node],
        )
        cursor.executemany(
            "INSERT INTO flow_meta.samples (tenant, pipeline, node, run_id, kind, source_file, source_record, row,"
            " columns, types) VALUES (%s, %s, %s, %s, 'source', %s, %s, %s, %s, %s)",
            values,
        )


def _storable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without NUL characters, which jsonb cannot store."""
    return {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row of a sample. `kind` is `source` or `load`; `types` are the types of the columns."""

    run_id: str
    kind: str
    file: str | None
    record: int | None
    row: Mapping[str, Any]
    taken_at: datetime
    types: Mapping[str, str]


@translate()
def read_samples(conn: Conn, tenant: str, pipeline: str, node: str) -> list[SampleRow]:
    """Return all samples of a target, the oldest first. The values of a row are in the order of its sample's columns,
    which the first row of each sample stores because jsonb has its own order."""
    with conn.transaction():
        if not exists(conn, META, "samples"):
            return []
        rows = conn.execute(
            "SELECT run_id, kind, source_file, source_record, row, taken_at, columns, types"
            " FROM flow_meta.samples WHERE tenant = %s AND pipeline = %s AND node = %s ORDER BY id",
            [tenant, pipeline, node],
        ).fetchall()
    columns = {(run_id, kind): dict(zip(names, types, strict=True)) for run_id, kind, *_, names, types in rows if names}
    return [
        SampleRow(run_id, kind, file, record, _in_order(row, columns[run_id, kind]), taken_at, columns[run_id, kind])
        for run_id, kind, file, record, row, taken_at, *_ in rows
    ]


def _in_order(row: Mapping[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in dict.fromkeys((*columns, *row)) if name in row}


@translate()
def drop_old_samples(conn: Conn) -> int:
    """Delete expired samples, including those of pipelines that no longer run; returns the number of deleted rows."""
    with conn.transaction():
        if not exists(conn, META, "samples"):
            return 0
        old = "DELETE FROM flow_meta.samples WHERE taken_at < now() - make_interval(days => %s)"
        return conn.execute(old, [RETENTION_DAYS]).rowcount
