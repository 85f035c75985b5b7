from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg import sql

from executors.model import Connection
from tests.databases import connect_to
from tests.executors.postgres_cdc.mirror import Mirror
from tests.logical_server import LogicalServer, logical_server


@pytest.fixture(scope="session")
def logical() -> Iterator[LogicalServer]:
    """A server with a logical log, of version 18 or FLOW_TEST_LOGICAL."""
    with logical_server(int(os.environ.get("FLOW_TEST_LOGICAL", "18"))) as server:
        yield server


@pytest.fixture
def source(logical: LogicalServer) -> Iterator[Connection]:
    """A new database of that server."""
    name = f"s{uuid.uuid4().hex}"
    with connect_to(logical.connection) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield replace(logical.connection, database=name)
        admin.execute(
            "SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE database = %s AND active",
            [name],
        )
        admin.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s", [name]
        )
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def mirror(tmp_path: Path, warehouse: Connection, schema: str, spark: object, source: Connection) -> Mirror:
    return Mirror(tmp_path, warehouse, schema, source=source)
