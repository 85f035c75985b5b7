"""The points at which a worker can die after a load has committed in the target: before each later change of the
control database, of the target or of a file.

They are observed, not listed: a change that is new in the product is a new point.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from executors.postgres.client import Session

_READS = re.compile(
    r"\s*(select|show|set|explain|lock|pragma|begin|commit|rollback|savepoint|release)\b", re.IGNORECASE
)
_CHANGES = re.compile(
    r"\b(?:insert (?:or \w+ )?into|update|delete from|drop \w+|create \w+|analyze)\s+"
    r"(?:if (?:not )?exists\s+)?(?P<name>[\w.\"]+)",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\s*insert into flow_meta\.load_commits", re.IGNORECASE)
"""The last statement of the transaction that loads."""
MOVES = ("link", "rename", "replace", "unlink", "remove")
CLAIM = "runs_run"
"""The table of the claim, which each transaction of a worker locks first."""


class KillPoints:
    """Records the points that this process passes once a load `has_committed`. It dies at the one with number `die_at`,
    with all processes of its group."""

    def __init__(self, folder: Path, die_at: int | None = None, *, has_committed: bool = False) -> None:
        self._folder, self._die_at, self._has_committed = folder, die_at, has_committed
        self._thread = threading.get_ident()
        self._transaction: list[str] | None = None
        self._points: list[list[str]] = []

    @property
    def names(self) -> list[str]:
        """The points in order: what each transaction or action changes."""
        return [_joined(point) for point in self._points]

    @contextmanager
    def observed(self) -> Iterator[KillPoints]:
        """Record while the block runs."""
        with ExitStack() as stack:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            for name in MOVES:
                patch.setattr(os, name, self._watched(getattr(os, name), name))
            patch.setattr(psycopg.Cursor, "execute", self._watched_statement(psycopg.Cursor.execute))
            stack.enter_context(connection.execute_wrapper(self._control))
            yield self

    def _reach(self, *changes: str) -> list[str]:
        if len(self._points) == self._die_at:
            os.killpg(os.getpid(), signal.SIGKILL)
        self._points.append(list(changes))
        return self._points[-1]

    # --- files ------------------------------------------------------------------------------------------------

    def _watched(self, act: Callable[..., Any], name: str) -> Callable[..., Any]:
        def watched(path: Any, *args: Any, **more: Any) -> Any:
            if self._counts() and isinstance(path, str | Path) and Path(path).is_relative_to(self._folder):
                self._reach(f"file {name}")
            return act(path, *args, **more)

        return watched

    # --- the target -------------------------------------------------------------------------------------------

    def _watched_statement(self, execute: Callable[..., Any]) -> Callable[..., Any]:
        def watched(cursor: psycopg.Cursor[Any], query: Any, *args: Any, **more: Any) -> Any:
            if not isinstance(cursor.connection, Session):
                return execute(cursor, query, *args, **more)
            text = query.decode() if isinstance(query, bytes) else query
            text = text if isinstance(text, str) else text.as_string(cursor)
            if self._counts() and (changed := _changed_by(text)):
                self._reach(f"target {changed}")
            self._has_committed |= bool(_MARKER.match(text))
            return execute(cursor, query, *args, **more)

        return watched

    # --- the control database ---------------------------------------------------------------------------------

    def _control(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if self._counts() and (changed := _changed_by(sql)):
            self._change(changed)
        return execute(sql, params, many, context)

    def _change(self, table: str) -> None:
        """The changes of a transaction are one point: none of them counts before all do."""
        if self._transaction is not None and connection.in_atomic_block:
            self._transaction.append(table)
            return
        self._transaction = self._reach(table)
        connection.on_commit(self._end)  # outside of a transaction, at once

    def _end(self) -> None:
        self._transaction = None

    def _counts(self) -> bool:
        return self._has_committed and threading.get_ident() == self._thread


def _changed_by(statement: str) -> str | None:
    """The table that a statement changes, or its first word if it is another one than usual; None for one that reads.
    Tables of an attempt, whose names contain its run, are called by their schema."""
    if _READS.match(statement):
        return None
    if found := _CHANGES.search(statement):
        schema, _, table = found["name"].replace('"', "").rpartition(".")
        return schema if schema == "flow_staging" else table
    word = statement.split(maxsplit=1)[0].lower()
    return None if word == "with" else word


def _joined(changes: list[str]) -> str:
    tables = list(dict.fromkeys(changes))
    return " ".join(tables[1:] if len(tables) > 1 and tables[0] == CLAIM else tables)
