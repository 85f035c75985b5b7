from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.singer.collecting import Collector
from executors.singer.messages import Message, NewVersion, Record, Schema, State, read_messages


def read(*lines: str) -> list[Message]:
    return list(read_messages([line.encode() for line in lines], "shop"))


def test_numbers_of_a_record_stay_as_they_were_written() -> None:
    (record,) = read('{"type": "RECORD", "stream": "s", "record": {"n": 12345678901234567890.10, "e": 1E400}}\n')
    assert record == Record("s", '{"n": 12345678901234567890.10, "e": 1E400}')


def test_every_kind_of_message_is_read() -> None:
    found = read(
        '{"type": "SCHEMA", "stream": "s", "schema": {"properties": {}}, "key_properties": ["id"]}\n',
        "\n",
        '{"type": "STATE", "value": {"at": 0.10}}\n',
        '{"type": "ACTIVATE_VERSION", "stream": "s", "version": 5}\n',
    )
    assert found == [Schema("s", {"properties": {}}), State('{"at": 0.10}'), NewVersion("s")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Starting …", "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"type": "RECORD", "stream": "s", "record": {"n": NaN}}', "NaN is not a JSON value"),
        ('{"type": "RECORD", "stream": "s", "record": [1]}', "record is not a JSON object"),
        ('{"type": "RECORD", "record": {}}', "it has no stream"),
        ('{"type": "NOTICE"}', "the type 'NOTICE' is unknown"),
        ("{}", "it has no known type"),
        ('{"type": "STATE", "value": null}', "value is not a JSON object"),
        ('{"type": "RECORD", "stream": "s", "record"', "not valid JSON"),
    ],
)
def test_a_line_that_is_no_message_is_named_by_its_number(line: str, why: str) -> None:
    with pytest.raises(Terminal) as error:
        read('{"type": "STATE", "value": {}}', line)
    assert error.value.code == "singer.message_malformed"
    assert error.value.message.startswith("Line 2 of the output of the tap shop")
    assert why in error.value.message


def test_a_batch_is_refused_because_its_rows_would_be_lost() -> None:
    with pytest.raises(Terminal) as error:
        read('{"type": "BATCH", "stream": "s"}')
    assert error.value.code == "singer.batch_refused"


def collect(*lines: str) -> tuple[Collector, list[str]]:
    collector = Collector("shop", {"orders"})
    return collector, [row for message in read(*lines) if (row := collector.add(message)) is not None]


SCHEMA = '{"type": "SCHEMA", "stream": "orders", "schema": {"properties": {"id": {"type": "integer"}}}}'


def test_only_rows_of_the_stream_are_collected_and_the_others_counted() -> None:
    collector, rows = collect(
        SCHEMA,
        '{"type": "SCHEMA", "stream": "lines", "schema": {"properties": {}}}',
        '{"type": "RECORD", "stream": "lines", "record": {"id": 7}}',
        '{"type": "RECORD", "stream": "orders", "record": {"id": 1}}',
        '{"type": "STATE", "value": {"a": 1}}',
        '{"type": "STATE", "value": {"a": 2}}',
    )
    assert rows == ['{"id": 1}']
    assert (collector.others, collector.state) == ({"lines": 1}, '{"a": 2}')


def test_a_row_before_its_schema_is_refused() -> None:
    with pytest.raises(Terminal) as error:
        collect('{"type": "RECORD", "stream": "orders", "record": {}}', SCHEMA)
    assert error.value.code == "singer.schema_missing"


def test_fields_that_the_schema_lacks_become_columns() -> None:
    row = '{"type": "RECORD", "stream": "orders", "record": {"id": 1, "note": "x", "tags": ["a"], "none": null}}'
    collector, _ = collect(SCHEMA, row)
    assert [field.name for field in collector.fields] == ["id"]
    assert [(field.name, str(field.type), field.only_null) for field in collector.extra] == [
        ("note", "string", False),
        ("tags", "json", False),
        ("none", "string", True),
    ]


def test_a_schema_that_changes_loses_no_column_and_no_value() -> None:
    later = (
        '{"type": "SCHEMA", "stream": "orders", "schema": {"properties":'
        ' {"id": {"type": "string"}, "name": {"type": "string"}}}}'
    )
    collector, _ = collect(SCHEMA, later)
    assert [(field.name, str(field.type), field.as_text) for field in collector.fields] == [
        ("id", "string", False),
        ("name", "string", False),
    ]
