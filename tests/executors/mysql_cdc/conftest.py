from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.model import Connection
from tests.executors.mysql_cdc.log_of_table import FOLLOWER, TableLog
from tests.executors.mysql_cdc.mirror import Mirror
from tests.mariadb import WHY_NONE, MariaDB, has_mariadb, running_mariadb

LOGGED = ("--log-bin=bin", "--binlog-format=ROW", "--server-id=7")


@pytest.fixture(scope="session")
def logged() -> Iterator[MariaDB]:
    """A server that writes a binary log, with a user who may follow tables."""
    if not has_mariadb:
        pytest.skip(WHY_NONE)
    with running_mariadb(*LOGGED) as server:
        server.run(*FOLLOWER)
        yield server


@pytest.fixture
def log(logged: MariaDB, tmp_path: Path) -> TableLog:
    """The log of the table `t` in a new database."""
    database = f"d{uuid.uuid4().hex[:12]}"
    logged.run(f"CREATE DATABASE {database} CHARACTER SET utf8mb4", database="mysql")
    return TableLog(logged, database, tmp_path)


@pytest.fixture
def mirror(tmp_path: Path, warehouse: Connection, schema: str, spark: object, log: TableLog) -> Mirror:
    """A mirror of the table `s` of that database."""
    return Mirror(tmp_path, warehouse, schema, source=log.connection())
