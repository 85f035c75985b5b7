"""Saves and restores the watermark of a target, with its hashes, in a backup."""

from __future__ import annotations

from executors.load_record import RunRef
from executors.model import BackupRef
from executors.postgres.ddl import Conn

_SAVE_WATERMARK = """
UPDATE flow_meta.backups b SET watermark = to_jsonb(w) FROM flow_meta.pipeline_watermarks w
WHERE b.run_id = %(run)s AND b.node = %(node)s AND w.tenant = b.tenant AND w.pipeline = b.pipeline
AND w.target_schema = b.target_schema AND w.target_table = b.target_table"""

_SAVE_BOUNDARY_ROWS = """
INSERT INTO flow_meta.backup_ties (run_id, node, hash, value, n)
SELECT b.run_id, b.node, t.hash, t.value, t.n FROM flow_meta.backups b
JOIN flow_meta.watermark_boundary_rows t ON t.watermark = (b.watermark ->> 'id')::bigint
WHERE b.run_id = %(run)s AND b.node = %(node)s"""

_NOTE_CHANGE = """
INSERT INTO flow_meta.watermark_changes
(tenant, pipeline, target_schema, target_table, action, run_id, reason, column_name, old_value, new_value)
SELECT b.tenant, b.pipeline, b.target_schema, b.target_table, 'restore', %(by)s, 'a backup was restored',
coalesce(w.column_name, b.watermark ->> 'column_name'), w.value, b.watermark ->> 'value'
FROM flow_meta.backups b LEFT JOIN flow_meta.pipeline_watermarks w ON w.tenant = b.tenant
AND w.pipeline = b.pipeline AND w.target_schema = b.target_schema AND w.target_table = b.target_table
WHERE b.run_id = %(run)s AND b.node = %(node)s AND coalesce(w.value, b.watermark ->> 'value') IS NOT NULL"""

_DELETE_WATERMARK = """
WITH gone AS (
    DELETE FROM flow_meta.pipeline_watermarks w USING flow_meta.backups b
    WHERE b.run_id = %(run)s AND b.node = %(node)s AND w.tenant = b.tenant AND w.pipeline = b.pipeline
    AND w.target_schema = b.target_schema AND w.target_table = b.target_table RETURNING w.id
)
DELETE FROM flow_meta.watermark_boundary_rows t USING gone WHERE t.watermark = gone.id"""

_RESTORE_WATERMARK = """
WITH put AS (
    INSERT INTO flow_meta.pipeline_watermarks
    (tenant, pipeline, target_schema, target_table, column_name, type, value, revision, known_from, hashed)
    SELECT b.tenant, b.pipeline, b.target_schema, b.target_table, b.watermark ->> 'column_name', b.watermark ->> 'type',
    b.watermark ->> 'value', (b.watermark ->> 'revision')::bigint + 1, b.watermark ->> 'known_from',
    nullif(b.watermark -> 'hashed', 'null'::jsonb) FROM flow_meta.backups b
    WHERE b.run_id = %(run)s AND b.node = %(node)s AND b.watermark IS NOT NULL RETURNING id
)
INSERT INTO flow_meta.watermark_boundary_rows (watermark, hash, value, n) SELECT put.id, t.hash, t.value, t.n
FROM put CROSS JOIN flow_meta.backup_ties t WHERE t.run_id = %(run)s AND t.node = %(node)s"""


def save_watermark(conn: Conn, ref: BackupRef) -> None:
    """Save the watermark, if there is one, and its hashes in the backup."""
    for statement in (_SAVE_WATERMARK, _SAVE_BOUNDARY_ROWS):
        conn.execute(statement, {"run": ref.run_id, "node": ref.node})


def restore_watermark(conn: Conn, run: RunRef, ref: BackupRef) -> None:
    """Restore the watermark and its hashes, or delete them if there were none, and record the change in the history."""
    for statement in (_NOTE_CHANGE, _DELETE_WATERMARK, _RESTORE_WATERMARK):
        conn.execute(statement, {"run": ref.run_id, "node": ref.node, "by": run.run_id})
