"""Rows that several runs have rejected because a source without files returned them several times: those at a
watermark, or within its lag. They are one row of the source, which is loaded once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owner, is_owned
from executors.rejected_rows import RejectedRow, StandIns
from executors.table_name import TableName

_CONTENT = sql.SQL("md5(q.row::text)")


def find_repeats(
    conn: Conn, owner: Owner, node: str, rows: Mapping[TableName, Sequence[RejectedRow]], tables: Iterable[TableName]
) -> dict[str, StandIns]:
    """Return the surplus rows by name, with the reason for each. Of equal rows, as many are loaded as one run has
    rejected, minus those that were replayed. Fixed rows take precedence over others, and newer ones over older ones."""
    equal: dict[str, list[RejectedRow]] = defaultdict(list)
    for table, some in rows.items():
        contents = contents_of(conn, table, [row.id for row in some])
        for row in some:
            equal[contents.get(row.id, row.name)].append(row)
    replayed: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for table in tables:
        for content, run, row_id, replay in _replayed(conn, owner, node, table, list(equal)):
            replayed[content][run, row_id] = replay
    repeats: dict[str, StandIns] = {}
    for content, alike in equal.items():
        most = max(Counter(row.run_id for row in alike).values()) - len(replayed[content])
        best = sorted(alike, key=lambda row: (row.status == "fixed", row.id), reverse=True)
        retained, others = best[: max(most, 0)], best[max(most, 0) :]
        replays = [] if retained else sorted(replayed[content].values())
        stand_ins = StandIns(frozenset(row.name for row in retained), replays[-1] if replays else None)
        repeats |= dict.fromkeys((row.name for row in others), stand_ins)
    return repeats


def contents_of(conn: Conn, table: TableName, ids: Collection[int]) -> dict[int, str]:
    """Return a digest of each entry's row: equal rows have equal digests."""
    query = sql.SQL("SELECT q.id, {} FROM {} AS q WHERE q.id = ANY({}::bigint[])").format(
        _CONTENT, identifier_of(table), sql.Literal(list(ids))
    )
    return dict(conn.execute(query).fetchall())


def _replayed(
    conn: Conn, owner: Owner, node: str, table: TableName, contents: Collection[str]
) -> list[tuple[str, str, str, str]]:
    query = sql.SQL(
        'SELECT DISTINCT {content}, q."runId", q."rowId", q."replayRun" FROM {table} AS q WHERE {owned}'
        ' AND q.status = {replayed} AND q."targetNode" = {node} AND {content} = ANY({wanted}::text[])'
    ).format(
        content=_CONTENT,
        table=identifier_of(table),
        owned=is_owned(owner, "q"),
        replayed=sql.Literal("replayed"),
        node=sql.Literal(node),
        wanted=sql.Literal(list(contents)),
    )
    return conn.execute(query).fetchall()


def runs_with(
    conn: Conn, owner: Owner, node: str, table: TableName, contents: Collection[str]
) -> list[tuple[str, str]]:
    """Return the runs that have rejected rows with these digests on the path to the target `node`, as (digest, run)."""
    query = sql.SQL(
        'SELECT DISTINCT {content}, q."runId" FROM {table} AS q WHERE {owned} AND q."targetNode" = {node}'
        " AND {content} = ANY({wanted}::text[])"
    ).format(
        content=_CONTENT,
        table=identifier_of(table),
        owned=is_owned(owner, "q"),
        node=sql.Literal(node),
        wanted=sql.Literal(list(contents)),
    )
    return conn.execute(query).fetchall()
