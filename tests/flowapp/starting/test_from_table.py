"""A pipeline from a table of a connection."""

from __future__ import annotations

import pytest

from executors.postgres.client import connect
from tests.flowapp.reading import words
from tests.flowapp.starting.test_from_file import NEW, change, fields_of, saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(as_, connected):
    return as_("editor")


@pytest.fixture
def address(warehouse, schema) -> str:
    with connect(warehouse) as session:
        session.execute(
            f'CREATE TABLE "{schema}".orders (id integer PRIMARY KEY, at timestamptz, net numeric(10,2), host inet)'
        )
        session.commit()
    return f"{NEW}table/?connection=warehouse&schema={schema}&table=orders"


def test_the_tables_of_the_connection_are_listed(client, address, schema):
    page = client.get(f"{NEW}tables/")
    assert f"{schema}.orders" in words(page)
    assert address.replace("&", "&amp;") in page.content.decode()
    assert "flow_meta" not in words(page)


def test_the_key_and_another_table_are_proposed_and_saved(client, address, schema):
    page = client.get(address)
    assert (fields_of(page)["mode"], fields_of(page)["table"]) == (["upsert"], ["orders_copy"])
    change(client, address, page, action="create", orderBy="at", **{"c3-included": None})

    source, columns, *_, load = saved()["nodes"]
    assert source["config"] == {"table": {"schema": schema, "name": "orders"}}
    assert columns["ops"] == [{"op": "drop", "columns": ["host"]}]
    assert (load["upsertKey"], load["orderBy"]) == (["id"], "at")
    assert [column["type"] for column in load["columns"]] == ["integer", "timestamptz", "decimal(10,2)"]


def test_new_rows_can_be_followed_by_a_watermark(client, address):
    page = change(client, address, client.get(address), mode="incremental_watermark")
    assert fields_of(page)["watermark"] == [""]
    assert 'id="notes-watermark"' in page.content.decode()
    change(client, address, page, watermark="at", action="create")
    assert saved()["nodes"][-1]["watermarkColumn"] == "at"


def test_columns_that_loads_have_filled_are_not_offered(client, address, schema, warehouse):
    with connect(warehouse) as session:
        session.execute(
            f'ALTER TABLE "{schema}".orders ADD _source_file_hash text, ADD _flow_run uuid, ADD _source_record bigint'
        )
        session.commit()
    page = client.get(address)
    assert "_flow_run" not in words(page)
    change(client, address, page, action="create")
    assert [column["name"] for column in saved()["nodes"][-1]["columns"]] == ["id", "at", "net", "host"]


def test_a_table_that_is_not_there_is_unknown(client, schema):
    answer = client.get(f"{NEW}table/?connection=warehouse&schema={schema}&table=gone")
    assert answer.status_code == 404
    assert client.get(f"{NEW}table/?connection=other&schema=a&table=b").status_code == 404


def test_without_a_connection_the_page_says_what_to_do(as_, workspace):
    assert "Ask an admin of the workspace to add the database" in words(as_("editor").get(f"{NEW}tables/"))
