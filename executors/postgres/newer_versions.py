"""Closes rejected rows of a mirror whose source row a later load has loaded, deleted or replaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from psycopg import sql

from executors.changes import ChangesRead
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan, winning_rows
from executors.postgres.staged_changes import CHANGE, has_beside, key_column
from executors.postgres.staging import is_winner
from executors.postgres.superseding import Superseded, supersede_all, supersede_where
from executors.rejects import INPUT, SOURCE


def supersede_newer(conn: Conn, plan: LoadPlan, followed: ChangesRead) -> Superseded:
    """Supersede the rejected rows of earlier loads for which this load has a newer version, in its transaction.

    Call this before the rejected rows of this load are stored: all windows of a stream are one run. Rows are compared
    by the text of their key."""
    tables = plan.quarantine.values()
    if followed.is_snapshot or followed.truncates:
        return supersede_all(conn, plan.run, tables)
    return supersede_where(conn, plan.run, tables, _has_newer(plan, followed))


def _has_newer(plan: LoadPlan, followed: ChangesRead) -> sql.Composed:
    """Return a condition: the rejected row `q` has the key of a staged row, of a deletion, or of a row that this load
    rejects."""
    again = sql.SQL("SELECT {} FROM {} AS r WHERE {}").format(
        _key_of_json(followed, sql.SQL("r.row_from"), sql.SQL("r.row::jsonb")),
        plan.tables.rejects_identifier,
        is_winner(plan.winners, "r"),
    )
    return sql.SQL("({}) IN ({})").format(
        _key_of_json(followed, sql.SQL('q."rowFrom"'), sql.SQL("q.row")),
        sql.SQL(" UNION ALL ").join([*_keys(plan, followed), again]),
    )


def _key_of_json(followed: ChangesRead, row_from: sql.SQL, row: sql.SQL) -> sql.Composed:
    """Return the key in a rejected row, which has the columns of the source or those of the target."""
    origin = {copy: source for source, copies in followed.copies.items() for copy in copies}
    return sql.SQL(", ").join(
        sql.SQL("CASE {} WHEN {} THEN {}->>{} WHEN {} THEN {}->>{} END").format(
            row_from, SOURCE, row, origin.get(name, name), INPUT, row, name
        )
        for name in followed.key
    )


def _keys(plan: LoadPlan, followed: ChangesRead) -> Iterator[sql.Composed]:
    yield sql.SQL("SELECT {} FROM {} AS s").format(
        _columns("s.{}::text", map(sql.Identifier, followed.key)), winning_rows(plan)
    )
    if has_beside(followed):
        yield sql.SQL("SELECT {} FROM {} AS c WHERE c.{} IS NULL").format(
            _columns("c.{}", map(key_column, range(len(followed.key)))), plan.tables.beside, sql.Identifier(CHANGE)
        )


def _columns(form: str, names: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(sql.SQL(form).format(name) for name in names)
