"""Where a row went: the result of each location, and of locations that could not be searched."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone
from psycopg.types.json import Jsonb

from executors.postgres import tracing
from flowapp.pipelines.services import save_version
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import NodeRun, Run, RunKind, Trigger
from flowapp.runs.services import queue_run
from flowapp.tracing.selectors import list_targets, trace_row
from flowapp.tracing.serializers import TargetTraceSerializer
from ir.errors import FlowError
from tests.flowapp.quarantine.keeping import keep
from tests.flowapp.tracing.conftest import HASH

pytestmark = pytest.mark.django_db


def locations(pipeline, **key):
    """The places of the only target, by their kind."""
    (trace,) = trace_row(pipeline, key)
    return {location.kind: location for location in trace.locations}, trace


def test_a_loaded_row_reports_its_run_file_and_record(checked, run, table):
    table((1, "Ann", 5), (2, "Bob", 6))
    LoadUnit.objects.create(
        workspace=run.workspace,
        pipeline=checked,
        node="files",
        sha256=HASH,
        name="a.csv",
        size=1,
        changed_at=timezone.now(),
    )
    (row,) = locations(checked, id="2")[0]["table"].found
    assert row.values == {"id": 2, "name": "Bob"}
    assert (row.run, row.file, row.record) == (run, "a.csv", 6)


def test_a_rejected_row_is_found_by_what_the_source_called_its_key(checked, run, table, warehouse, schema):
    table()
    keep(warehouse, checked, f"{schema}.rejects", "named", run, row={"no": "7", "name": None}, sourceRecord=9)
    (row,) = locations(checked, id="7")[0]["rejects"].found
    assert (row.run, row.file, row.record) == (run, "a.csv", 9)
    assert (row.entry["ruleId"], row.entry["disposition"]) == ("named", "dropped")


def test_a_row_of_the_source_leads_to_its_group(save, checked, run, table, warehouse, schema):
    table((1, "Ann", 5))
    source, shape, check, load = json.loads(checked.versions.get().document)["nodes"]
    groups = {"op": "aggregate", "by": ["id"], "columns": [{"as": "name", "function": "max", "column": "name"}]}
    shape = {**shape, "ops": [*shape["ops"], groups]}
    load = {name: value for name, value in load.items() if name != "upsertKey"} | {"loadMode": "truncate"}
    save(nodes=[source, shape, check, load])
    keep(warehouse, checked, f"{schema}.rejects", "named", run, row={"no": "1", "city": "Rome"}, sourceRecord=9)
    found, _ = locations(checked, id="1", city="Rome")
    assert [row.values["name"] for row in found["table"].found] == ["Ann"]
    assert "The rows are groups by id" in found["table"].note
    assert [row.record for row in found["rejects"].found] == [9]


def test_a_loaded_row_brings_its_warnings_by_its_place(checked, run, table, warehouse, schema):
    table((1, "Ann", 5))
    keep(
        warehouse, checked, f"{schema}.rejects", "named", run, row={"other": "x"}, sourceRecord=5, disposition="loaded"
    )
    found, trace = locations(checked, id="1")
    assert [s.entry["disposition"] for s in found["rejects"].found] == ["loaded"]
    assert trace.is_found


def test_rows_behind_a_branch_lead_to_their_record(save, checked, run, table, warehouse, schema):
    table((1, "Ann", 5))
    source, shape, check, load = json.loads(checked.versions.get().document)["nodes"]
    branches = [{"to": "check", "where": "name = 'Ann'"}, {"to": "others", "where": "name = 'Bob'"}]
    route = {"id": "route", "kind": "branch", "inputs": ["shape"], "branches": branches}
    others = {**load, "id": "others", "inputs": ["route"], "table": "others"}
    save(nodes=[source, shape, route, {**check, "inputs": ["route"]}, load, others])
    keep(warehouse, checked, f"{schema}.rejects", "branch", run, row={"no": "7"}, nodeId="route", sourceRecord=9)
    (loaded,), (rejected,) = (
        [row for trace in trace_row(checked, {"id": key}) for place in trace.locations for row in place.found]
        for key in ("1", "7")
    )
    assert (loaded.run, loaded.record) == (run, 5)
    assert (rejected.run, rejected.file, rejected.record, rejected.entry["nodeId"]) == (run, "a.csv", 9, "route")


def test_entries_of_other_workspaces_are_not_seen(checked, table, warehouse, schema):
    table()
    theirs = "00000000-0000-4000-8000-000000000001"
    keep(warehouse, checked, f"{schema}.rejects", "named", theirs, row={"no": "7"}, tenant=theirs)
    assert locations(checked, id="7")[0]["rejects"].found == ()


def test_another_workspaces_entries_in_a_shared_table_hide_none_of_ours(checked, run, table, warehouse, schema):
    table()
    keep(warehouse, checked, f"{schema}.rejects", "named", run, row={"no": "7"})
    theirs = "00000000-0000-4000-8000-000000000001"
    keep(warehouse, checked, f"{schema}.rejects", "named", theirs, n=21, row={"no": "7"}, tenant=theirs)
    assert len(locations(checked, id="7")[0]["rejects"].found) == 1


def test_what_an_older_version_rejected_is_found_where_it_was_put(checked, run, table, warehouse, schema):
    table()
    keep(warehouse, checked, f"{schema}.rejects", "named", run, row={"no": "7"})
    moved = checked.versions.get().document.replace(f"{schema}.rejects", f"{schema}.moved")
    save_version(checked.workspace, moved)
    assert [
        len(location.found) for location in trace_row(checked, {"id": "7"})[0].locations if location.kind == "rejects"
    ] == [
        0,
        1,
    ]


def test_a_sample_reports_of_a_row_that_the_table_no_longer_holds(checked, run, table, database):
    table()
    database.execute(
        "INSERT INTO flow_meta.samples (tenant, pipeline, node, run_id, source_file, source_record, row)"
        " VALUES (%s, %s, 'load', %s, 'a.csv', 3, %s), (gen_random_uuid(), %s, 'load', %s, 'theirs.csv', 3, %s)",
        [
            checked.workspace_id,
            checked.slug,
            str(run.pk),
            Jsonb({"id": 4, "name": "Di"}),
            checked.slug,
            str(run.pk),
            Jsonb({"id": 4}),
        ],
    )
    database.execute(
        "INSERT INTO flow_meta.samples (tenant, pipeline, node, run_id, kind, row)"
        " VALUES (%s, %s, 'load', %s, 'source', %s)",
        [checked.workspace_id, checked.slug, str(run.pk), Jsonb({"id": 4, "name": "only seen"})],
    )
    (row,) = locations(checked, id="4")[0]["samples"].found
    assert (row.run, row.file, row.record, row.values["name"]) == (run, "a.csv", 3, "Di")


def test_a_table_without_the_columns_says_so_plainly(checked, table):
    table((1, "Ann", 5), columns="note text")
    found = locations(checked, id="1")[0]["table"]
    assert found.found[0].run is None
    assert "has no column _source_file_hash, _flow_run, _source_record" in found.note


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ({"id": "abc"}, "cannot be read as its column's type"),
        ({"nonsense": "1"}, "no column nonsense"),
        ({"id": "1\x00"}, "cannot be read"),
        ({"id": "99999999999999999999"}, "cannot be read"),
    ],
)
def test_what_cannot_be_searched_says_why_and_nothing_is_certain(checked, table, key, says):
    table((1, "Ann", 5))
    found, trace = locations(checked, **key)
    assert says in found["table"].trouble
    assert not trace.is_sure


def test_a_search_that_takes_too_long_says_so(checked, table, monkeypatch, database, schema):
    table(*((n, "x", n) for n in range(3)))
    database.execute(f'CREATE FUNCTION "{schema}".slow(text) RETURNS text LANGUAGE sql AS $$SELECT pg_sleep(2)::text$$')
    database.execute(f'ALTER TABLE "{schema}".numbers RENAME TO real_numbers')
    database.execute(
        f'CREATE VIEW "{schema}".numbers AS SELECT id, "{schema}".slow(name) AS name FROM "{schema}".real_numbers'
    )
    monkeypatch.setattr(tracing, "SECONDS", 0.3)
    found, trace = locations(checked, name="x")
    assert "search exceeded" in found["table"].trouble
    assert "No index begins with name." in found["table"].trouble
    assert not trace.is_sure


def test_a_missing_table_and_a_dead_database_are_distinguished(checked, connected):
    assert locations(checked, id="1")[0]["table"].trouble == "The table does not exist."
    from flowapp.connections.models import Connection

    Connection.objects.update(port=1)
    found, trace = locations(checked, id="1")
    assert not trace.is_sure
    assert all(location.trouble for location in found.values())


def test_where_nothing_is_found_recent_loads_say_what_they_excluded(checked, run, table):
    table()
    NodeRun.objects.create(
        workspace=run.workspace, run=run, position=1, node="load", kind="target", rows_filtered=12, rows_replaced=0
    )
    _, trace = locations(checked, id="1")
    assert (trace.is_found, trace.excluded) == (False, (("filtered out", 12),))


def test_what_a_replay_rejects_is_no_further_row_that_was_excluded(checked, run, table):
    table()
    again = queue_run(checked, Trigger.CLI, send=False)
    Run.objects.filter(pk=again.pk).update(kind=RunKind.REPLAY)
    for one in (run, again):
        NodeRun.objects.create(
            workspace=one.workspace, run=one, position=1, node="load", kind="target", rows_rejected=3
        )
    assert locations(checked, id="1")[1].excluded == (("rejected", 3),)


def test_numbers_are_reported_with_the_digits_that_the_table_holds(checked, table, database, schema):
    table((1, "Ann", 5))
    database.execute(f'ALTER TABLE "{schema}".numbers ADD COLUMN amount numeric(40, 12)')
    database.execute(f'UPDATE "{schema}".numbers SET amount = 12345678901234567890.123456789010')
    (row,) = locations(checked, id="1")[0]["table"].found
    assert list(row.values.items()) == [("id", 1), ("name", "Ann"), ("amount", "12345678901234567890.123456789010")]


def test_hostile_columns_and_values_are_names_and_values(checked, table):
    table((1, "Ann", 5))
    for key in ({'id"; drop table x; --': "1"}, {"name": "x' OR '1'='1"}, {"id": "1) OR (1=1"}):
        _, trace = locations(checked, **key)
        assert not trace.is_found


def test_the_key_of_a_target_comes_first(checked):
    ((target, columns),) = list_targets(checked)
    assert (target.id, columns[:2]) == ("load", ["id", "name"])


@pytest.mark.parametrize(("key", "node", "code"), [({}, "", "trace.key_required"), ({"id": "1"}, "x", "node.unknown")])
def test_a_wrong_question_is_refused(checked, key, node, code):
    with pytest.raises(FlowError) as refused:
        trace_row(checked, key, node)
    assert refused.value.code == code


def test_the_document_holds_all_of_it(checked, run, table):
    table((1, "Ann", 5))
    (reported,) = TargetTraceSerializer(trace_row(checked, {"id": "1"}), many=True).data
    row = reported["locations"][0]["rows"][0]
    assert (reported["found"], row["values"]["name"], row["run"], row["record"]) == (True, "Ann", str(run.pk), 5)
