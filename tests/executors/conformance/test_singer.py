"""Streams of taps are loaded by real runs, each row once, from where the last load ended."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from executors.errors import Cancelled, Failure
from executors.model import StoreConnection
from executors.processes.launch import sandbox_version
from executors.processes.private_folder import RUNNING
from executors.runs.load import run_pipeline
from tests.executors.conformance.world import World, reconciles, target_of
from tests.taps import ORDERS, add_script

pytestmark = [
    pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock"),
]


def order(number: int, day: int, amount: str = "1.10") -> str:
    return f'{{"id": {number}, "amount": {amount}, "changed": "2026-01-{day:02}T00:00:00Z"}}\n'


def install(world: World, code: str = ORDERS, *orders: str) -> None:
    add_script(world.folder / ".taps", "shop", code)
    (world.folder / "orders.jsonl").write_text("".join(orders))


def document(world: World, *, mode: str = "upsert", settings: Any = None, **config: Any) -> dict[str, Any]:
    made = world.document(mode=mode)
    given = {"tap": "shop", "stream": "orders", "settings": {"path": "orders.jsonl", **(settings or {})}}
    made["nodes"][0] = {"id": "src", "kind": "source", "connector": "singer", "config": {**given, **config}}
    return made


@pytest.fixture
def table(world: World) -> None:
    world.create_table("create table t (id bigint primary key, amount numeric, changed timestamptz)")


@pytest.mark.usefixtures("table")
def test_a_later_run_continues_at_the_state_and_loads_each_row_once(world: World) -> None:
    install(world, ORDERS, order(1, 1, "12345678901234567890.10"), order(2, 2, "null"))
    made = document(world)
    first = world.run(made)
    assert reconciles(first)
    assert world.sql("select id, amount::text from t order by id") == [(1, "12345678901234567890.10"), (2, None)]
    with (world.folder / "orders.jsonl").open("a") as file:
        file.write(order(2, 3, "5") + order(3, 4))
    later = world.run(made)
    assert reconciles(later)
    # The row at the state arrives again, and the same key twice.
    assert target_of(later).rows_read == 3
    assert world.sql("select id, amount::text from t order by id")[1:] == [(2, "5"), (3, "1.10")]


@pytest.mark.slow
def test_a_table_is_created_with_the_types_of_the_schema(world: World) -> None:
    install(world, ORDERS, order(1, 1))
    made = document(world, mode="truncate")
    made["nodes"][-1]["columns"] = [
        {"name": "id", "type": "bigint"},
        {"name": "amount", "type": "pg:numeric"},
        {"name": "changed", "type": "timestamptz"},
    ]
    assert reconciles(world.run(made))
    assert world.sql("select id, amount::text, changed::date::text from t") == [(1, "1.10", "2026-01-01")]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_declared_column_is_parsed_as_it_says(world: World) -> None:
    install(world, ORDERS, order(1, 1, "1.5"), order(2, 1, "1.555"))
    made = document(world)
    made["nodes"][0]["columns"] = [{"name": "amount", "type": "decimal(5,2)"}]
    made["nodes"][-1]["onTypeMismatch"] = "skip"
    report = world.run(made)
    assert reconciles(report)
    assert (target_of(report).rows_loaded, target_of(report).rows_rejected) == (1, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_value_that_its_schema_excludes_is_not_loaded_as_null(world: World) -> None:
    install(world, ORDERS, order(1, 1), order(2, 1, '"n/a"'))
    with pytest.raises(Failure):
        world.run(document(world))
    assert world.rows() == []


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_failed_run_does_not_move_the_state(world: World) -> None:
    install(world, ORDERS, order(1, 1))
    made = document(world)
    world.run(made)
    install(world, f"{ORDERS}\nsys.exit(1)", order(1, 1), order(2, 2))
    with pytest.raises(Failure) as error:
        world.run(made)
    assert (error.value.code, error.value.node) == ("singer.tap_failed", "src")
    install(world, ORDERS, order(1, 1), order(2, 2), order(3, 3))
    world.run(made)
    assert [row[0] for row in world.rows("id")] == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("change", [{"settings": {"page": 1}}, {"fields": ["id", "amount", "changed"]}])
def test_other_settings_read_everything(world: World, change: dict[str, Any]) -> None:
    install(world, ORDERS, order(1, 1), order(2, 2))
    world.run(document(world))
    report = world.run(document(world, **change))
    assert target_of(report).rows_read == 2


@pytest.mark.slow
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("mode", ["truncate", "append"])
def test_without_a_state_each_run_reads_everything(world: World, mode: str) -> None:
    install(world, ORDERS, order(1, 1), order(2, 2))
    if mode == "append":
        world.sql("alter table t drop constraint t_pkey")
    made = document(world, mode=mode, keepState=False)
    world.run(made)
    assert target_of(world.run(made)).rows_read == 2
    assert len(world.rows()) == (4 if mode == "append" else 2)


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_column_that_only_rows_have_stays_in_runs_without_such_rows(world: World) -> None:
    world.sql("alter table t add note text")
    install(world, ORDERS, order(1, 1).replace("}", ', "note": "x"}'))
    made = document(world)
    made["nodes"][1]["rowLevel"] = [{"type": "maxLength", "field": "note", "max": 5, "onFail": "skip"}]
    world.run(made)
    install(world, ORDERS, order(2, 2))
    world.run(made)
    assert world.rows("id, note") == [(1, "x"), (2, None)]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_run_without_new_rows_succeeds(world: World) -> None:
    quiet = ORDERS.replace('write(type="SCHEMA"', 'state or write(type="SCHEMA"')
    install(world, quiet, order(1, 1))
    made = document(world)
    world.run(made)
    install(world, quiet)
    report = world.run(made)
    assert target_of(report).rows_read == 0
    install(world, quiet, order(2, 2))
    with pytest.raises(Failure) as error:
        world.run(made)
    assert error.value.code == "singer.schema_missing"


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_the_settings_of_the_connection_are_added_and_masked_in_the_log(world: World) -> None:
    add_script(
        world.folder / ".taps",
        "shop",
        f"{ORDERS}\nassert config['token'] == 'hidden-7'\nprint('WARNING signed in with hidden-7', file=sys.stderr)",
        settings=("path",),
    )
    (world.folder / "orders.jsonl").write_text(order(1, 1))
    made = document(world)
    world.stores["shop"] = StoreConnection("shop", "singer", {"tap": "shop"}, {"settings": '{"token": "hidden-7"}'})
    made["nodes"][0]["connection"] = "shop"
    run_pipeline(world.job(made), world.memory.ports())
    assert any("WARNING signed in with •••" in line for line in map(str, world.memory.lines))
    assert "hidden-7" not in repr(world.memory.lines) + json.dumps(
        world.sql("select record::text from flow_meta.load_commits")
    )
    world.stores["shop"] = StoreConnection("shop", "singer", {"tap": "crm"}, {"settings": "{}"})
    with pytest.raises(Failure) as error:
        world.run(made)
    assert error.value.code == "singer.connection_of_other_tap"


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_preview_changes_no_state(world: World) -> None:
    install(world, ORDERS, order(1, 1), order(2, 2))
    made = document(world)
    assert reconciles(world.preview(made))
    assert target_of(world.run(made)).rows_read == 2


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_targets_continue_from_their_own_states(world: World) -> None:
    install(world, ORDERS, order(1, 1), order(2, 2))
    made = document(world)
    world.run(made)
    world.create_table("create table u (like t including all)")
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    assert reconciles(world.run(made))
    assert world.rows("id") == world.rows("id", table="u") == [(1,), (2,)]


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_cancelled_run_ends_its_tap(world: World) -> None:
    install(world, f"print('WARNING started', file=sys.stderr)\ntime.sleep(300)\n{ORDERS}")

    def cancel() -> None:
        while not list((world.folder / ".taps" / RUNNING).glob("*/config.json")):
            time.sleep(0.1)
        world.memory.stop = Cancelled("run.cancelled", "Enough.")
        assert world.memory.interrupt
        world.memory.interrupt()

    thread = threading.Thread(target=cancel)
    thread.start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        world.run(document(world))
    thread.join()
    assert time.monotonic() - began < 120
    assert list((world.folder / ".taps" / RUNNING).iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("table")
def test_a_tap_that_logs_an_error_and_ends_well_is_a_warning_of_the_run(world: World) -> None:
    install(world, f"{ORDERS}\nprint('2026-01-01 ERROR page 2 was skipped', file=sys.stderr)", order(1, 1))
    report = world.run(document(world))
    assert [(warning.code, warning.node) for warning in report.warnings] == [("singer.errors_logged", "src")]
    assert "The tap logged: 2026-01-01 ERROR page 2 was skipped" in world.memory.lines
