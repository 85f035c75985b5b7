"""The columns of a followed table: as the log stores them, and as a SELECT returns them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from executors.errors import Terminal
from executors.mysql.client import ResultColumn, Session
from executors.mysql.columns import Column, column_of
from executors.mysql_cdc.stored import Decode, Stored, ValueKind
from executors.mysql_cdc.values import decoder_of

_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = {"''": "'", "\\\\": "\\", "\\0": "\0", "\\n": "\n", "\\r": "\r", "\\'": "'"}
_UTF8 = ("utf8mb3", "utf8mb4", "utf8", "ascii", "binary", "")
_WIDE = {"ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}


@dataclass(frozen=True, slots=True)
class LoggedColumn:
    """A column of the table. `definition` is its full type, `kind` the type alone, `charset` the character set of its
    texts. The other values describe it in the result of a SELECT; a hidden column is in the log only."""

    name: str
    definition: str
    kind: str
    charset: str
    scale: int | None
    is_hidden: bool
    type_code: int
    flags: int
    length: int
    result_scale: int
    result_charset: int

    @property
    def result(self) -> ResultColumn:
        return ResultColumn(self.name, self.type_code, self.flags, self.length, self.result_scale, self.result_charset)

    def column(self, table: str) -> Column:
        """Return how its values become Arrow arrays. Raises Terminal `source.type_unsupported`."""
        return column_of(self.result, table)

    @property
    def labels(self) -> tuple[bytes, ...]:
        """The labels of an ENUM or SET."""
        if self.kind not in ("enum", "set"):
            return ()
        found = _LABEL.findall(self.definition)
        return tuple(
            re.sub(r"''|\\.", lambda escape: _ESCAPES.get(escape[0], escape[0][1:]), label).encode() for label in found
        )


class Layout:
    """The columns of the table in a part of the log, and the decoders of their values."""

    def __init__(
        self, table: str, columns: Sequence[LoggedColumn], characters: Callable[[str], Sequence[bytes]]
    ) -> None:
        self.columns, self._table = tuple(columns), table
        self._kinds = [_kind_of(column, table, characters) for column in columns]

    @property
    def shown(self) -> list[int]:
        """The positions of the columns that a SELECT returns."""
        return [i for i, column in enumerate(self.columns) if not column.is_hidden]

    def decoders(self, stored: Sequence[Stored], names: Sequence[str], extra: int) -> list[Decode]:
        """Return the decoders for columns as the log stores them; the server adds at most `extra` hidden ones. Raises
        Terminal `cdc.columns_unknown` if they are not the columns of the table."""
        expected = [column.name for column in self.columns]
        is_same = 0 <= len(stored) - len(expected) <= extra and (not names or list(names[: len(expected)]) == expected)
        found = [decoder_of(one, kind) for one, kind in zip(stored, self._kinds, strict=False)] if is_same else [None]
        hidden = [decoder_of(one, ValueKind("bigint")) for one in stored[len(expected) :]]
        decoders = [decode for decode in (*found, *hidden) if decode is not None]
        if len(decoders) != len(stored):
            raise columns_unknown(self._table)
        return decoders


def columns_unknown(table: str) -> Terminal:
    return Terminal(
        "cdc.columns_unknown",
        f"The columns of {table} in the log are not those that Flow knows: they were changed more than once, or by a "
        "statement that the log does not contain.",
        hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
    )


def _kind_of(column: LoggedColumn, table: str, characters: Callable[[str], Sequence[bytes]]) -> ValueKind:
    is_unsigned = "unsigned" in column.definition or "zerofill" in column.definition
    is_text = column.charset not in _UTF8 and column.kind not in ("enum", "set")
    wide = _WIDE.get(column.charset, "") if is_text else ""
    return ValueKind(
        column.kind,
        is_unsigned,
        column.labels,
        column.scale if column.kind == "double" else None,
        characters(column.charset) if is_text and not wide else None,
        wide,
    )


def find_characters(session: Session, charset: str, table: str) -> tuple[bytes, ...]:
    """Return the 256 characters of a character set in UTF-8, as the server converts them. Raises Terminal
    `source.type_unsupported` for one whose characters have several bytes."""
    simple = session.rows("SELECT character_set_name FROM information_schema.character_sets WHERE maxlen = 1")
    if (charset.encode(),) not in simple:
        raise Terminal(
            "source.type_unsupported",
            f"{table} has texts in the character set {charset}, which Flow cannot read from the log.",
            hint="Convert the columns to utf8mb4, or read the table with the connector mysql.",
        )
    row = session.rows(
        "SELECT " + ", ".join(f"CONVERT(_{charset} X'{byte:02X}' USING utf8mb4)" for byte in range(256))
    )[0]
    return tuple(character or b"" for character in row)
