"""Decodes messages of the output plugin `pgoutput`, protocol version 1, with values as text.

See "Logical Replication Message Formats" in PostgreSQL's documentation. One function call decodes one message; nothing
is remembered between calls.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from executors.errors import Terminal


class Unchanged:
    """The type of `UNCHANGED`."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()
"""Stands for a large value that an update has not changed. The log does not contain it."""

Value = bytes | None | Unchanged
"""The text of a value, in the encoding of the client; None is NULL."""

Row = list[Value]


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins whose commit record is at `commit_lsn`."""

    commit_lsn: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction ends. `end_lsn` is the position after its commit record, `committed_at` are microseconds since
    2000."""

    end_lsn: int
    committed_at: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a table: whether it is in the replica identity, its name, the oid of its type, and its modifier."""

    in_key: bool
    name: str
    type: int
    typmod: int


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a table from here on. `identity` is `relreplident`: d, n, f or i."""

    id: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


class Change(NamedTuple):
    """A row before and after a change. An insert has no `old`, a delete no `new`. An update has an `old` only if its
    key has changed, or if the replica identity is full. With `only_key`, columns outside of the key are None in
    `old`. It is a tuple because one is made for each row."""

    relation: int
    old: Row | None
    new: Row | None
    only_key: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables are emptied."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | Change | Truncate

_LONGS = struct.Struct("!QQI")
_COMMIT = struct.Struct("!BQQQ")
_COLUMN = struct.Struct("!Ii")
_INT, _SHORT = struct.Struct("!I"), struct.Struct("!H")
_CHANGES, _INSERT, _UPDATE = b"IUD", ord("I"), ord("U")
_IGNORED = frozenset(b"YOM")
"""Names of types, origins, and messages that programs write."""


def decode(data: bytes) -> Message | None:
    """Return what a message says; None for messages without meaning for rows. Raises Terminal `cdc.log_unreadable`."""
    kind = data[0]
    if kind in _CHANGES:
        return decode_change(data)
    if kind == ord("B"):
        lsn, _, xid = _LONGS.unpack_from(data, 1)
        return Begin(lsn, xid)
    if kind == ord("C"):
        _, _, end, at = _COMMIT.unpack_from(data, 1)
        return Commit(end, at)
    if kind == ord("R"):
        return _relation(data)
    if kind == ord("T"):
        (count,) = _INT.unpack_from(data, 1)
        return Truncate(struct.unpack_from(f"!{count}I", data, 6))
    if kind in _IGNORED:
        return None
    raise Terminal(
        "cdc.log_unreadable",
        f"The server sent a change of the unknown kind {chr(kind)!r}.",
        hint="Nothing was loaded. Please report this with the version of the server.",
    )


def decode_change(data: bytes) -> Change:
    """Return what a message about a row says."""
    kind = data[0]
    if kind == _UPDATE:
        return _update(data)
    (relation,), (row, _) = _INT.unpack_from(data, 1), _row(data, 6)
    if kind == _INSERT:
        return Change(relation, None, row)
    return Change(relation, row, None, only_key=data[5] == ord("K"))


def _update(data: bytes) -> Change:
    (relation,) = _INT.unpack_from(data, 1)
    tag, old, at = data[5], None, 6
    if tag in b"KO":
        old, at = _row(data, 6)
        at += 1  # the N before the new row
    new, _ = _row(data, at)
    return Change(relation, old, new, only_key=tag == ord("K"))


def _row(data: bytes, at: int) -> tuple[Row, int]:
    """Return the values of a row at a position, and the position after it."""
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    values: Row = []
    append, length_at = values.append, _INT.unpack_from
    for _ in range(count):
        kind = data[at]
        if kind == 116:  # t, a text
            start = at + 5
            at = start + length_at(data, at + 1)[0]
            append(data[start:at])
        else:  # n, NULL; u, unchanged; Flow does not ask for binary values
            at += 1
            append(None if kind == 110 else UNCHANGED)
    return values, at


def _relation(data: bytes) -> Relation:
    (oid,) = _INT.unpack_from(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _SHORT.unpack_from(data, at + 1)
    at += 3
    columns: list[RelationColumn] = []
    for _ in range(count):
        in_key = bool(data[at] & 1)
        column, at = _text(data, at + 1)
        kind, typmod = _COLUMN.unpack_from(data, at)
        at += _COLUMN.size
        columns.append(RelationColumn(in_key, column, kind, typmod))
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode(), end + 1
