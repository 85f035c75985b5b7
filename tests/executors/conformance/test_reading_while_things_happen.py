"""A table is read while other sessions write to it, the run is cancelled, or the server stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from executors.errors import Cancelled, Failure
from executors.sources import postgres, postgres_blocks
from executors.spark import one_pass
from executors.spark.one_pass import Way
from tests.executors.conformance.test_joins import with_customers
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

MANY = 60_000


@pytest.fixture
def in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a table `s` that is read in many parts, and an empty `t`."""
    monkeypatch.setattr(postgres_blocks, "SPLIT_BYTES", 256 << 10)
    for name in ("s", "t"):
        world.sql(f"create table {name} (id int primary key, n int, pad text)")
    world.sql(f"insert into s select g, 0, repeat('x', 50) from generate_series(1, {MANY}) g")


@pytest.fixture
def writer(world: World) -> Iterator[None]:
    """Update two rows so that their sum stays the same, insert rows and delete rows, until stopped."""
    stop = threading.Event()

    def write() -> None:
        number = MANY
        while not stop.is_set():
            number += 1
            world.sql(
                "with a as (update s set n = n + 1 where id = %s), b as (update s set n = n - 1 where id = %s),"
                " c as (delete from s where id = %s) insert into s values (%s, 0, 'new')",
                number % 997 + 1,
                MANY - number % 991,
                MANY // 2 + (number - MANY),
                number,
            )

    thread = threading.Thread(target=write)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("in_parts", "writer")
def test_all_parts_are_of_one_moment(world: World) -> None:
    report = world.run(world.table_document())
    assert world.sql("select count(*), sum(n) from t") == [(MANY, 0)]
    assert (target_of(report).rows_read, reconciles(report)) == (MANY, True)


@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.usefixtures("in_parts")
def test_every_way_reads_every_part_once(world: World, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "_way_of", lambda stages: way)
    rule = {"type": "range", "field": "id", "min": 11, "onFail": "skip"}
    report = world.run(world.table_document(rules=[rule]))
    assert world.sql("select count(*), count(distinct id), min(id) from t") == [(MANY - 10, MANY - 10, 11)]
    assert (target_of(report).rows_read, reconciles(report)) == (MANY, True)
    assert world.sql('select count(distinct "sourceRecord"), count(distinct "rowId") from rejected') == [(10, 10)]


@pytest.mark.usefixtures("in_parts")
def test_behind_a_pooler_that_cannot_share_a_snapshot_one_part_reads_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres.PostgresSource, "_export", lambda self: "")
    document = world.table_document()
    report = world.run(document)
    assert (target_of(report).rows_loaded, reconciles(report)) == (MANY, True)
    world.sql("create table u (like t)")
    document["nodes"].append({**document["nodes"][-1], "id": "load-u", "table": "u"})
    with pytest.raises(Failure) as stopped:
        world.run(document)
    assert stopped.value.code == "source.not_pinned"


SLOW = "select count(*) as id from {0}.s a, {0}.s b where a.pad || b.id <> ''"
"""Takes minutes, and sends nothing until it is done."""

READING = "select count(*) from pg_stat_activity where application_name like 'flow run %% reads' and state = 'active'"


SLOW_REFERENCE = "select count(*)::text as key, min(a.pad) as name from {0}.s a, {0}.s b where a.pad || b.id <> ''"


def slow_table(world: World) -> dict[str, Any]:
    return world.table_document(query=SLOW.format(world.schema))


def slow_join(world: World) -> dict[str, Any]:
    """Return a document whose orders are looked up in a query that takes minutes."""
    world.sql("alter table t add customer text, add name text")
    world.write("a", "id,customer\n1,a\n")
    document = with_customers(world)
    config = {"query": SLOW_REFERENCE.format(world.schema)}
    document["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": config}
    return document


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("slow", [slow_table, slow_join])
def test_a_read_that_sends_nothing_can_be_cancelled_within_seconds(
    world: World, slow: Callable[[World], dict[str, Any]]
) -> None:
    document = slow(world)

    def cancel() -> None:
        while world.sql(READING + " and query like '%%pad || b.id%%'") == [(0,)]:
            time.sleep(0.1)
        world.memory.stop = Cancelled("run.cancelled", "The run was cancelled by a person.")
        assert world.memory.interrupt is not None
        world.memory.interrupt()

    person = threading.Thread(target=cancel, daemon=True)
    person.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        world.run(document)
    person.join()
    assert time.monotonic() - began < 60
    deadline = time.monotonic() + 10
    while world.sql(READING) != [(0,)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert world.sql(READING) == [(0,)]
    assert world.rows() == []


@pytest.mark.usefixtures("in_parts")
def test_a_connection_lost_while_reading_is_reported_at_the_source_and_loads_nothing(world: World) -> None:
    def cut() -> None:
        kill = (
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name like 'flow run %% reads' and query like 'COPY%%'"
        )
        while not world.sql(kill):
            time.sleep(0.05)

    cutter = threading.Thread(target=cut)
    cutter.start()
    with pytest.raises(Failure) as stopped:
        world.run(world.table_document(query=SLOW.format(world.schema)))
    cutter.join()
    assert (stopped.value.code, stopped.value.node) == ("source.lost", "src")
    assert world.rows() == []


def test_a_statement_that_outlasts_the_run_s_own_time_is_ended(world: World) -> None:
    world.sql("create table t (id bigint)")
    world.sql("create table s as select g as id, 'x' as pad from generate_series(1, 60000) g")
    document = world.table_document(query=SLOW.format(world.schema)) | {"errorHandling": {"maxMinutes": 0.05}}
    with pytest.raises(Failure) as stopped:
        world.run(document)
    assert stopped.value.code == "source.cancelled"
