"""A stream without changes watches the log, and runs no windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from executors.errors import Cancelled
from executors.mysql_cdc import log_watch
from executors.sources.mysql_cdc import MysqlCdc
from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.executors.mysql_cdc.test_following import begin


@pytest.fixture
def open_watch(log: TableLog) -> Iterator[Callable[..., Any]]:
    """Opens a watch; `between` happens after its start was noted."""
    begin(log)
    node, _ = log.source()
    job: Any = SimpleNamespace(tenant="t", pipeline=SimpleNamespace(id="p"), stores={"shop": log.connection()})
    opened = []

    def start(between: Callable[[], None] = lambda: None, check: Callable[[], None] = lambda: None) -> Any:
        noted = MysqlCdc.end_of_log(job, node)
        between()
        opened.append(MysqlCdc.open_watch(job, node, noted, check))
        return opened[-1]

    yield start
    for watch in opened:
        watch.close()


def test_what_the_target_does_not_need_is_not_noticed(open_watch: Any, log: TableLog, monkeypatch: Any) -> None:
    reads = []
    read = log_watch.open_log
    monkeypatch.setattr(log_watch, "open_log", lambda *given: reads.append(1) or read(*given))
    watch = open_watch()
    assert [watch.has_changes(), watch.has_changes(), len(reads)] == [False, False, 0]
    log.run(
        "CREATE TABLE other (a int)", "INSERT INTO other VALUES (1)", "BEGIN", "DELETE FROM t", "ROLLBACK",
        "ALTER TABLE t ADD INDEX (n)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "INSERT INTO other VALUES (2)",
    )  # fmt: skip
    # Each part of the log is read once.
    assert [watch.has_changes(), watch.has_changes(), len(reads)] == [False, False, 1]
    log.run("INSERT INTO other VALUES (3)", "INSERT INTO t (id) VALUES (9)")
    assert watch.has_changes()


@pytest.mark.parametrize(
    "statements",
    [
        ("INSERT INTO t (id) VALUES (9)",),
        ("TRUNCATE t",),
        ("ALTER TABLE t ADD COLUMN c int",),
        ("ALTER TABLE t CHANGE n m int",),
        ("SET binlog_format = STATEMENT", "DELETE FROM t"),
        ("XA START 'w'", "DELETE FROM t", "XA END 'w'", "XA COMMIT 'w' ONE PHASE"),
    ],
)
def test_a_change_of_the_table_is_noticed(open_watch: Any, log: TableLog, statements: tuple[str, ...]) -> None:
    # Also one that is made after a window has found nothing, and before the watch begins.
    assert open_watch(lambda: log.run(*statements)).has_changes()


def test_an_xa_transaction_is_noticed_when_it_is_completed(open_watch: Any, log: TableLog) -> None:
    log.run("XA START 'n'", "DELETE FROM t", "XA END 'n'", "XA PREPARE 'n'")
    watch = open_watch()
    assert not watch.has_changes()
    log.run("XA COMMIT 'n'")
    assert watch.has_changes()


def test_the_server_is_checked_now_and_then(open_watch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = open_watch()
    monkeypatch.setattr(log_watch, "LONGEST_SECONDS", 0.0)
    assert watch.has_changes()


def test_a_cancellation_ends_reading(open_watch: Any, log: TableLog) -> None:
    def stop() -> None:
        raise Cancelled("run.cancelled", "enough")

    watch = open_watch(lambda: log.run("CREATE TABLE other (a int)"), stop)
    with pytest.raises(Cancelled):
        watch.has_changes()
