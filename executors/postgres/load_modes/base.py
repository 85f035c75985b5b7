"""What a load mode declares about itself."""

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
    """`load` moves the staged rows into the target inside the open load transaction; `privileges` is what it needs.
    `insert` is the statement by which rows like the staged ones, given as a sub-select, come into the table.

    `effect` counts by queries alone what `load` would change. `inspect` looks at an existing table before the source is
    read: it refuses what the mode cannot load, and answers with what it has found out. `calls_before_swap` says that
    it calls the plan's `before_swap`, before it changes the table or keeps writers off it. `counts_staged` says that
    `load` counts the winning rows as it goes: what staging has lost is missed there, unless a trigger took it.
    """

    mode: str
    privileges: tuple[str, ...]
    load: Callable[[Conn, LoadPlan], ModeCounts]
    effect: Callable[[Conn, LoadPlan], Effect]
    insert: Callable[[Conn, LoadPlan, sql.Composable], sql.Composed]
    inspect: Callable[[Conn, Destination], Destination] = lambda conn, dest: dest
    calls_before_swap: bool = False
    counts_staged: bool = False
