"""Rejected rows that are replayed: they are loaded once, after the current rules, or nothing changes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import Failure, LeaseLost, Transient
from executors.model import BackupRef, RowsRef
from executors.postgres.client import connect
from executors.postgres.quarantined import Owner, change_of, change_rows, find_rows
from executors.postgres.replay_results import count_results, drop_old_results, read_results
from executors.report import RunReport
from executors.runs.fix import fix_rows
from executors.runs.recheck import recheck_rows
from executors.runs.replay import replay_rows
from executors.runs.restore import restore_pipeline
from executors.spark import first_failing
from executors.table_name import TableName
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

in_both = pytest.mark.parametrize("destination", ["postgres", "delta"], indirect=True)
"""For tables of a PostgreSQL database, and for Delta tables, whose rejected rows are in such a database."""
NOT_NULL = {"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}
ROWS = "id,name\n1,Ann\n2,\n3,Cy\n4,\n"


@pytest.fixture
def loaded(world: World) -> World:
    """A load with two rows in the table and two in quarantine."""
    world.create_table("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(rules=[NOT_NULL]))
    return world


def ids(world: World, where: str = "true") -> list[int]:
    return [row[0] for row in world.sql(f"select id from rejected where {where} order by id")]


def rows_ref(world: World, chosen: Sequence[int], **more: Any) -> RowsRef:
    return RowsRef("load", more.pop("row_from", "source"), [(world.schema, "rejected", chosen)], **more)


def replay(world: World, document: Any, chosen: Sequence[int] | None = None, **more: Any) -> RunReport:
    """Replay rows. The stored results of the rows always match the counts of the run."""
    ref = rows_ref(world, ids(world) if chosen is None else chosen, **more)
    job = world.job(document, rows=ref)
    report = replay_rows(job, world.memory.ports())
    with connect(world.warehouse, autocommit=True) as conn:
        assert count_results(conn, job.run_id, "load") == report.row_counts
    return report


def recheck(world: World, document: Any, **more: Any) -> RunReport:
    return recheck_rows(world.job(document, rows=rows_ref(world, ids(world), **more)), world.memory.ports())


def fix(world: World, **cells: str | None) -> None:
    """Replace values of the first rejected row."""
    with connect(world.warehouse, autocommit=True) as conn, conn.transaction():
        owner, table = Owner(world.tenant, "case"), TableName(world.schema, "rejected")
        (row,) = find_rows(conn, owner, table, ids(world)[:1])
        assert change_rows(conn, owner, [table], [row], change_of("fix", "ann", ""), {row.key: cells}) == {row.key}


def states(world: World) -> list[tuple[Any, ...]]:
    return world.sql('select status, "replayResult", "replayRules" from rejected order by id')


@in_both
def test_rows_without_a_fix_still_fail(loaded: World) -> None:
    report = replay(loaded, loaded.document(rules=[NOT_NULL]))
    assert report.row_counts == {"fails": 2}
    assert states(loaded) == [("open", "fails", ["named"])] * 2
    assert loaded.rows() == [(1, "Ann"), (3, "Cy")]
    assert reconciles(report)


@in_both
def test_a_fixed_row_is_loaded_and_the_original_stays(loaded: World) -> None:
    fix(loaded, name="Bob")
    report = replay(loaded, loaded.document(rules=[NOT_NULL]))
    assert report.row_counts == {"loaded": 1, "fails": 1}
    assert loaded.rows() == [(1, "Ann"), (2, "Bob"), (3, "Cy")]
    assert states(loaded) == [("replayed", "loaded", None), ("open", "fails", ["named"])]
    assert loaded.sql('select row, "fixedRow", "fixedBy" from rejected order by id limit 1') == [
        ({"id": "2", "name": None}, {"id": "2", "name": "Bob"}, "ann")
    ]
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_loaded) == (2, 1)


@in_both
def test_the_rules_are_those_of_now(loaded: World) -> None:
    report = replay(loaded, loaded.document(), by="ann", reason="100% sure")
    assert report.row_counts == {"loaded": 2}
    assert loaded.sql('select distinct "decidedBy", reason from rejected') == [("ann", "100% sure")]
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


@in_both
def test_a_row_is_loaded_once_however_often_it_is_replayed(loaded: World) -> None:
    chosen = ids(loaded)
    replay(loaded, loaded.document(), chosen)
    report = replay(loaded, loaded.document(), chosen)
    assert report.row_counts == {"already": 2}
    assert report.nothing_new
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


@in_both
def test_what_became_of_each_row_is_kept_whatever_becomes_of_it_later(loaded: World) -> None:
    loaded.write("b.csv", "id,name\n5,\n6,Six\n")
    loaded.run(loaded.document(rules=[NOT_NULL]))
    first, second, third = ids(loaded)
    fix(loaded, name="Bob")
    loaded.sql("update rejected set status = 'ignored' where id = %s", third)
    job = loaded.job(loaded.document(rules=[NOT_NULL]), rows=rows_ref(loaded, [first, second, third, 999_999]))
    replay_rows(job, loaded.memory.ports())
    replay(loaded, loaded.document(), [second])
    loaded.sql("delete from rejected")
    with connect(loaded.warehouse, autocommit=True) as conn:
        reported = read_results(conn, job.run_id, "load")
        assert [(one.entry, one.source_file, one.source_record, one.result, one.rules) for one in reported] == [
            (second, "in/a.csv", 4, "fails", ["named"]),
            (third, "in/b.csv", 1, "ignored", []),
            (999_999, None, None, "gone", []),
            (first, "in/a.csv", 2, "loaded", []),
        ]
        assert [one.entry for one in read_results(conn, job.run_id, "load", result="fails")] == [second]
        assert [one.entry for one in read_results(conn, job.run_id, "load", after=reported[2].position)] == [first]
        assert read_results(conn, job.run_id, "load", limit=2) == reported[:2]
        conn.execute(
            "UPDATE flow_meta.replay_results SET told_at = now() - interval '731 days' WHERE run_id = %s", [job.run_id]
        )
        assert drop_old_results(conn) == 4


@in_both
def test_two_replays_at_once_load_each_row_once(loaded: World) -> None:
    chosen = ids(loaded)

    def press_as_well(step: str, node: str | None) -> None:
        if step == "load":
            loaded.memory.on_step = lambda step, node: None
            assert replay(loaded, loaded.document(), chosen).row_counts == {"loaded": 2}

    loaded.memory.on_step = press_as_well
    with pytest.raises(LeaseLost):
        replay(loaded, loaded.document(), chosen)
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


@in_both
def test_a_row_that_changes_while_it_is_loaded_stops_all_of_it(loaded: World) -> None:
    chosen = ids(loaded)
    loaded.memory.on_step = lambda step, node: fix(loaded, name="Bob") if step == "load" else None
    with pytest.raises(Transient) as caught:
        replay(loaded, loaded.document(), chosen)
    assert caught.value.code == "replay.rows_changed"
    assert loaded.rows("id") == [(1,), (3,)]
    assert [state for state, *_ in states(loaded)] == ["fixed", "open"]


@in_both
def test_a_rule_with_abort_only_rejects_the_row_of_a_replay(loaded: World) -> None:
    fix(loaded, name="Bob")
    report = replay(loaded, loaded.document(rules=[{**NOT_NULL, "onFail": "abort"}]))
    assert report.row_counts == {"loaded": 1, "fails": 1}


@in_both
def test_an_attempt_that_takes_over_finds_the_commit(loaded: World) -> None:
    document, chosen = loaded.document(), ids(loaded)
    job = loaded.job(document, rows=rows_ref(loaded, chosen))
    replay_rows(job, loaded.memory.ports())
    again = loaded.job(document, job.run_id, attempt=2, rows=rows_ref(loaded, chosen))
    report = replay_rows(again, loaded.memory.ports())
    assert report.row_counts == {"loaded": 2}
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


@in_both
@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_a_table_that_runs_replace_gets_the_rows_beside_what_it_holds(world: World, mode: str) -> None:
    world.create_table("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(mode=mode, rules=[NOT_NULL]))
    replay(world, world.document(mode=mode))
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]
    assert world.run(world.document(mode=mode)).nothing_new


def test_a_newer_row_with_the_same_key_is_kept_unless_it_is_ticked(world: World) -> None:
    world.sql("create table t (id int primary key, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(mode="upsert", rules=[NOT_NULL]))
    world.sql("insert into t values (2, 'Newer')")
    fix(world, name="Fixed")
    document = world.document(mode="upsert", rules=[NOT_NULL])
    reported = recheck(world, document)
    assert reported.row_counts == {"exists": 1, "fails": 1}
    (taken,) = [row for row in reported.row_results if row["result"] == "exists"]
    assert taken["conflict"] == {"key": {"id": "2"}, "changes": {"name": ["Newer", "Fixed"]}}
    report = replay(world, document)
    assert report.row_counts == {"exists": 1, "fails": 1}
    assert reconciles(report)
    assert world.sql("select name from t where id = 2") == [("Newer",)]
    names = [f"{run}:{row_id}" for run, row_id in world.sql('select "runId", "rowId" from rejected')]
    report = replay(world, document, overwrite=frozenset(names))
    assert report.row_counts == {"loaded": 1, "fails": 1}
    assert world.sql("select name from t where id = 2") == [("Fixed",)]


def test_the_watermark_stays_and_the_source_does_not_load_the_row_again(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.sql("create table s (id int, name text)")
    world.sql("insert into s values (1, 'Ann'), (3, null), (3, 'Cy'), (2, null)")
    mode = {"mode": "incremental_watermark"}
    world.run(world.table_document(rules=[NOT_NULL], **mode))
    ((before,),) = world.sql("select value from flow_meta.pipeline_watermarks where target_schema = %s", world.schema)
    report = replay(world, world.table_document(**mode))
    assert report.row_counts == {"loaded": 2}
    assert world.sql("select value from flow_meta.pipeline_watermarks where target_schema = %s", world.schema) == [
        (before,)
    ]
    world.run(world.table_document(**mode))
    assert world.rows("id") == [(1,), (2,), (3,), (3,)]


def test_a_row_that_each_run_has_rejected_again_is_loaded_once(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.sql("create table s (id int, name text)")
    world.sql("insert into s values (1, 'Ann'), (3, null), (3, null), (3, 'Cy')")
    mode = {"mode": "incremental_watermark"}
    for _ in range(3):
        world.run(world.table_document(rules=[NOT_NULL], **mode))
    assert len(ids(world)) == 6, "those at the watermark are read each time"
    assert replay(world, world.table_document(**mode)).row_counts == {"loaded": 2, "repeated": 4}
    assert replay(world, world.table_document(**mode)).row_counts == {"already": 2, "superseded": 4}
    assert world.rows("id") == [(1,), (3,), (3,), (3,)]


def test_a_recheck_writes_nothing(loaded: World) -> None:
    fix(loaded, name="Bob")
    before = loaded.sql("select * from rejected order by id")
    report = recheck(loaded, loaded.document(rules=[NOT_NULL]))
    assert report.row_counts == {"loaded": 1, "fails": 1}
    assert [(row["result"], row["rules"]) for row in report.row_results] == [("fails", ["named"]), ("loaded", [])]
    assert loaded.sql("select * from rejected order by id") == before
    assert loaded.rows() == [(1, "Ann"), (3, "Cy")]


def test_values_have_the_types_that_their_source_gave_them(world: World) -> None:
    ops = [{"op": "derive", "columns": {"twice": "id * 2"}}]
    world.sql("create table t (id bigint, name text, twice bigint)")
    world.sql("create table s (id bigint, name text)")
    world.sql("insert into s values (9007199254740993, null)")
    world.run(world.table_document(rules=[NOT_NULL], ops=ops, failAtRejectedPct=0))
    assert replay(world, world.table_document(ops=ops)).row_counts == {"loaded": 1}
    assert world.rows() == [(9007199254740993, None, 18014398509481986)]


def test_a_row_that_the_table_refused_goes_through_no_op_again(world: World) -> None:
    world.sql("create table t (id int check (id < 10), name text)")
    world.write("a.csv", "id,name\n5,Ann\n")
    ops = [{"op": "cast", "columns": {"id": "integer"}}, {"op": "derive", "columns": {"id": "id * 10"}}]
    document = world.document(ops=ops, onTypeMismatch="skip", failAtRejectedPct=0)
    world.run(document)
    assert world.sql('select "rowFrom" from rejected') == [("input",)]
    world.sql("alter table t drop constraint t_id_check")
    assert replay(world, document, row_from="input").row_counts == {"loaded": 1}
    assert world.rows() == [(50, "Ann")]


@in_both
def test_a_record_that_could_not_be_read_is_loaded_once_it_is_fixed(world: World) -> None:
    world.create_table("create table t (id int, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,Bob,more\n")
    world.run(world.document())
    assert replay(world, world.document()).row_counts == {"fails": 1}
    fix(world, id="2", name="Bob")
    assert replay(world, world.document()).row_counts == {"loaded": 1}
    assert world.rows() == [(1, "Ann"), (2, "Bob")]


@in_both
def test_rows_of_a_run_that_loaded_nothing_wait_for_the_next_one(world: World) -> None:
    world.create_table("create table t (id int, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,\nx,Cy\n")
    with pytest.raises(Failure):
        world.run(world.document(rules=[NOT_NULL]))
    assert {row[0] for row in world.sql("select disposition from rejected")} == {"not_loaded"}
    assert replay(world, world.document()).row_counts == {"not_loaded": 2}
    assert world.rows() == []


@in_both
def test_an_expression_fixes_all_rows_as_a_pipeline_would_compute_it(loaded: World) -> None:
    ref = rows_ref(loaded, ids(loaded), column="name", expression="concat('row ', id)", by="ann")
    report = fix_rows(loaded.job(loaded.document(), rows=ref), loaded.memory.ports())
    assert report.row_counts == {"fixed": 2}
    assert loaded.sql('select status, "fixedRow", "fixedBy" from rejected order by id') == [
        ("fixed", {"id": "2", "name": "row 2"}, "ann"),
        ("fixed", {"id": "4", "name": "row 4"}, "ann"),
    ]
    assert replay(loaded, loaded.document(rules=[NOT_NULL])).row_counts == {"loaded": 2}


def test_an_expression_that_fails_for_one_row_fixes_none(loaded: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_failing, "SECONDS", 600)
    ref = rows_ref(loaded, ids(loaded), column="name", expression="cast(1 / (id - 2) as string)")
    with pytest.raises(Failure) as caught:
        fix_rows(loaded.job(loaded.document(), rows=ref), loaded.memory.ports())
    assert caught.value.code == "expression.failed"
    reported = "The expression (derive (op 1) of fix, column 'name') failed on a row of the data: DIVIDE_BY_ZERO."
    assert str(caught.value) == f"expression.failed: {reported} The first failing row is in/a.csv record 2."
    assert [state for state, *_ in states(loaded)] == ["open", "open"]


def test_a_restore_gives_replayed_rows_back_to_quarantine(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(rules=[NOT_NULL]))
    document = world.document(backupBeforeLoad=True)
    job = world.job(document, rows=rows_ref(world, ids(world)))
    replay_rows(job, world.memory.ports())
    restored = world.job(document, backup=BackupRef(job.run_id, "load"))
    restore_pipeline(restored, world.memory.ports())
    assert world.rows("id") == [(1,), (3,)]
    assert [state for state, *_ in states(world)] == ["open", "open"]
    assert replay(world, document).row_counts == {"loaded": 2}
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]


def test_only_checks_that_evaluate_single_rows_run_in_a_replay(loaded: World) -> None:
    checks = {"rowCount": {"min": 1000, "onFail": "abort"}, "duplicateKey": {"columns": ["id"], "onFail": "abort"}}
    assert replay(loaded, loaded.document(checks=checks), ids(loaded)[:1]).row_counts == {"loaded": 1}
    loaded.sql("insert into t values (4, 'Dee')")
    with pytest.raises(Failure) as caught:
        replay(loaded, loaded.document(checks=checks))
    assert caught.value.code == "check.abort"
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


@in_both
def test_limits_of_rules_do_not_stop_a_replay(loaded: World) -> None:
    report = replay(loaded, loaded.document(rules=[{**NOT_NULL, "maxViolations": 0}]))
    assert report.row_counts == {"fails": 2}


@in_both
def test_rows_taken_by_a_filter_stay_open(loaded: World) -> None:
    report = replay(loaded, loaded.document(ops=[{"op": "filter", "where": "id = '2'"}]))
    assert report.row_counts == {"loaded": 1, "filtered": 1}
    assert [state for state, *_ in states(loaded)] == ["replayed", "open"]
    assert reconciles(report)


def test_the_hash_of_the_file_and_the_record_come_along(world: World) -> None:
    world.write("a.csv", ROWS)
    world.run(world.document(rules=[NOT_NULL]))
    ((name, sha256),) = world.sql('select distinct "sourceFile", _source_file_hash from rejected, t')
    ((run,),) = world.sql('select distinct "runId" from rejected')
    replay(world, world.document(), hashes={(run, name): sha256})
    assert world.sql("select distinct _source_file_hash from t") == [(sha256,)]
    assert world.sql("select id, _source_record from t order by id")[1] == ("2", 2)


def in_two_tables(world: World) -> dict[str, Any]:
    """Two validate nodes, each with its own quarantine table; a row can have entries in both."""
    document = world.document(rules=[{**NOT_NULL, "onFail": "warn"}])
    second = {
        "id": "second",
        "kind": "validate",
        "inputs": ["check"],
        "rowLevel": [{**NOT_NULL, "id": "again"}],
        "quarantine": {"enabled": True, "table": f"{world.schema}.rejected2"},
    }
    document["nodes"][-1]["inputs"] = ["second"]
    document["nodes"].insert(-1, second)
    return document


def test_a_row_with_entries_in_two_tables_is_loaded_once_by_whichever_it_is_chosen(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(in_two_tables(world))
    (other,) = {tuple(row[0] for row in world.sql("select id from rejected2 order by id"))}
    assert replay(world, world.document()).row_counts == {"loaded": 2}
    ref = RowsRef("load", "source", [(world.schema, "rejected2", list(other))])
    assert replay_rows(world.job(world.document(), rows=ref), world.memory.ports()).row_counts == {"already": 2}
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]


def test_an_expression_fixes_all_entries_of_a_row_in_whichever_table(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(in_two_tables(world))
    ref = rows_ref(world, ids(world), column="name", expression="'Bob'")
    fix_rows(world.job(world.document(), rows=ref), world.memory.ports())
    fixed = [("fixed", 1, "Bob")] * 2
    for table in ("rejected", "rejected2"):
        assert world.sql(f"select status, revision, \"fixedRow\" ->> 'name' from {table}") == fixed


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_rows_that_a_later_load_has_read_again_are_not_added_to_what_it_loaded(world: World, mode: str) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(mode=mode, rules=[NOT_NULL]))
    world.write("b.csv", "id,name\n5,Eve\n")
    world.run(world.document(mode=mode))
    assert world.rows("id") == [(1,), (2,), (3,), (4,), (5,)]
    assert replay(world, world.document(mode=mode)).row_counts == {"superseded": 2}
    world.sql("update rejected set status = 'open'")  # as in a table that the user may not update
    assert replay(world, world.document(mode=mode)).row_counts == {"replaced": 2}
    assert world.rows("id") == [(1,), (2,), (3,), (4,), (5,)]
    assert replay(world, world.document()).row_counts == {"replaced": 2}, "whatever the mode is now"


def load_again(world: World, name: str = "a.csv", **document: Any) -> None:
    """Load a file again, as "Load again" does."""
    sha256 = hashlib.sha256((world.folder / "in" / name).read_bytes()).hexdigest()
    world.memory.forgotten_tokens[sha256] = next(world.tokens)
    world.run(world.document(**document))


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_file_that_is_loaded_again_supersedes_the_rows_rejected_of_it_before(loaded: World, mode: str) -> None:
    loaded.sql("alter table t add primary key (id)" if mode == "upsert" else "truncate t")
    loaded.write("b.csv", "id,name\n5,\n6,Eve\n")
    loaded.run(loaded.document(rules=[NOT_NULL]))
    load_again(loaded, mode=mode, rules=[NOT_NULL])
    of_file = 'select status, count(*) from rejected where "sourceFile" like %s group by 1 order by 1'
    assert loaded.sql(of_file, "%a.csv") == [("open", 2), ("superseded", 2)]
    assert loaded.sql(of_file, "%b.csv") == [("open", 1)]


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_a_fix_outlasts_the_loading_of_its_file_again(loaded: World, mode: str) -> None:
    fix(loaded, name="Bob")
    (loaded.folder / "in" / "a.csv").rename(loaded.folder / "in" / "same.csv")
    load_again(loaded, "same.csv", mode=mode, rules=[NOT_NULL])
    assert loaded.sql('select status, "fixedRow" ->> \'name\', "fixedBy" from rejected order by id') == [
        ("superseded", "Bob", "ann"),
        ("superseded", None, None),
        ("fixed", "Bob", "ann"),
        ("open", None, None),
    ]
    assert replay(loaded, loaded.document(mode=mode, rules=[NOT_NULL])).row_counts["loaded"] == 1
    assert (2, "Bob") in loaded.rows("id, name")


def test_another_file_under_an_old_name_closes_no_row(loaded: World) -> None:
    for old, new in (("a.csv", "then.csv"), ("b.csv", "a.csv")):
        if new == "a.csv":
            loaded.write("b.csv", "id,name\n5,\n6,Eve\n")
            loaded.run(loaded.document(rules=[NOT_NULL]))
        (loaded.folder / "in" / old).rename(loaded.folder / "in" / new)
    load_again(loaded, rules=[NOT_NULL])
    statuses = loaded.sql("select row ->> 'id', status from rejected order by id")
    assert statuses == [("2", "open"), ("4", "open"), ("5", "superseded"), ("5", "open")]


def test_a_row_that_a_relaxed_rule_has_loaded_with_its_file_is_not_replayed(loaded: World) -> None:
    loaded.sql("truncate t")
    load_again(loaded)
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]
    assert replay(loaded, loaded.document()).row_counts == {"superseded": 2}
    assert loaded.rows("id") == [(1,), (2,), (3,), (4,)]


def test_a_restore_opens_the_rows_again_that_loading_their_file_again_had_superseded(loaded: World) -> None:
    load_again(loaded, rules=[NOT_NULL], backupBeforeLoad=True)
    backup = BackupRef(loaded.memory.commits["load"].run_id, "load")
    restore_pipeline(replace(loaded.job(loaded.document()), backup=backup), loaded.memory.ports())
    assert loaded.sql("select status, disposition from rejected order by id") == [
        ("open", "dropped"),
        ("open", "dropped"),
        ("open", "not_loaded"),
        ("open", "not_loaded"),
    ]


def test_rows_that_were_loaded_with_a_warning_do_not_count_as_loaded_by_the_replay(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", ROWS)
    world.run(world.document(rules=[{**NOT_NULL, "onFail": "warn"}]))
    assert replay(world, world.document()).row_counts == {"was_loaded": 2}
    assert world.rows("id") == [(1,), (2,), (3,), (4,)]


def test_an_attempt_that_takes_over_fixes_no_row_twice(loaded: World) -> None:
    ref = rows_ref(loaded, ids(loaded), column="name", expression="concat(coalesce(name, ''), 'x')")
    first = loaded.job(loaded.document(), rows=ref)
    again = loaded.job(loaded.document(), first.run_id, attempt=2, rows=ref)
    for job in (first, again):
        assert fix_rows(job, loaded.memory.ports()).row_counts == {"fixed": 2}
    assert loaded.sql("select revision, \"fixedRow\" ->> 'name' from rejected") == [(1, "x")] * 2
    computed = replace(ref, computed_by=frozenset({first.run_id}))
    fix_rows(loaded.job(loaded.document(), rows=computed), loaded.memory.ports())
    assert loaded.sql("select \"fixedRow\" ->> 'name' from rejected") == [("xx",)] * 2


def test_rows_changed_after_an_expression_was_queued_are_not_fixed(loaded: World) -> None:
    ref = rows_ref(loaded, ids(loaded), column="name", expression="'x'", revisions=[[0, 0]])
    fix(loaded, name="Bob")
    report = fix_rows(loaded.job(loaded.document(), rows=ref), loaded.memory.ports())
    assert report.row_counts == {"changed": 1, "fixed": 1}
    assert loaded.sql("select \"fixedRow\" ->> 'name' from rejected order by id") == [("Bob",), ("x",)]


def test_run_recheck_and_replay_evaluate_a_value_alike(world: World) -> None:
    world.sql("create table t (id int, age text)")
    world.write("a.csv", 'id,age\n1,\n2,-1\n3,151\n4,150\n5,abc\n6,NaN\n7,""\n')
    document = world.document(rules=[{"type": "range", "field": "age", "min": 0, "max": 150, "onFail": "skip"}])
    world.run(document)
    rejected = world.sql("select row ->> 'id' from rejected order by id")
    assert {"2", "3", "5", "6"} <= {key for (key,) in rejected}
    assert {"1", "4"}.isdisjoint(key for (key,) in rejected)
    assert recheck(world, document).row_counts == {"fails": len(rejected)}
    assert replay(world, document).row_counts == {"fails": len(rejected)}


def test_replays_of_rows_that_fail_keep_no_row_twice(loaded: World) -> None:
    for _ in range(2):
        replay(loaded, loaded.document(rules=[NOT_NULL]))
    assert len(ids(loaded)) == 2
