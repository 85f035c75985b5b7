"""The rejected rows of a Delta table, in a PostgreSQL database.

The two cannot commit together. A load stores its entries as those of a load without effect, then commits to the log of
the table, and then settles: the entries become those of a load, and entries of earlier runs that need no decision any
more are closed. The same transaction copies the commit marker into the database, so that a load is settled once. If a
worker ends in between, the next attempt finds a commit without a copy, and settles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from executors.charsets import UTF8
from executors.delta.markers import Marker
from executors.errors import Terminal
from executors.load_record import LoadCommit, RunRef, TableIdentity
from executors.model import Connection
from executors.postgres import quarantine, staging
from executors.postgres.carried_fixes import carry_fixes
from executors.postgres.client import charset_of, connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.meta import ensure_meta, find_commit, write_commit
from executors.postgres.superseding import Superseded, supersede_read_again, supersede_replaced
from ir.load_modes import load_mode
from ir.pipeline import Path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from executors.postgres.staging import StagingTables


@dataclass(frozen=True, slots=True)
class RejectStore:
    """A session with the database of the rejected rows. `name` is its connection in the document."""

    name: str
    connection: Connection
    session: Conn

    def raise_fence(self, run: RunRef) -> None:
        """Prevent older attempts from storing entries. Raises LeaseLost and TargetBusy."""
        raise_fence(self.session, run.tenant, run.pipeline, run.node, run.token, run.chunk)

    def probe(self, tables: Sequence[str], node: str) -> None:
        """Check, before anything is read, that rejected rows can be stored. Raises Terminal `quarantine.unusable`."""
        if (charset := charset_of(self.session)) != UTF8:
            raise Terminal(
                "quarantine.unusable",
                f"The database of the connection {self.name!r} has the encoding {charset.encoding}, which cannot store "
                "all characters of rejected rows.",
                node=node,
                hint="Name the connection of a database with the encoding UTF8 in the validate node.",
            )
        for table in tables:
            quarantine.probe_quarantine(self.session, table)

    def store(self, run: RunRef, staged: StagedRejects) -> tuple[int, int]:
        """Store the staged rejects as those of a load without effect; returns (rows, entries). Raises LeaseLost, and
        Transient `staging.lost`."""
        with translate(run.node), self.session.transaction():
            require_fence(self.session, run)
            staging.require_rejected(self.session, staged.tables, staged.winners, staged.rejected, run.node)
            return quarantine.write_rejects(
                self.session, run, staged.tables, staged.winners, staged.table_of_node, disposition="not_loaded"
            )

    def settle(self, run: RunRef, marker: Marker, lake: str) -> LoadCommit:
        """Record in the database that a load has committed to the table, unless that is done; returns its commit with
        the entries that it has superseded. `run` has the fence, `lake` is the connection of the table. Raises
        LeaseLost."""
        conn, commit = self.session, marker.commit
        of_load = replace(run, run_id=commit.run_id, attempt=commit.attempt)
        with translate(run.node), conn.transaction():
            require_fence(conn, run)
            if done := find_commit(conn, of_load):
                return _with_superseded(commit, Superseded(done.record.superseded_entries, done.superseded_tables))
            superseded = _supersede(conn, of_load, marker)
            quarantine.count_as_loaded(conn, of_load, [commit.run_id], commit.reject_tables)
            files = [(file.name, file.head) for file in marker.files]
            quarantine.close_not_loaded(conn, of_load, commit.reject_tables, files)
            carry_fixes(conn, of_load, superseded, commit.reject_tables, marker.files)
            settled = _with_superseded(commit, superseded)
            write_commit(conn, of_load, replace(settled, table=_identity_of(commit.table, lake)))
        return settled


@dataclass(frozen=True, slots=True)
class StagedRejects:
    """The rejects that the winning tasks have staged: their number of rows, and the quarantine table of each node."""

    tables: StagingTables
    winners: Sequence[int]
    rejected: int
    table_of_node: Mapping[str, str]


def open_rejects(stack: ExitStack, connections: Mapping[str, Connection], name: str, run: RunRef) -> RejectStore:
    """Connect to the database of the rejected rows, and create what Flow needs there."""
    connection = connections[name]
    session = connect(connection, autocommit=True, application_name=f"flow run {run.run_id}")
    stack.enter_context(session)
    ensure_meta(session)
    return RejectStore(name, connection, session)


def rejects_connection(paths: Sequence[Path]) -> str | None:
    """Return the connection of the database that stores the rejected rows, None if they are only counted."""
    names = [v.quarantine.connection for v in paths[0].validates if v.quarantine and v.quarantine.enabled]
    return next(iter(names), None)


def _supersede(conn: Conn, run: RunRef, marker: Marker) -> Superseded:
    if load_mode(marker.commit.load_mode or "").replaces_all_rows:
        return supersede_replaced(conn, run, marker.commit.reject_tables)
    return supersede_read_again(conn, run, marker.files)


def _with_superseded(commit: LoadCommit, superseded: Superseded) -> LoadCommit:
    record = replace(commit.record, superseded_entries=superseded.entries)
    return replace(commit, record=record, superseded_tables=superseded.tables)


def _identity_of(table: TableIdentity, lake: str) -> TableIdentity:
    """Return a name that no table of the database has: a target that becomes one of its tables must not take the loads
    of the Delta table for its own."""
    return TableIdentity(f"{lake}:{table.schema}", table.table, None)
