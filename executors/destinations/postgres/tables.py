"""The table of a target: refused early if it cannot be loaded, created if missing, dropped if the run loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from executors.errors import Failure, LeaseLost, Terminal, Transient
from executors.model import Destination, SourceField, StageColumn
from executors.postgres.backups import require_restorable
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target, require_loadable, require_privileges
from executors.postgres.load_modes import load_handler
from executors.postgres.meta import STAGING
from executors.postgres.staging import StagingTables
from executors.postgres.supported_types import require_supported
from executors.postgres.target import (
    CreatedTable,
    columns_to_create,
    create_target,
    drop_created_target,
    primary_key_of,
    require_schema,
)
from executors.schema_changes import SchemaChange, evolved
from executors.stage_plan import plan_stage_columns
from executors.table_name import TableName
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class Followed:
    """A table after the changes of its columns that a load makes. `refusal_of` adds to a failure what a person could
    accept instead."""

    dest: Destination
    changes: tuple[SchemaChange, ...] = ()
    refusal_of: Callable[[Terminal], Terminal] = lambda failure: failure


Follow = Callable[[Destination], Followed]
"""Decides which columns of a table change with those of the source."""


def unchanged(dest: Destination) -> Followed:
    return Followed(dest)


@dataclass(frozen=True, slots=True)
class Readied:
    """A table after the `changes` of its columns, which are still to be made, and its staging columns."""

    dest: Destination
    columns: tuple[StageColumn, ...]
    changes: tuple[SchemaChange, ...] = ()


_OF_BACKUPS: dict[bool, tuple[str, ...]] = {True: ("DELETE", "SELECT"), False: ()}
"""The privileges that a backup before the load needs: to read the table, and to lock out writers."""


def refuse_unloadable(conn: Conn, target: Target) -> Destination | None:
    """Refuse a table that no load can write to, before the source is read. Returns None if the table does not exist
    yet."""
    dest = inspect_target(conn, target.schema_, target.table)
    if dest is None:
        require_schema(conn, target.schema_)
    else:
        require_loadable(dest)
        handler = load_handler(target.load_mode)
        require_privileges(conn, dest, (*handler.privileges, *_OF_BACKUPS[target.backup_before_load]))
        if target.backup_before_load:
            require_restorable(conn, TableName(dest.schema, dest.table))
        dest = handler.inspect(conn, dest)
    return dest


@contextmanager
def ready_table(
    conn: Conn, target: Target, working: Sequence[SourceField], follow: Follow = unchanged
) -> Iterator[Readied]:
    """Return the table and its staging columns, and create the table if it is missing. `follow` says which columns of
    the table will change.

    If its first load fails, a created table is dropped again, unless another worker has taken over the run: that worker
    loads it.
    """
    dest, created = _find_or_create(conn, target, working)
    try:
        yield _plan(conn, target, working, follow(dest), is_new=created is not None)
    except LeaseLost:
        raise
    except Failure:
        if created is not None:
            # If the table cannot be dropped, it stays empty; the error to report is that of the load.
            with suppress(Failure):
                drop_created_target(conn, created)
        raise


@contextmanager
def existing_or_empty_table(
    conn: Conn, target: Target, working: Sequence[SourceField], tables: StagingTables, follow: Follow
) -> Iterator[Readied]:
    """Return the table and its staging columns without creating the table. If it is missing, an empty table beside the
    staging tables represents it."""
    if dest := refuse_unloadable(conn, target):
        yield _plan(conn, target, working, follow(dest))
        return
    columns = columns_to_create(target, working)
    made = create_target(conn, STAGING, tables.stand_in, columns, primary_key_of(target), comment=tables.owner)
    try:
        dest = inspect_target(conn, STAGING, tables.stand_in)
        if dest is None:
            raise _vanished(target)
        named = replace(dest, schema=target.schema_, table=target.table)
        planned = _plan(conn, target, working, follow(named), is_new=True)
        yield replace(planned, dest=evolved(dest, planned.changes))
    finally:
        if made is not None:
            with suppress(Failure):
                drop_created_target(conn, made)


def columns_to_stage(
    conn: Conn, target: Target, working: Sequence[SourceField], follow: Follow
) -> tuple[StageColumn, ...]:
    """Return the staging columns of a table that may not exist yet. This only reads the catalog."""
    dest = refuse_unloadable(conn, target)
    table = follow(dest or _table_to_make(target, working))
    return _plan(conn, target, working, table, is_new=dest is None).columns


def _table_to_make(target: Target, working: Sequence[SourceField]) -> Destination:
    """Return the definition of the table that a load would create."""
    key = frozenset(primary_key_of(target))
    columns = (
        replace(column, nullable=column.nullable and column.name not in key)
        for column in columns_to_create(target, working)
    )
    return Destination(target.schema_, target.table, tuple(columns), unique_keys=(key,) if key else ())


def _plan(
    conn: Conn, target: Target, working: Sequence[SourceField], table: Followed, *, is_new: bool = False
) -> Readied:
    try:
        columns = plan_stage_columns(target, working, table.dest, is_new=is_new)
    except Terminal as failure:
        raise table.refusal_of(failure) from None
    require_supported(conn, table.dest, columns)
    return Readied(table.dest, columns, table.changes)


def _find_or_create(
    conn: Conn, target: Target, working: Sequence[SourceField]
) -> tuple[Destination, CreatedTable | None]:
    if dest := refuse_unloadable(conn, target):
        return dest, None
    created = create_target(
        conn, target.schema_, target.table, columns_to_create(target, working), primary_key_of(target)
    )
    dest = refuse_unloadable(conn, target)
    if dest is None:
        raise _vanished(target)
    return dest, created


def _vanished(target: Target) -> Transient:
    return Transient("target.vanished", f"{target.schema_}.{target.table} was dropped again meanwhile.", node=target.id)
