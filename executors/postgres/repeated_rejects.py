"""Rows that several runs have rejected because a source without files gives them again to each: those at a mark, or
within its lag. One of them is one row of the source, and is loaded once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.names import TableName
from executors.postgres.quarantined import KeptRow, Owner

_CONTENT = sql.SQL("md5(q.row::text)")


def find_repeats(
    conn: Conn, owner: Owner, node: str, rows: Mapping[TableName, Sequence[KeptRow]], tables: Iterable[TableName]
) -> set[str]:
    """The names of those of the rows that are one too many: of equal rows there are as many as one run has rejected,
    less those that were replayed. Mended ones come before others, and newer ones before older ones."""
    equal: dict[str, list[KeptRow]] = defaultdict(list)
    for table, some in rows.items():
        contents = _contents(conn, table, [row.id for row in some])
        for row in some:
            equal[contents.get(row.id, row.name)].append(row)
    replayed: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for table in tables:
        for content, run, row_id in _replayed(conn, owner, node, table, list(equal)):
            replayed[content].add((run, row_id))
    repeats: set[str] = set()
    for content, alike in equal.items():
        most = max(Counter(row.run_id for row in alike).values()) - len(replayed[content])
        best = sorted(alike, key=lambda row: (row.status == "fixed", row.id), reverse=True)
        repeats |= {row.name for row in best[max(most, 0) :]}
    return repeats


def _contents(conn: Conn, table: TableName, ids: Collection[int]) -> dict[int, str]:
    query = sql.SQL("SELECT q.id, {} FROM {} AS q WHERE q.id = ANY({}::bigint[])").format(
        _CONTENT, table.identifier, sql.Literal(list(ids))
    )
    return dict(conn.execute(query).fetchall())


def _replayed(
    conn: Conn, owner: Owner, node: str, table: TableName, contents: Collection[str]
) -> list[tuple[str, str, str]]:
    query = sql.SQL(
        'SELECT DISTINCT {content}, q."runId", q."rowId" FROM {table} AS q WHERE {owned} AND q.status = {replayed}'
        ' AND q."targetNode" = {node} AND {content} = ANY({wanted}::text[])'
    ).format(
        content=_CONTENT, table=table.identifier, owned=owner.holds("q"), replayed=sql.Literal("replayed"),
        node=sql.Literal(node), wanted=sql.Literal(list(contents)),
    )  # fmt: skip
    return conn.execute(query).fetchall()
