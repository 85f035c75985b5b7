"""A sample of the source: the rows before the first rule, from any source. A sample claims and loads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from executors.errors import Failure
from executors.model import Connection
from executors.postgres.client import connect
from executors.runs.sample import sample_pipeline
from tests.executors.conformance.world import World, target_of

OPS = [
    {"op": "rename", "columns": {"no": "id"}},
    {"op": "cast", "columns": {"id": "integer"}},
    {"op": "derive", "columns": {"double": "id * 2"}},
    {"op": "filter", "where": "id <> 3"},
    {"op": "deduplicate", "keys": ["name"]},
]


def sample(world: World, **document):
    """Take a sample, and return its rows: (file, record, row)."""
    world.sample_report = sample_pipeline(world.job(world.document(**document)), world.memory.ports())
    return sampled(world)


def sampled(world: World):
    rows = world.sql(
        "select source_file, source_record, row from flow_meta.samples where tenant = %s and kind = 'source'"
        " order by id",
        world.tenant,
    )
    return [tuple(row) for row in rows]


def test_rows_come_behind_the_ops_and_before_the_rules_without_those_that_a_cast_rejects(world: World) -> None:
    world.write("a", "no,name\n1,Ann\n2,Bob\n3,Cy\nx,Di\n5,Ann\n")
    rows = sample(world, ops=OPS, rules=[{"type": "maxLength", "field": "name", "max": 1, "onFail": "abort"}])
    assert [(record, row["id"], row["double"]) for _, record, row in rows] == [
        (1, 1, 2),
        (2, 2, 4),
        (5, 5, 10),
    ]
    reads_bad = sample(world, ops=OPS, onTypeMismatch="null")
    assert [(record, row["id"]) for _, record, row in reads_bad] == [(1, 1), (2, 2), (5, 5)], "NULL meets no filter"
    assert world.sql("select to_regclass('t')") == [(None,)]
    assert world.memory.commits == {}


def test_columns_that_other_rows_determine_are_left_out(world: World) -> None:
    world.write("a", "id,name\n1,Ann\n2,Bob\n")
    window = {"op": "window", "orderBy": [{"column": "id"}], "columns": [{"as": "place", "function": "rowNumber"}]}
    rows = sample(world, ops=[window, {"op": "derive", "columns": {"next": "place + 1"}}])
    assert [row for _, _, row in rows] == [{"id": "1", "name": "Ann"}, {"id": "2", "name": "Bob"}]
    assert world.memory.lines[0] == (
        "The sample leaves out place, next: other rows determine the values, and a sample lacks rows."
    )


def test_what_was_loaded_before_is_looked_at_and_stays_where_it_is(world: World) -> None:
    world.write("a", "id,name\n1,Ann\n2,Bob\n")
    world.run(world.document())
    assert len(sample(world)) == 2
    world.write("b", "id,name\n3,Cy\n")
    assert len(sample(world)) == 3
    assert world.run(world.document()).nodes[-1].rows_loaded == 1


def test_a_sample_ends_where_it_is_large_enough(world: World, monkeypatch) -> None:
    monkeypatch.setattr("executors.runs.sample.MOST_ROWS", 10)
    world.write("a", "id,name\n" + "".join(f"{n},N{n}\n" for n in range(5000)))
    assert len(sample(world)) == 10


def test_rows_of_a_database_are_sampled_as_they_are(world: World) -> None:
    world.sql("create table s (id int primary key, name text, amount numeric(10,2), day date, ok boolean)")
    world.sql(
        "insert into s select n, 'N' || n, n + 0.5, date '2026-01-01' + n, mod(n, 2) = 0 from generate_series(1, 50) n"
    )
    report = sample_pipeline(world.job(world.table_document()), world.memory.ports())
    assert report.row_counts == {"load": 50}
    assert sampled(world)[0][2] == {"id": 1, "name": "N1", "amount": "1.50", "day": "2026-01-02", "ok": False}
    types = ["integer", "string", "decimal(10,2)", "date", "boolean"]
    assert world.sql("select types from flow_meta.samples where tenant = %s and types is not null", world.tenant) == [
        (types,)
    ]


@pytest.fixture
def reads_server_files(server: Connection, warehouse: Connection) -> Iterator[None]:
    """The role of the warehouse can read files on the database server while the block runs."""
    with connect(server, autocommit=True) as admin:
        if admin.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() != (True,):
            pytest.skip("only a superuser may grant this, and the server's user is none")
        admin.execute(f'GRANT pg_read_server_files TO "{warehouse.user}"')
        yield
        admin.execute(f'REVOKE pg_read_server_files FROM "{warehouse.user}"')


@pytest.mark.usefixtures("reads_server_files")
@pytest.mark.slow
def test_as_a_role_with_rights_over_the_server_tables_are_loaded_and_not_shown(world: World) -> None:
    world.sql("create table s (id int primary key)")
    world.sql("insert into s values (1)")
    document = world.table_document()
    for look in (lambda: sample_pipeline(world.job(document), world.memory.ports()), lambda: world.preview(document)):
        with pytest.raises(Failure, match=r"^query\.role_not_allowed: A preview"):
            look()
    assert world.run(document).nodes[-1].rows_loaded == 1
    world.warehouse = replace(world.warehouse, allows_server_rights=True)
    assert sample_pipeline(world.job(document), world.memory.ports()).row_counts == {"load": 1}


@pytest.mark.usefixtures("reads_server_files")
def test_so_are_tables_that_joins_look_rows_up_in(world: World) -> None:
    world.sql("create table s (id int primary key)")
    world.sql("insert into s values (1)")
    world.write("a", "id\n1\n2\n")
    document = world.document(
        ops=[{"op": "join", "with": "known", "type": "semi", "on": {"id": "id"}}],
        columns=[{"name": "id", "type": "integer"}],
    )
    document["nodes"].append({**world.table_document()["nodes"][0], "id": "known"})
    document["nodes"][1]["inputs"].append("known")
    with pytest.raises(Failure, match=r"^query\.role_not_allowed: A preview"):
        world.preview(document)
    assert target_of(world.run(document)).rows_loaded == 1


def test_without_its_folder_a_source_cannot_be_sampled(world: World) -> None:
    with pytest.raises(Failure) as stopped:
        sample(world)
    assert stopped.value.code == "source.path_missing"


def test_values_that_json_cannot_hold_are_kept_all_the_same(world: World) -> None:
    world.write("a", 'id,name\n1,"a\0b"\n2,é\n')
    assert [row["name"] for *_, row in sample(world)][-1] == "é"


def test_a_large_table_is_not_read_to_its_end(world: World, monkeypatch) -> None:
    monkeypatch.setattr("executors.runs.sample.MOST_ROWS", 10)
    world.sql("create table s (id int primary key, name text)")
    world.sql("insert into s select n, repeat('x', 100) from generate_series(1, 200000) n")
    report = sample_pipeline(world.job(world.table_document()), world.memory.ports())
    assert report.row_counts == {"load": 10}
    reading = "select count(*) from pg_stat_activity where state = 'active' and query like 'COPY%%' and datname = %s"
    assert world.sql(reading, world.warehouse.database) == [(0,)]
