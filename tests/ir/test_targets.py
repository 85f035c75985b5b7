"""Rules of load modes, with and without the properties of the tables."""

from __future__ import annotations

from typing import Any

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.destinations import Destination, DestinationColumn
from ir.load_modes import LOAD_MODES, load_mode
from ir.types import STRING
from tests.ir.cases import document

KEY = ("warehouse", "public", "orders")


def orders(**target: Any) -> dict[str, Any]:
    made = document("orders")
    made["nodes"][3] |= target
    return made


def table(*columns: str, keys: tuple[tuple[str, ...], ...] = (), **more: Any) -> Destination:
    return Destination(
        "public",
        "orders",
        tuple(DestinationColumn(name, STRING, "text") for name in columns),
        tuple(frozenset(key) for key in keys),
        **more,
    )


def reported(made: dict[str, Any], destinations=None) -> set[str]:
    try:
        return {d.code for d in parsePipelineIR(made, destinations=destinations).warnings}
    except InvalidPipeline as error:
        return {d.code for d in error.diagnostics}


def skipped(made: dict[str, Any], destinations=None) -> set[str]:
    try:
        return {s.code for s in parsePipelineIR(made, destinations=destinations).skipped}
    except InvalidPipeline as error:
        return {s.code for s in error.skipped}


UPSERT = {"loadMode": "upsert", "upsertKey": ["id"]}


def test_what_needs_the_table_is_skipped_and_listed_without_it():
    assert reported(orders(**UPSERT)) == set()
    assert skipped(orders(**UPSERT)) == {"upsert.key_unknown", "upsert.key_covers_all", "upsert.key_not_unique"}


def test_nothing_is_skipped_when_the_table_is_known():
    found = {KEY: table("id", "total", keys=(("id",),))}
    assert reported(orders(**UPSERT), found) == set()
    assert skipped(orders(**UPSERT), found) == set()


def test_nothing_is_said_of_a_table_that_does_not_exist_yet():
    found = {KEY: None}
    assert reported(orders(**UPSERT), found) == set()
    assert skipped(orders(**UPSERT), found) == {"upsert.key_unknown", "upsert.key_covers_all"}


def test_the_table_of_another_connection_is_not_taken_for_this_one():
    found = {("other", "public", "orders"): table("x")}
    assert "upsert.key_not_unique" in skipped(orders(**UPSERT), found)


@pytest.mark.parametrize("keys", [(), (("id", "total"),), (("total",),)])
def test_a_key_that_no_constraint_matches_is_refused(keys):
    assert reported(orders(**UPSERT), {KEY: table("id", "total", keys=keys)}) == {"upsert.key_not_unique"}


def test_the_order_of_a_keys_columns_does_not_matter():
    found = {KEY: table("id", "total", "rest", keys=(("total", "id"),))}
    assert reported(orders(loadMode="upsert", upsertKey=["id", "total"]), found) == set()


def test_the_statement_that_would_help_quotes_its_names():
    made = orders(loadMode="upsert", upsertKey=['a"b'], table="Or ders")
    found = {("warehouse", "public", "Or ders"): table('a"b', "c")}
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(made, destinations=found)
    assert 'ALTER TABLE "public"."Or ders" ADD UNIQUE ("a""b")' in caught.value.diagnostics[0].hint


def test_a_key_over_all_columns_of_the_table_leaves_nothing_to_update():
    found = {KEY: table("id", keys=(("id",),))}
    assert reported(orders(**UPSERT), found) == {"upsert.key_covers_all"}


def test_a_key_over_all_selected_columns_leaves_nothing_to_update():
    made = orders(loadMode="upsert", upsertKey=["id", "total"])
    made["nodes"][1]["ops"] = [{"op": "select", "columns": ["total", "id"]}]
    assert reported(made, {KEY: table("id", "total", "more", keys=(("id", "total"),))}) == {"upsert.key_covers_all"}


def test_a_key_column_that_the_rows_lack_is_refused_though_the_table_has_it():
    made = orders(**UPSERT)
    made["nodes"][1]["ops"] = [{"op": "select", "columns": ["total", "customer"]}]
    made["nodes"][2]["rowLevel"] = []
    assert reported(made, {KEY: table("id", "total", "customer", keys=(("id",),))}) == {"column.unknown"}


@pytest.mark.parametrize("kind", ["view", "materialized view", "foreign table", "partition"])
def test_what_is_no_table_of_its_own_is_refused(kind):
    assert reported(orders(), {KEY: table("id", kind=kind)}) == {"target.not_loadable"}


def test_a_partitioned_table_can_be_loaded():
    assert reported(orders(), {KEY: table("id", kind="partitioned table")}) == set()


def test_truncate_is_warned_about_on_one_source_and_one_target_alone():
    made = orders(loadMode="truncate")
    assert reported(made) == {"truncate.prefer_blue_green"}
    made["nodes"].append(made["nodes"][3] | {"id": "other", "table": "other", "loadMode": "append"})
    assert reported(made) == set()


def test_fields_of_another_mode_are_kept_and_warned_about():
    made = orders(loadMode="append", upsertKey=["id"], failOnEmptySource=True)
    parsed = parsePipelineIR(made)
    assert [(d.code, str(d.path)) for d in parsed.warnings] == [
        ("target.field_unused", f"/nodes/3/{name}") for name in ("failOnEmptySource", "upsertKey")
    ]
    assert parsed.document == made


@pytest.mark.parametrize("modes", [("truncate", "append"), ("append", "truncate"), ("truncate", "truncate")])
def test_one_table_is_not_loaded_twice_when_one_of_the_loads_replaces_it(modes):
    made = orders(loadMode=modes[0])
    made["nodes"].append(made["nodes"][3] | {"id": "other", "loadMode": modes[1]})
    assert reported(made) == {"target.loaded_twice"}


@pytest.mark.parametrize("modes", [("append", "incremental_watermark"), ("incremental_watermark", "append")])
def test_one_table_is_not_loaded_twice_when_a_watermark_would_begin_at_what_the_other_loads(modes):
    marked = {"watermarkColumn": "id"}
    made = orders(loadMode=modes[0], **(marked if modes[0] != "append" else {}))
    other = {"id": "other", "loadMode": modes[1], **(marked if modes[1] != "append" else {})}
    made["nodes"].append({k: v for k, v in made["nodes"][3].items() if k != "watermarkColumn"} | other)
    assert reported(made) == {"target.loaded_twice"}


def test_one_table_may_be_appended_to_twice():
    made = orders()
    made["nodes"].append(made["nodes"][3] | {"id": "other"})
    assert reported(made) == set()


@pytest.mark.parametrize(
    ("mode", "code"),
    [
        ("upsert", "upsert.key_required"),
        ("incremental_watermark", "watermark.column_required"),
        ("cdc_mirror", "cdc.source_required"),
    ],
)
def test_a_mode_without_what_it_needs_is_refused_even_behind_a_gate(mode, code):
    assert code in reported(orders(loadMode=mode))


@pytest.mark.parametrize(
    ("streaming", "code", "words"),
    [
        (False, "cdc.streaming_disabled", "streaming disabled"),
        (True, "cdc.connector_missing", "Debezium connector not configured"),
    ],
)
def test_cdc_mirror_is_stopped_at_the_gate_that_is_shut_and_leads_to_its_page(streaming, code, words):
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(orders(loadMode="cdc_mirror", cdcSource="stream"), streaming=streaming)
    (reported,) = caught.value.diagnostics

    assert (reported.code, str(reported.path), reported.severity) == (code, "/nodes/3/loadMode", "error")
    assert reported.message.startswith(words)
    assert "docs/reference/cdc-mirror.md" in reported.hint


def test_modes_say_what_they_are_like():
    assert [mode.name for mode in LOAD_MODES.values() if mode.replaces_all_rows] == ["truncate", "blue_green"]
    assert [mode.name for mode in LOAD_MODES.values() if mode.needs_key] == ["upsert", "cdc_mirror"]
    assert [mode.name for mode in LOAD_MODES.values() if mode.keeps_watermark] == ["incremental_watermark"]
    assert [mode.name for mode in LOAD_MODES.values() if mode.follows_stream] == ["cdc_mirror"]
    with pytest.raises(KeyError, match="known are append"):
        load_mode("replace")


def test_a_column_of_unknown_type_is_offered_as_text():
    made = orders(columns=[{"name": "id", "type": "bigint"}])
    made["nodes"][1]["ops"] = [
        {"op": "derive", "columns": {"twice": "id * 2"}},
        {"op": "select", "columns": ["id", "twice"]},
    ]
    made["nodes"][2]["rowLevel"] = []
    (found,) = [d for d in parsePipelineIR(made).warnings if d.code == "target.column_missing"]
    assert [step["value"] for patch in found.fixes for step in patch] == [{"name": "twice", "type": "string"}]
    assert "as string: only a run knows the type" in found.message
