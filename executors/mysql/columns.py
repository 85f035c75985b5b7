"""The columns of MySQL: in which type each is read, and how its values become Arrow arrays without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from executors.errors import Terminal
from executors.formats.batches import HIDDEN
from executors.model import SourceField
from executors.mysql.client import ResultColumn
from executors.mysql.statements import Name
from ir.types import STRING, ColumnType

_UNSIGNED, _ENUM, _SET = 32, 256, 2048
_BYTES = 63
"""The character set of columns that hold no text."""

_UNREADABLE = {255: "geometry"}
_TEXTS = frozenset({15, 249, 250, 251, 252, 253, 254})
_UNSIGNED_BIGINT = ColumnType("decimal", 20, 0)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source. `expression` selects its value, where `{}` is the column of the row `q`; `suffix`
    completes the text of each value. Values of type `binary` arrive as bytes."""

    field: SourceField
    expression: str
    suffix: str = ""

    @property
    def selected(self) -> sql.Composed:
        """Return the entry of the select list."""
        value = Name("q", self.field.name)
        return sql.SQL("{} AS {}").format(sql.SQL(self.expression).format(value), Name(self.field.name))


def column_of(found: ResultColumn, name: str) -> Column:
    """Return how a column is read. `name` is that of the source. Raises Terminal `source.type_unsupported`."""
    if found.type_code in _UNREADABLE:
        raise Terminal(
            "source.type_unsupported",
            f"Column {found.name!r} of {name} has the type {_UNREADABLE[found.type_code]}, which cannot be read.",
            hint="Read it as text by a query, such as ST_AsText(…).",
        )
    if found.type_code in _TEXTS:
        return _text(found)
    make = _TYPES.get(found.type_code)
    if make is None:
        raise Terminal(
            "source.type_unsupported",
            f"Column {found.name!r} of {name} has an unknown type (number {found.type_code}).",
            hint="Read it as text by a query, such as CAST(… AS CHAR).",
        )
    return make(found)


def _text(found: ResultColumn) -> Column:
    if found.charset == _BYTES and not found.flags & (_ENUM | _SET):
        return Column(SourceField(found.name, ColumnType("binary"), as_text=True), "{}")
    return Column(SourceField(found.name, STRING), "{}")


def _plain(kind: str, *, as_text: bool = False, suffix: str = "") -> Callable[[ResultColumn], Column]:
    return lambda found: Column(SourceField(found.name, ColumnType(kind), as_text=as_text), "{}", suffix)


def _wider(signed: ColumnType, unsigned: ColumnType) -> Callable[[ResultColumn], Column]:
    def make(found: ResultColumn) -> Column:
        kind = unsigned if found.flags & _UNSIGNED else signed
        return Column(SourceField(found.name, kind, as_text=kind.kind == "decimal"), "{}")

    return make


def _decimal(found: ResultColumn) -> Column:
    digits = found.length - (found.scale > 0) - (not found.flags & _UNSIGNED)
    kind = ColumnType("decimal", max(digits, found.scale, 1), found.scale)
    return Column(SourceField(found.name, kind, as_text=True), "{}")


def _float(found: ResultColumn) -> Column:
    """As FLOAT, the server writes only six digits."""
    return Column(SourceField(found.name, ColumnType("float")), "CAST({} AS DOUBLE)")


def _bits(found: ResultColumn) -> Column:
    kind = _UNSIGNED_BIGINT if found.length > 63 else ColumnType("bigint")
    return Column(SourceField(found.name, kind, as_text=kind.kind == "decimal"), "CAST({} AS UNSIGNED)")


_INTEGER, _BIGINT = ColumnType("integer"), ColumnType("bigint")

_TYPES: Mapping[int, Callable[[ResultColumn], Column]] = {
    0: _decimal,
    246: _decimal,
    1: _plain("integer"),
    2: _plain("integer"),
    9: _plain("integer"),
    13: _plain("integer"),
    3: _wider(_INTEGER, _BIGINT),
    8: _wider(_BIGINT, _UNSIGNED_BIGINT),
    4: _float,
    5: _plain("float"),
    16: _bits,
    10: _plain("date", as_text=True),
    14: _plain("date", as_text=True),
    11: _plain("time", as_text=True),
    12: _plain("timestamp", as_text=True),
    # The session's time zone is UTC.
    7: _plain("timestamptz", as_text=True, suffix="+00"),
    245: _plain("json"),
    6: _plain("string"),
}
"""By type number in the protocol: 6 is NULL, 13 YEAR, 16 BIT, 245 JSON."""

_ARROW = {"integer": pa.int32(), "bigint": pa.int64(), "float": pa.float64()}


def schema_of(fields: Sequence[SourceField]) -> pa.Schema:
    """Return the schema: the hidden columns, then each field in the type in which it is read."""
    return pa.schema([*HIDDEN, *(pa.field(f.name, _ARROW.get(f.type.kind, pa.string())) for f in fields)])


def array_of(values: Sequence[bytes | None], column: Column) -> pa.Array:
    """Return the values of a column as an array. Raises ArrowInvalid for texts that are not valid UTF-8."""
    return convert(pa.array(values, pa.binary()), column)


def convert(raw: pa.Array, column: Column) -> pa.Array:
    """Return the bytes of values as an array of the type in which the column is read. Raises as `array_of`."""
    if column.field.type.kind == "binary":
        # HEX() of the server returns NULL for values of more than half of its max_allowed_packet.
        values = raw.to_pylist()
        return pa.array((None if value is None else "\\x" + value.hex().upper() for value in values), pa.string())
    text = raw.cast(pa.string())
    if column.suffix:
        return pc.binary_join_element_wise(text, column.suffix, "")
    return text.cast(_ARROW.get(column.field.type.kind, pa.string()))
