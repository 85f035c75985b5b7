from __future__ import annotations

from typing import Any

import pytest

from executors.errors import Terminal
from executors.singer.catalogs import Selection, read_catalog, select, streams_of

CATALOG: dict[str, Any] = {
    "streams": [
        {
            "tap_stream_id": "shop-orders",
            "stream": "orders",
            "schema": {"properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "blob": {}}},
            "metadata": [
                {"breadcrumb": [], "metadata": {"table-key-properties": ["id"], "valid-replication-keys": ["id"]}},
                {"breadcrumb": ["properties", "id"], "metadata": {"inclusion": "automatic"}},
                {"breadcrumb": ["properties", "blob"], "metadata": {"inclusion": "unsupported"}},
            ],
        },
        {"tap_stream_id": "shop-lines", "stream": "lines", "schema": {}, "metadata": [{"breadcrumb": []}]},
    ]
}


def selected(catalog: dict[str, Any], stream: int) -> dict[tuple[str, ...], Any]:
    metadata = catalog["streams"][stream]["metadata"]
    return {tuple(one["breadcrumb"]): one["metadata"].get("selected") for one in metadata}


@pytest.mark.parametrize("name", ["shop-orders", "orders"])
def test_one_stream_is_selected_with_all_fields_that_the_tap_supports(name: str) -> None:
    catalog, stream = select(CATALOG, Selection(name), "shop")
    assert (stream.id, stream.name, stream.keys) == ("shop-orders", "orders", ("id",))
    assert [field.name for field in stream.fields] == ["id", "note"]
    assert selected(catalog, 0) == {
        (): True,
        ("properties", "id"): True,
        ("properties", "note"): True,
        ("properties", "blob"): False,
    }
    assert selected(catalog, 1) == {(): False}
    assert [one["schema"]["selected"] for one in catalog["streams"]] == [True, False]
    assert "selected" not in CATALOG["streams"][0]["schema"]


def test_chosen_fields_are_selected_with_those_that_the_tap_needs() -> None:
    catalog, _ = select({"streams": [CATALOG["streams"][0]]}, Selection("orders", ("note",)), "shop")
    assert [key for key, chosen in selected(catalog, 0).items() if chosen] == [
        (),
        ("properties", "id"),
        ("properties", "note"),
    ]


def test_the_method_and_the_key_are_written_in_both_forms() -> None:
    catalog, _ = select(CATALOG, Selection("orders", method="INCREMENTAL", key="id"), "shop")
    stream = catalog["streams"][0]
    (own,) = [one["metadata"] for one in stream["metadata"] if not one["breadcrumb"]]
    assert (own["replication-method"], own["replication-key"]) == ("INCREMENTAL", "id")
    assert (stream["replication_method"], stream["replication_key"]) == ("INCREMENTAL", "id")


@pytest.mark.parametrize(
    ("selection", "code"),
    [(Selection("orderz"), "singer.stream_unknown"), (Selection("orders", ("x",)), "singer.field_unknown")],
)
def test_unknown_names_are_refused_with_those_that_exist(selection: Selection, code: str) -> None:
    with pytest.raises(Terminal, match=r"shop-orders") as error:
        select(CATALOG, selection, "shop")
    assert error.value.code == code


@pytest.mark.parametrize("text", ["", "no", "[]", '{"streams": [{}]}'])
def test_output_that_is_no_catalog_is_refused(text: str) -> None:
    with pytest.raises(Terminal) as error:
        read_catalog(text, "shop")
    assert error.value.code == "singer.catalog_malformed"


def test_streams_are_listed_with_their_columns() -> None:
    assert [(one.id, len(one.fields), one.replication_keys) for one in streams_of(CATALOG)] == [
        ("shop-orders", 2, ("id",)),
        ("shop-lines", 0, ()),
    ]
