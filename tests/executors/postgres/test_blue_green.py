"""blue_green: what a swap carries over, what readers see meanwhile, and what a failure leaves."""

from __future__ import annotations

import pytest


@pytest.fixture
def load(loading, make):
    make("CREATE TABLE t (id integer PRIMARY KEY, v text)")
    make("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    return loading("t", "id integer", "v", mode="blue_green")


def test_the_staged_rows_take_the_place_of_all_rows(load, rows):
    load.stage([(7, "new")])
    counts = load.commit()
    assert (counts.inserted, counts.loaded) == (1, 1)
    assert rows("SELECT * FROM t") == [(7, "new")]
