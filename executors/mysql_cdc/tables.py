"""The followed table as the server describes it now, and what a server must log so that a table can be followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from psycopg import sql

from executors.errors import Failure, Terminal
from executors.mysql.client import Session
from executors.mysql.statements import Name
from executors.mysql_cdc.columns import LoggedColumn
from executors.mysql_cdc.state import LogPosition
from executors.mysql_cdc.tokens import tokens_of

_OLDEST = (10, 5)
_SETTINGS = (
    "SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@server_id, @@lower_case_table_names, @@log_slave_updates,"
    " (SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'SLAVES_RUNNING')"
)

_NO_LOG = ("log_bin is off, so the server has no log of changes", "log_bin=mysql-bin")


@dataclass(frozen=True, slots=True)
class Server:
    """The server. With `folds`, it ignores the case of the names of tables."""

    id: int
    folds: bool
    files: Mapping[str, int]
    """The files of the log, from the oldest to the newest, and their sizes."""


def require_server(session: Session, user: str) -> Server:
    """Return the server. Raises Terminal `cdc.server_unsupported`, `cdc.binlog_settings` and `cdc.not_allowed`."""
    number = re.match(r"MariaDB (\d+)\.(\d+)", session.server_version)
    if number is None or (int(number[1]), int(number[2])) < _OLDEST:
        raise Terminal(
            "cdc.server_unsupported",
            f"The server is {session.server_version}. Flow follows tables of MariaDB 10.5 or later.",
            hint="Read the table with the connector mysql instead.",
        )
    texts = [(value or b"").decode() for value in session.rows(_SETTINGS)[0]]
    logs, form, image, server, folds, relays, replicas = texts
    _require_setting(logs == "1", *_NO_LOG)
    _require_setting(form == "ROW", f"binlog_format is {form}", "binlog_format=ROW")
    _require_setting(image == "FULL", f"binlog_row_image is {image}", "binlog_row_image=FULL")
    is_replica = replicas not in ("", "0")
    _require_setting(
        relays == "1" or not is_replica,
        "the server is a replica that does not log what it replicates",
        "log_slave_updates=ON",
    )
    status = _allowed(session, "SHOW MASTER STATUS", "BINLOG MONITOR", user)
    filters = [name for row in status for name in row[2:4] if name]
    _require_setting(not filters, "binlog_do_db or binlog_ignore_db leaves changes out of the log", "neither of them")
    files = _allowed(session, "SHOW BINARY LOGS", "BINLOG MONITOR", user)
    return Server(int(server), folds != "0", {(row[0] or b"").decode(): int(row[1] or 0) for row in files})


def _require_setting(is_good: bool, what: str, setting: str) -> None:
    if not is_good:
        raise Terminal(
            "cdc.binlog_settings",
            f"The table cannot be followed: {what}.",
            hint=f"Set {setting} in the configuration of the server, restart it, and load the table again.",
        )


def _allowed(session: Session, statement: str, privilege: str, user: str) -> list[tuple[bytes | None, ...]]:
    try:
        return session.rows(statement)
    except Failure as failure:
        raise not_allowed(failure, privilege, user) from None


def not_allowed(failure: Failure, privilege: str, user: str) -> Failure:
    """Return the failure for a missing privilege; any other failure as it is."""
    if failure.code != "source.forbidden":
        return failure
    return Terminal(
        "cdc.not_allowed",
        f"The user {user} may not read the log of the server.",
        hint=f"GRANT {privilege} ON *.* TO {user}. Needed: REPLICATION SLAVE, BINLOG MONITOR, SELECT on the table.",
    )


def find_position(session: Session) -> LogPosition:
    """Begin a new transaction, and return the position of the log that belongs to its snapshot, without a lock. Raises
    Terminal `cdc.binlog_settings` if there is no log."""
    session.rows("COMMIT")
    session.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    found = {(name or b"").decode().lower(): (value or b"").decode() for name, value in session.rows(
        "SHOW STATUS LIKE 'binlog_snapshot_%'"
    )}  # fmt: skip
    file = found.get("binlog_snapshot_file", "")
    _require_setting(file != "", *_NO_LOG)
    return LogPosition.of(file, int(found["binlog_snapshot_position"]))


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """A table as it is now. `hidden` is the number of columns that the server adds to its rows in the log."""

    database: str
    name: str
    columns: tuple[LoggedColumn, ...]
    key: tuple[str, ...]
    hidden: int

    @property
    def quoted(self) -> Name:
        return Name(self.database, self.name)

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


_TABLE = (
    "SELECT table_type, engine FROM information_schema.tables WHERE table_schema = {database} AND table_name = {name}"
)
_COLUMNS = (
    "SELECT column_name, column_type, data_type, character_set_name, numeric_scale, extra"
    " FROM information_schema.columns WHERE table_schema = {database} AND table_name = {name} ORDER BY ordinal_position"
)
_KEYS = (
    "SELECT s.index_name, s.column_name, s.nullable FROM information_schema.statistics s"
    " WHERE s.table_schema = {database} AND s.table_name = {name} AND s.non_unique = 0"
    " ORDER BY s.index_name <> 'PRIMARY', s.index_name, s.seq_in_index"
)
_HASHED = (
    "SELECT count(DISTINCT index_name) FROM information_schema.statistics"
    " WHERE table_schema = {database} AND table_name = {name} AND index_type = 'HASH'"
)


_ACTIONS = frozenset(("ON", event, action) for event in ("DELETE", "UPDATE") for action in ("CASCADE", "SET"))


def find_table(
    session: Session,
    database: str,
    name: str,
    named_key: Callable[[Sequence[str]], Sequence[str]] = lambda columns: (),
) -> FollowedTable:
    """Return the table. `named_key` returns the columns that the document names as its key, if any, from the columns of
    the table.

    Raises Terminal `source.table_unknown`, `cdc.table_unusable`, `cdc.changes_unlogged`, `cdc.key_required` and
    `cdc.key_differs`.
    """

    def ask(statement: str) -> list[list[str]]:
        values = {"database": _text(database), "name": _text(name)}
        found = session.rows(statement.format(**values))
        return [[(value or b"").decode() for value in row] for row in found]

    rows = ask(_TABLE)
    if not rows:
        raise Terminal(
            "source.table_unknown",
            f"The server has no table {database}.{name}, or the user may not read it.",
            hint="On most servers names are case-sensitive.",
        )
    kind, engine = rows[0]
    _require_usable(f"{database}.{name}", kind, engine)
    _require_no_cascade(session, Name(database, name), f"{database}.{name}")
    defined = ask(_COLUMNS)
    shown = [column for column, *_, extra in defined if "INVISIBLE" not in extra]
    key = _key_of(f"{database}.{name}", ask(_KEYS), named_key(shown))
    columns = _columns(session, Name(database, name), defined)
    return FollowedTable(database, name, columns, key, int(ask(_HASHED)[0][0]))


def _text(value: str) -> str:
    """Return a text as a literal, whatever it contains."""
    return f"CONVERT(X'{value.encode().hex()}' USING utf8mb4)"


def _require_usable(name: str, kind: str, engine: str) -> None:
    why = ""
    if kind == "SYSTEM VERSIONED":
        why = "is system-versioned, and its log also contains old rows"
    elif kind != "BASE TABLE":
        why = "is no table"
    elif engine.casefold() != "innodb":
        why = f"has the engine {engine}, whose rows cannot be read at a position of the log"
    if why:
        hint = "Follow a table of InnoDB without versions, or read it with the connector mysql."
        raise Terminal("cdc.table_unusable", f"{name} {why}.", hint=hint)


def _require_no_cascade(session: Session, table: Name, name: str) -> None:
    """Refuse foreign keys with actions. `information_schema` hides them from users who may only read, so the definition
    of the table is searched."""
    words = [
        token.word
        for token in tokens_of((session.rows(f"SHOW CREATE TABLE {table.as_string()}")[0][1] or b"").decode())
    ]
    found = next((at for at in range(len(words)) if tuple(words[at : at + 3]) in _ACTIONS), None)
    if found is not None:
        raise Terminal(
            "cdc.changes_unlogged",
            f"A foreign key of {name} has the action {' '.join(words[found : found + 3])}. InnoDB changes rows for it "
            "without an entry in the log.",
            hint="Give the foreign key the action RESTRICT, or read the table with the connector mysql.",
        )


def _key_of(name: str, rows: Sequence[Sequence[str]], wanted: Sequence[str]) -> tuple[str, ...]:
    keys: dict[str, list[str]] = {}
    nullable = {index for index, _, null in rows if null == "YES"}
    for index, column, _ in rows:
        if index not in nullable:
            keys.setdefault(index, []).append(column)
    named = next((tuple(columns) for columns in keys.values() if set(columns) == set(wanted)), None)
    if wanted and named is not None:
        return named
    primary = keys.get("PRIMARY")
    if primary is None:
        raise Terminal(
            "cdc.key_required",
            f"{name} has no primary key, so updates and deletions cannot be applied.",
            hint=f"ALTER TABLE {name} ADD PRIMARY KEY (…), or name the columns of a unique key without NULL in "
            "upsertKey.",
        )
    if wanted:
        raise Terminal(
            "cdc.key_differs",
            f"{name} has no unique key without NULL of the columns in upsertKey: {', '.join(wanted)}.",
            hint="Remove upsertKey, or add the unique key.",
        )
    return tuple(primary)


def _columns(session: Session, table: Name, defined: Sequence[Sequence[str]]) -> tuple[LoggedColumn, ...]:
    listed = sql.SQL(", ").join(Name(column) for column, *_ in defined)
    results = session.columns(sql.SQL("SELECT {} FROM {} LIMIT 0").format(listed, table).as_string())
    columns = []
    for (name, definition, kind, charset, scale, extra), result in zip(defined, results, strict=True):
        _require_readable(str(table), name, kind, definition)
        columns.append(
            LoggedColumn(
                name, definition, kind, charset, int(scale) if scale else None, "INVISIBLE" in extra,
                result.type_code, result.flags & _MEANT, result.length, result.scale, result.charset,
            )
        )  # fmt: skip
    return tuple(columns)


_MEANT = 32 | 256 | 2048
"""The flags of results that say something of values: unsigned, ENUM and SET. The others change with indexes."""

_READABLE = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "decimal", "bit", "year", "date",
     "datetime", "timestamp", "time", "char", "varchar", "binary", "varbinary", "tinytext", "text", "mediumtext", 
     "longtext", "tinyblob", "blob", "mediumblob", "longblob", "enum", "set", "uuid", "inet4", "inet6"}
)  # fmt: skip


def _require_readable(table: str, name: str, kind: str, definition: str) -> None:
    """Refuse columns that the log stores in a way that Flow does not read. In definitions, the server replaces
    characters beyond the basic plane by question marks."""
    is_lost = kind in ("enum", "set") and "?" in definition
    if kind not in _READABLE or "COMPRESSED" in definition or is_lost:
        raise Terminal(
            "source.type_unsupported",
            f"Column {name!r} of {table} has the type {definition}, which cannot be read from the log.",
            hint="Change the type, or read the table with the connector mysql.",
        )
