"""Transactions that the server ends because their process is frozen."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from executors.errors import Transient
from executors.postgres import ddl, effects
from executors.postgres.client import connect
from executors.postgres.preview import count_effect

pytestmark = pytest.mark.postgres


def test_an_attempt_frozen_while_it_counts_does_not_keep_others_from_the_table(make, loading, warehouse, monkeypatch):
    make("CREATE TABLE t (id integer)")
    load, count_rows = loading("t", "id integer", mode="truncate"), effects.count_rows

    def freeze(conn, plan):
        before = count_rows(conn, plan)
        time.sleep(0.5)
        make("TRUNCATE t")
        return before

    monkeypatch.setattr(ddl, "IDLE_LIMIT", "200ms")
    monkeypatch.setattr(effects, "count_rows", freeze)
    load.conn.execute("SET lock_timeout = '2s'")
    with closing(connect(warehouse, autocommit=True)) as frozen, pytest.raises(Transient, match="connection") as ended:
        count_effect(frozen, load.plan())
    assert ended.value.code == "target.lost"
