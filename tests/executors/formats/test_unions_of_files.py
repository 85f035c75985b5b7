"""The columns of several files of one source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.errors import Terminal
from executors.formats.unions import union_of_fields
from executors.model import FileScan, SourceField, SourceFile
from ir.nodes import SourceColumn
from ir.types import STRING, ColumnType


def scan(name: str, **types: str) -> FileScan:
    file = SourceFile(0, f"/{name}", name, 1, 1)
    return FileScan(file, "", 1, tuple(SourceField(column, ColumnType.parse(t)) for column, t in types.items()), ())


def union(*scans: FileScan, declared: str | None = None) -> dict[str, str]:
    columns = [SourceColumn(name="a", type=declared)] if declared else []
    return {field.name: str(field.type) for field in union_of_fields(scans, columns)}


def nulls(name: str) -> FileScan:
    return replace(scan(name), fields=(SourceField("a", STRING, only_null=True),))


def test_columns_come_in_order_of_first_appearance() -> None:
    files = scan("1", a="string", b="string"), scan("2", c="string", b="string", a="string")
    assert list(union(*files)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("string", "json", "string"),
        ("json", "json", "json"),
        ("bigint", "integer", "bigint"),
        ("integer", "float", "float"),
        ("date", "timestamp", "timestamp"),
        ("decimal(3,2)", "decimal(6,2)", "decimal(6,2)"),
        ("decimal(10,0)", "decimal(4,4)", "decimal(14,4)"),
        ("integer", "decimal(4,2)", "decimal(12,2)"),
        ("bigint", "decimal(20,0)", "decimal(20,0)"),
    ],
)
def test_types_that_have_a_common_one_get_it(one: str, other: str, common: str) -> None:
    assert union(scan("1", a=one), scan("2", a=other)) == {"a": common}
    assert union(scan("1", a=other), scan("2", a=one)) == {"a": common}


@pytest.mark.parametrize("kind", ["bigint", "timestamp", "json", "string", "decimal(5,2)"])
def test_a_column_of_nulls_has_the_type_that_other_files_give_it(kind: str) -> None:
    assert union(nulls("1"), scan("2", a=kind), nulls("3")) == {"a": kind}
    assert union(nulls("1"), nulls("2")) == {"a": "string"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("string", "bigint"), ("bigint", "float"), ("decimal(5,2)", "float"), ("timestamp", "timestamptz")],
)
def test_types_without_a_common_one_are_refused_with_both_files_unless_one_is_declared(one: str, other: str) -> None:
    files = scan("1.parquet", a=one), scan("2.parquet", a=one), scan("3.parquet", a=other)
    with pytest.raises(Terminal, match=r"'a'.*1\.parquet.*3\.parquet") as refused:
        union(*files)
    assert refused.value.code == "source.types_differ"
    assert union(*files, declared="float") == {"a": "string"}


def test_a_declared_format_decides_nothing_for_it_is_for_text_alone() -> None:
    with pytest.raises(Terminal):
        union_of_fields(
            [scan("1", a="date"), scan("2", a="string")], [SourceColumn(name="a", type="date", format="%d/%m/%Y")]
        )
