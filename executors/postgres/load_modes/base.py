"""The interface of a load mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psycopg import sql

from executors.effects import Effect
from executors.model import Destination
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan, ModeCounts


@dataclass(frozen=True, slots=True)
class LoadHandler:
    """A load mode. `load` moves the staged rows into the target inside the open load transaction; `privileges` are the
    privileges that it needs. `insert` returns the statement that inserts rows of a sub-select, which have the form of
    staged rows. `effect` counts by queries alone what `load` would change. `inspect` checks an existing table before
    the source is read: it refuses tables that the mode cannot load, and returns its findings. `calls_before_swap` means
    that the mode calls the plan's `before_swap`, before it changes the table or blocks writers. `counts_staged` means
    that `load` counts the winning rows, so that rows lost from staging are detected there, unless a trigger prevents
    rows.
    """

    mode: str
    privileges: tuple[str, ...]
    load: Callable[[Conn, LoadPlan], ModeCounts]
    effect: Callable[[Conn, LoadPlan], Effect]
    insert: Callable[[Conn, LoadPlan, sql.Composable], sql.Composed]
    inspect: Callable[[Conn, Destination], Destination] = lambda conn, dest: dest
    calls_before_swap: bool = False
    counts_staged: bool = False
