"""A stream without changes watches the log, and runs no windows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executors.model import Connection
from executors.postgres_cdc import log_watch
from executors.postgres_cdc.log_watch import LogWatch
from executors.postgres_cdc.names import LogNames
from executors.postgres_cdc.replication import replication_session
from ir.nodes import Source
from tests.databases import connect_to

pytestmark = pytest.mark.postgres

LOG = "insert into other select i, repeat(md5(i::text), 50) from generate_series(1, 15000) i"
"""Writes more than STALE_BYTES."""


def write(source: Connection, *statements: str) -> None:
    with connect_to(source) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def watch(source: Connection) -> Iterator[LogWatch]:
    write(
        source,
        "create table s (id int primary key, name text)",
        "create table other (id int, name text)",
        "create publication p for all tables",
    )
    name = f"w{source.database[:30]}"
    with replication_session(source, "creates") as session:
        session.create_slot(name)
    config = {"table": {"schema": "public", "name": "s"}, "slot": name, "publication": "p"}
    node = Source.model_validate(
        {"id": "src", "kind": "source", "connector": "postgres_cdc", "connection": "source", "config": config}
    )
    made = LogWatch(node, source, LogNames("flow_x", name, "p"), lambda: None)
    yield made
    made.close()


def test_nothing_has_changed(watch: LogWatch) -> None:
    assert [watch.has_changes(), watch.has_changes()] == [False, False]


@pytest.mark.parametrize(
    "statement",
    ["insert into s values (1)", "truncate s", "alter table s add column n int; insert into s values (1)"],
)
def test_a_change_of_the_table_is_noticed(watch: LogWatch, source: Connection, statement: str) -> None:
    assert not watch.has_changes()
    write(source, statement)
    assert watch.has_changes()


def test_changes_that_the_target_does_not_need_are_not_noticed(watch: LogWatch, source: Connection) -> None:
    write(source, "insert into other values (1)", "begin; insert into s values (1); rollback")
    assert not watch.has_changes()


def test_log_of_other_tables_is_released_after_a_while(
    watch: LogWatch, source: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(source, LOG)
    assert not watch.has_changes()
    monkeypatch.setattr(log_watch, "STALE_SECONDS", 0.0)
    assert watch.has_changes()


def test_the_table_and_the_slot_are_checked_now_and_then(watch: LogWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_watch, "LONGEST_SECONDS", 0.0)
    assert watch.has_changes()
