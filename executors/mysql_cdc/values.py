"""The values of rows in the binary log, as the texts that the server writes for a SELECT.

A row of the log has values in the formats of storage, without names and character sets. Rows of a SELECT and of the log
then take the same way into Arrow, so that zero dates, all digits of decimals and times above 24 hours are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from executors.mysql_cdc.numbers import bits, decimal, real, whole
from executors.mysql_cdc.stored import (
    BIT,
    BLOB,
    DATE,
    DATETIME,
    DATETIME2,
    DOUBLE,
    ENUM,
    FLOAT,
    INT24,
    LONG,
    LONGLONG,
    NEWDECIMAL,
    SET,
    SHORT,
    STRING,
    TIME,
    TIME2,
    TIMESTAMP,
    TIMESTAMP2,
    TINY,
    VAR_STRING,
    VARCHAR,
    YEAR,
    Decode,
    Stored,
    ValueKind,
)
from executors.mysql_cdc.texts import blob, enum, set_, string, varchar
from executors.mysql_cdc.times import (
    date,
    datetime2,
    old_datetime,
    old_time,
    old_timestamp,
    time2,
    timestamp2,
    year,
)


def decoder_of(stored: Stored, kind: ValueKind) -> Decode | None:
    """Return the decoder of a column, None if the log stores another type than the one of the definition."""
    if kind.name not in _DEFINED.get(stored.type, ()):
        return None
    return _DECODERS[stored.type](stored, kind)


_DECODERS: dict[int, Callable[[Stored, ValueKind], Decode]] = {
    TINY: whole(1),
    SHORT: whole(2),
    INT24: whole(3),
    LONG: whole(4),
    LONGLONG: whole(8),
    FLOAT: real(4, "<f"),
    DOUBLE: real(8, "<d"),
    NEWDECIMAL: decimal,
    BIT: bits,
    YEAR: year,
    DATE: date,
    DATETIME2: datetime2,
    TIMESTAMP2: timestamp2,
    TIME2: time2,
    DATETIME: old_datetime,
    TIMESTAMP: old_timestamp,
    TIME: old_time,
    VARCHAR: varchar,
    VAR_STRING: varchar,
    BLOB: blob,
    STRING: string,
    ENUM: enum,
    SET: set_,
}

_DEFINED: dict[int, tuple[str, ...]] = {
    TINY: ("tinyint",),
    SHORT: ("smallint",),
    INT24: ("mediumint",),
    LONG: ("int",),
    LONGLONG: ("bigint",),
    FLOAT: ("float",),
    DOUBLE: ("double",),
    NEWDECIMAL: ("decimal",),
    BIT: ("bit",),
    YEAR: ("year",),
    DATE: ("date",),
    **dict.fromkeys((DATETIME2, DATETIME), ("datetime",)),
    **dict.fromkeys((TIMESTAMP2, TIMESTAMP), ("timestamp",)),
    **dict.fromkeys((TIME2, TIME), ("time",)),
    **dict.fromkeys((VARCHAR, VAR_STRING), ("varchar", "varbinary")),
    BLOB: ("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"),
    STRING: ("char", "binary", "uuid", "inet4", "inet6"),
    ENUM: ("enum",),
    SET: ("set",),
}
"""By type of the log: the types of definitions that are stored so. JSON is `longtext`."""
