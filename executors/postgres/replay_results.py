"""Stores the result of each row of a replay beside the target, without values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.rows import class_row

from executors.load_record import RunRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.fences import require_fence
from executors.postgres.meta import META, find_commit
from executors.rejected_rows import RowResult

RETENTION_DAYS = 730
"""The same retention as for decisions about rejected rows."""
LAST = "loaded"
"""The result that needs no attention is listed last."""


@dataclass(frozen=True, slots=True)
class StoredResult(RowResult):
    """A stored result. `position` is its number in the list of its replay."""

    position: int = 0


_COLUMNS = ("entry", "row_run", "row_id", "source_file", "source_record", "result", "rules")


def write_results(conn: Conn, run: RunRef, results: Iterable[RowResult]) -> None:
    """Store the results of a replay in the order in which the rows were rejected, loaded rows last; in the caller's
    transaction. Results of an earlier attempt are replaced."""
    conn.execute("DELETE FROM flow_meta.replay_results WHERE run_id = %s AND node = %s", [run.run_id, run.node])
    ordered = sorted(results, key=lambda one: (one.result == LAST, one.entry))
    names = sql.SQL(", ").join(map(sql.Identifier, ("run_id", "node", "place", *_COLUMNS)))
    copy = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(META, "replay_results"), names)
    with conn.cursor() as cursor, cursor.copy(copy) as out:
        for position, one in enumerate(ordered, start=1):
            out.write_row(
                (run.run_id, run.node, position, *(getattr(one, name) for name in _COLUMNS[:-1]), list(one.rules))
            )


@translate()
def keep_results_of_nothing(conn: Conn, run: RunRef, results: Sequence[RowResult]) -> None:
    """Store the results of a replay that found nothing to load, in a transaction of its own. Raises LeaseLost if the
    fence is newer. If the run has committed after all, its commit has stored the results."""
    with conn.transaction():
        require_fence(conn, run)
        if find_commit(conn, run) is None:
            write_results(conn, run, results)


@translate()
def count_results(conn: Conn, run_id: str, node: str) -> Mapping[str, int]:
    """Return the numbers of rows of a replay by result; empty if it stored no results."""
    with conn.transaction():
        if not exists(conn, META, "replay_results"):
            return {}
        query = "SELECT result, count(*) FROM flow_meta.replay_results WHERE run_id = %s AND node = %s GROUP BY result"
        return dict(conn.execute(query, [run_id, node]).fetchall())


@translate()
def read_results(
    conn: Conn, run_id: str, node: str, *, result: str | None = None, after: int = 0, limit: int = 50
) -> list[StoredResult]:
    """Up to `limit` rows of a replay after the position `after`: all, or those with one result."""
    with conn.transaction():
        if not exists(conn, META, "replay_results"):
            return []
        query = sql.SQL(
            "SELECT place AS position, {} FROM flow_meta.replay_results"
            " WHERE run_id = {} AND node = {} AND place > {} AND {} ORDER BY place LIMIT {}"
        ).format(
            sql.SQL(", ").join(map(sql.Identifier, _COLUMNS)),
            sql.Literal(run_id),
            sql.Literal(node),
            sql.Literal(after),
            sql.SQL("true" if result is None else "result = {}").format(sql.Literal(result)),
            sql.Literal(limit),
        )
        return conn.cursor(row_factory=class_row(StoredResult)).execute(query).fetchall()


@translate()
def drop_old_results(conn: Conn) -> int:
    """Delete expired results; returns the number of deleted rows."""
    with conn.transaction():
        if not exists(conn, META, "replay_results"):
            return 0
        old = "DELETE FROM flow_meta.replay_results WHERE told_at < now() - make_interval(days => %s)"
        return conn.execute(old, [RETENTION_DAYS]).rowcount
