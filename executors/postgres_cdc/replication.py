"""A replication session: creates slots, and receives messages of the output plugin in order.

psycopg's high-level connections cannot speak the replication protocol; its wrapper of libpq (`psycopg.pq`) can.
"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import make_conninfo

from executors.errors import Failure, Terminal, Transient
from executors.model import Connection
from executors.postgres.session_settings import GUARDED, PINNED
from executors.postgres_cdc.lsn import lsn_text, parse_lsn

_EPOCH_2000 = 946_684_800
_WAL_BYTES = struct.calcsize("!cQQq")
"""The size of what precedes a message of the plugin."""
_KEEPALIVE = struct.Struct("!cQqB")
_IS_WAL, _IS_KEEPALIVE = ord("w"), ord("k")
_STATUS = struct.Struct("!cQQQqB")
_PING_SECONDS = 0.2
"""How often the server is asked for its position while it sends nothing."""
_CLOCK_EVERY = 256
"""The number of messages between two looks at the clock."""
_STATUS_SECONDS = 10
"""How often the server hears from us while it sends; after `wal_sender_timeout` (60 s) it ends the session."""

_SQLSTATES: dict[str, tuple[type[Failure], str, str]] = {
    "55006": (Transient, "cdc.slot_in_use", "End the other reader of the slot, or give this source a slot of its own."),
    "42501": (
        Terminal,
        "cdc.not_allowed",
        "ALTER ROLE … REPLICATION for the user of the connection; on managed servers, GRANT it the role that the "
        "provider names (rds_replication, cloudsqlsuperuser).",
    ),
    "28000": (
        Terminal,
        "cdc.not_allowed",
        "ALTER ROLE … REPLICATION for the user of the connection, and let pg_hba.conf accept it.",
    ),
    "42704": (
        Terminal,
        "cdc.slot_missing",
        "The slot or the publication was dropped, and changes since are lost. Load the table again.",
    ),
    "53400": (Terminal, "cdc.no_slot_free", "Raise max_replication_slots and max_wal_senders of the server."),
}
_LOST = "55000"


@dataclass(frozen=True, slots=True)
class CreatedSlot:
    """A new slot: its consistent point, and the name of the snapshot of all rows at that point, which lasts until the
    next command of the session."""

    consistent_point: int
    snapshot: str


class Received(NamedTuple):
    """A message of the plugin (`data`), or the position up to which the server has sent everything (`data` is empty).
    It is a tuple because one is made for each message."""

    lsn: int
    data: bytes


class ReplicationSession:
    """One session. It may be closed from another thread to interrupt it."""

    def __init__(self, connection: Connection, application: str) -> None:
        self._name = f"{connection.host}:{connection.port} (connection {connection.name!r})"
        self._password = connection.password
        conninfo = make_conninfo(
            "",
            host=connection.host,
            port=connection.port,
            dbname=connection.database,
            user=connection.user,
            password=connection.password or "none",
            sslmode=connection.sslmode,
            application_name=application,
            client_encoding="UTF8",
            connect_timeout=10,
            keepalives=1,
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            replication="database",
        )
        self._conn = pq.PGconn.connect(conninfo.encode())
        if self._conn.status != pq.ConnStatus.OK:
            raise self._failure(self._conn.error_message.decode(errors="replace"), None)
        self._pin()

    def close(self) -> None:
        self._conn.finish()

    def cancel(self) -> None:
        """Interrupt the session from another thread: what it waits for ends with an error."""
        self._conn.get_cancel().cancel()

    def create_slot(self, slot: str, *, is_temporary: bool = False) -> CreatedSlot:
        """Create a slot and export the snapshot of its consistent point. This waits for transactions that are open. A
        temporary slot ends with the session."""
        text = sql.SQL("CREATE_REPLICATION_SLOT {}{} LOGICAL pgoutput EXPORT_SNAPSHOT")
        result = self._execute(text.format(sql.Identifier(slot), sql.SQL(" TEMPORARY" if is_temporary else "")))
        point, snapshot = result.get_value(0, 1), result.get_value(0, 2)
        if point is None or snapshot is None:
            raise self._failure("the server returned no snapshot of the slot", None)
        return CreatedSlot(parse_lsn(point.decode()), snapshot.decode())

    def identify(self) -> tuple[str, int]:
        """Return the identifier of the cluster, and its timeline."""
        result = self._execute(sql.SQL("IDENTIFY_SYSTEM"))
        system, timeline = result.get_value(0, 0), result.get_value(0, 1)
        return (system or b"").decode(), int(timeline or b"0")

    def start(self, slot: str, publication: str, lsn: int) -> None:
        """Begin to send the changes of transactions that commit at or after a position."""
        names = sql.Identifier(publication).as_string(None)
        text = sql.SQL("START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', publication_names {})").format(
            sql.Identifier(slot), sql.SQL(lsn_text(lsn)), sql.Literal(names)
        )
        self._execute(text)
        self.confirm(lsn)

    def confirm(self, lsn: int, *, asks: bool = False) -> None:
        """Tell the server that everything before a position is stored, and need not be sent again."""
        now = int((time.time() - _EPOCH_2000) * 1_000_000)
        self._conn.put_copy_data(_STATUS.pack(b"r", lsn, lsn, lsn, now, asks))
        self._conn.flush()

    def messages(self, confirmed: int, check: Callable[[], None]) -> Iterator[Received]:
        """Yield what the server sends, without an end. `confirmed` is repeated so that the session stays open. `check`
        is called while nothing arrives; it may raise."""
        heard = asked = time.monotonic()
        seen = 0
        while True:
            size, data = self._conn.get_copy_data(1)
            if size > 0:
                seen += 1
                if not seen % _CLOCK_EVERY and time.monotonic() - heard > _STATUS_SECONDS:
                    self.confirm(confirmed)
                    heard = time.monotonic()
                if data[0] == _IS_WAL:
                    yield Received(0, bytes(data[_WAL_BYTES:]))
                elif data[0] == _IS_KEEPALIVE:
                    _, lsn, _, wants_reply = _KEEPALIVE.unpack_from(data)
                    if wants_reply:
                        self.confirm(confirmed)
                    yield Received(lsn, b"")
            elif size == 0:
                check()
                now = time.monotonic()
                if now - asked > _PING_SECONDS:
                    self.confirm(confirmed, asks=True)
                    heard = asked = now
                select.select([self._conn.socket], [], [], _PING_SECONDS)
                self._conn.consume_input()
            else:
                raise self._ended(size)

    def _ended(self, size: int) -> Failure:
        if size == -1:
            result = self._conn.get_result()
            if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
                return self._failure_of(result)
        return self._failure(self._conn.error_message.decode(errors="replace"), None)

    def _pin(self) -> None:
        """Apply the settings of every other session, so that values have the same text."""
        values = sql.SQL(", ").join(
            sql.SQL("({}, {})").format(sql.Literal(name), sql.Literal(value)) for name, value in PINNED.items()
        )
        guarded = sql.SQL(", ").join(map(sql.Literal, GUARDED))
        self._execute(
            sql.SQL(
                "SELECT pg_catalog.set_config(s.name, s.value, false) FROM (VALUES {}) AS s(name, value)"
                " WHERE pg_catalog.current_setting(s.name, true) IS NOT NULL AND s.name NOT IN ({})"
            ).format(values, guarded)
        )

    def _execute(self, text: sql.Composed | sql.SQL) -> pq.abc.PGresult:
        result = self._conn.exec_(text.as_string(None).encode())
        if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.COPY_BOTH):
            return result
        raise self._failure_of(result)

    def _failure_of(self, result: pq.abc.PGresult) -> Failure:
        state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
        text = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
        return self._failure(text, state)

    def _failure(self, text: str, state: str | None) -> Failure:
        text = text.replace(self._password, "***") if self._password else text
        said = text.strip().splitlines()[-1] if text.strip() else "the session ended"
        if state == _LOST and "wal_level" in said:
            return Terminal(
                "cdc.wal_level", f"{self._name}: {said}.", hint="Set wal_level = logical and restart the server."
            )
        if "walsender" in said or "WAL sender" in said:  # a refused connection has no SQLSTATE
            state = "28000"
        kind, code, hint = _SQLSTATES.get(
            state or "",
            (Transient, "source.unreachable", "Check that the server runs and can be reached, then run again."),
        )
        return kind(code, f"{self._name}: {said}.", hint=hint)


@contextmanager
def replication_session(connection: Connection, application: str) -> Iterator[ReplicationSession]:
    """Open a session and close it at the end."""
    session = ReplicationSession(connection, application)
    try:
        yield session
    except psycopg.OperationalError as error:
        raise Transient(
            "source.unreachable",
            f"The replication session with {connection.host}:{connection.port} was lost.",
            hint="Run again. Nothing is lost: the next run begins where the last load ended.",
        ) from error
    finally:
        session.close()
