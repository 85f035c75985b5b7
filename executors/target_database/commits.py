"""The commits of a run in a target database."""

from __future__ import annotations

from contextlib import suppress

from executors.errors import LeaseLost
from executors.load_record import LoadCommit
from executors.model import Connection
from executors.postgres import meta
from executors.postgres.fences import raise_fence
from executors.postgres.quarantined import Owner
from executors.target_database.session import open_session

LOCK_TIMEOUT = "5s"
"""Shorter than a lease: if a stopped process holds a load open, the commits are requested again later."""


def fence_and_find_commits(
    connection: Connection, owner: Owner, node: str, run_id: str, token: int, chunk: str = ""
) -> list[LoadCommit]:
    """Raise the fence of a target node to `token`, so that no older load can commit, and return the run's commits of
    that node. For a run of a chunk, `chunk` is its key: the fence is that of the chunk. Raises Failure of `node`.

    A load that is just committing locks the row of the fence, so this waits for it, then ends its session.
    """
    with open_session(connection, node=node) as session:
        session.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK_TIMEOUT])
        meta.ensure_meta(session)
        # A newer token also prevents the run's loads.
        with suppress(LeaseLost):
            raise_fence(session, owner.tenant, owner.pipeline, node, token, chunk)
        return [commit for commit in meta.find_commits(session, run_id) if commit.node == node]


def note_hook_done(connection: Connection, run_id: str, node: str, hook: str) -> None:
    """Write into the commit marker that a hook has run. Raises Failure."""
    with open_session(connection, node=node) as session:
        meta.add_hook_done(session, run_id, node, hook)
