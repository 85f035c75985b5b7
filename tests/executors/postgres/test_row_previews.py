"""Previews of rejected rows: bounded by the query, whatever the rows contain."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from executors.postgres.quarantine import ensure_quarantine
from executors.postgres.row_previews import FIELDS, LONGEST, Cut, RowPreview, read_previews
from executors.table_name import TableName

INSERT = """
INSERT INTO {} ("pipelineId", "runId", "nodeId", "ruleId", "row", "rowId", field, message, severity, disposition,
    attempt, "targetNode", "sourceFile", "sourceRecord", "rowFrom", "fixedRow", tenant)
VALUES ('orders', 'run', 'check', 'rule', %s, gen_random_uuid(), %s, 'm', 'skip', 'dropped', 1, 'load', 'a.csv', 1,
    'source', %s, gen_random_uuid())
RETURNING id"""


@pytest.fixture
def table(conn, schema) -> TableName:
    name = TableName(schema, "100% rejected")
    ensure_quarantine(conn, name.written)
    return name


def insert(conn, table, statement: str, values) -> int:
    (entry,) = conn.execute(statement.format(table.written.replace("%", "%%")), values).fetchone()
    return entry


def preview(conn, table, row, field="name", fixed=None, order=()) -> RowPreview:
    fixed = None if fixed is None else Jsonb(fixed)
    entry = insert(conn, table, INSERT, [Jsonb(row), field, fixed])
    return read_previews(conn, table, [entry], order)[entry]


def whole(text: str | None) -> Cut:
    return Cut(text, is_cut=False)


def test_null_empty_text_and_a_field_that_is_not_there_are_distinguished(conn, table):
    assert preview(conn, table, {"name": None}).failing == whole(None)
    assert preview(conn, table, {"name": ""}).failing == whole("")
    assert preview(conn, table, {"name": "NULL"}).failing == whole("NULL")
    assert preview(conn, table, {"id": "1"}).failing is None
    assert preview(conn, table, {"id": "1"}, field=None).failing is None


def test_values_are_the_texts_that_the_page_of_a_row_shows(conn, table):
    row = {"name": {"first": "Ann", "of": [1, None]}, "id": 7, "ok": True}
    shown = preview(conn, table, row, order=["ok", "id"])
    assert shown.failing == whole('{"of": [1, null], "first": "Ann"}')
    assert shown.fields == ((whole("ok"), whole("true")), (whole("id"), whole("7")))


def test_a_long_value_is_cut_by_the_database_and_says_so(conn, table):
    for text, cut in (("ü" * LONGEST, False), ("ü" * (LONGEST + 1), True), ("ü" * 1_000_000, True)):
        shown = preview(conn, table, {"name": text, text: text})
        assert shown.failing == Cut("ü" * LONGEST, is_cut=cut)
        assert shown.fields == ((Cut("ü" * LONGEST, is_cut=cut),) * 2,)


def test_of_a_wide_row_the_first_fields_of_its_source_are_shown(conn, table):
    row = {f"c{i}": str(i) for i in range(500)} | {"name": "Ann"}
    shown = preview(conn, table, row, order=["c400", "name", "c7"])
    assert [name.text for name, _ in shown.fields][:2] == ["c400", "c7"]
    assert (len(shown.fields), shown.more) == (FIELDS, 500 - FIELDS)


def test_fields_of_any_name_stand_in_the_order_of_their_source(conn, table):
    names = ["100% {0}", 'it\'s "x"', "\\", "ü", "a"]
    shown = preview(conn, table, dict.fromkeys(reversed(names), "1"), order=names)
    assert [name.text for name, _ in shown.fields] == names


def test_a_fixed_value_appears_beside_the_failing_one(conn, table):
    assert preview(conn, table, {"name": None}, fixed={"name": "Ann"}).fixed == whole("Ann")
    assert preview(conn, table, {"name": "x"}, fixed={"name": None}).fixed == whole(None)
    assert preview(conn, table, {"name": "x", "id": "1"}, fixed={"name": "x", "id": "2"}).fixed is None


def test_a_record_that_could_not_be_read_and_a_row_that_is_no_object_are_shown_as_they_are(conn, table):
    raw = preview(conn, table, {"_flow_raw": "a;b\\0", "_flow_escaped": ["_flow_raw"]}, field=None)
    assert raw.fields == ((whole("_flow_raw"), whole("a;b\\0")),)
    assert preview(conn, table, [1, 2]).fields == ((whole(""), whole("[1, 2]")),)
