"""What targets know of Delta tables, and which ones they refuse."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from executors.delta.failures import translate
from executors.delta.folders import folder_of
from executors.delta.tables import describe, describe_new, schema_to_create
from executors.errors import Failure, Terminal
from executors.model import SourceField, StoreConnection
from ir import parsePipelineIR
from ir.nodes import Target
from ir.types import ColumnType
from tests.executors.delta.conftest import ROWS, SCHEMA, Loads


def target(mode: str = "append", **about: Any) -> Target:
    nodes: list[dict[str, Any]] = [
        {
            "id": "src",
            "kind": "source",
            "connector": "local_fs",
            "config": {"path": "in", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}},
        },
        {"id": "check", "kind": "validate", "inputs": ["src"]},
        {
            "id": "load",
            "kind": "target",
            "inputs": ["check"],
            "connector": "delta",
            "connection": "lake",
            "schema": "lake",
            "table": "t",
            "loadMode": mode,
            **about,
        },
    ]
    document = {"kind": "pipeline", "version": "1.0", "id": "case", "nodes": nodes}
    return next(iter(parsePipelineIR(document).pipeline.targets()))


def refusal(loads: Loads, mode: str = "append") -> str:
    with pytest.raises(Terminal, match=r"^target\.delta_unsupported") as refused:
        describe(loads.table(), target(mode))
    return refused.value.message


def test_columns_have_the_types_of_the_table(loads: Loads) -> None:
    loads.create(
        schema=pa.schema(
            [
                pa.field("a", pa.int64(), nullable=False),
                pa.field("b", pa.decimal128(12, 2)),
                pa.field("c", pa.timestamp("us", "UTC")),
                pa.field("d", pa.timestamp("us")),
            ]
        )
    )
    found = describe(loads.table(), target()).columns
    assert [(column.name, str(column.type), column.nullable) for column in found] == [
        ("a", "bigint", False),
        ("b", "decimal(12,2)", True),
        ("c", "timestamptz", True),
        ("d", "timestamp", True),
    ]


def test_a_column_of_a_type_without_counterpart_cannot_be_loaded(loads: Loads) -> None:
    loads.create(schema=pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.int16())]))
    assert [column.generated for column in describe(loads.table(), target()).columns] == [False, True]


def test_a_partitioned_table_is_refused(loads: Loads) -> None:
    DeltaTable.create(loads.folder.uri, SCHEMA, partition_by=["name"])
    assert "partitions (name)" in refusal(loads)


def test_a_table_with_a_constraint_is_refused(loads: Loads) -> None:
    loads.create(ROWS)
    loads.table().alter.add_constraint({"positive": "id > 0"})
    assert "checkConstraints" in refusal(loads) or "the constraint positive" in refusal(loads)


def test_a_table_with_a_feature_that_writers_must_know_is_refused(loads: Loads) -> None:
    DeltaTable.create(loads.folder.uri, SCHEMA, configuration={"delta.enableChangeDataFeed": "true"})
    assert "version 4 of the protocol for writers" in refusal(loads)


def test_a_table_for_appends_alone_takes_no_other_mode(loads: Loads) -> None:
    DeltaTable.create(loads.folder.uri, SCHEMA, configuration={"delta.appendOnly": "true"})
    assert describe(loads.table(), target()).columns
    assert "delta.appendOnly" in refusal(loads, "truncate")


def test_types_that_delta_lacks_arrive_as_text_in_a_new_table() -> None:
    fields = [SourceField(name, ColumnType.parse(name)) for name in ("json", "uuid", "time", "date")]
    node = target()
    found = describe_new(node, schema_to_create(node, fields), fields)
    assert [str(column.type) for column in found.columns[:4]] == ["string", "string", "string", "date"]


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/a", "_flow", "a.", "a\n", "", "a\\b"])
def test_no_name_leads_out_of_the_root(name: str) -> None:
    with pytest.raises(Terminal, match=r"^target\.name_unusable"):
        folder_of(StoreConnection("lake", "folder", {"path": "/lake"}), name, "t")


def test_failures_of_a_store_repeat_no_text_of_it() -> None:
    with pytest.raises(Failure) as failure, translate("lake.t"):
        raise OSError("GET https://bucket/?X-Amz-Credential=KEY&X-Amz-Signature=SECRET: <Code>AccessDenied</Code>")
    assert failure.value.code == "target.store_refused"
    assert "SECRET" not in str(failure.value)
    assert failure.value.__cause__ is None
