"""Opens sessions, limits their time, and translates the errors of their drivers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from executors.arrow_databases.base import Dialect, ResultColumn, Session
from executors.arrow_databases.failures import LOST
from executors.driver_failures import MappedFailure
from executors.errors import Failure, Terminal, Transient
from executors.formats.closing import closed_after
from executors.model import StoreConnection

_LONGEST_SHOWN = 500
_MOST_SECONDS = 2_000_000
_CANCEL_AGAIN_SECONDS = 1.0

Errors = tuple[type[Exception], ...]
FailureOf = Callable[[Exception], Exception]


class OpenSession:
    """A session whose statements all together take at most some seconds. What the driver raises becomes a Failure."""

    def __init__(self, session: Session, seconds: float, errors: Errors, failure_of: FailureOf) -> None:
        self._session, self._seconds = session, seconds
        self._errors, self._failure_of = errors, failure_of
        self._why: Failure | None = None
        self._closed = threading.Event()

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a statement. Raises Failure, also if the rows end early because the session was ended."""
        with self._translated(), closed_after(self._session.batches(statement)) as batches:
            yield from batches

    def describe(self, statement: str) -> list[ResultColumn]:
        """Return the columns of a statement, whose rows are not read. Raises Failure."""
        with self._translated():
            return list(self._session.describe(statement))

    def values(self, statement: str) -> list[str]:
        """Return the first values of the rows of a statement with a small result, as text. Raises Failure."""
        return [str(value) for batch in self.batches(statement) for value in batch.column(0).to_pylist()]

    def has_rows(self, statement: str) -> bool:
        return any(batch.num_rows for batch in self.batches(statement))

    def interrupt(self) -> None:
        """End the running statement, from another thread. It and all later ones raise `source.cancelled`."""
        self._end(Transient("source.cancelled", "The statement was cancelled.", hint="Run it again."))

    def expire(self) -> None:
        """End the running statement, because its time is over."""
        text = f"Reading the database took longer than it may ({self._seconds:,.0f} s)."
        self._end(Transient("source.cancelled", text, hint="Read fewer rows, or raise errorHandling.maxMinutes."))

    def close(self) -> None:
        self._closed.set()
        self._session.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        self._require_going_on()
        try:
            yield
        except self._errors as error:
            raise self._why or self._failure_of(error) from None
        self._require_going_on()

    def _require_going_on(self) -> None:
        if self._why is not None:
            raise self._why

    def _end(self, why: Failure) -> None:
        self._why = self._why or why
        threading.Thread(target=self._cancel_until_closed, daemon=True).start()

    def _cancel_until_closed(self) -> None:
        """A statement that begins at this moment may not see that it is cancelled."""
        while not self._closed.is_set():
            with suppress(Exception):  # The statement has ended, or the session is broken: both end the reading.
                self._session.cancel()
            self._closed.wait(_CANCEL_AGAIN_SECONDS)


@contextmanager
def connect(dialect: Dialect, connection: StoreConnection, seconds: float) -> Iterator[OpenSession]:
    """Open a session. An error of the driver becomes a Failure, whose text never contains a secret."""
    driver = dialect.load_driver()
    opened = _opened(driver, dialect, connection, seconds)
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), opened.expire)
    timer.daemon = True
    timer.start()
    try:
        yield opened
    finally:
        timer.cancel()
        opened.close()


def _opened(driver: Any, dialect: Dialect, connection: StoreConnection, seconds: float) -> OpenSession:
    errors: Errors = (driver.Error, pa.ArrowException, OSError, ValueError)
    try:
        session = dialect.connect(driver, connection, max(1, int(min(seconds, _MOST_SECONDS))))
    except ImportError:
        raise dialect.driver_missing() from None
    except errors as error:
        raise _unreachable(dialect, connection, error) from None
    return OpenSession(session, seconds, errors, lambda error: _failure_of(dialect, connection, error))


def _unreachable(dialect: Dialect, connection: StoreConnection, error: Exception) -> Failure:
    """Return the failure for an error while a session is opened."""
    code, text = dialect.driver_error(error) or ("", "")
    mapped = dialect.failures.get(code)
    if mapped is not None and mapped is not LOST:
        return _mapped(dialect, mapped, connection, text)
    number = f" (error {code})" if code else ""
    return Transient(
        "source.unreachable",
        f"{dialect.title} cannot be reached, or refuses the session{number} (connection {connection.name!r}).",
        hint="Check the fields of the connection, the network and the log of the server.",
    )


def _failure_of(dialect: Dialect, connection: StoreConnection, error: Exception) -> Exception:
    """Return the failure for an error of a statement; an error that is not the driver's is returned itself."""
    found = dialect.driver_error(error)
    if isinstance(error, OSError) and found is None:
        return _mapped(dialect, LOST, connection, "")
    if found is None:
        return error
    if (mapped := dialect.failures.get(found.code)) is not None:
        return _mapped(dialect, mapped, connection, found.text)
    number = f" (error {found.code})" if found.code else ""
    return Terminal(
        "source.failed",
        f"{dialect.title} ended a statement{number}.",
        hint="See the server's documentation of this error. A query may convert a value that does not fit.",
    )


def _mapped(dialect: Dialect, mapped: MappedFailure, connection: StoreConnection, text: str) -> Failure:
    says = f"{dialect.title}, connection {connection.name!r}: {mapped.message}"
    if mapped.shows_text and text.strip():
        says += f" {_masked(text, connection)}."
    return mapped.kind(mapped.code, says, hint=mapped.hint)


def _masked(text: str, connection: StoreConnection) -> str:
    line = " ".join(text.split())
    for secret in sorted(filter(None, connection.secrets.values()), key=len, reverse=True):
        line = line.replace(" ".join(secret.split()), "***")
    return line[:_LONGEST_SHOWN].rstrip(". ")
