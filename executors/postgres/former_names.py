"""Former names of the columns of rejected rows: a row that was rejected before its column was renamed has the value
under the old name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from psycopg import sql

from executors.model import SourceField
from executors.postgres.ddl import Conn, exists
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owner
from executors.reading import united_fields
from executors.rejected_rows import Choice

FormerNames = Mapping[str, tuple[str, ...]]
"""The former names of columns by their present ones, the newest first."""


def former_names(conn: Conn, owner: Owner, node: str, choice: Choice, renamed: Mapping[str, str]) -> FormerNames:
    """Return the former names of columns of the chosen rows: those that loads of the target have followed, and
    `renamed` of the source (the new names with the old ones). A name is no former one while a row has both."""
    found: dict[str, tuple[str, ...]] = {}
    for old, new in [*_followed(conn, owner, node), *((old, new) for new, old in renamed.items())]:
        if old == new or old in found.get(new, ()) or _has_both(conn, choice, old, new):
            continue
        found[new] = (old, *found.pop(old, ()), *found.get(new, ()))
    return found


def _followed(conn: Conn, owner: Owner, node: str) -> list[tuple[str, str]]:
    """Return the renames that loads have followed, each as the old and the new name, the oldest first."""
    if not exists(conn, "flow_meta", "load_commits"):
        return []
    return conn.execute(
        "SELECT c ->> 'before', c ->> 'after' FROM flow_meta.load_commits AS l"
        " CROSS JOIN jsonb_array_elements(coalesce(l.record -> 'schema_changes', '[]')) AS c"
        " WHERE l.tenant = %s AND l.pipeline = %s AND l.node = %s AND l.undone_by IS NULL AND c ->> 'kind' = 'rename'"
        " ORDER BY l.token, l.committed_at",
        [owner.tenant, owner.pipeline, node],
    ).fetchall()


def _has_both(conn: Conn, choice: Choice, old: str, new: str) -> bool:
    query = sql.SQL('SELECT EXISTS (SELECT FROM {} WHERE id = ANY({}::bigint[]) AND coalesce("fixedRow", row) ?& {})')
    for table, rows in choice.by_table.items():
        ids = sql.Literal([row.id for row in rows.values()])
        found = conn.execute(query.format(identifier_of(table), ids, sql.Literal([old, new]))).fetchone()
        if found and found[0]:
            return True
    return False


def under_present_names(fields: Iterable[SourceField], former: FormerNames) -> tuple[SourceField, ...]:
    """Return the fields under their present names. One that had several types becomes text."""
    present = {old: new for new, names in former.items() for old in names}
    return united_fields([[replace(f, name=present.get(f.name, f.name))] for f in fields])


def renamed_row(row: dict[str, str | None], former: FormerNames) -> dict[str, str | None]:
    """Return the values of a row under the present names of its columns."""
    for new, names in former.items():
        old = next((name for name in names if name in row), None)
        if old is not None and new not in row:
            row[new] = row.pop(old)
    return row
