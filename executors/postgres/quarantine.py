"""Writes to quarantine tables: rejected rows of loads, and their changes when loads are undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from psycopg import sql

from executors.load_record import RunRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.fences import require_fence
from executors.postgres.meta import find_commit
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_table import ensure_quarantine, probe_quarantine
from executors.postgres.staging import StagingTables, is_winner, one_number
from executors.postgres.superseding import can_update
from executors.postgres.valid_input import is_valid_input
from executors.table_name import TableName

__all__ = [
    "close_not_loaded",
    "close_replayed",
    "count_as_loaded",
    "count_as_not_loaded",
    "ensure_quarantine",
    "keep_rejects",
    "probe_quarantine",
    "reopen_replayed",
    "write_rejects",
]


def write_rejects(
    conn: Conn,
    run: RunRef,
    tables: StagingTables,
    winners: Sequence[int],
    table_of_node: Mapping[str, str],
    *,
    disposition: str | None = None,
    only_loaded: bool = False,
) -> tuple[int, int]:
    """Move the reject stage into the quarantine tables, in the caller's transaction; returns (rows, entries) stored.

    `table_of_node` maps a node to the quarantine table of its rejects. Entries of older attempts of this run and target
    are replaced. `only_loaded` skips the entries of dropped rows.
    """
    entries = 0
    for table in dict.fromkeys(table_of_node.values()):
        nodes = [node for node, name in table_of_node.items() if name == table]
        rejects = _rejects(tables, winners, nodes, only_loaded)
        if _is_missing(conn, table) and not _count_rows(conn, rejects):
            continue
        entries += _replace(conn, run, TableName.parse(table), rejects, disposition)
    rows = _count_rows(conn, _rejects(tables, winners, list(table_of_node), only_loaded)) if entries else 0
    return rows, entries


def _is_missing(conn: Conn, table: str) -> bool:
    """Return whether the table is missing because no row was ever rejected."""
    name = TableName.parse(table)
    return not exists(conn, name.schema, name.table)


def _rejects(
    tables: StagingTables, winners: Sequence[int], nodes: Sequence[str], only_loaded: bool = False
) -> sql.Composed:
    loaded = sql.SQL("r.disposition = 'loaded'" if only_loaded else "true")
    return sql.SQL("{} AS r WHERE {} AND r.node = ANY({}::text[]) AND {}").format(
        tables.rejects_identifier, is_winner(winners, "r"), sql.Literal(list(nodes)), loaded
    )


def _count_rows(conn: Conn, rejects: sql.Composed) -> int:
    return one_number(conn, sql.SQL("SELECT count(DISTINCT r.row_id) FROM {}").format(rejects))


def _replace(conn: Conn, run: RunRef, name: TableName, rejects: sql.Composed, disposition: str | None) -> int:
    # Earlier windows of a stream have loaded other rows; only what a failed one has stored is read again.
    which = sql.SQL("disposition = 'not_loaded'" if run.is_window else "true")
    conn.execute(
        sql.SQL('DELETE FROM {} WHERE "pipelineId" = {} AND "runId" = {} AND "targetNode" = {} AND {}').format(
            identifier_of(name), sql.Literal(run.pipeline), sql.Literal(run.run_id), sql.Literal(run.node), which
        )
    )
    values = {
        "pipelineId": sql.Literal(run.pipeline),
        "runId": sql.Literal(run.run_id),
        "nodeId": sql.SQL("r.node"),
        "ruleId": sql.SQL("r.rule_id"),
        "row": _json_row(conn),
        "rowId": sql.SQL("r.row_id"),
        "field": sql.SQL("r.field"),
        "message": sql.SQL("r.message"),
        "severity": sql.SQL("r.severity"),
        "disposition": sql.SQL("r.disposition") if disposition is None else sql.Literal(disposition),
        "attempt": sql.Literal(run.attempt),
        "targetNode": sql.Literal(run.node),
        "sourceFile": sql.SQL("r.source_file"),
        "sourceNode": sql.SQL("r.source_node"),
        "sourceRecord": sql.SQL("r.record"),
        "rowFrom": sql.SQL("r.row_from"),
        "tenant": sql.Literal(run.tenant),
    }
    # A failed window may have committed after all; then its entries exist.
    unless = sql.SQL(" ON CONFLICT DO NOTHING" if run.is_window and disposition else "")
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} ORDER BY r.file, r.record, r.node, r.rule_id{}").format(
        identifier_of(name),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(values.values()),
        rejects,
        unless,
    )
    return conn.execute(statement).rowcount


def _json_row(conn: Conn) -> sql.Composed:
    """Return the row as jsonb. A row that jsonb cannot represent is stored as marked text, so that no row makes the
    quarantine fail."""
    row = sql.SQL("r.row")
    return sql.SQL("CASE WHEN {} THEN r.row::jsonb ELSE jsonb_build_object('_flow_text', r.row) END").format(
        is_valid_input(conn, row, "jsonb")
    )


def close_not_loaded(conn: Conn, run: RunRef, tables: Iterable[str], files: Sequence[tuple[str, str]]) -> None:
    """Close the entries of earlier runs that loaded nothing, because their files are loaded now; in the caller's
    transaction. `files` are names of files, each with the head that read it."""
    for table in dict.fromkeys(tables):
        if _is_missing(conn, table):
            continue
        conn.execute(
            sql.SQL(
                "UPDATE {} SET status = 'fixed', \"fixedBy\" = {}"
                ' WHERE tenant = {} AND "pipelineId" = {} AND "targetNode" = {}'
                " AND EXISTS (SELECT FROM ROWS FROM (unnest({}::text[]), unnest({}::text[])) AS f(name, head)"
                ' WHERE f.name = "sourceFile" AND f.head IN (\'\', "sourceNode"))'
                " AND disposition = 'not_loaded' AND status = 'open'"
                ' AND "runId" <> {}'
            ).format(
                identifier_of(TableName.parse(table)),
                sql.Literal(f"run {run.run_id}"),
                sql.Literal(run.tenant),
                sql.Literal(run.pipeline),
                sql.Literal(run.node),
                sql.Literal([name for name, _ in files]),
                sql.Literal([head for _, head in files]),
                sql.Literal(run.run_id),
            )
        )


_UNDECIDED = sql.SQL("(status = 'open' OR (status = 'fixed' AND \"fixedRow\" IS NOT NULL))")
"""Entries of rows that can still be replayed. Entries closed by a successful run are `fixed` too, but have no fixed
row."""

_REOPEN = """
UPDATE {} SET status = CASE WHEN "fixedRow" IS NULL THEN 'open' ELSE 'fixed' END, revision = revision + 1
WHERE tenant = {} AND "pipelineId" = {} AND "targetNode" = {} AND "replayRun" = ANY({}::text[])
AND status = 'replayed'"""

_CLOSE_AGAIN = """
UPDATE {} SET status = 'replayed', revision = revision + 1
WHERE tenant = {} AND "pipelineId" = {} AND "targetNode" = {} AND "replayRun" = ANY({}::text[])
AND status IN ('open', 'fixed') AND "replayResult" = 'loaded'"""


def reopen_replayed(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Reset the rows that undone replays had loaded to their previous status; in the caller's transaction."""
    _change_replayed(conn, run, run_ids, tables, _REOPEN)


def close_replayed(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Mark the rows of replays that count again as replayed, unless another replay has processed them since."""
    _change_replayed(conn, run, run_ids, tables, _CLOSE_AGAIN)


def _change_replayed(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str], change: str) -> None:
    for name in map(TableName.parse, tables):
        if can_update(conn, name):
            conn.execute(sql.SQL(change).format(identifier_of(name), *_of_runs(run, run_ids)))


def _of_runs(run: RunRef, run_ids: Sequence[str]) -> list[sql.Literal]:
    """Return literals: with parameters, psycopg would interpret a % in the name of a table."""
    return [sql.Literal(value) for value in (run.tenant, run.pipeline, run.node, list(run_ids))]


def count_as_not_loaded(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Mark the open entries of undone loads as those of runs that loaded nothing; in the caller's transaction.

    The next successful run over the same files closes them. A table that no longer exists has no entries.
    """
    for name in map(TableName.parse, tables):
        if exists(conn, name.schema, name.table):
            conn.execute(
                sql.SQL(
                    "UPDATE {} SET disposition = 'not_loaded' WHERE tenant = {} AND \"pipelineId\" = {}"
                    ' AND "targetNode" = {} AND "runId" = ANY({}::text[]) AND {}'
                ).format(identifier_of(name), *_of_runs(run, run_ids), _UNDECIDED)
            )


_COUNT_AS_LOADED = """
UPDATE {} AS q SET disposition = CASE WHEN {} THEN 'dropped' ELSE 'loaded' END
WHERE tenant = {} AND "pipelineId" = {} AND "targetNode" = {} AND "runId" = ANY({}::text[]) AND {}
AND disposition = 'not_loaded'"""

_IS_SKIPPED = """EXISTS (
    SELECT FROM {} AS s WHERE s."runId" = q."runId" AND s."targetNode" = q."targetNode" AND s."rowId" = q."rowId"
    AND s.severity = 'skip'
)"""


def count_as_loaded(conn: Conn, run: RunRef, run_ids: Sequence[str], tables: Iterable[str]) -> None:
    """Restore the disposition of open entries of loads that count again: `dropped` if a rule skipped the row, else
    `loaded`. The entry of that rule may be in another of their tables."""
    names = [name for name in map(TableName.parse, tables) if exists(conn, name.schema, name.table)]
    is_skipped = sql.SQL(" OR ").join(sql.SQL(_IS_SKIPPED).format(identifier_of(name)) for name in names)
    for name in names:
        whose = _of_runs(run, run_ids)
        conn.execute(sql.SQL(_COUNT_AS_LOADED).format(identifier_of(name), is_skipped, *whose, _UNDECIDED))


@translate()
def keep_rejects(
    conn: Conn, run: RunRef, tables: StagingTables, winners: Sequence[int], table_of_node: Mapping[str, str]
) -> tuple[int, int]:
    """Store the rejects of a failed load in a transaction of their own; returns (rows, entries) stored.

    Does nothing if the load has committed after all (a lost answer). Raises LeaseLost if there is a newer fence.
    """
    with conn.transaction():
        require_fence(conn, run)
        if not run.is_window and find_commit(conn, run):
            return 0, 0
        return write_rejects(conn, run, tables, winners, table_of_node, disposition="not_loaded")
