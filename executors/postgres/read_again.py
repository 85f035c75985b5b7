"""Finds the files that a run reads again among those of earlier runs. The search stays in the database: there is no
limit for the number of rejected rows, files and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from psycopg import sql

from executors.load_record import LoadFile, RunRef
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.table_name import TableName

# Postgres compares the elements of `files_done && ...` in pairs, but looks up `= ANY` in a hash table.
_RUNS_BEFORE = """
FROM flow_meta.load_commits
WHERE tenant = {tenant} AND pipeline = {pipeline} AND node = {node} AND run_id <> {run} AND kind <> 'replay'
AND undone_by IS NULL AND reject_tables <> '{{}}'
AND EXISTS (SELECT FROM unnest(files_done) AS done(sha256) WHERE done.sha256 = ANY({units}::text[]))"""

_FILES = """
WITH units AS MATERIALIZED (SELECT * FROM unnest({units}::text[], {names}::text[], {sources}::text[], {heads}::text[])
AS unit(sha256, name, source, head)),
known AS (
SELECT DISTINCT ON ("runId", "sourceFile", coalesce("sourceNode", '')) "runId" AS run_id, "sourceFile" AS name,
coalesce("sourceNode", '') AS source, "sourceRecord" AS record, "rowId" AS row_id FROM {table} AS entry
WHERE tenant = {tenant} AND "pipelineId" = {pipeline} AND "targetNode" = {node}
AND "runId" = ANY(ARRAY(SELECT run_id {runs_before})) AND "sourceFile" IS NOT NULL AND "sourceRecord" IS NOT NULL
AND {which})
SELECT run_id, name_then, source_then, now[1] AS name_now, now[2] AS source_now FROM (
SELECT known.run_id, known.name AS name_then, known.source AS source_then,
CASE WHEN {is_same} THEN ARRAY[same.name, same.source]
ELSE (SELECT ARRAY[other.name, other.source] FROM units AS other WHERE {is_other} LIMIT 1) END AS now
FROM known LEFT JOIN units AS same ON same.name = known.name AND {may_be_same}) AS read_again WHERE now IS NOT NULL"""

_MAY_BE = "({unit}.head IN ('', known.source) OR known.source <> ALL ({united}::text[]))"
"""Whether a unit of a head may be a file of a source node: the same one, or one that the target no longer has."""

_IS = """
(known.row_id IN (left(encode(sha256(convert_to({id}, 'UTF8')), 'hex'), 32),
left(encode(sha256(convert_to(concat_ws(E'\\n', {id}, known.source), 'UTF8')), 'hex'), 32)) AND {may_be})"""

_ID = "concat_ws(E'\\n', known.run_id, {node}, {unit}.sha256, known.record)"

ALL_ENTRIES = sql.SQL("TRUE")


@contextmanager
def joins_by_hash(conn: Conn) -> Iterator[None]:
    """Let statements of the transaction join without nested loops: before the statistics of a quarantine table are
    up to date, the server expects one row and would compare each entry with each file."""
    conn.execute("SET LOCAL enable_nestloop = off")
    yield
    conn.execute("SET LOCAL enable_nestloop TO DEFAULT")


def units_of(files: Sequence[LoadFile]) -> list[LoadFile]:
    """Return the files that are load units. The content identifies them, so each content of a head is listed once."""
    return list({(file.sha256, file.head): file for file in files if file.is_unit}.values())


def tables_read_before(conn: Conn, run: RunRef, units: Sequence[LoadFile]) -> tuple[str, ...]:
    """Return the quarantine tables of earlier runs that have read one of the units."""
    names = sql.SQL("SELECT DISTINCT unnest(reject_tables) AS name {} ORDER BY name").format(_runs_before(run, units))
    return tuple(name for (name,) in conn.execute(names).fetchall()) if units else ()


def files_read_again(
    run: RunRef,
    table: TableName,
    units: Sequence[LoadFile],
    united: Sequence[str] = (),
    which: sql.Composable = ALL_ENTRIES,
) -> sql.Composed:
    """Return a query for the files of earlier runs that the run reads again, as (run_id, name_then, source_then,
    name_now, source_now): the content is the same, but the name may have changed. It finds files with entries in the
    table for which `which` is true. The content of a file is part of the ids of its rows (`executors.rejects.row_id`).
    `united` are the source nodes of the target if it has several."""
    return sql.SQL(_FILES).format(
        **_literals(run, units),
        names=sql.Literal([unit.name for unit in units]),
        sources=sql.Literal([unit.source for unit in units]),
        heads=sql.Literal([unit.head for unit in units]),
        table=identifier_of(table),
        runs_before=_runs_before(run, units),
        which=which,
        may_be_same=_may_be("same", united),
        is_same=_is(run, "same", united),
        is_other=_is(run, "other", united),
    )


def _runs_before(run: RunRef, units: Sequence[LoadFile]) -> sql.Composed:
    return sql.SQL(_RUNS_BEFORE).format(run=sql.Literal(run.run_id), **_literals(run, units))


def _may_be(unit: str, united: Sequence[str]) -> sql.Composed:
    return sql.SQL(_MAY_BE).format(unit=sql.Identifier(unit), united=sql.Literal(list(united)))


def _is(run: RunRef, unit: str, united: Sequence[str]) -> sql.Composed:
    an_id = sql.SQL(_ID).format(node=sql.Literal(run.node), unit=sql.Identifier(unit))
    return sql.SQL(_IS).format(id=an_id, may_be=_may_be(unit, united))


def _literals(run: RunRef, units: Sequence[LoadFile]) -> dict[str, sql.Literal]:
    """With parameters, psycopg would interpret a % in the name of a table."""
    return {
        "tenant": sql.Literal(run.tenant),
        "pipeline": sql.Literal(run.pipeline),
        "node": sql.Literal(run.node),
        "units": sql.Literal([unit.sha256 for unit in units]),
    }
