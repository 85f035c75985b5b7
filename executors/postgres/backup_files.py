"""Determines which loads, and so which files, count as loaded after a backup is restored: those that counted when the
backup was taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict

from executors.load_record import RunRef
from executors.model import BackupRef
from executors.postgres.ddl import Conn
from executors.postgres.meta import table_identity
from executors.postgres.quarantine import close_replayed, count_as_loaded, count_as_not_loaded, reopen_replayed
from executors.postgres.superseding import reopen_superseded, supersede_again
from executors.table_name import TableName

_KEEP_UNDONE = """
UPDATE flow_meta.backups b SET undone = ARRAY(
    SELECT c.run_id FROM flow_meta.load_commits c
    WHERE c.tenant = b.tenant AND c.pipeline = b.pipeline AND c.node = b.node AND c.undone_by IS NOT NULL
) WHERE b.run_id = %(run)s AND b.node = %(node)s"""

_UNDO = """
UPDATE flow_meta.load_commits c SET undone_by = %(by)s FROM flow_meta.backups b
WHERE b.run_id = %(run)s AND b.node = %(node)s AND c.tenant = b.tenant AND c.pipeline = b.pipeline AND c.node = b.node
AND c.undone_by IS NULL AND (c.token >= b.token OR c.run_id = ANY (b.undone))
RETURNING c.run_id, c.reject_tables || c.superseded_tables"""

_REDO = """
UPDATE flow_meta.load_commits c SET undone_by = NULL FROM flow_meta.backups b
WHERE b.run_id = %(run)s AND b.node = %(node)s AND c.tenant = b.tenant AND c.pipeline = b.pipeline AND c.node = b.node
AND c.undone_by IS NOT NULL AND c.token < b.token AND c.run_id <> ALL (b.undone)
RETURNING c.run_id, c.reject_tables || c.superseded_tables"""

_HELD = """
SELECT DISTINCT ON (f.sha256) f.sha256, c.kind = 'undo' FROM flow_meta.load_commits c
CROSS JOIN unnest(c.files_done) AS f(sha256), flow_meta.backups b
WHERE b.run_id = %(run)s AND b.node = %(node)s AND c.tenant = b.tenant AND c.pipeline = b.pipeline AND c.node = b.node
AND c.undone_by IS NULL ORDER BY f.sha256, c.token DESC"""

_NEWEST = """
SELECT f.sha256, max(c.token) FROM flow_meta.load_commits c CROSS JOIN unnest(c.files_done) AS f(sha256)
WHERE c.tenant = %s AND c.pipeline = %s AND c.node = %s AND f.sha256 = ANY (%s) GROUP BY f.sha256"""

_OTHERS = """
SELECT DISTINCT CASE WHEN c.tenant <> b.tenant THEN 'a pipeline of another workspace'
    WHEN c.pipeline <> b.pipeline THEN format('pipeline %%s', c.pipeline) ELSE format('target %%s', c.node) END
FROM flow_meta.load_commits c, flow_meta.backups b WHERE b.run_id = %(run)s AND b.node = %(node)s
AND (c.tenant, c.pipeline, c.node) <> (b.tenant, b.pipeline, b.node) AND c.committed_at > b.taken_at
AND c.undone_by IS NULL AND ((c.target_schema, c.target_table) = (%(schema)s, %(table)s) OR c.target_oid = %(oid)s)
ORDER BY 1"""


def keep_undone(conn: Conn, ref: BackupRef) -> None:
    """Save in the backup which loads an earlier restore had undone."""
    conn.execute(_KEEP_UNDONE, _values(ref))


Held = dict[str, bool]
"""The files of commits that count, each with whether the newest of them has deleted its rows."""


def put_files_back(conn: Conn, run: RunRef, ref: BackupRef) -> tuple[Held, Held]:
    """Restore which loads count to the state at the time of the backup. Return the files before and after.

    Markers are not deleted: they record that their runs committed, and a later backup may be restored after an earlier
    one. The next run reads the rejected rows of undone loads again with their files.
    """
    before = _held(conn, ref)
    # Replayed and superseded rows first, because the loads that they came from may be undone too.
    undo = (_UNDO, reopen_replayed, reopen_superseded, count_as_not_loaded)
    redo = (_REDO, count_as_loaded, close_replayed, supersede_again)
    for change, *notes in (undo, redo):
        changed = conn.execute(change, {**_values(ref), "by": run.run_id}).fetchall()
        tables = {table for _, names in changed for table in names}
        for note in notes:
            note(conn, run, [run_id for run_id, _ in changed], tables)
    return before, _held(conn, ref)


def newest_tokens(conn: Conn, run: RunRef, hashes: Collection[str]) -> dict[str, int]:
    """Return the token of the newest load of each file into this target, including undone loads."""
    return dict(conn.execute(_NEWEST, [run.tenant, run.pipeline, run.node, list(hashes)]).fetchall())


def others_since(conn: Conn, ref: BackupRef, table: TableName) -> tuple[str, ...]:
    """Return the pipelines and targets that loaded the table since the backup. Their loads still count as loaded for
    them."""
    now = asdict(table_identity(conn, table.schema, table.table))
    return tuple(words for (words,) in conn.execute(_OTHERS, {**_values(ref), **now}).fetchall())


def _held(conn: Conn, ref: BackupRef) -> Held:
    return dict(conn.execute(_HELD, _values(ref)).fetchall())


def _values(ref: BackupRef) -> Mapping[str, str]:
    return {"run": ref.run_id, "node": ref.node}
