"""Finds the files that a run reads again among those of earlier runs. The search stays in the database: there is no
limit for the number of rejected rows, files and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadFile
from executors.postgres.names import identifier_of
from executors.table_name import TableName

# Postgres compares the elements of `files_done && ...` in pairs, but looks up `= ANY` in a hash table.
_RUNS_BEFORE = """
FROM flow_meta.load_commits
WHERE tenant = {tenant} AND pipeline = {pipeline} AND node = {node} AND run_id <> {run} AND kind <> 'replay'
AND undone_by IS NULL AND reject_tables <> '{{}}'
AND EXISTS (SELECT FROM unnest(files_done) AS done(sha256) WHERE done.sha256 = ANY({units}::text[]))"""

_FILES = """
WITH units AS MATERIALIZED (SELECT * FROM unnest({units}::text[], {names}::text[]) AS unit(sha256, name)),
known AS (
SELECT DISTINCT ON ("runId", "sourceFile") "runId" AS run_id, "sourceFile" AS name, "sourceRecord" AS record,
"rowId" AS row_id FROM {table} AS entry
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node}
AND "runId" = ANY(ARRAY(SELECT run_id {runs_before})) AND "sourceFile" IS NOT NULL AND "sourceRecord" IS NOT NULL
AND {which})
SELECT run_id, name_then, name_now FROM (
SELECT known.run_id, known.name AS name_then, CASE WHEN {id_of_same} = known.row_id THEN same.name
ELSE (SELECT other.name FROM units AS other WHERE {id_of_other} = known.row_id LIMIT 1) END AS name_now
FROM known LEFT JOIN units AS same ON same.name = known.name) AS read_again WHERE name_now IS NOT NULL"""

_ROW_ID = """
left(encode(sha256(convert_to(
concat_ws(E'\\n', known.run_id, {node}, {unit}.sha256, known.record), 'UTF8')), 'hex'), 32)"""

ALL_ENTRIES = sql.SQL("TRUE")


@contextmanager
def joins_by_hash(conn: Conn) -> Iterator[None]:
    """Let statements of the transaction join without nested loops: before the statistics of a quarantine table are
    up to date, the server expects one row and would compare each entry with each file."""
    conn.execute("SET LOCAL enable_nestloop = off")
    yield
    conn.execute("SET LOCAL enable_nestloop TO DEFAULT")


def units_of(files: Sequence[LoadFile]) -> list[LoadFile]:
    """Return the files that are load units. The content identifies them, so each content is listed once."""
    return list({file.sha256: file for file in files if file.is_unit}.values())


def tables_read_before(conn: Conn, run: RunRef, units: Sequence[LoadFile]) -> tuple[str, ...]:
    """Return the quarantine tables of earlier runs that have read one of the units."""
    names = sql.SQL("SELECT DISTINCT unnest(reject_tables) AS name {} ORDER BY name").format(_runs_before(run, units))
    return tuple(name for (name,) in conn.execute(names).fetchall()) if units else ()


def files_read_again(
    run: RunRef, table: TableName, units: Sequence[LoadFile], which: sql.Composable = ALL_ENTRIES
) -> sql.Composed:
    """Return a query for the files of earlier runs that the run reads again, as (run_id, name_then, name_now): the
    content is the same, but the name may have changed. It finds files with entries in the table for which `which` is
    true. The content of a file is part of the ids of its rows (`executors.rejects.row_id`)."""
    return sql.SQL(_FILES).format(
        **_literals(run, units),
        names=sql.Literal([unit.name for unit in units]),
        table=identifier_of(table),
        runs_before=_runs_before(run, units),
        which=which,
        id_of_same=_row_id(run, "same"),
        id_of_other=_row_id(run, "other"),
    )


def _runs_before(run: RunRef, units: Sequence[LoadFile]) -> sql.Composed:
    return sql.SQL(_RUNS_BEFORE).format(run=sql.Literal(run.run_id), **_literals(run, units))


def _row_id(run: RunRef, unit: str) -> sql.Composed:
    return sql.SQL(_ROW_ID).format(node=sql.Literal(run.node), unit=sql.Identifier(unit))


def _literals(run: RunRef, units: Sequence[LoadFile]) -> dict[str, sql.Literal]:
    """With parameters, psycopg would interpret a % in the name of a table."""
    return {
        "tenant": sql.Literal(run.tenant),
        "pipeline": sql.Literal(run.pipeline),
        "node": sql.Literal(run.node),
        "units": sql.Literal([unit.sha256 for unit in units]),
    }
