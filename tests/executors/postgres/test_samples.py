"""A few rows of each load are stored next to the target, with their position, limited in number and time."""

from __future__ import annotations

import pytest

from executors.postgres import samples
from executors.postgres.samples import drop_old_samples, keep_source_sample, read_samples


@pytest.fixture
def stored_samples(conn, schema):
    """The samples of the test's pipeline: (run, file, record, row), oldest first."""

    def fetch() -> list[tuple]:
        with conn.transaction():
            return conn.execute(
                "SELECT run_id, source_file, source_record, row FROM flow_meta.samples WHERE pipeline = %s ORDER BY id",
                [f"p-{schema}"],
            ).fetchall()

    return fetch


def load_rows(loading, rows, **more):
    load = loading("t", "id integer", "name", **more)
    load.stage(rows)
    load.commit()
    return load


def test_rows_are_kept_with_their_run_file_and_record(loading, make, stored_samples):
    make("CREATE TABLE t (id integer, name text)")
    load = load_rows(loading, [(1, "Ann"), (2, None)])
    assert stored_samples() == [
        (load.run.run_id, load.files[0].name, 1, {"id": 1, "name": "Ann"}),
        (load.run.run_id, load.files[0].name, 2, {"id": 2, "name": None}),
    ]


def test_no_more_rows_are_kept_than_the_cap(loading, make, stored_samples, monkeypatch):
    make("CREATE TABLE t (id integer, name text)")
    monkeypatch.setattr(samples, "MOST_ROWS", 3)
    load_rows(loading, [(n, "x") for n in range(10)])
    assert len(stored_samples()) == 3


def test_of_many_rows_some_pages_are_kept(loading, make, stored_samples, monkeypatch):
    make("CREATE TABLE t (id integer, name text)")
    monkeypatch.setattr(samples, "AT_RANDOM_FROM", 1000)
    load_rows(loading, [(n, "x" * 50) for n in range(5000)])
    found = stored_samples()
    assert 0 < len(found) <= samples.MOST_ROWS
    assert len({record for _, _, record, _ in found}) == len(found)


def test_a_row_that_is_too_long_is_excluded(loading, make, stored_samples):
    make("CREATE TABLE t (id integer, name text)")
    load_rows(loading, [(1, "x" * samples.LONGEST_ROW), (2, "short")])
    assert [row["id"] for *_, row in stored_samples()] == [2]


def test_samples_of_older_loads_give_way(loading, make, stored_samples, monkeypatch):
    make("CREATE TABLE t (id integer, name text)")
    monkeypatch.setattr(samples, "MOST_LOADS", 2)
    loads = [load_rows(loading, [(n, "x")]) for n in range(4)]
    assert [run for run, *_ in stored_samples()] == [load.run.run_id for load in loads[2:]]


def test_a_load_that_fails_keeps_none(loading, make, stored_samples):
    make("CREATE TABLE t (id integer CHECK (id > 0), name text)")
    load = loading("t", "id integer", "name")
    load.stage([(-1, "x")])
    with pytest.raises(Exception, match="constraint"):
        load.commit()
    assert stored_samples() == []


def test_what_is_past_its_time_goes(loading, make, stored_samples, conn, schema):
    make("CREATE TABLE t (id integer, name text)")
    load_rows(loading, [(1, "x"), (2, "y")])
    with conn.transaction():
        conn.execute(
            "UPDATE flow_meta.samples SET taken_at = now() - interval '31 days'"
            " WHERE pipeline = %s AND source_record = 1",
            [f"p-{schema}"],
        )
    assert drop_old_samples(conn) >= 1
    assert [row["id"] for *_, row in stored_samples()] == [2]


def test_values_come_back_in_the_order_of_the_columns(loading, make, conn, schema):
    make("CREATE TABLE t (order_id integer, email text, id text)")
    load = loading("t", "order_id integer", "email", "id")
    load.stage([(1, "a@b.c", "x"), (2, "d@e.f", "y")])
    load.commit()
    with conn.transaction():
        keep_source_sample(conn, load.run, [("a.csv", n, {"order_id": "1", "email": "", "id": None}) for n in (1, 2)])
    rows = read_samples(conn, load.run.tenant, load.run.pipeline, load.run.node)
    assert [row.kind for row in rows] == ["load", "load", "source", "source"]
    assert {tuple(row.row) for row in rows} == {("order_id", "email", "id")}
