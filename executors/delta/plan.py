"""The input and output of a load of a Delta table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction

from executors.delta.markers import TargetLog
from executors.delta.staging import StagedFiles
from executors.load_record import LoadFile, RunRef
from executors.model import StageColumn
from executors.rejected_rows import RowPosition


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """One load of one target.

    `schema` is that of the table; `columns` are those of the rows. `staged` is the number of rows that the winning
    tasks report. Of rows with the same `key`, the last by `order_by` is loaded, else the last in source order if the
    source `keeps_order`. `is_exploded` means that a record can have several rows, which have no order. `names` are the
    files by their positions. `on_cancel` takes a call that interrupts work. `rejects` is the connection of the database
    that stores the rejected rows, `read` are the files of the rows. `rewrites` means that the staged rows are not files
    of the table. Staged rows at `excluded` positions are not loaded. `may_replace` lists the only staged rows that may
    update rows of the table; None means all. `by` is the user who requested a replay, for a `reason`.
    """

    run: RunRef
    log: TargetLog
    files: StagedFiles
    winners: Sequence[int]
    staged: int
    load_mode: str
    schema: pa.Schema
    columns: Sequence[StageColumn]
    key: Sequence[str] = ()
    order_by: str | None = None
    keeps_order: bool = True
    is_exploded: bool = False
    names: Mapping[int, str] | None = None
    rejects: str | None = None
    read: Sequence[LoadFile] = ()
    rewrites: bool = False
    excluded: Collection[RowPosition] = ()
    may_replace: Collection[RowPosition] | None = None
    by: str = ""
    reason: str = ""
    on_cancel: Callable[[Callable[[], None]], None] = lambda call: None


@dataclass(frozen=True, slots=True)
class Change:
    """What a load mode changes: files that it adds and removes, or all files with `replaces_all`, and its numbers of
    rows. `older` rows are not loaded because the table has newer ones, `replaced` because the load has later rows."""

    added: Sequence[AddAction]
    removed: Sequence[RemoveAction] = ()
    replaces_all: bool = False
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    replaced: int = 0
    older: int = 0


LoadMode = Callable[[DeltaPlan, DeltaTable], Change]
"""Writes the files of a load beside those of the table, and returns the change. It is called again if another commit
was faster."""
