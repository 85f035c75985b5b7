"""The columns of several files of one source."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.formats.unions import union_of_fields
from executors.model import FileScan, SourceField, SourceFile
from ir.types import ColumnType


def scan(name: str, **types: str) -> FileScan:
    file = SourceFile(0, f"/{name}", name, 1, 1)
    return FileScan(file, "", 1, tuple(SourceField(column, ColumnType.parse(t)) for column, t in types.items()), ())


def union(*scans: FileScan) -> dict[str, str]:
    return {field.name: str(field.type) for field in union_of_fields(scans)}


def test_columns_come_in_order_of_first_appearance() -> None:
    files = scan("1", a="string", b="string"), scan("2", c="string", b="string", a="string")
    assert list(union(*files)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [("string", "json", "string"), ("json", "json", "json"), ("bigint", "integer", "bigint")],
)
def test_types_that_have_a_common_one_get_it(one: str, other: str, common: str) -> None:
    assert union(scan("1", a=one), scan("2", a=other)) == {"a": common}


@pytest.mark.parametrize(("one", "other"), [("string", "bigint"), ("decimal(5,2)", "decimal(6,2)")])
def test_other_types_are_refused_by_name(one: str, other: str) -> None:
    with pytest.raises(Terminal, match=r"'a'.*2\.parquet") as refused:
        union(scan("1.parquet", a=one), scan("2.parquet", a=other))
    assert refused.value.code == "source.types_differ"
