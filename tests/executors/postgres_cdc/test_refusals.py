"""What a run refuses, so that a green run never has wrong rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.errors import Failure, Terminal
from executors.postgres_cdc.names import names_of
from executors.postgres_cdc.replication import replication_session
from ir.parse import parsePipelineIR
from tests.executors.postgres_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLE = "create table s (id int primary key, name text); insert into s values (1, 'a'), (2, 'b')"


def refusal(mirror: Mirror, **pipeline: object) -> Failure:
    with pytest.raises(Failure) as raised:
        mirror.run(mirror.pipeline(**pipeline))  # type: ignore[arg-type]
    return raised.value


def slot_of(mirror: Mirror) -> str:
    return names_of(mirror.tenant, "case", parsePipelineIR(mirror.pipeline(), streaming=True).pipeline.nodes[0]).slot


def slots(mirror: Mirror) -> list[str]:
    with mirror.session() as connection:
        query = "select slot_name from pg_replication_slots where database = current_database()"
        return [name for (name,) in connection.execute(query).fetchall()]


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("create table s (id int)", 'ALTER TABLE "public"."s" ADD PRIMARY KEY'),
        (
            "create table s (id int not null); create unique index s_id on s (id)",
            'ALTER TABLE "public"."s" REPLICA IDENTITY USING INDEX s_id',
        ),
        (
            "create table s (id int primary key); alter table s replica identity nothing",
            'ALTER TABLE "public"."s" REPLICA IDENTITY DEFAULT',
        ),
    ],
)
def test_a_table_without_a_logged_key_is_refused_with_the_statement_that_adds_one(
    mirror: Mirror, table: str, statement: str
) -> None:
    mirror.at_source(table)
    failure = refusal(mirror)
    assert failure.code == "cdc.key_required"
    assert failure.hint is not None
    assert failure.hint.startswith(statement)
    assert slots(mirror) == []


@pytest.mark.parametrize(
    ("table", "pipeline", "code"),
    [
        ("create unlogged table s (id int primary key)", {}, "cdc.table_unusable"),
        ("create view s as select 1 as id", {}, "cdc.table_unusable"),
        ("create table s (id int primary key); create table c () inherits (s)", {}, "cdc.table_unusable"),
        ("select", {}, "source.table_unknown"),
        (TABLE, {"upsertKey": ["name"]}, "cdc.key_differs"),
        (TABLE, {"ops": [{"op": "drop", "columns": ["id"]}]}, "cdc.key_changed_by_transform"),
        (TABLE, {"ops": [{"op": "derive", "columns": {"id": "id + 1"}}]}, "cdc.key_changed_by_transform"),
        (TABLE, {"config": {"publication": "none"}}, "cdc.publication_missing"),
        (f"{TABLE}; create publication p for table s where (id > 1)", {"config": {"publication": "p"}},
         "cdc.publication_unfit"),
        (f"{TABLE}; create publication p for table s with (publish = 'insert')", {"config": {"publication": "p"}},
         "cdc.publication_unfit"),
        (f"{TABLE}; create publication p for table s (id)", {"config": {"publication": "p"}}, "cdc.publication_unfit"),
        (f"{TABLE}; create publication p", {"config": {"publication": "p"}}, "cdc.publication_unfit"),
    ],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused_before_a_slot_is_made(
    mirror: Mirror, table: str, pipeline: dict[str, object], code: str
) -> None:
    mirror.at_source(table)
    assert refusal(mirror, **pipeline).code == code
    assert slots(mirror) == []


def test_a_run_ends_earlier_readers_of_its_own_and_waits_for_others(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executors.postgres_cdc.slots._RELEASED_WITHIN", 1.0)
    mirror.at_source(TABLE)
    mirror.follow()
    mirror.at_source("insert into s values (3, 'c')")
    slot = slot_of(mirror)
    with replication_session(mirror.source, "flow reads flow_another") as other:
        other.start(slot, slot, 0)
        assert refusal(mirror).code == "cdc.slot_in_use"
    mirror.at_source(  # its process ends a moment after its session
        "do $$ begin while exists (select from pg_replication_slots where active) loop"
        " perform pg_sleep(0.05); end loop; end $$"
    )
    with replication_session(mirror.source, f"flow reads {slot}") as earlier:
        earlier.start(slot, slot, 0)
        assert mirror.follow().rows_inserted == 1


def test_a_slot_that_was_dropped_or_read_by_others_is_noticed(mirror: Mirror) -> None:
    mirror.at_source(TABLE)
    mirror.follow()
    mirror.at_source("insert into s values (3, 'c')")
    mirror.at_source(f"select pg_replication_slot_advance('{slot_of(mirror)}', pg_current_wal_lsn())")
    assert refusal(mirror).code == "cdc.log_missing"
    mirror.at_source(f"select pg_drop_replication_slot('{slot_of(mirror)}')")
    assert refusal(mirror).code == "cdc.slot_missing"
    # After a person has asked for it, everything is loaded again.
    forget(mirror)
    mirror.at_source("delete from s where id = 1")
    again = mirror.follow()
    assert (again.rows_inserted, again.rows_unchanged, again.rows_deleted) == (1, 1, 0)
    assert mirror.memory.commits["load"].counts.removed == 1
    assert mirror.difference() == []


def forget(mirror: Mirror) -> None:
    """Ask to load everything again."""
    commit = mirror.memory.commits["load"]
    state = commit.record.sources[0].state
    assert state is not None
    mirror.memory.forgotten_states = commit.token


def test_another_server_or_table_under_the_same_name_is_noticed(mirror: Mirror) -> None:
    mirror.at_source(TABLE)
    mirror.follow()
    mirror.at_source("alter table s rename to old", "create table s (id int primary key, name text)")
    assert refusal(mirror).code == "cdc.source_changed"
    mirror.source, there = replace(mirror.source, database="postgres"), mirror.source
    with pytest.raises(Terminal):
        mirror.run_once()
    mirror.source = there


def test_a_slot_that_a_person_has_named_is_used_and_never_dropped_for_another_start(mirror: Mirror) -> None:
    mirror.at_source(TABLE, "create publication p for all tables")
    config = {"slot": f"own_{mirror.source.database[:20]}", "publication": "p", "snapshot": "never"}
    document = mirror.pipeline(config=config)
    assert mirror.follow(document).rows_inserted == 0
    mirror.at_source("insert into s values (4, 'd')")
    assert mirror.follow(document).rows_inserted == 1
    assert mirror.rows("id") == [(4,)]
    # With all rows, the same slot goes on, and the snapshot comes from another one.
    forget(mirror)
    mirror.follow(mirror.pipeline(config=config | {"snapshot": "initial"}))
    mirror.at_source("delete from s where id = 1")
    mirror.follow(mirror.pipeline(config=config | {"snapshot": "initial"}))
    assert (mirror.difference(), slots(mirror)) == ([], [config["slot"]])


def test_a_role_without_the_right_to_replicate_is_told_what_to_do(mirror: Mirror) -> None:
    mirror.at_source(TABLE, "drop role if exists plain", "create role plain login password 'secret of tests'")
    mirror.at_source("alter table s owner to plain", f'grant all on database "{mirror.source.database}" to plain')
    mirror.source = replace(mirror.source, user="plain")
    failure = refusal(mirror)
    assert failure.code == "cdc.not_allowed"
    assert "REPLICATION" in str(failure.hint)
    assert "secret" not in failure.message
