"""Loads that exceed the limits of their target wait in staging, and are loaded after approval."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from executors.errors import Terminal, Transient
from executors.holding import Held, StagedLoad
from executors.report import RunReport
from executors.runs.load import run_pipeline
from ir.stored_json import StoredJson
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

FOLDERS = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
SETTLED = {"waitPolicy": {"settleSeconds": 0}}
RULE = {"type": "notNull", "field": "name", "onFail": "skip"}


@pytest.fixture
def filled(world: World) -> World:
    world.sql(
        "create table t (id int primary key, name text); insert into t select n, 'old' from generate_series(1, 10) n"
    )
    world.write("a", "id,name\n1,old\n2,new\n3,old\n")
    return world


def replacing(world: World, mode: str = "truncate", **hold: float) -> dict[str, Any]:
    return world.document(mode=mode, hold=hold or {"maxDecreasePct": 50}, rules=[RULE], source={**FOLDERS, **SETTLED})


def hold(world: World, document: dict[str, Any], run_id: str = "") -> Held:
    with pytest.raises(Held) as held:
        world.run(document, run_id=run_id or str(uuid.uuid4()))
    return held.value


def approve(world: World, document: dict[str, Any], held: Held, run_id: str, attempt: int = 2) -> RunReport:
    """Approve a load as a worker does: the staged load is stored in the control database as JSON."""
    stored = StoredJson("staged load", StagedLoad, 1)
    staged = stored.load(json.loads(json.dumps(stored.dump(held.staged))))
    return run_pipeline(world.job(document, run_id, attempt, approved={"load": staged}), world.memory.ports())


def kept_tables(world: World, run_id: str) -> int:
    query = (
        "select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace"
        " where n.nspname = 'flow_staging' and c.relkind = 'r'"
        " and obj_description(c.oid, 'pg_class')::json->>'run' = %s"
    )
    return int(world.sql(query, run_id)[0][0])


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ({"maxDecreasePct": 50}, ["maxDecreasePct"]),
        ({"maxKeyLossPct": 69}, ["maxKeyLossPct"]),
        ({"maxDecreasePct": 70, "maxKeyLossPct": 70}, None),
    ],
)
def test_rows_and_keys_that_would_go_are_measured(
    filled: World, mode: str, limits: dict[str, float], wanted: list[str] | None
) -> None:
    document = replacing(filled, mode, **limits)
    if wanted is None:
        assert target_of(filled.run(document)).rows_loaded == 3
        return
    held = hold(filled, document)
    assert [reason.limit for reason in held.reasons] == wanted
    assert held.reasons[0].found == 70
    assert filled.sql("select count(*) from t") == [(10,)]


@pytest.mark.parametrize("mode", ["append", "upsert", "truncate"])
def test_nulls_that_would_come_are_measured(filled: World, mode: str) -> None:
    filled.write("a", "id,name\n21,\n22,\n23,x\n")
    document = filled.document(mode=mode, hold={"maxNullRateIncreasePct": 60})
    held = hold(filled, document)
    assert [(reason.limit, reason.column) for reason in held.reasons] == [("maxNullRateIncreasePct", "name")]
    assert filled.run(filled.document(mode=mode, hold={"maxNullRateIncreasePct": 67})).nodes


def test_a_first_load_is_held_by_nothing(world: World) -> None:
    world.write("a", "id,name\n1,\n")
    limits = {"maxDecreasePct": 0, "maxKeyLossPct": 0, "maxNullRateIncreasePct": 0}
    assert target_of(world.run(world.document(mode="truncate", hold=limits))).rows_loaded == 1


def test_a_held_load_leaves_everything_as_it_is_but_its_staging(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    filled.write("b", "id,name\n4,\n")
    hold(filled, document, run_id)
    assert filled.sql("select count(*) from t") == [(10,)]
    assert filled.sql("select count(*) from flow_meta.load_commits where run_id = %s", run_id) == [(0,)]
    assert filled.sql("select to_regclass('rejected')") == [(None,)]
    assert kept_tables(filled, run_id) == 2
    assert len(filled.claimed("a") + filled.claimed("b")) == 2


def test_approved_it_loads_exactly_what_was_staged(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    filled.write("b", "id,name\n4,\n")
    held = hold(filled, document, run_id)
    filled.write("c", "id,name\n99,late\n")
    report = approve(filled, document, held, run_id)
    assert filled.rows() == [(1, "old"), (2, "new"), (3, "old")]
    assert reconciles(report)
    assert (target_of(report).rows_read, target_of(report).rows_rejected) == (4, 1)
    assert filled.sql("select count(*) from rejected where disposition = 'dropped'") == [(1,)]
    assert kept_tables(filled, run_id) == 0
    assert sorted(path.name for path in (filled.folder / "in/.done").iterdir()) == ["a", "b"]
    assert (filled.folder / "in/c").exists()


def test_approved_twice_it_loads_once(filled: World) -> None:
    filled.write("a", "id,name\n21,\n22,x\n")
    document, run_id = filled.document(hold={"maxNullRateIncreasePct": 0}), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    approve(filled, document, held, run_id)
    approve(filled, document, held, run_id, attempt=3)
    assert filled.sql("select count(*) from t") == [(12,)]


def test_staging_that_is_gone_is_read_again_and_validated_again(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    ((name,),) = filled.sql(
        "select c.relname from pg_class c where obj_description(c.oid, 'pg_class')::json->>'run' = %s"
        " and c.relname like '%%good'",
        run_id,
    )
    filled.sql(f'truncate flow_staging."{name}"')
    with pytest.raises(Held) as again:
        approve(filled, document, held, run_id)
    assert again.value.staged.attempt == 2
    assert filled.sql("select count(*) from t") == [(10,)]
    approve(filled, document, again.value, run_id, attempt=3)
    assert filled.sql("select count(*) from t") == [(3,)]


def test_a_table_that_has_changed_since_is_staged_for_again(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    filled.sql("alter table t alter column name type varchar(40)")
    with pytest.raises(Held):
        approve(filled, document, held, run_id)


def test_an_approved_load_that_fails_for_good_leaves_nothing(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    filled.sql("alter table t add constraint one check (name <> 'new') not valid")
    with pytest.raises(Terminal):
        approve(filled, document, held, run_id)
    assert filled.sql("select count(*) from t") == [(10,)]
    assert kept_tables(filled, run_id) == 0


def test_an_approved_load_that_is_to_be_tried_again_keeps_its_staging(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    held = hold(filled, document, run_id)

    def lose(step: str, node: str | None) -> None:
        if step == "load":
            raise Transient("target.lost", "gone")

    filled.memory.on_step = lose
    with pytest.raises(Transient):
        approve(filled, document, held, run_id)
    filled.memory.on_step = lambda step, node: None
    approve(filled, document, held, run_id, attempt=3)
    assert filled.sql("select count(*) from t") == [(3,)]


def more_rows(world: World) -> None:
    world.sql("insert into t select n, 'since' from generate_series(11, 1000) n")


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_a_table_that_has_grown_since_the_approval_is_held_again(filled: World, mode: str) -> None:
    document, run_id = replacing(filled, mode), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    more_rows(filled)
    with pytest.raises(Held) as again:
        approve(filled, document, held, run_id)
    assert "1,000 rows; 10 were approved" in again.value.message
    assert filled.sql("select count(*) from t") == [(1000,)]
    assert kept_tables(filled, run_id) == 2
    approve(filled, document, again.value, run_id, attempt=3)
    assert filled.rows() == [(1, "old"), (2, "new"), (3, "old")]
    assert kept_tables(filled, run_id) == 0


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_a_table_that_changes_while_a_load_begins_is_held(filled: World, mode: str) -> None:
    document, run_id = replacing(filled, mode, maxDecreasePct=80), str(uuid.uuid4())
    filled.memory.on_step = lambda step, node: more_rows(filled) if step == "load" else None
    held = hold(filled, document, run_id)
    filled.memory.on_step = lambda step, node: None
    assert "from 1,000 to 3 rows" in held.message
    assert filled.sql("select count(*) from t") == [(1000,)]
    approve(filled, document, held, run_id)
    assert filled.rows() == [(1, "old"), (2, "new"), (3, "old")]


PRE_SWAP = {"postHook": {"type": "sql", "statement": "ANALYZE t", "when": "pre_swap"}}
IN_PLACE = "create materialized view seen as select * from t"


@pytest.mark.parametrize(
    ("mode", "given", "more"),
    [("truncate", "", {}), ("blue_green", "", {}), ("blue_green", IN_PLACE, {}), ("blue_green", "", PRE_SWAP)],
)
def test_a_table_that_changes_while_an_approved_load_begins_is_held_again(
    filled: World, mode: str, given: str, more: dict[str, Any]
) -> None:
    filled.sql(given or "select")
    document, run_id = replacing(filled, mode), str(uuid.uuid4())
    document["nodes"][-1] |= more
    held = hold(filled, document, run_id)
    filled.memory.on_step = lambda step, node: more_rows(filled) if step == "load" else None
    with pytest.raises(Held) as again:
        approve(filled, document, held, run_id)
    filled.memory.on_step = lambda step, node: None
    assert filled.sql("select count(*) from t") == [(1000,)]
    approve(filled, document, again.value, run_id, attempt=3)
    assert filled.sql("select count(*) from t") == [(3,)]


def test_an_upsert_that_would_change_more_rows_than_approved_is_held_again(filled: World) -> None:
    filled.write("a", "id,name\n1,\n2,\n21,x\n")
    document, run_id = filled.document(mode="upsert", hold={"maxNullRateIncreasePct": 50}), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    filled.sql("insert into t values (21, 'since')")
    with pytest.raises(Held) as again:
        approve(filled, document, held, run_id)
    assert "would change 3 rows; 2 were approved" in again.value.message
    assert filled.sql("select name from t where id in (1, 21) order by id") == [("old",), ("since",)]


def test_a_table_that_has_shrunk_since_the_approval_is_loaded(filled: World) -> None:
    document, run_id = replacing(filled), str(uuid.uuid4())
    held = hold(filled, document, run_id)
    filled.sql("delete from t where id > 8")
    approve(filled, document, held, run_id)
    assert filled.rows() == [(1, "old"), (2, "new"), (3, "old")]


def test_a_row_that_an_approved_load_is_refused_for_is_skipped_and_the_rest_held_again(filled: World) -> None:
    filled.sql(
        "create function look() returns trigger language plpgsql as"
        " 'begin if new.id = 2 then raise exception $a$no$a$; end if; return new; end'"
    )
    filled.sql("create trigger look before insert on t for each row execute function look()")
    document, run_id = replacing(filled, "truncate"), str(uuid.uuid4())
    document["nodes"][-1]["onTypeMismatch"] = "skip"
    held = hold(filled, document, run_id)
    with pytest.raises(Held) as again:
        approve(filled, document, held, run_id)
    assert (held.reasons[0].found, again.value.reasons[0].found) == (70, 80)
    assert filled.sql("select count(*) from t") == [(10,)]
    report = approve(filled, document, again.value, run_id, attempt=3)
    assert filled.rows() == [(1, "old"), (3, "old")]
    assert (target_of(report).rows_rejected, reconciles(report)) == (1, True)
    assert filled.sql('select "sourceRecord", "ruleId" from rejected') == [(2, f"trigger:{filled.schema}.look()")]
