"""Whether a table still is as the chunks of a backfill must find it."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from executors.errors import Terminal
from executors.load_record import RunRef
from executors.model import ChunkJob, LoadedChunk, RunJob
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction, exists
from executors.postgres.meta import table_identity
from executors.postgres.watermarks import WatermarkKey, find_watermark
from executors.table_name import TableName
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.words import counted

MOST_NAMED = 10


def refuse_loaded(conn: Conn, job: RunJob, target: Target) -> None:
    """Refuse to add the rows of a chunk to a table that has them. A load that begins later raises the fence of the
    chunk or of the node, so that this one cannot commit."""
    if job.chunk is None or job.chunk.replaces or not load_mode(target.load_mode).adds_rows:
        return
    with translate(target.id), brief_transaction(conn):
        _refuse_loaded_by_another_run(conn, job, job.chunk, target)
        _refuse_followed(conn, job, target)


def _refuse_loaded_by_another_run(conn: Conn, job: RunJob, chunk: ChunkJob, target: Target) -> None:
    """Refuse a chunk that a run has loaded of which the control database knows nothing."""
    found = conn.execute(
        "SELECT run_id FROM flow_meta.load_commits WHERE tenant = %s AND pipeline = %s AND node = %s"
        " AND undone_by IS NULL AND record ->> 'chunk' = %s AND run_id <> %s LIMIT 1",
        [job.tenant, job.pipeline.id, target.id, chunk.key, job.run_id],
    ).fetchone()
    if found is None:
        return
    raise Terminal(
        "backfill.chunk_loaded",
        f"Run {found[0]} has loaded chunk {chunk.chunk.ordinal} into {target.schema_}.{target.table} already, and the "
        "control database does not know it: it was probably restored to an older state.",
        node=target.id,
        hint="Empty the table, and plan everything again: `flow backfill rewind` without a range.",
    )


def _refuse_followed(conn: Conn, job: RunJob, target: Target) -> None:
    """Refuse a table with a watermark: a load that came in between, without the backfill, has loaded the rows."""
    table = TableName(target.schema_, target.table)
    stored = find_watermark(conn, WatermarkKey(job.tenant, job.pipeline.id, table))
    if stored is None:
        return
    raise Terminal(
        "backfill.target_followed",
        f"{table} has got a watermark ({stored.column} {stored.value}) since the chunks were planned: loads continue "
        "there. The chunk would add rows that they have loaded.",
        node=target.id,
        hint="Remove backfill from the pipeline. To load the history in chunks after all, empty the table, reset the "
        "watermark, and plan everything again.",
    )


def find_cursor_sums(conn: Conn, node: str, chunks: Sequence[LoadedChunk]) -> dict[int, int]:
    """Return what the source said of the rows of chunks when they were read, by chunk, as far as it is known."""
    runs = {loaded.run_id: loaded.chunk.ordinal for loaded in chunks if loaded.run_id}
    with translate(node), brief_transaction(conn):
        found = conn.execute(
            "SELECT run_id, record ->> 'cursor_sum' FROM flow_meta.load_commits"
            " WHERE run_id = ANY(%s) AND node = %s AND record ->> 'cursor_sum' <> ''",
            [list(runs), node],
        ).fetchall()
    return {runs[run_id]: int(total) for run_id, total in found}


def count_rows(conn: Conn, target: Target, chunks: Sequence[LoadedChunk]) -> tuple[int, int]:
    """Return the number of rows of the table, and how many of them the runs of chunks have inserted: the table has
    fewer only if others have deleted rows. Zeros for a table that is gone."""
    runs = [loaded.run_id for loaded in chunks if loaded.run_id]
    inserted = sql.SQL(
        "SELECT coalesce(sum(rows_inserted), 0)::bigint FROM flow_meta.load_commits"
        " WHERE run_id = ANY(%s) AND node = %s"
    )
    count = sql.SQL("SELECT (SELECT count(*) FROM {}), ({})").format(
        sql.Identifier(target.schema_, target.table), inserted
    )
    with translate(target.id), brief_transaction(conn):
        found = exists(conn, target.schema_, target.table)
        row = (conn.execute(count, [runs, target.id]).fetchone() if found else None) or (0, 0)
    return int(row[0]), int(row[1])


def refuse_lost(conn: Conn, run: RunRef, table: TableName, chunks: Sequence[LoadedChunk]) -> None:
    """Refuse the end of a backfill, in its transaction, if the table does not have the rows of all chunks any more: it
    was restored, or another one has taken its place."""
    expected = {loaded.run_id: loaded.chunk.ordinal for loaded in chunks if loaded.rows_read and loaded.run_id}
    now = table_identity(conn, table.schema, table.table)
    found = conn.execute(
        "SELECT run_id FROM flow_meta.load_commits WHERE run_id = ANY(%s) AND node = %s AND undone_by IS NULL"
        " AND target_oid IS NOT DISTINCT FROM %s",
        [list(expected), run.node, now.oid],
    ).fetchall()
    present = {run_id for (run_id,) in found}
    lost = sorted(ordinal for run_id, ordinal in expected.items() if run_id not in present)
    if not lost:
        return
    more = f" and {len(lost) - MOST_NAMED:,} others" if len(lost) > MOST_NAMED else ""
    raise Terminal(
        "backfill.chunks_lost",
        f"{table} does not have the rows of {counted(len(lost), 'chunk')} any more: it was restored to an older state, "
        f"or another table has taken its place. Missing: {', '.join(map(str, lost[:MOST_NAMED]))}{more}.",
        node=run.node,
        hint="Plan everything again: `flow backfill rewind` without a range. For a target with a watermark, empty the "
        "table and reset the watermark first.",
    )
