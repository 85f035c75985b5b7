"""Deletes the data of a deleted pipeline that Flow stores beside its targets, because it may contain row values. The
records of its loads stay: a pipeline with the same id must not load the same files twice."""

from __future__ import annotations

from collections.abc import Collection

from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.meta import META


@translate()
def sampled_runs(conn: Conn, tenant: str, pipeline: str) -> list[str]:
    """Return the runs with stored samples."""
    with conn.transaction():
        if not exists(conn, META, "samples"):
            return []
        rows = conn.execute(
            "SELECT DISTINCT run_id FROM flow_meta.samples WHERE tenant = %s AND pipeline = %s", [tenant, pipeline]
        ).fetchall()
    return [run_id for (run_id,) in rows]


@translate()
def forget_samples(conn: Conn, tenant: str, pipeline: str, runs: Collection[str]) -> None:
    """Drop the samples of these runs."""
    if not runs:
        return
    with conn.transaction():
        conn.execute(
            "DELETE FROM flow_meta.samples WHERE tenant = %s AND pipeline = %s AND run_id = ANY(%s)",
            [tenant, pipeline, list(runs)],
        )


@translate()
def delete_watermarks(conn: Conn, tenant: str, pipeline: str) -> None:
    """Delete the watermarks of a pipeline, their hashes and their history."""
    with conn.transaction():
        if not exists(conn, META, "pipeline_watermarks"):
            return
        mine = [tenant, pipeline]
        conn.execute(
            "DELETE FROM flow_meta.watermark_boundary_rows AS t USING flow_meta.pipeline_watermarks AS w"
            " WHERE t.watermark = w.id AND w.tenant = %s AND w.pipeline = %s",
            mine,
        )
        conn.execute("DELETE FROM flow_meta.pipeline_watermarks WHERE tenant = %s AND pipeline = %s", mine)
        conn.execute("DELETE FROM flow_meta.watermark_changes WHERE tenant = %s AND pipeline = %s", mine)
