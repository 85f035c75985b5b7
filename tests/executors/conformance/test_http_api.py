"""Records of a web service are loaded by real runs, each once, from where the last load ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from executors.errors import Failure
from executors.holding import Held, StagedLoad
from executors.model import BackupRef
from executors.runs.load import run_pipeline
from executors.runs.restore import restore_pipeline
from ir.stored_json import StoredJson
from tests.connectors.http_api.service import Service, serving
from tests.executors.conformance.world import World, reconciles, target_of

SINCE = {"parameter": "updated_since", "field": "updated_at"}
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "updated_at", "type": "timestamptz"}]
CURSOR = {"type": "cursor", "parameter": "cursor", "path": "$.meta.next"}


def record(number: int, day: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "updated_at": f"2024-01-{day:02}T00:00:00Z", "note": f"of {number}", **more}


@pytest.fixture
def service(world: World) -> Iterator[Service]:
    world.create_table("create table t (id bigint primary key, updated_at timestamptz, note text)")
    with serving(Service([record(n, n) for n in range(1, 11)], token="s3cret")) as started:
        world.stores["service"] = started.connection()
        yield started


def document(
    world: World, service: Service, *, incremental: bool = True, mode: str = "upsert", **target: Any
) -> dict[str, Any]:
    made = world.document(mode=mode, columns=COLUMNS, **target)
    config: dict[str, Any] = {"url": f"{service.url}cursor", "records": "$.data", "pages": CURSOR}
    if incremental:
        config["incremental"] = SINCE
    made["nodes"][0] |= {"connector": "http_api", "connection": "service", "config": config}
    return made


def asked(service: Service) -> list[str | None]:
    """Return the lowest values that were asked for, and forget them."""
    found = [query.get("updated_since") for _, query in service.requests if "cursor" not in query]
    service.requests.clear()
    return found


def test_a_later_run_reads_what_is_new_or_changed(world: World, service: Service) -> None:
    made = document(world, service)
    first = world.run(made)
    assert reconciles(first)
    assert target_of(first).rows_inserted == 10
    service.records[2] |= {"updated_at": "2024-01-20T00:00:00Z", "note": "changed"}
    service.records.append(record(11, 21))
    later = world.run(made)
    assert reconciles(later)
    # The last record of the first load arrives again, but is known.
    assert (target_of(later).rows_read, target_of(later).rows_inserted, target_of(later).rows_updated) == (2, 1, 1)
    assert asked(service) == [None, "2024-01-09T23:59:00Z"]
    assert world.sql("select count(*), max(note) filter (where id = 3) from t") == [(11, "changed")]


@pytest.mark.slow
def test_a_rejected_row_does_not_hold_the_state_back(world: World, service: Service) -> None:
    service.records[9]["note"] = None
    made = document(world, service, rules=[{"type": "notNull", "field": "note", "onFail": "skip"}])
    first = world.run(made)
    assert (target_of(first).rows_loaded, target_of(first).rows_rejected) == (9, 1)
    world.run(made)
    assert asked(service) == [None, "2024-01-09T23:59:00Z"]


@pytest.mark.slow
def test_new_records_may_lack_columns_of_earlier_ones(world: World, service: Service) -> None:
    made = document(world, service, ops=[{"op": "derive", "columns": {"note": "upper(note)"}}])
    world.run(made)
    service.records.append({"id": 1, "updated_at": "2024-01-20T00:00:00Z"})
    report = world.run(made)
    assert reconciles(report)
    assert world.sql("select note from t where id < 3 order by id") == [(None,), ("OF 2",)]


@pytest.mark.slow
def test_a_failed_run_does_not_move_the_state(world: World, service: Service) -> None:
    made = document(world, service)
    world.run(made)
    service.records += [record(11, 11), {"id": "eleven", "updated_at": "2024-01-12T00:00:00Z"}]
    with pytest.raises(Failure):
        world.run(made)
    service.records.pop()
    world.run(made)
    assert asked(service) == [None, *["2024-01-09T23:59:00Z"] * 2]
    assert world.sql("select count(*) from t") == [(11,)]


@pytest.mark.slow
def test_a_broken_page_loads_nothing(world: World, service: Service) -> None:
    service.replies.extend(
        [
            (200, {}, json.dumps({"data": [record(1, 1)], "meta": {"next": "c1"}})),
            (404, {}, ""),
        ]
    )
    with pytest.raises(Failure) as failed:
        world.run(document(world, service))
    assert failed.value.code == "source.store_failed"
    assert "s3cret" not in repr(failed.value)
    assert world.rows() == []


@pytest.mark.slow
def test_load_again_and_a_new_table_read_everything(world: World, service: Service) -> None:
    made = document(world, service)
    world.run(made)
    world.memory.forgotten_states = next(world.tokens)
    world.run(made)
    world.memory.forgotten_states = None
    world.run(made)
    world.sql("drop table t")
    world.run(made)
    assert asked(service) == [None, None, "2024-01-09T23:59:00Z", None]
    assert world.sql("select count(*) from t") == [(10,)]
    world.sql("alter table t rename to renamed; create table t (like renamed including all)")
    world.run(made)
    assert asked(service) == [None]
    assert world.sql("select count(*) from t") == [(10,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed",
    [
        {"parameters": {"limit": "2"}},
        {"records": "$['data']"},
        {"incremental": {**SINCE, "start": "2023"}},
        {"connection": "second"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_changed_settings_read_everything(world: World, service: Service, changed: dict[str, Any]) -> None:
    made = document(world, service)
    world.run(made)
    world.stores["second"] = service.connection()
    made["nodes"][0]["connection"] = changed.get("connection", "service")
    made["nodes"][0]["config"] |= {name: value for name, value in changed.items() if name != "connection"}
    report = world.run(made)
    assert target_of(report).rows_read == 10


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_a_mode_that_replaces_all_rows_reads_everything(world: World, service: Service, mode: str) -> None:
    made = document(world, service, mode=mode)
    world.run(made)
    report = world.run(made)
    assert (target_of(report).rows_loaded, asked(service)) == (10, [None, None])


@pytest.mark.slow
def test_checks_run_on_a_service_without_new_records(world: World, service: Service) -> None:
    made = document(world, service, checks={"rowCount": {"min": 1, "onFail": "abort"}})
    world.run(made)
    service.records.clear()
    with pytest.raises(Failure) as failed:
        world.run(made)
    assert failed.value.code == "check.abort"


@pytest.mark.slow
def test_targets_read_from_their_own_states(world: World, service: Service) -> None:
    made = document(world, service)
    world.run(made)
    world.create_table("create table u (like t including all)")
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    report = world.run(made)
    assert reconciles(report)
    assert asked(service)[1:] == ["2024-01-09T23:59:00Z", None]
    assert world.sql("select * from t except select * from u") == []
    world.run(made)
    assert world.sql("select count(*) from u") == [(10,)]


@pytest.mark.slow
def test_a_preview_changes_no_state(world: World, service: Service) -> None:
    made = document(world, service)
    preview = world.preview(made)
    assert reconciles(preview)
    world.run(made)
    assert asked(service) == [None, None]


@pytest.mark.slow
def test_all_records_can_be_added_below_a_watermark(world: World, service: Service) -> None:
    made = document(world, service, incremental=False, mode="incremental_watermark")
    world.run(made)
    service.records.append(record(11, 21))
    report = world.run(made)
    assert (target_of(report).rows_read, target_of(report).rows_loaded) == (11, 1)
    assert asked(service) == [None, None]


@pytest.mark.slow
def test_the_state_goes_back_with_the_rows(world: World, service: Service) -> None:
    made = document(world, service, backupBeforeLoad=True)
    world.run(made)
    service.records.append(record(11, 21))
    world.run(made)
    backup = BackupRef(world.memory.commits["load"].run_id, "load")
    restore_pipeline(replace(world.job(made), backup=backup), world.memory.ports())
    assert world.sql("select count(*) from t") == [(10,)]
    world.run(made)
    assert asked(service) == [None, "2024-01-09T23:59:00Z", "2024-01-09T23:59:00Z"]
    assert world.sql("select count(*) from t") == [(11,)]


@pytest.mark.slow
def test_an_approved_load_commits_the_state_of_its_rows(world: World, service: Service) -> None:
    made = document(world, service, hold={"maxNullRateIncreasePct": 5})
    world.run(made)
    service.records.append(record(11, 21, note=None))
    with pytest.raises(Held) as held:
        world.run(made, run_id=f"held-{world.schema}")
    approve(world, made, held.value, 2)
    world.run(made)
    assert asked(service) == [None, "2024-01-09T23:59:00Z", "2024-01-20T23:59:00Z"]


@pytest.mark.slow
def test_united_services_have_states_of_their_own(world: World, service: Service) -> None:
    with serving(Service([record(n, n - 90) for n in (91, 92)], token="s3cret")) as other:
        world.stores["other"] = other.connection()
        made = document(world, service)
        second = json.loads(json.dumps(made["nodes"][0])) | {"id": "second", "connection": "other"}
        second["config"]["url"] = f"{other.url}cursor"
        shape = {"id": "shape", "kind": "transform", "inputs": ["src", "second"], "ops": [{"op": "union"}]}
        made["nodes"][1]["inputs"] = ["shape"]
        made["nodes"][1:1] = [second, shape]
        for _ in range(2):
            world.run(made)
        assert asked(other) == [None, "2024-01-01T23:59:00Z"]
    assert asked(service) == [None, "2024-01-09T23:59:00Z"]
    assert world.sql("select count(*) from t") == [(12,)]


@pytest.mark.slow
def test_a_reference_is_read_whole(world: World, service: Service) -> None:
    made = document(world, service)
    world.run(made)
    world.write("a.csv", "id,k\n100,3\n")
    files = world.document(columns=[{"name": "k", "type": "bigint"}])["nodes"][0]
    reference = json.loads(json.dumps(made["nodes"][0])) | {"id": "ref"}
    join = {"op": "join", "with": "ref", "type": "left", "on": {"k": "id"}, "columns": {"note": "note"}}
    shape = {"id": "shape", "kind": "transform", "inputs": ["src", "ref"], "ops": [join]}
    joined = world.document(mode="append", table="u")
    world.create_table("create table u (id int, k int, note text)")
    joined["nodes"][0:1] = [files, reference, shape]
    joined["nodes"][3]["inputs"] = ["shape"]
    world.run(joined)
    assert world.sql("select note from u") == [("of 3",)]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["ask", "evolve"])
def test_a_field_that_new_records_lack_is_no_dropped_column(world: World, service: Service, policy: str) -> None:
    made = document(world, service)
    made["nodes"][0]["schemaPolicy"] = policy
    world.run(made)
    service.records.append({"id": 11, "updated_at": "2024-01-20T00:00:00Z"})
    report = world.run(made)
    assert (target_of(report).rows_loaded, [warning.code for warning in report.warnings]) == (1, [])


@pytest.mark.slow
def test_a_retry_reads_again_only_for_targets_that_have_not_loaded(world: World, service: Service) -> None:
    world.create_table("create table u (id bigint primary key, updated_at timestamptz, note text not null)")
    made = document(world, service)
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    service.records.append(record(11, 21, note=None))
    with pytest.raises(Failure):
        world.run(made, run_id=f"one-{world.schema}")
    service.records[-1] |= {"note": "changed", "updated_at": "2024-01-22T00:00:00Z"}
    world.run(made, run_id=f"one-{world.schema}", attempt=2)
    world.run(made)
    assert world.sql("select * from t except select * from u") == []
    assert asked(service) == [None, None, "2024-01-20T23:59:00Z", "2024-01-21T23:59:00Z"]


@pytest.mark.slow
def test_rows_of_a_load_approved_late_are_replaced_by_the_next_run(world: World, service: Service) -> None:
    """Its state is older than that of the run between."""
    made = document(world, service, hold={"maxNullRateIncreasePct": 5})
    world.run(made)
    service.records.append(record(11, 21, note=None))
    with pytest.raises(Held) as first:
        world.run(made, run_id=f"held-{world.schema}")
    service.records[-1] |= {"note": "newer", "updated_at": "2024-01-25T00:00:00Z"}
    world.run(made)
    with pytest.raises(Held) as second:  # the table has changed since
        approve(world, made, first.value, 2)
    approve(world, made, second.value, 3)
    world.run(made)
    assert world.sql("select note from t where id = 11") == [("newer",)]


def approve(world: World, made: dict[str, Any], held: Held, attempt: int) -> None:
    stored = StoredJson("staged load", StagedLoad, 1)
    staged = stored.load(json.loads(json.dumps(stored.dump(held.staged))))
    run_pipeline(world.job(made, f"held-{world.schema}", attempt, approved={"load": staged}), world.memory.ports())
