"""The texts about differences of documents."""

from __future__ import annotations

from typing import Any

import pytest

from ir.manifests.describing import describe_changes

ID, NAME, PRICE = (
    {"name": name, "type": type} for name, type in (("id", "bigint"), ("name", "string"), ("price", "float"))
)


def loading(*columns: dict[str, str]) -> dict[str, Any]:
    return {"nodes": [{"id": "load", "columns": list(columns)}]}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ([ID], [ID, NAME], ["load: column name is added: string."]),
        ([ID, NAME], [ID], ["load: column name is removed."]),
        ([ID, NAME, PRICE], [ID], ["load: column price is removed.", "load: column name is removed."]),
        ([ID, {"name": "name"}], [ID, NAME], ["load: column name is removed.", "load: column name is added: string."]),
        ([], [ID, PRICE], ["load: column id is added: bigint.", "load: column price is added: float."]),
    ],
)
def test_columns_are_named(old: list[dict[str, str]], new: list[dict[str, str]], words: list[str]) -> None:
    assert describe_changes(loading(*old), loading(*new)) == words
