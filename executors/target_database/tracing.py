"""Searches for a row at one target: in its table, among its rejected rows and among the samples of its loads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from executors.errors import Failure
from executors.model import Connection, StoreConnection
from executors.postgres.client import Session
from executors.postgres.quarantined import Owner
from executors.postgres.tracing import look_in_quarantine, look_in_samples, look_in_table
from executors.row_search import Origin, Row, SearchResult, SourceKey
from executors.stage_plan import FLOW_RUN, SOURCE_FILE_HASH, SOURCE_RECORD
from executors.table_name import TableName
from executors.target_database.session import open_session


@dataclass(frozen=True, slots=True)
class RowSearch:
    """The searched row: `key` gives values of the table's columns, `source_keys` the same values in the form of each
    source, unless they are computed. `quarantines` are the tables that may contain its rejections."""

    owner: Owner
    node: str
    table: TableName
    key: Mapping[str, str]
    source_keys: Sequence[SourceKey]
    quarantines: Sequence[TableName]


@dataclass(frozen=True, slots=True)
class RowTrace:
    """The results of a search; `rejects` are in the order of the search's `quarantines`."""

    table: SearchResult
    rejects: tuple[SearchResult, ...]
    samples: SearchResult


@dataclass(frozen=True, slots=True)
class LoadedRow:
    """A row of a table: its values, and its recorded origin as far as it is known."""

    values: Mapping[str, Any]
    run_id: str
    sha256: str
    record: int | None

    @classmethod
    def of(cls, row: Row) -> LoadedRow:
        names = (FLOW_RUN, SOURCE_FILE_HASH, SOURCE_RECORD)
        run_id, sha256, record = (row.get(name) for name in names)
        return cls(
            {name: value for name, value in row.items() if name not in names}, run_id or "", sha256 or "", record
        )


def trace_row(connection: Connection, search: RowSearch) -> RowTrace:
    """Search everywhere in one session. A failed search is a result that says why."""
    try:
        with open_session(connection) as session:
            table = _look(partial(look_in_table, session, search.table, search.key))
            rejects = _look_in_quarantines(session, search, table)
            owner = search.owner
            key = (owner.tenant, owner.pipeline, search.node, search.key)
            return RowTrace(table, rejects, _look(partial(look_in_samples, session, *key)))
    except Failure as failure:
        nowhere = SearchResult(trouble=failure.message)
        return RowTrace(nowhere, (nowhere,) * len(search.quarantines), nowhere)


def trace_row_of_lake(store: StoreConnection, quarantine: Connection | None, search: RowSearch) -> RowTrace:
    """Search in a Delta table, and among its rejected rows in a database. Its loads have no samples."""
    # What reads Delta tables takes long to import, and other pages and commands need this module.
    from executors.delta.tracing import look_in_table as look_in_lake

    table = _look(partial(look_in_lake, store, search.table, search.key))
    if quarantine is None:
        return RowTrace(table, (), SearchResult())
    try:
        with open_session(quarantine) as session:
            return RowTrace(table, _look_in_quarantines(session, search, table), SearchResult())
    except Failure as failure:
        nowhere = SearchResult(trouble=failure.message)
        return RowTrace(table, (nowhere,) * len(search.quarantines), SearchResult())


def _look_in_quarantines(session: Session, search: RowSearch, table: SearchResult) -> tuple[SearchResult, ...]:
    owner, node, loaded = search.owner, search.node, map(LoadedRow.of, table.rows)
    origins = [Origin(row.run_id, row.record) for row in loaded if row.run_id and row.record is not None]
    return tuple(
        _look(partial(look_in_quarantine, session, quarantine, owner, node, search.source_keys, origins))
        for quarantine in search.quarantines
    )


def _look(look: Callable[[], SearchResult]) -> SearchResult:
    try:
        return look()
    except Failure as failure:
        return SearchResult(trouble=failure.message)
