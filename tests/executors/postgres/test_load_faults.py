"""The state after a load whose session or server ends, or that conflicts with another load."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from executors.errors import LeaseLost, TargetBusy, Transient
from executors.postgres.client import connect
from executors.postgres.fences import raise_fence
from executors.postgres.load import commit_load
from executors.postgres.meta import find_commits


@pytest.fixture
def slow(make):
    """A table `t (k, v)` whose loads take a second in the middle."""
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'")
    make("CREATE TRIGGER slow AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION slow()")


def started(load):
    """A load in a session and thread of its own: (future, pid of the session)."""
    session = connect(load.connection, autocommit=True)
    pool = ThreadPoolExecutor(1)
    future = pool.submit(commit_load, session, load.plan())
    future.add_done_callback(lambda _: session.close())
    pool.shutdown(wait=False)
    return future, session.info.backend_pid


def wait_until_it_sleeps(conn, pid):
    done = threading.Event()
    for _ in range(100):
        row = conn.execute("SELECT wait_event FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone()
        if row and row[0] == "PgSleep":
            return
        done.wait(0.05)
    raise AssertionError("the load never reached its trigger")


def test_a_session_that_dies_in_the_load_leaves_nothing_and_the_load_can_be_done_again(
    loading, slow, conn, server, rows
):
    load = loading("t", "k integer", "v")
    load.stage([(1, "a")])
    future, pid = started(load)
    wait_until_it_sleeps(conn, pid)
    with connect(server, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(%s)", [pid])
    with pytest.raises(Transient, match=r"target\.lost"):
        future.result()
    assert rows("SELECT * FROM t") == []
    assert find_commits(conn, load.run.run_id) == []
    assert load.commit().inserted == 1


def test_a_new_claim_waits_for_a_load_that_is_committing(loading, slow, conn, rows):
    load = loading("t", "k integer", "v", token=1)
    load.stage([(1, "a")])
    future, pid = started(load)
    wait_until_it_sleeps(conn, pid)
    raise_fence(conn, load.run.tenant, load.run.pipeline, "load", 2)
    assert future.result().inserted == 1
    assert len(find_commits(conn, load.run.run_id)) == 1


def test_of_two_attempts_of_one_run_only_the_newer_loads(loading, make, conn, rows):
    make("CREATE TABLE t (k integer)")
    old = loading("t", "k integer", token=1)
    old.stage([(1,)])
    new = loading("t", "k integer", run_id=old.run.run_id, attempt=2, token=2)
    new.stage([(1,)])
    with pytest.raises(LeaseLost):
        old.commit()
    new.commit()
    with pytest.raises(LeaseLost):
        old.commit()
    assert rows("SELECT * FROM t") == [(1,)]


def test_two_pipelines_that_upsert_one_table_in_opposite_orders(loading, make, rows):
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    up = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"])
    down = loading("t", "k integer", "v", mode="upsert", upsert_key=["k"], pipeline="opposite")
    up.stage([(k, "up") for k in range(1, 1001)])
    down.stage([(k, "down") for k in range(1000, 0, -1)])
    futures = [started(load)[0] for load in (up, down)]
    results = [future.exception() or future.result() for future in futures]
    assert all(isinstance(r, TargetBusy) or r.loaded == 1000 for r in results)
    assert any(not isinstance(r, TargetBusy) for r in results)
    assert rows("SELECT count(DISTINCT v), count(*) FROM t") == [(1, 1000)]


DELAY = """
    CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NEW; END';
    CREATE TRIGGER delay BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.k = 2) EXECUTE FUNCTION delay()"""


@pytest.mark.parametrize("mode", [pytest.param("append", marks=pytest.mark.slow), "upsert"])
def test_a_deadlock_with_somebody_else_leaves_nothing_of_the_load_and_may_be_tried_again(
    loading, make, conn, server, superuser, warehouse, schema, rows, mode
):
    """The load has written 1 and waits for 2; the other transaction has written 2 and waits for 1, with a longer
    deadlock timeout."""
    make("CREATE TABLE t (k integer PRIMARY KEY, v text)")
    make(DELAY)
    load = loading("t", "k integer", "v", mode=mode, upsert_key=["k"])
    load.stage([(1, "load"), (2, "load")])
    with connect(replace(server, database=warehouse.database)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SET deadlock_timeout = '1min'")
        other.execute("SET session_replication_role = replica")
        insert = f"INSERT INTO {schema}.t VALUES ({{}}, 'other')"
        other.execute(insert.format(2))
        future, pid = started(load)
        wait_until_it_sleeps(conn, pid)
        waiting = pool.submit(other.execute, insert.format(1))
        with pytest.raises(Transient, match=r"target\.deadlock"):
            future.result()
        waiting.result()
        assert find_commits(conn, load.run.run_id) == []
        other.rollback()
    assert rows("SELECT * FROM t") == []
    assert load.commit().loaded == 2
