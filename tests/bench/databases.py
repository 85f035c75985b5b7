"""Rows of databases as sources: the same table in MariaDB and in PostgreSQL."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from executors.model import Connection
from tests.bench.peers import TYPES
from tests.bench.product import make_target
from tests.executors.conformance.world import World, reconciles, target_of
from tests.mariadb import MariaDB

_TYPES = {"text": "text", "timestamp": "datetime(6)"}
"""Types of PostgreSQL that MariaDB calls otherwise."""


def fill_mariadb(server: MariaDB, dsn: str, table: str, folder: Path) -> None:
    """Copy a table of PostgreSQL to a table of this name in MariaDB."""
    file = folder / "mariadb.tsv"
    with psycopg.connect(dsn) as c, file.open("wb") as out, c.cursor().copy(f"copy {table} to stdout") as rows:
        for row in rows:
            out.write(row)
    file.chmod(0o644)
    columns = ", ".join(f"{name} {_TYPES.get(kind, kind)}" for name, kind in TYPES.items())
    server.run(
        f"CREATE OR REPLACE TABLE {table} ({columns})",
        f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table} CHARACTER SET utf8mb4",
    )


def load_from(
    connector: str, server: MariaDB, warehouse: Connection, table: str, folder: Path, ddl: str, dsn: str
) -> float:
    """Return the seconds of a run that loads the table into `public.orders`."""
    make_target(dsn, ddl)
    world = World(folder, warehouse, "public", stores={"shop": server.connection()})
    document = world.document(table="orders")
    document["nodes"][0] |= {
        "mysql": {"connector": "mysql", "connection": "shop", "config": {"table": {"name": table}}},
        "postgres": {
            "connector": "postgres",
            "connection": "warehouse",
            "config": {"table": {"schema": "public", "name": table}},
        },
    }[connector]
    start = time.perf_counter()
    report = world.run(document)
    seconds = time.perf_counter() - start
    if not reconciles(report):
        raise AssertionError(f"the numbers do not add up: {target_of(report)}")
    return seconds
