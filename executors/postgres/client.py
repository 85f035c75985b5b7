"""Connections to the target database, and the translation of the driver's errors to failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote, quote_plus

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_dumps

from executors.charsets import UTF8, Charset, JsonDumper
from executors.errors import Failure, Terminal, Transient
from executors.model import Connection
from executors.postgres.failures import failure_of
from executors.postgres.session_settings import pin_session

_CONNECT_FAILURES: tuple[tuple[str, type[Failure], str, str, str], ...] = (
    (
        r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* does not exist|not permitted to log",
        Terminal,
        "target.auth_failed",
        "the server rejected user {user!r}",
        "Check the user and the password of the connection, and the server's pg_hba.conf.",
    ),
    (
        r"database .* does not exist",
        Terminal,
        "target.database_unknown",
        "the server has no database {database!r}",
        "Correct the database of the connection, or create it.",
    ),
    (
        r"permission denied for database",
        Terminal,
        "target.forbidden",
        "user {user!r} may not connect to database {database!r}",
        "GRANT CONNECT ON DATABASE to that user.",
    ),
    (
        r"too many (clients|connections)|remaining connection slots",
        Transient,
        "target.too_many_connections",
        "the server accepts no more connections",
        "Try again later, or raise max_connections of the server.",
    ),
)


class Session(psycopg.Connection[TupleRow]):
    """A psycopg connection that always ends its transactions, even if a user cancels the run at that moment."""

    @contextmanager
    def transaction(
        self, savepoint_name: str | None = None, force_rollback: bool = False
    ) -> Iterator[psycopg.Transaction]:
        """Like psycopg's own. If a cancellation arrives during ROLLBACK, psycopg only logs the error, and the next
        transaction would become a savepoint of the failed one."""
        is_outermost = self.info.transaction_status == TransactionStatus.IDLE
        try:
            with super().transaction(savepoint_name, force_rollback) as transaction:
                yield transaction
        finally:
            if is_outermost:
                self._end_failed_transaction()

    def _end_failed_transaction(self) -> None:
        while self.info.transaction_status == TransactionStatus.INERROR:
            with suppress(psycopg.OperationalError):  # a lost session has no transaction
                self.rollback()


def connect(
    connection: Connection, *, autocommit: bool = False, application_name: str = "flow", timeout: int = 10
) -> Session:
    """Open a session with the pinned settings, within `timeout` seconds for each address of the host.

    Raises Transient or Terminal, whose texts never contain the password.
    """
    try:
        conn = Session.connect(
            host=connection.host,
            port=connection.port,
            dbname=connection.database,
            user=connection.user,
            # Never empty: otherwise libpq would use PGPASSWORD and the password file of this machine, which do not
            # belong to the connection, and would send them to any server that it names.
            password=connection.password or "none",
            sslmode=connection.sslmode,
            application_name=application_name,
            client_encoding="UTF8",
            connect_timeout=timeout,
            keepalives=1,
            keepalives_idle=30,
            keepalives_interval=10,
            keepalives_count=3,
            autocommit=True,
            # Poolers in transaction mode lose prepared statements.
            prepare_threshold=None,
        )
    except psycopg.Error as error:
        raise _connect_failure(connection, error) from error
    try:
        with translate():
            pin_session(conn)
            if (charset := charset_of(conn)) != UTF8:
                set_json_dumps(JsonDumper(charset), conn)
            conn.autocommit = autocommit
    except BaseException:
        conn.close()
        raise
    return conn


def interrupt(conn: psycopg.Connection[TupleRow]) -> None:
    """Cancel the current statement of the session, from another thread. The statement raises; an idle session is not
    affected."""
    with translate():
        conn.cancel_safe(timeout=5)


def charset_of(conn: psycopg.Connection[TupleRow]) -> Charset:
    """Return the characters that the session's database can store."""
    return Charset(conn.info.parameter_status("server_encoding") or "UTF8")


@contextmanager
def translate(node: str | None = None) -> Iterator[None]:
    """Translate errors of the driver to Transient or Terminal failures, without secrets and without row values."""
    try:
        yield
    except psycopg.Error as error:
        failure = failure_of(error)
        failure.node = node
        # The driver's text may quote a row (DETAIL, CONTEXT), and a logged traceback prints the whole chain.
        error.args = (f"SQLSTATE {error.sqlstate}",)
        raise failure from error


def _connect_failure(connection: Connection, error: psycopg.Error) -> Failure:
    text = _without_password(str(error), connection.password)
    error.args = (text,)
    where = f"{connection.host}:{connection.port} (connection {connection.name!r})"
    for pattern, kind, code, says, hint in _CONNECT_FAILURES:
        if re.search(pattern, text):
            return kind(code, f"{where}: {says.format(user=connection.user, database=connection.database)}.", hint=hint)
    return Transient(
        "target.unreachable",
        f"{where}: connection failed: {text.strip().splitlines()[-1] if text.strip() else type(error).__name__}",
        hint="Check host and port of the connection, and that the server runs and can be reached from here.",
    )


def _without_password(text: str, password: str) -> str:
    for form in {password, quote(password), quote(password, safe=""), quote_plus(password)} - {""}:
        text = text.replace(form, "***")
    return text
