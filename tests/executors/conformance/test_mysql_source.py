"""Rows of MariaDB are loaded by real runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from executors.errors import Failure, Transient
from executors.mysql.client import connect, database_of
from tests.executors.conformance.world import World, reconciles, target_of
from tests.mariadb import WHY_NONE, MariaDB, has_mariadb, running_mariadb


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDB]:
    if not has_mariadb:
        pytest.skip(WHY_NONE)
    with running_mariadb() as server:
        yield server


def document(world: World, mariadb: MariaDB, config: dict[str, Any], **target: Any) -> dict[str, Any]:
    world.stores = {"shop": mariadb.connection()}
    made = world.document(**target)
    made["nodes"][0] |= {"connector": "mysql", "connection": "shop", "config": config}
    return made


def test_rows_are_loaded_and_those_that_break_rules_are_rejected(world: World, mariadb: MariaDB) -> None:
    mariadb.run(
        "CREATE OR REPLACE TABLE orders (id bigint unsigned, day date, amount decimal(20,6), note text)",
        "INSERT INTO orders SELECT seq, '2024-02-29', seq / 8, if(seq = 7, NULL, 'naïve') FROM seq_1_to_1000",
        "INSERT INTO orders VALUES (18446744073709551615, '0000-00-00', 1, 'x')",
    )
    world.create_table("create table t (id numeric(20), day date, amount numeric(20,6), note text)")
    rules = [{"type": "notNull", "field": "note", "onFail": "skip"}]
    made = document(world, mariadb, {"table": {"name": "orders"}}, rules=rules, onTypeMismatch="skip")
    report = world.run(made)
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_rejected) == (1001, 2)
    assert world.sql("select count(*), sum(id), sum(amount), min(day)::text, min(note) from t") == [
        (999, 500493, 62561.625, "2024-02-29", "naïve")
    ]


@pytest.mark.slow
def test_a_watermark_reads_only_later_rows(world: World, mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE later (id int)", "INSERT INTO later SELECT seq FROM seq_1_to_10")
    world.create_table("create table t (id integer)")
    made = document(world, mariadb, {"query": "SELECT id FROM later"}, mode="incremental_watermark")
    world.run(made)
    mariadb.run("INSERT INTO later SELECT seq FROM seq_11_to_15")
    report = world.run(made)
    # The row of the watermark itself is read again.
    assert (target_of(report).rows_read, target_of(report).rows_loaded) == (6, 5)
    assert world.rows() == [(n,) for n in range(1, 16)]


@pytest.mark.slow
def test_two_targets_of_one_source_are_refused(world: World, mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE twice (id int)", "INSERT INTO twice VALUES (1)")
    world.create_table("create table t (id integer)")
    world.create_table("create table u (id integer)")
    made = document(world, mariadb, {"table": {"name": "twice"}})
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    with pytest.raises(Failure) as refused:
        world.run(made)
    assert refused.value.code == "source.not_pinned"


@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_loads_nothing(world: World, mariadb: MariaDB) -> None:
    mariadb.run(
        "CREATE OR REPLACE TABLE big (id int, text text)",
        "INSERT INTO big SELECT seq, repeat('x', 5000) FROM seq_1_to_60000",
    )
    world.create_table("create table t (id integer, text text)")
    world.sql("insert into t values (0, 'before')")
    made = document(world, mariadb, {"table": {"name": "big"}}, mode="truncate")
    killer = threading.Thread(target=kill_while_read, args=[mariadb])
    killer.start()
    try:
        with pytest.raises(Failure) as ended:
            world.run(made)
    finally:
        killer.join()
        mariadb.start()
    assert (ended.value.code, ended.value.node, isinstance(ended.value, Transient)) == ("source.lost", "src", True)
    assert world.rows() == [(0, "before")]


def kill_while_read(mariadb: MariaDB) -> None:
    with connect(database_of(mariadb.connection())) as session:
        query = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%FROM `flow`.`big` q WHERE%'"
        for _ in range(600):
            if int(session.rows(query)[0][0] or 0) > 1:  # this query is one
                break
            time.sleep(0.1)
    mariadb.kill()


@pytest.mark.slow
def test_rows_are_united_with_those_of_a_file(world: World, mariadb: MariaDB) -> None:
    mariadb.run("CREATE OR REPLACE TABLE orders (id int, name text)", "INSERT INTO orders VALUES (1, 'a'), (2, NULL)")
    world.write("a.csv", "id,name\n1,x\n3,\n")
    world.create_table("create table t (id int, name text)")
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    columns = [{"name": "id", "type": "integer"}]
    made = world.document(ops=[{"op": "union"}], rules=rules, columns=columns, mode="truncate")
    world.stores = {"shop": mariadb.connection()}
    orders = {"id": "orders", "kind": "source", "connector": "mysql", "connection": "shop"}
    made["nodes"].insert(1, orders | {"config": {"table": {"name": "orders"}}})
    made["nodes"][2]["inputs"] = ["src", "orders"]
    report = world.run(made)
    assert world.sql("select id, name from t order by name") == [(1, "a"), (1, "x")]
    assert {node.id: node.rows_read for node in report.nodes if node.kind == "source"} == {"src": 2, "orders": 2}
    assert world.sql('select "sourceNode", "row"->>\'id\' from rejected order by 1') == [("orders", "2"), ("src", "3")]
