"""The upsert of Delta tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from executors.errors import InvalidContent, Terminal
from tests.executors.delta.conftest import ROWS, Loads

WIDE = pa.schema(
    [
        pa.field("id", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("note", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("place", pa.struct([pa.field("x", pa.float64())])),
    ]
)


def counts(loads: Loads, rows: list[dict[str, Any]], **about: Any) -> dict[str, int]:
    found = loads.load(rows, "upsert", **about).counts
    names = ("staged", "inserted", "updated", "unchanged", "replaced", "older")
    return {name: getattr(found, name) for name in names if getattr(found, name)}


def test_new_rows_are_inserted_changed_ones_updated_and_equal_ones_left(loads: Loads) -> None:
    loads.create(ROWS)
    given = [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}, {"id": 3, "name": "Cid"}]
    assert counts(loads, given) == {"staged": 3, "inserted": 1, "updated": 1, "unchanged": 1}
    assert loads.rows() == given


def test_null_is_a_value_like_others(loads: Loads) -> None:
    loads.create([{"id": 1, "name": None}, {"id": 2, "name": "Bob"}])
    given = [{"id": 1, "name": None}, {"id": 2, "name": None}]
    assert counts(loads, given) == {"staged": 2, "updated": 1, "unchanged": 1}
    assert loads.rows() == given


def test_columns_that_the_rows_lack_stay_as_they_are(loads: Loads) -> None:
    old = {"id": 1, "name": "Ann", "note": "mine", "tags": ["a", None], "place": {"x": 1.5}}
    loads.create([old], WIDE)
    counts(loads, [{"id": 1, "name": "An"}, {"id": 2, "name": "Bob"}])
    assert loads.rows() == [{**old, "name": "An"}, {"id": 2, "name": "Bob", "note": None, "tags": None, "place": None}]


def test_files_without_changed_rows_are_not_written_again(loads: Loads) -> None:
    loads.load([{"id": 1, "name": "Ann"}])
    loads.load([{"id": 2, "name": "Bob"}])
    before = set(loads.table().file_uris())
    counts(loads, [{"id": 2, "name": "Bo"}])
    assert len(before & set(loads.table().file_uris())) == 1


def test_equal_rows_change_no_file(loads: Loads) -> None:
    loads.load(list(ROWS))
    before = loads.table().file_uris()
    assert counts(loads, list(ROWS)) == {"staged": 2, "unchanged": 2}
    assert loads.table().file_uris() == before


def test_of_several_rows_with_a_key_the_last_is_loaded(loads: Loads) -> None:
    loads.create(ROWS)
    given = [{"id": 1, "name": "first"}, {"id": 1, "name": "last"}]
    assert counts(loads, given) == {"staged": 2, "updated": 1, "replaced": 1}
    assert loads.rows()[0]["name"] == "last"


def test_the_highest_value_of_order_by_is_the_last(loads: Loads) -> None:
    loads.create([])
    given = [{"id": 1, "name": "b"}, {"id": 1, "name": "a"}, {"id": 1, "name": None}]
    assert counts(loads, given, order_by="name") == {"staged": 3, "inserted": 1, "replaced": 2}
    assert loads.rows() == [{"id": 1, "name": "b"}]


def test_a_newer_row_of_the_table_is_not_overwritten(loads: Loads) -> None:
    loads.create([{"id": 1, "name": "b"}, {"id": 2, "name": None}])
    given = [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}]
    assert counts(loads, given, order_by="name") == {"staged": 2, "updated": 1, "older": 1}
    assert loads.rows() == [{"id": 1, "name": "b"}, {"id": 2, "name": "a"}]


def test_rows_without_an_order_may_not_share_a_key(loads: Loads) -> None:
    loads.create(ROWS)
    with pytest.raises(InvalidContent, match=r"^upsert\.key_repeated.*a\.csv record 1, 2"):
        loads.load([{"id": 1, "name": "a"}, {"id": 1, "name": "b"}], "upsert", keeps_order=False)
    assert loads.rows() == list(ROWS)


def test_rows_with_the_same_place_in_the_order_may_differ_in_nothing(loads: Loads) -> None:
    loads.create([])
    about: dict[str, Any] = {"keeps_order": False, "order_by": "name"}
    assert counts(loads, [{"id": 1, "name": "a"}, {"id": 1, "name": "a"}], **about)["inserted"] == 1


def test_a_key_that_the_table_has_twice_is_refused(loads: Loads) -> None:
    loads.create([*ROWS, *ROWS])
    with pytest.raises(Terminal, match=r"^upsert\.key_not_unique"):
        loads.load([{"id": 1, "name": "a"}], "upsert")
    assert len(loads.rows()) == 4


def test_a_key_that_is_twice_in_the_table_but_not_in_the_load_does_no_harm(loads: Loads) -> None:
    loads.create([*ROWS, *ROWS])
    assert counts(loads, [{"id": 9, "name": "a"}]) == {"staged": 1, "inserted": 1}


def test_rows_of_a_missing_table_are_all_new(loads: Loads) -> None:
    assert counts(loads, [dict(row) for row in ROWS]) == {"staged": 2, "inserted": 2}
    assert loads.rows() == list(ROWS)
