"""Runs checks on staged rows, and probes them before there are rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from executors.model import SourceField
from executors.postgres.checks import Staged, probe_checks, run_checks
from executors.postgres.inspect import inspect_target
from executors.postgres.read import ReadSession
from executors.report import CheckReport
from ir.checks import Check
from ir.load_modes import load_mode

NOW = datetime(2025, 6, 15, 12, tzinfo=UTC)


class Checking:
    """`run` and `probe` one check on a load; `now` is the time of the run, `allowed` are functions that an admin
    allows."""

    now = NOW
    allowed: tuple[str, ...] = ()

    def run(self, load: Any, check: Check, working: Sequence[SourceField] = ()) -> CheckReport:
        (report,) = run_checks(self._staged(load, working), [("check", check.kind, check)])
        return report

    def probe(self, load: Any, check: Check) -> None:
        probe_checks(self._staged(load, ()), [("check", check.kind, check)])

    def _staged(self, load: Any, working: Sequence[SourceField]) -> Staged:
        dest = inspect_target(load.conn, load.target.schema_, load.target.table)
        assert dest is not None

        @contextmanager
        def session() -> Iterator[psycopg.Connection]:
            with ReadSession(load.run.run_id, 2).open(load.connection) as conn:
                yield conn

        return Staged(
            load.columns,
            working,
            dest,
            load_mode(load.target.load_mode).adds_rows,
            self.now,
            load.conn,
            load.tables,
            load.winners,
            replace(load.connection, allowed_functions=self.allowed),
            session,
        )


def bounded(
    kind: type[Check], low: Any = None, high: Any = None, names: tuple[str, str] = ("min", "max"), column: str = "c"
) -> Check:
    """Return a check of a column with bounds. Bounds that are None are left out."""
    given = {name: bound for name, bound in zip(names, (low, high), strict=True) if bound is not None}
    return kind.read({"column": column, "onFail": "warn", **given})


@pytest.fixture
def checking() -> Checking:
    return Checking()


@pytest.fixture
def staged(loading: Any, make: Callable[[str], None]) -> Callable[..., Any]:
    """`staged("c integer", [(1,), (None,)])`: a table with these columns, and rows that are staged for it, with rows of
    a task that failed next to them."""

    def start(columns: str, rows: Sequence[Sequence[Any]], mode: str = "append", **fields: Any) -> Any:
        make(f"CREATE TABLE t ({columns})")
        sources = [_as_source(column) for column in columns.split(", ")]
        load = loading("t", *sources, mode=mode, **fields)
        load.stage(rows)
        load.stage(rows, task=9, wins=False)
        return load

    return start


def _as_source(column: str) -> str:
    name, kind = column.replace('"', "", 2).split(" ", 1)
    known = {"integer", "bigint", "date", "timestamp", "timestamptz", "boolean", "uuid", "json", "float"}
    if kind.startswith("numeric("):
        return f"{name} decimal{kind.removeprefix('numeric')}"
    return f"{name} {kind}" if kind in known else f"{name} string"
