"""The log of one table, read without Spark: what its changes make of the rows, compared with a SELECT."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from executors.model import SourceState, StoreConnection
from executors.mysql.client import connect, database_of
from executors.reading import Reading
from executors.sources.base import Claimant, SourceContext
from executors.sources.mysql import MysqlSource
from executors.sources.mysql_cdc import MysqlCdc
from ir.nodes import Source
from ir.parse import parsePipelineIR
from tests.mariadb import MariaDB

FOLLOWER = (
    "CREATE USER follower@'127.0.0.1' IDENTIFIED BY 'secret of follower'",
    "GRANT REPLICATION SLAVE, BINLOG MONITOR, SELECT ON *.* TO follower@'127.0.0.1'",
)


def document(database: str, table: str, config: dict[str, Any], **target: Any) -> dict[str, Any]:
    place = {"table": {"database": database, "name": table}, **config}
    source = {"id": "src", "kind": "source", "connector": "mysql_cdc", "connection": "shop", "config": place}
    load = {
        "id": "load", "kind": "target", "inputs": ["src"], "connector": "postgres", "connection": "warehouse",
        "schema": "public", "table": "t", "loadMode": "cdc_mirror", "cdcSource": "src", "emptyAsNull": False, **target,
    }  # fmt: skip
    return {"kind": "pipeline", "version": "1.0", "id": "p", "nodes": [source, load]}


@dataclass
class TableLog:
    """Follows a table. `rows` are those that a target would have, by key."""

    server: MariaDB
    database: str
    folder: Path
    table: str = "t"
    rows: dict[Any, Any] = field(default_factory=dict)
    state: SourceState | None = None
    numbers: Any = field(default_factory=itertools.count)

    def run(self, *statements: str) -> None:
        self.server.run(*statements, database=self.database)

    def forget_files(self) -> None:
        """Remove all files of the log but the newest, as the server does after a time."""
        deadline = time.monotonic() + 30
        while True:
            with connect(database_of(self.connection())) as session:
                files = [(row[0] or b"").decode() for row in session.rows("SHOW BINARY LOGS")]
            if len(files) == 1:
                return
            assert time.monotonic() < deadline, files
            self.run(f"PURGE BINARY LOGS TO '{files[-1]}'")
            time.sleep(0.2)

    def connection(self) -> StoreConnection:
        found = self.server.connection()
        settings = {**found.settings, "database": self.database, "user": "follower"}
        return replace(found, settings=settings, secrets={"password": "secret of follower"})

    def reader(self) -> StoreConnection:
        """Return a connection that may only read the tables."""
        self.run(f"GRANT SELECT ON {self.database}.* TO reader@'127.0.0.1'")
        found = self.server.connection()
        return replace(found, settings={**found.settings, "database": self.database})

    def source(self, **config: Any) -> tuple[Source, SourceContext]:
        made = document(self.database, self.table, config)
        pipeline = parsePipelineIR(made, streaming=True).pipeline
        node = next(node for node in pipeline.nodes if isinstance(node, Source))
        target = next(iter(pipeline.targets()))
        folder = self.folder / str(next(self.numbers))
        context = SourceContext(
            folder, Claimant("p", frozenset(["src"]), "run", 1, "w"), store=self.connection(),
            paths=tuple(pipeline.paths_to(target)),
        )  # fmt: skip
        return node, context

    def read(self, **config: Any) -> Reading:
        """Read once, apply the changes to `rows`, and remember the state."""
        node, context = self.source(**config)
        with ExitStack() as stack:
            source = MysqlCdc(node, context)
            source.open(stack)
            reading = source.reading(state=self.state)
            self._apply(reading)
        return reading

    def read_while(self, act: Callable[[], None]) -> None:
        """Read everything for the first time; `act` happens between the position and the first row."""
        node, context = self.source()
        with ExitStack() as stack:
            source = MysqlCdc(node, replace(context, log=lambda line: act()))
            source.open(stack)
            self._apply(source.reading())

    def catch_up(self) -> None:
        while not self.read().is_nothing:
            pass

    def _apply(self, reading: Reading) -> None:
        if reading.is_nothing:
            return
        changes = reading.changes
        assert changes is not None
        if changes.truncates or changes.is_snapshot:
            self.rows.clear()
        if changes.path is not None:
            for line in changes.path.read_text().splitlines():
                self.rows.pop(tuple(cell.strip('"') for cell in line[2:].split(",")), None)
        for part in reading.parts:
            for row in found(reading.reader.read(part, reading.fields)):
                key = tuple(_plain(row[name]) for name in changes.key)
                self.rows[key] = row
        self.state = reading.origins[0].state

    def selected(self) -> list[dict[str, Any]]:
        """The rows that the connector `mysql` reads."""
        node, context = self.source()
        place = {"table": {"database": self.database, "name": self.table}}
        source = MysqlSource(node.model_copy(update={"connector": "mysql", "config": place}), context)
        with ExitStack() as stack:
            source.open(stack)
            reading = source.reading()
            (part,) = reading.parts
            return found(reading.reader.read(part, reading.fields))

    def difference(self) -> list[Any]:
        ours = sorted(map(repr, self.rows.values()))
        theirs = sorted(map(repr, self.selected()))
        return [pair for pair in itertools.zip_longest(ours, theirs) if pair[0] != pair[1]]


def _plain(value: Any) -> str:
    return str(value)


def found(batches: Any) -> list[dict[str, Any]]:
    """Return rows without the hidden columns, but with the reason of a row that cannot be read."""
    rows = []
    for batch in batches:
        for row in pa.Table.from_batches([batch]).to_pylist():
            if row["_flow_bad"] == "trailer":
                continue
            rows.append(
                {name: value for name, value in row.items() if not name.startswith("_flow") or name == "_flow_bad"}
            )
    return rows
