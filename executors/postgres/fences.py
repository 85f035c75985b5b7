"""Fences (`flow_meta.fences`): the newest token of a target node. Attempts with an older token cannot commit.

Each chunk of a backfill has a fence of its own, named by the node and the key of the chunk, so that chunks do not stop
each other. The fence of the node stops chunks too: the end of a backfill raises it, and removes those of the chunks.
"""

from __future__ import annotations

from psycopg import errors

from executors.errors import LeaseLost, TargetBusy
from executors.load_record import RunRef
from executors.postgres.client import translate
from executors.postgres.ddl import Conn

WAIT = "5s"
"""How long to wait for an older attempt that is committing."""

_Fence = dict[str, str | int]

# The load transaction locks the fence's row, and the xmax of a locked row is the transaction that locks it.
_END_OLDER = """
SELECT pg_terminate_backend(l.pid) FROM flow_meta.fences f
JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = f.xmax AND l.granted
WHERE f.tenant = %(tenant)s AND f.pipeline = %(pipeline)s AND f.node = %(node)s AND f.token < %(token)s
AND l.pid <> pg_backend_pid()"""


@translate()
def raise_fence(conn: Conn, tenant: str, pipeline: str, node: str, token: int, chunk: str = "") -> None:
    """Raise the fence of a target node, or of one of its chunks, to `token`. A fence is never lowered.

    If an older attempt holds the fence in its load transaction, its session is terminated after `WAIT`: its lease has
    expired, and a frozen process would hold the fence forever. Raises LeaseLost if the fence has a newer token, and
    TargetBusy if the older session cannot be terminated.
    """
    fence: _Fence = {"tenant": tenant, "pipeline": pipeline, "node": _name(node, chunk), "of": node, "token": token}
    try:
        try:
            raised = _raise(conn, fence)
        except errors.LockNotAvailable:
            _end_older_session(conn, fence)
            raised = _raise(conn, fence)
    except errors.LockNotAvailable as error:
        raise TargetBusy("target.busy", "Another worker is committing a load of this target.", node=node) from error
    if not raised:
        raise lease_lost(node)


def _raise(conn: Conn, fence: _Fence) -> bool:
    with conn.transaction():
        conn.execute(f"SET LOCAL lock_timeout = '{WAIT}'")
        raised = conn.execute(
            "INSERT INTO flow_meta.fences AS f (tenant, pipeline, node, token)"
            " SELECT %(tenant)s, %(pipeline)s, %(node)s, %(token)s WHERE NOT EXISTS (SELECT FROM flow_meta.fences AS n"
            " WHERE n.tenant = %(tenant)s AND n.pipeline = %(pipeline)s AND n.node = %(of)s AND n.token > %(token)s)"
            " ON CONFLICT (tenant, pipeline, node) DO UPDATE SET token = EXCLUDED.token, raised_at = now()"
            " WHERE f.token <= EXCLUDED.token RETURNING f.token",
            fence,
        ).fetchone()
    return raised is not None


def _end_older_session(conn: Conn, fence: _Fence) -> None:
    """Terminate the older session. Only a session of the same role can be terminated; others are ignored."""
    try:
        with conn.transaction():
            conn.execute(_END_OLDER, fence)
    except errors.InsufficientPrivilege:
        return


def require_fence(conn: Conn, run: RunRef) -> None:
    """Lock the fence until the open transaction ends. Raises LeaseLost if it no longer has this run's token."""
    name = _name(run.node, run.chunk)
    mine = conn.execute(
        "SELECT 1 FROM flow_meta.fences AS f WHERE tenant = %s AND pipeline = %s AND node = %s AND token = %s"
        " AND NOT EXISTS (SELECT FROM flow_meta.fences AS n WHERE n.tenant = f.tenant AND n.pipeline = f.pipeline"
        " AND n.node = %s AND n.token > f.token) FOR UPDATE OF f",
        [run.tenant, run.pipeline, name, run.token, run.node],
    ).fetchone()
    if mine is None:
        raise lease_lost(run.node)


def remove_chunk_fences(conn: Conn, run: RunRef) -> None:
    """Remove the fences of all chunks of the node in the caller's transaction, which waits for chunks that commit.
    Chunks whose fence is gone cannot commit."""
    conn.execute(f"DELETE {_OF_CHUNKS}", [run.tenant, run.pipeline, _name(run.node, " ")[:-1]])


def has_chunk_fences(conn: Conn, tenant: str, pipeline: str, node: str) -> bool:
    """Return whether a backfill has begun to load chunks into the target node, and has not ended."""
    found = conn.execute(f"SELECT EXISTS (SELECT {_OF_CHUNKS})", [tenant, pipeline, _name(node, " ")[:-1]]).fetchone()
    return bool(found and found[0])


_OF_CHUNKS = "FROM flow_meta.fences WHERE tenant = %s AND pipeline = %s AND starts_with(node, %s)"


def _name(node: str, chunk: str) -> str:
    """Return the name of a fence. Ids of nodes do not contain the separator."""
    return f"{node}#{chunk}" if chunk else node


def lease_lost(node: str) -> LeaseLost:
    return LeaseLost("run.lease_lost", "Another worker has taken over this run. Nothing was written.", node=node)
