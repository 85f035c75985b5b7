"""Maps errors of MySQL and MariaDB to failures. Messages contain names, never row values or passwords."""

from __future__ import annotations

from executors.connection_failures import describe_connection_failure
from executors.driver_failures import MappedFailure
from executors.errors import Failure, Terminal, Transient
from executors.model import Connection

_AUTH = MappedFailure(
    Terminal,
    "source.auth_failed",
    "The server rejected the user or the password.",
    "Check the user and the password of the connection, and from which hosts the user may connect.",
)
_FORBIDDEN = MappedFailure(
    Terminal,
    "source.forbidden",
    "The connection's user does not have permission.",
    "GRANT SELECT on the table to the connection's user.",
    shows_text=True,
)
_BUSY = MappedFailure(
    Transient,
    "source.too_many_connections",
    "The server accepts no more connections.",
    "Try again later, or raise max_connections of the server or of the user.",
)
_LOST = MappedFailure(
    Transient,
    "source.lost",
    "The connection to the database was lost.",
    "The server restarted or the network failed. Nothing was loaded. Try again.",
)
_INTERRUPTED = MappedFailure(Transient, "source.cancelled", "The statement was cancelled.", "Run it again.")
_TOO_LONG = MappedFailure(
    Transient,
    "source.cancelled",
    "The statement took longer than the run may take.",
    "Read fewer rows, add an index, or raise errorHandling.maxMinutes.",
)
_TABLE = MappedFailure(
    Terminal,
    "source.table_unknown",
    "The database has no such table or view.",
    "Correct its name. On most servers names are case-sensitive.",
    shows_text=True,
)
_LOCKED = MappedFailure(
    Transient, "source.lock_timeout", "Another session holds the table.", "Check SHOW PROCESSLIST, and try again."
)
_REFUSED = MappedFailure(
    Terminal,
    "source.statement_refused",
    "The database rejected the query.",
    "Correct the query, or give its columns unique names.",
    shows_text=True,
)

_ERRORS = {
    **dict.fromkeys((1045, 1698, 1251, 1130), _AUTH),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1370), _FORBIDDEN),
    **dict.fromkeys((1040, 1203, 1226), _BUSY),
    **dict.fromkeys((1053, 1152, 1153, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 2055), _LOST),
    **dict.fromkeys((1317,), _INTERRUPTED),
    **dict.fromkeys((1969, 3024), _TOO_LONG),
    **dict.fromkeys((1146, 1051), _TABLE),
    **dict.fromkeys((1205, 1213), _LOCKED),
    **dict.fromkeys((1054, 1060, 1064, 1052, 1305, 1356, 1222), _REFUSED),
    1049: MappedFailure(
        Terminal,
        "source.database_unknown",
        "The server has no such database.",
        "Correct the database of the connection or of the source.",
        shows_text=True,
    ),
    1236: MappedFailure(
        Terminal,
        "cdc.source_changed",
        "The server cannot send its log from where the last load ended: it is another server, or its log was reset.",
        "Check the connection, then load the table again, with a reason: flow run --load-again.",
        shows_text=True,
    ),
    1412: MappedFailure(
        Transient,
        "source.changed",
        "The table was changed while it was about to be read.",
        "Try again.",
    ),
    1792: MappedFailure(
        Terminal,
        "source.read_only",
        "The query changes data, and Flow reads in a read-only transaction.",
        "Call no function that writes.",
    ),
}
"""By error number of the server and of the client."""


def failure_of(error: BaseException) -> Failure:
    """Return the failure for an error of a statement."""
    number, text = _parts(error)
    mapped = _ERRORS.get(number)
    if mapped is None and not number:
        mapped = _LOST  # The driver and the system raise other errors only if the stream ends.
    if mapped is None:
        message = f"The database rejected a statement (error {number})."
        return Terminal("source.failed", message, hint="See the server's documentation of this error number.")
    shown = f"{mapped.message} {text.rstrip('.')}." if mapped.shows_text and text else mapped.message
    return mapped.kind(mapped.code, shown, hint=mapped.hint)


def connect_failure(connection: Connection, error: BaseException) -> Failure:
    """Return the failure for an error while a session is opened."""
    address = f"{connection.host}:{connection.port}"
    number, _ = _parts(error)
    mapped = _ERRORS.get(number)
    if mapped is None or mapped is _LOST:
        found = describe_connection_failure(error, address)
        return Transient("source.unreachable", f"{found.message} (connection {connection.name!r})", hint=found.hint)
    where = f"{address} (connection {connection.name!r}, user {connection.user!r}, database {connection.database!r})"
    return mapped.kind(mapped.code, f"{where}: {mapped.message}", hint=mapped.hint)


def _parts(error: BaseException) -> tuple[int, str]:
    """Return the number of an error, 0 if it has none, and its text."""
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int) and not isinstance(error, OSError):
        return arguments[0], str(arguments[1])
    return 0, ""
