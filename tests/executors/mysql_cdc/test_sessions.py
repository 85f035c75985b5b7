"""Sessions that the server ends while a run reads."""

from __future__ import annotations

import pytest

from executors.change_log.net_effect import Changes
from executors.errors import Transient
from executors.mysql.client import connect, database_of
from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.executors.mysql_cdc.test_following import begin

MANY = "INSERT INTO t SELECT seq, seq, REPEAT('n', 900) FROM seq_10_to_20000"


def end_sessions(log: TableLog, how: str, command: str) -> int:
    with connect(database_of(log.connection())) as session:
        query = f"SELECT id FROM information_schema.processlist WHERE user = 'follower' AND command LIKE '{command}'"
        numbers = [int(number or 0) for (number,) in session.rows(query)]
    log.run(*(f"KILL {how} {number}" for number in numbers))
    return len(numbers)


@pytest.mark.parametrize("how", ["CONNECTION", "QUERY"])
def test_the_session_that_reads_the_log(log: TableLog, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    begin(log, "id int primary key, n int, name varchar(1000)")
    log.run(MANY, MANY.replace("INSERT", "REPLACE"))
    set_row, counts = Changes.set_row, []

    def kill(self, *args):
        counts.append(1)
        if len(counts) == 100:
            assert end_sessions(log, how, "Binlog Dump") == 1
        set_row(self, *args)

    monkeypatch.setattr(Changes, "set_row", kill)
    before = log.state
    with pytest.raises(Transient) as lost:
        log.read()
    assert (lost.value.code, log.state) == ("source.lost", before)
    log.catch_up()
    assert log.difference() == []
