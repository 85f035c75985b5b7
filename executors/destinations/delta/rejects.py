"""The rejected rows of a Delta table, in a PostgreSQL database.

The two cannot commit together. A load stores its entries as those of a load without effect, then commits to the log of
the table, and then settles: the entries become those of a load, and entries of earlier runs that need no decision any
more are closed. The same transaction copies the commit marker into the database, so that a load is settled once. If a
worker ends in between, the next attempt finds a commit without a copy, and settles it. It also settles the loads of
versions that had no quarantine or another database, because they may have loaded rows that were rejected before.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING

from psycopg import sql

from executors.charsets import UTF8
from executors.delta.markers import Marker
from executors.errors import Terminal
from executors.load_record import LoadCommit, LoadKind, RunRef, TableIdentity
from executors.model import Connection
from executors.postgres import quarantine, staging
from executors.postgres.carried_fixes import carry_fixes
from executors.postgres.client import charset_of, connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.fences import raise_fence, require_fence
from executors.postgres.meta import ensure_meta, find_commit, find_runs, write_commit
from executors.postgres.pending_replays import record_pending, store_pending
from executors.postgres.quarantined import Change, Owner, change_rows
from executors.postgres.replay import count_rejects, require_all_claimed
from executors.postgres.superseding import Superseded, can_update, supersede_read_again, supersede_replaced
from executors.rejected_rows import RejectedRow, RowResult
from executors.table_name import TableName
from ir.load_modes import load_mode

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

    def store_replay(self, run: RunRef, staged: StagedRejects, replayed: Replayed) -> tuple[int, int]:
        """Store the results that the replay will have; returns the (rows, entries) that stay rejected. Raises
        LeaseLost, and Transient `replay.rows_changed` and `staging.lost`."""
        conn, winners = self.session, staged.winners
        with translate(run.node), conn.transaction():
            require_fence(conn, run)
            staging.require_rejected(conn, staged.tables, winners, staged.rejected, run.node)
            unchanged = Change(("open", "fixed"), {"status": sql.SQL("q.status")}, only_dropped=True, is_note=True)
            claimed = change_rows(conn, replayed.owner, replayed.tables, replayed.loaded, unchanged)
            require_all_claimed(replayed.loaded, claimed, run.node)
            store_pending(conn, run, replayed.results)
            places, as_yet = staged.table_of_node, "not_loaded"
            quarantine.write_rejects(conn, run, staged.tables, winners, places, disposition=as_yet, only_loaded=True)
            return count_rejects(conn, staged.tables, winners)

    def find_unsettled(self, run: RunRef, markers: Sequence[Marker]) -> Sequence[Marker]:
        """Return the loads after the newest one that is settled, the oldest first; of `markers`, the newest is the
        first. Before the first load that had its rejected rows here, there is nothing to settle."""
        with translate(run.node), self.session.transaction():
            known = find_runs(self.session, run, [marker.commit.run_id for marker in markers])
        newer = list(takewhile(lambda marker: marker.commit.run_id not in known, markers))[::-1]
        if len(newer) < len(markers):
            return newer
        return list(dropwhile(lambda marker: marker.rejects != self.name, newer))

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
            tables = [name for name in commit.reject_tables if can_update(conn, TableName.parse(name))]
            quarantine.count_as_loaded(conn, of_load, [commit.run_id], tables)
            if commit.kind is LoadKind.REPLAY:
                record_pending(conn, of_load, tables, marker.by, marker.reason)
            settled = _with_superseded(commit, _close_earlier(conn, of_load, marker, tables))
            write_commit(conn, of_load, replace(settled, table=_identity_of(commit.table, lake)))
        return settled


@dataclass(frozen=True, slots=True)
class StagedRejects:
    """The rejects that the winning tasks have staged: their number of rows, and the quarantine table of each node."""

    tables: StagingTables
    winners: Sequence[int]
    rejected: int
    table_of_node: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The rows that a replay loads, the tables with their entries, and the results of all rows that were chosen."""

    owner: Owner
    loaded: Sequence[RejectedRow]
    tables: Sequence[TableName]
    results: Sequence[RowResult]


def open_rejects(stack: ExitStack, connections: Mapping[str, Connection], name: str, run: RunRef) -> RejectStore:
    """Connect to the database of the rejected rows, and create what Flow needs there."""
    connection = connections[name]
    session = connect(connection, autocommit=True, application_name=f"flow run {run.run_id}")
    stack.enter_context(session)
    ensure_meta(session)
    return RejectStore(name, connection, session)


def _close_earlier(conn: Conn, run: RunRef, marker: Marker, tables: Sequence[str]) -> Superseded:
    """Close the entries of earlier runs that need no decision any more; a replay leaves them. `tables` are the
    quarantine tables of the load that this database has."""
    commit, files = marker.commit, marker.files
    if commit.kind is LoadKind.REPLAY:
        return Superseded()
    if load_mode(commit.load_mode or "").replaces_all_rows:
        superseded = supersede_replaced(conn, run, tables)
    else:
        superseded = supersede_read_again(conn, run, files)
    quarantine.close_not_loaded(conn, run, tables, [(file.name, file.head) for file in files])
    carry_fixes(conn, run, superseded, tables, files)
    return superseded


def _with_superseded(commit: LoadCommit, superseded: Superseded) -> LoadCommit:
    record = replace(commit.record, superseded_entries=superseded.entries)
    return replace(commit, record=record, superseded_tables=superseded.tables)


def _identity_of(table: TableIdentity, lake: str) -> TableIdentity:
    """Return a name that no table of the database has: a target that becomes one of its tables must not take the loads
    of the Delta table for its own."""
    return TableIdentity(f"{lake}:{table.schema}", table.table, None)
