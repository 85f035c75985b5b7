"""Reads rejected rows as a source: the values of the original source, with fixes applied. Runs inside Spark's tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from psycopg import sql

from executors.charsets import unescape
from executors.errors import Transient
from executors.formats.batches import HIDDEN, BadRecords, Batches
from executors.grammar import convert_column
from executors.model import SourceField
from executors.postgres.client import connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.former_names import FormerNames, renamed_row
from executors.postgres.names import identifier_of
from executors.postgres.quarantined import TEXT_KEY
from executors.secrets import decrypt
from executors.table_name import TableName
from executors.types import wire_type
from executors.validation.rows import ESCAPED_KEY, RAW_KEY

PART_ROWS = 1000
ROW_FLAGS = frozenset({RAW_KEY, TEXT_KEY, ESCAPED_KEY})

NONE: FormerNames = MappingProxyType({})
Row = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class RejectsPart:
    """Entries of one table, as (id, position of the origin, record). Their number is `end - start`."""

    table: TableName
    rows: tuple[tuple[int, int, int], ...]
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.rows)


@dataclass(frozen=True, slots=True)
class RejectsReader:
    """Reads parts, with the columns under their present names. The load checks that no row has changed between its
    choice and its load."""

    encrypted_connection: str
    former: FormerNames = field(default_factory=dict)

    def read(self, part: RejectsPart, fields: Sequence[SourceField]) -> Batches:
        with connect(decrypt(self.encrypted_connection), autocommit=True) as conn, translate():
            found = _find(conn, part)
        if len(found) != len(part.rows):
            raise Transient(
                "replay.rows_changed",
                f"Some of the rows in {part.table} no longer exist.",
                hint="The target was not loaded. Select the rows again.",
            )
        yield batch_of([(seq, record, *found[entry]) for entry, seq, record in part.rows], fields, self.former)


def _find(conn: Conn, part: RejectsPart) -> dict[int, tuple[str, str]]:
    query = sql.SQL('SELECT id, coalesce("fixedRow", row)::text, message FROM {} WHERE id = ANY({}::bigint[])').format(
        identifier_of(part.table), sql.Literal([row[0] for row in part.rows])
    )
    return {entry: (text, why) for entry, text, why in conn.execute(query).fetchall()}


def batch_of(
    rows: Sequence[tuple[int, int, str, str]], fields: Sequence[SourceField], former: FormerNames = NONE
) -> pa.RecordBatch:
    """Return rows of (origin, record, JSON, reason of rejection) in the form of their source's reader.

    A fixed value that does not fit the type of its field makes the record unreadable.
    """
    bad, values = BadRecords(), []
    for index, (_, _, text, why) in enumerate(rows):
        row = row_of(text)
        if isinstance(row, str):
            bad.add(index, why, row)
            row = {}
        values.append(renamed_row(row, former))
    columns = [_column(field, values, bad) for field in fields]
    hidden = [
        pa.array([seq for seq, *_ in rows], pa.int32()),
        pa.array([record for _, record, *_ in rows], pa.int64()),
        pa.array([bad.reasons.get(i) for i in range(len(rows))], pa.string()),
        pa.array([bad.raw.get(i) for i in range(len(rows))], pa.string()),
    ]
    schema = pa.schema([*HIDDEN, *(pa.field(f.name, c.type) for f, c in zip(fields, columns, strict=True))])
    return pa.RecordBatch.from_arrays([*hidden, *columns], schema=schema)


def row_of(text: str) -> Row | str:
    """Return the values by field as text, or the raw text of an unreadable record."""
    found: dict[str, Any] = json.loads(text, parse_int=str, parse_float=str)
    escaped = found.pop(ESCAPED_KEY, ())
    values = {name: _text(value) for name, value in found.items()}
    values |= {name: unescape(value) for name in escaped if (value := values.get(name))}
    for key in (RAW_KEY, TEXT_KEY):
        if key in values:
            return values[key] or ""
    return values


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _column(field: SourceField, rows: Sequence[Mapping[str, str | None]], bad: BadRecords) -> pa.Array:
    texts = pa.array([row.get(field.name) for row in rows], pa.string())
    if field.as_text or pa.types.is_string(wire_type(field.type).arrow):
        return texts
    typed, wrong = convert_column(texts, field.type)
    for index in wrong.to_numpy(zero_copy_only=False).nonzero()[0].tolist():
        bad.add(index, f"{field.name} is not of the type {field.type}", json.dumps(rows[index], ensure_ascii=False))
    return typed
