"""Fences (`flow_meta.fences`): the newest token of a target node. Attempts with an older token cannot commit."""

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
def raise_fence(conn: Conn, tenant: str, pipeline: str, node: str, token: int) -> None:
    """Raise the fence of a target node to `token`. A fence is never lowered.

    If an older attempt holds the fence in its load transaction, its session is terminated after `WAIT`: its lease has
    expired, and a frozen process would hold the fence forever. Raises LeaseLost if the fence has a newer token, and
    TargetBusy if the older session cannot be terminated.
    """
    fence: _Fence = {"tenant": tenant, "pipeline": pipeline, "node": node, "token": token}
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
            " VALUES (%(tenant)s, %(pipeline)s, %(node)s, %(token)s)"
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
    mine = conn.execute(
        "SELECT 1 FROM flow_meta.fences WHERE tenant = %s AND pipeline = %s AND node = %s AND token = %s FOR UPDATE",
        [run.tenant, run.pipeline, run.node, run.token],
    ).fetchone()
    if mine is None:
        raise lease_lost(run.node)


def lease_lost(node: str) -> LeaseLost:
    return LeaseLost("run.lease_lost", "Another worker has taken over this run. Nothing was written.", node=node)
