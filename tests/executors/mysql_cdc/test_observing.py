"""Streams see how long their server retains the log that they have not loaded."""

from __future__ import annotations

from executors.mysql_cdc.observing import FileFacts, observe_file
from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.executors.mysql_cdc.test_following import begin


def test_the_time_that_is_left_for_a_file(log: TableLog) -> None:
    begin(log)
    assert log.state is not None
    state = log.state.value

    def facts() -> FileFacts:
        return observe_file(log.connection(), state)

    assert (facts().behind_bytes, facts().expire_seconds, facts().left_seconds) == (0, None, None)
    log.run("SET GLOBAL binlog_expire_logs_seconds = 3600")
    try:
        # The server still writes to the file.
        assert (facts().expire_seconds, facts().left_seconds) == (3600, None)
        log.run("INSERT INTO t (id) VALUES (9)", "FLUSH BINARY LOGS")
        found = facts()
    finally:
        log.run("SET GLOBAL binlog_expire_logs_seconds = 0")
    assert found.left_seconds is not None
    assert 3000 < found.left_seconds <= 3600
    assert (found.behind_bytes > 0, found.is_lost) == (True, False)
    log.forget_files()
    assert (facts().is_lost, facts().left_seconds) == (True, None)
