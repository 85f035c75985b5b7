"""Read-only sessions on MySQL and MariaDB.

The driver is asynchronous, so each session runs it in an event loop of its own. Values arrive as the bytes that the
server sends in its text protocol: the driver converts none of them, because its conversions lose digits of decimals and
turn zero dates into NULL.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import asyncmy
from asyncmy.converters import conversions
from asyncmy.cursors import SSCursor

from executors.errors import Failure, Terminal
from executors.formats.files import BLOCK_BYTES
from executors.model import Connection, StoreConnection
from executors.mysql.failures import connect_failure, failure_of

Row = tuple[bytes | None, ...]

_ENCODERS = {kind: encode for kind, encode in conversions.items() if not isinstance(kind, int)}
"""Without decoders, values stay bytes."""

_SQL_MODE = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"
"""Pinned, because other modes change how a query is parsed: ANSI_QUOTES and NO_BACKSLASH_ESCAPES change where a text
ends."""

_LIMITS = {True: "SET SESSION max_statement_time = {seconds}", False: "SET SESSION max_execution_time = {seconds}000"}
"""By whether the server is MariaDB."""

_CUT = (b"1260", b"1301")
"""The warnings for results of GROUP_CONCAT that were cut, and for results of functions that became NULL."""

_MOST_WARNINGS = 65_535
"""The most that servers store. Other warnings of the statement must not crowd those out."""

_END, _LONGEST_END = 0xFE, 9
"""How the packet begins that ends an answer, and a length that it does not reach."""

_FIRST_ROWS = 64
_MOST_ROWS = 16_384
_MOST_SECONDS = 4_000_000
GRACE_SECONDS = 10
"""How long a server may take to end a statement that has reached its time limit."""


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result as the server describes it. `length` is in bytes of the result's character set."""

    name: str
    type_code: int
    flags: int
    length: int
    scale: int
    charset: int


class Session:
    """A session in a read-only transaction, used by one thread."""

    def __init__(self, runner: asyncio.Runner, conn: Any, wait_seconds: float) -> None:
        self._runner, self._conn = runner, conn
        self.wait_seconds = wait_seconds
        """How long an answer of the server is awaited. The server itself ends statements earlier, if it still works."""

    @property
    def is_mariadb(self) -> bool:
        return "MariaDB" in self._conn.get_server_info()

    @property
    def server_version(self) -> str:
        """Return the version, such as `MariaDB 10.11.19` or `MySQL 8.4.3`."""
        text = str(self._conn.get_server_info()).removeprefix("5.5.5-")  # MariaDB pretends to be this old MySQL
        number, _, _ = text.partition("-")
        return f"{'MariaDB' if self.is_mariadb else 'MySQL'} {number}"

    @property
    def is_encrypted(self) -> bool:
        name = b"Ssl_cipher"
        return any(row[0] == name and row[1] for row in self.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'"))

    def rows(self, statement: str) -> list[Row]:
        """Return all rows of a statement with a small result. Raises Failure."""
        return [row for rows in self.stream(statement) for row in rows]

    def columns(self, statement: str) -> tuple[ResultColumn, ...]:
        """Return the columns of a statement whose rows are not read. Raises Failure."""
        with self._cursor(statement) as cursor:
            return tuple(
                ResultColumn(f.name, f.type_code, f.flags, f.length, f.scale, f.charsetnr)
                for f in cursor._result.fields  # `description` has neither the flags nor the character set
            )

    def stream(self, statement: str) -> Iterator[list[Row]]:
        """Yield the rows, about `BLOCK_BYTES` at a time. Raises Failure, also if the server ends the result early."""
        with self._cursor(statement) as cursor:
            most = _FIRST_ROWS
            while rows := self._run(cursor.fetchmany(most)):
                yield rows
                size = sum(len(value) for row in rows for value in row if value is not None) + len(rows)
                most = max(1, min(_MOST_ROWS, most * 4, BLOCK_BYTES * len(rows) // size))

    def packets(self, command: int, argument: bytes) -> Iterator[list[bytes]]:
        """Send a command and yield the packets of its answer, about `BLOCK_BYTES` at a time, up to the one that ends
        it. The session can do nothing else afterwards. Raises Failure."""
        self._run(self._conn._execute_command(command, argument))
        while True:
            packets, is_last = self._run(_read_packets(self._conn))
            yield packets
            if is_last:
                return

    def require_whole(self) -> None:
        """Raise Terminal `source.value_cut` if the server cut values of the statement before to its limits or replaced
        them by NULL, which it only says in a warning."""
        if any(code in _CUT for _, code, _ in self.rows("SHOW WARNINGS")):
            raise Terminal(
                "source.value_cut",
                "The server cut values of the query or replaced them by NULL, because they exceed its limits.",
                hint="Raise group_concat_max_len or max_allowed_packet of the server, or select shorter values.",
            )

    @contextmanager
    def _cursor(self, statement: str) -> Iterator[Any]:
        cursor = self._conn.cursor(cursor=SSCursor)
        self._run(cursor.execute(statement))
        try:
            yield cursor
        except GeneratorExit:
            # The result is not read to its end. Closing the session is faster than reading the other rows.
            self._conn.close()
            raise
        self._run(cursor.close())

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._runner.run(asyncio.wait_for(work, self.wait_seconds))
        except (asyncmy.errors.MySQLError, OSError, EOFError) as error:
            raise failure_of(error) from None


async def _read_packets(conn: Any) -> tuple[list[bytes], bool]:
    """Return the next packets, and whether the answer ends after them."""
    packets: list[bytes] = []
    size = 0
    while size < BLOCK_BYTES and len(packets) < _MOST_ROWS:
        packet = (await conn.read_packet()).get_all_data()
        if packet[0] == _END and len(packet) < _LONGEST_END:
            return packets, True
        packets.append(packet)
        size += len(packet)
    return packets, False


def database_of(connection: StoreConnection) -> Connection:
    """Return the address and the credentials of a stored connection."""
    settings = connection.settings
    return Connection(
        connection.name,
        settings["host"],
        settings["port"],
        settings["database"],
        settings["user"],
        connection.secrets.get("password", ""),
        settings["sslmode"],
    )


@contextmanager
def connect(connection: Connection, *, seconds: int = _MOST_SECONDS, timeout: int = 10) -> Iterator[Session]:
    """Open a session whose statements each take at most `seconds`, in one read-only transaction, within `timeout`
    seconds. Raises Failure, whose text never contains the password; a server that stops answering is Transient
    `source.unreachable` or `source.lost`."""
    with asyncio.Runner() as runner:
        conn = _opened(runner, connection, timeout)
        session = Session(runner, conn, timeout)
        try:
            for statement in (
                _LIMITS[session.is_mariadb].format(seconds=min(seconds, _MOST_SECONDS)),
                f"SET SESSION sql_mode = '{_SQL_MODE}', time_zone = '+00:00', max_error_count = {_MOST_WARNINGS}",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            ):
                session.rows(statement)
            session.wait_seconds = seconds + GRACE_SECONDS
            yield session
        finally:
            # The transaction has changed nothing, and a session that is broken cannot end it.
            conn.close()


def _opened(runner: asyncio.Runner, connection: Connection, timeout: int) -> Any:
    """Return an open connection. With `prefer` and `allow`, a server without TLS is read without it."""
    contexts = _tls_contexts(connection.sslmode)
    for context in contexts:
        try:
            # The driver's own limit is for the TCP connection, not for the answers of the server.
            return runner.run(asyncio.wait_for(_connecting(connection, context, timeout), timeout))
        except (asyncmy.errors.MySQLError, OSError, EOFError, UnicodeError) as error:
            if context is not contexts[-1] and _has_no_tls(error):
                continue
            raise connect_failure(connection, error) from None
    raise AssertionError("unreachable")


async def _connecting(connection: Connection, context: ssl.SSLContext | None, timeout: int) -> Any:
    return await asyncmy.connect(
        host=connection.host,
        port=connection.port,
        user=connection.user,
        password=connection.password.encode(),
        database=connection.database,
        charset="utf8mb4",
        use_unicode=False,
        conv=_ENCODERS,
        ssl=context,
        connect_timeout=timeout,
        program_name="flow",
    )


def _tls_contexts(sslmode: str) -> Sequence[ssl.SSLContext | None]:
    if sslmode == "disable":
        return (None,)
    context = ssl.create_default_context()
    context.check_hostname = sslmode == "verify-full"
    if not sslmode.startswith("verify"):
        context.verify_mode = ssl.CERT_NONE
    return (context, None) if sslmode in ("prefer", "allow") else (context,)


def _has_no_tls(error: BaseException) -> bool:
    """Return whether the server answered the TLS handshake in plain text."""
    return "WRONG_VERSION_NUMBER" in str(error)


def interrupt(connection: Connection, tag: str) -> None:
    """End the statements that contain `tag`, from another thread. They raise."""
    with connect(connection, seconds=5, timeout=5) as session:
        for number, statement in session.rows(
            "SELECT id, info FROM information_schema.processlist WHERE command = 'Query'"
        ):
            if statement is not None and tag.encode() in statement:
                with suppress(Failure):  # It has ended.
                    session.rows(f"KILL QUERY {int(number or 0)}")
