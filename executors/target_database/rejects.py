"""Rejected rows in the quarantine tables of one database: pages, exports, counts, deletions and decisions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from executors.model import Connection
from executors.postgres.choosing import fields_of_runs, names_in, tables_of_runs
from executors.postgres.client import Session
from executors.postgres.ddl import exists
from executors.postgres.quarantine_pages import (
    EVERY,
    Counted,
    Page,
    Swept,
    count_older,
    delete_older,
    read_all,
    read_entries,
    read_page,
)
from executors.postgres.quarantine_query import EntryQuery, Position
from executors.postgres.quarantine_table import require_quarantine
from executors.postgres.quarantined import Owner, Owners, Verb, change_of, change_rows, entry_ids, find_rows
from executors.postgres.row_previews import read_previews
from executors.rejected_rows import RejectedRow
from executors.table_name import TableName
from executors.target_database.session import open_session

Entry = dict[str, Any]
"""One violated rule of one row, by the names of `EVERY`."""


@contextmanager
def open_rejects(connection: Connection) -> Iterator[Rejects]:
    """Open the rejected rows of a database in one session. Raises Failure; so do all methods."""
    with open_session(connection) as session:
        yield Rejects(session)


class Rejects:
    """Created by `open_rejects` and valid only within its block. A missing table has no rows."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def page(
        self,
        owners: Owners,
        table: TableName,
        query: EntryQuery,
        after: Position | None,
        limit: int,
        columns: Sequence[str] = EVERY,
        *,
        previews: bool = False,
    ) -> Page:
        """Return up to `limit` entries that follow `after`, in the order of the query. With `previews` each has a
        `preview` of its row, None if the row has been deleted since. Raises Terminal `errors.gave_up` at the time
        limit."""
        page = read_page(self._session, owners, table, query, after, limit, columns)
        return Page(self._with_previews(table, page.entries), page.reached) if previews else page

    def _with_previews(self, table: TableName, entries: Sequence[Entry]) -> list[Entry]:
        runs, nodes = {entry["runId"] for entry in entries}, {entry["targetNode"] for entry in entries}
        order = self.source_fields(runs, nodes)
        found = read_previews(self._session, table, [entry["id"] for entry in entries], order)
        return [{**entry, "preview": found.get(entry["id"])} for entry in entries]

    def export(self, owners: Owners, table: TableName, query: EntryQuery) -> Iterator[Entry]:
        """Yield every entry, the oldest first, fetched on demand. Raises Terminal `errors.gave_up`, and Transient
        `target.lost` if the reader stalls."""
        return read_all(self._session, owners, table, query)

    def entries(self, table: TableName, ids: Sequence[int]) -> list[Entry]:
        """Return entries by their ids, newest first."""
        return read_entries(self._session, table, ids) if self._has(table) else []

    def entries_of_rows(
        self,
        owner: Owner,
        table: TableName,
        rows: Collection[tuple[str, str]],
        nodes: Collection[str],
        attempts: int,
    ) -> list[Entry]:
        """Return all entries of rows by (run, row id), newest first. Their targets are among `nodes`, and their runs
        had up to `attempts` attempts."""
        if not self._has(table):
            return []
        return read_entries(self._session, table, entry_ids(self._session, owner, table, rows, nodes, attempts))

    def count_older(
        self, owner: Owner, table: TableName, query: EntryQuery, before: datetime, seconds: float
    ) -> Counted:
        """Count the entries older than `before`, for at most `seconds`."""
        return count_older(self._session, owner, table, query, before, seconds)

    def delete_older(
        self,
        owner: Owner,
        table: TableName,
        query: EntryQuery,
        before: datetime,
        *,
        after: int,
        most: int | None,
        until: float | None,
    ) -> Swept:
        """Delete entries older than `before` with an id above `after`, in small batches, until about `most` are deleted
        or the clock (`time.monotonic`) reaches `until`."""
        return delete_older(self._session, owner, table, query, before, after=after, most=most, until=until)

    def find_rows(self, owner: Owner, table: TableName, ids: Collection[int]) -> list[RejectedRow]:
        """Return the rows of these entries, each once, in the order in which they were rejected. Raises Terminal if the
        table is not a usable quarantine table."""
        require_quarantine(self._session, table)
        return find_rows(self._session, owner, table, ids)

    def tables_of_runs(self, runs: Collection[str]) -> list[TableName]:
        """Return the quarantine tables to which these runs have written."""
        return tables_of_runs(self._session, runs)

    def change(
        self,
        owner: Owner,
        tables: Iterable[TableName],
        rows: Sequence[RejectedRow],
        verb: Verb,
        by: str,
        reason: str,
        cells: Mapping[tuple[str, str], Mapping[str, str | None]] | None,
    ) -> int:
        """Change all entries of those rows whose revision is unchanged, in one transaction; returns the number of
        changed rows. `cells` are the new values of a fix, by the row's key."""
        with self._session.transaction():
            return len(change_rows(self._session, owner, tables, rows, change_of(verb, by, reason), cells))

    def source_fields(self, runs: Collection[str], nodes: Iterable[str]) -> list[str]:
        """Return the fields that the source had in these runs, in its order, as far as commit markers record them."""
        found = (field.name for node in nodes for field in fields_of_runs(self._session, runs, node))
        return list(dict.fromkeys(found))

    def field_names(self, table: TableName, rows: Collection[RejectedRow]) -> list[str]:
        """Return the fields of these rows: those of their source in its order, then others."""
        runs, nodes = {row.run_id for row in rows}, sorted({row.node for row in rows})
        others = sorted(names_in(self._session, table, [row.id for row in rows]))
        return list(dict.fromkeys((*self.source_fields(runs, nodes), *others)))

    def _has(self, table: TableName) -> bool:
        return exists(self._session, table.schema, table.table)
