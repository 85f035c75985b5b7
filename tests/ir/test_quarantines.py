"""Where rejected rows can be stored, by the connectors of the targets."""

from __future__ import annotations

from typing import Any

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.quarantines import rejects_connection
from tests.ir.cases import document

DELTA = {"connector": "delta", "connection": "lake"}


def orders(quarantine: dict[str, Any], *targets: dict[str, Any]) -> dict[str, Any]:
    """Return a document with these targets behind one validate node, in the connection `warehouse` by default."""
    made = document("orders")
    made["nodes"][2]["quarantine"] = {"enabled": True, "table": "dlq.orders", **quarantine}
    first = made["nodes"].pop()
    made["nodes"] += [first | {"id": f"load{i}", "table": f"t{i}"} | target for i, target in enumerate(targets)]
    return made


def faults_of(made: dict[str, Any]) -> list[tuple[str, str]]:
    try:
        return [(d.code, str(d.path)) for d in parsePipelineIR(made).warnings]
    except InvalidPipeline as error:
        return [(d.code, str(d.path)) for d in error.diagnostics]


def test_a_quarantine_of_delta_tables_needs_a_connection_and_says_so_once():
    required = ("quarantine.connection_required", "/nodes/2/quarantine/connection")
    assert faults_of(orders({}, DELTA, DELTA)) == [required]
    assert faults_of(orders({"connection": "warehouse"}, DELTA, DELTA)) == []


def test_a_disabled_quarantine_needs_no_connection():
    assert faults_of(orders({"enabled": False}, DELTA)) == []


@pytest.mark.parametrize("quarantine", [{}, {"connection": "warehouse"}])
def test_rejected_rows_of_a_postgresql_table_may_name_its_connection(quarantine):
    assert faults_of(orders(quarantine, {})) == []


def test_rejected_rows_of_a_postgresql_table_cannot_be_in_another_database():
    differs = ("quarantine.connection_differs", "/nodes/2/quarantine/connection")
    assert faults_of(orders({"connection": "audit"}, {})) == [differs]
    assert faults_of(orders({"connection": "warehouse"}, {}, {"connection": "other"})) == [differs]


def test_rejected_rows_of_both_kinds_of_tables_are_in_the_database_of_one():
    assert faults_of(orders({"connection": "warehouse"}, {}, DELTA)) == []
    assert [code for code, _ in faults_of(orders({}, {}, DELTA))] == ["quarantine.connection_required"]


def chained(*connections: str, **last: Any) -> dict[str, Any]:
    """Return a document with a Delta table behind validate nodes with these connections."""
    made = orders({"connection": connections[0]}, DELTA)
    check, load = made["nodes"][2:]
    made["nodes"][3:] = [
        check
        | {"id": f"check{i}", "inputs": ["check"], "quarantine": check["quarantine"] | {"connection": name, **last}}
        for i, name in enumerate(connections[1:])
    ]
    return made | {"nodes": [*made["nodes"], load | {"inputs": ["check0"]}]}


def test_all_quarantines_of_a_delta_table_are_in_one_database():
    differs = ("quarantine.connection_differs", "/nodes/3/quarantine/connection")
    assert faults_of(chained("audit", "audit")) == []
    assert faults_of(chained("audit", "other")) == [differs]
    assert faults_of(chained("audit", "other", enabled=False)) == []


@pytest.mark.parametrize(
    ("quarantine", "target", "expected"),
    [
        ({"connection": "audit"}, DELTA, "audit"),
        ({"enabled": False, "connection": "audit"}, DELTA, None),
        ({}, {}, "warehouse"),
        ({"enabled": False}, {}, "warehouse"),
    ],
)
def test_the_database_of_rejected_rows_is_that_of_the_quarantine_or_of_the_target(quarantine, target, expected):
    pipeline = parsePipelineIR(orders(quarantine, target)).pipeline
    (loaded,) = pipeline.targets()
    assert rejects_connection(pipeline, loaded) == expected


def test_the_fix_of_a_missing_connection_removes_the_quarantine():
    with pytest.raises(InvalidPipeline) as caught:
        parsePipelineIR(orders({}, DELTA))
    (found,) = caught.value.diagnostics
    assert found.fixes == ([{"op": "remove", "path": "/nodes/2/quarantine"}],)
    assert found.hint.startswith("Name the connection of a PostgreSQL database, or disable the quarantine")


def test_a_table_of_the_same_name_in_another_database_is_no_target():
    assert faults_of(orders({"table": "public.t0", "connection": "warehouse"}, DELTA)) == []
    other = {"connection": "other", "inputs": ["shape"]}
    assert faults_of(orders({"table": "public.t1"}, {}, other)) == []


@pytest.mark.parametrize("quarantine", [{}, {"connection": "warehouse"}])
def test_a_table_that_a_target_of_the_same_database_loads_is_refused(quarantine):
    is_target = ("quarantine.is_target", "/nodes/2/quarantine/table")
    assert faults_of(orders({"table": "public.t1", **quarantine}, {}, {"inputs": ["shape"]})) == [is_target]
