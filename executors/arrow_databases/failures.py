"""The failures that databases share. Each system maps the codes of its own errors to them."""

from __future__ import annotations

from executors.driver_failures import MappedFailure
from executors.errors import Terminal, Transient

AUTH = MappedFailure(
    Terminal,
    "source.auth_failed",
    "The server rejected the user or the credentials.",
    "Check the user and the secrets of the connection.",
)
FORBIDDEN = MappedFailure(
    Terminal,
    "source.forbidden",
    "The connection's user does not have permission.",
    "Let the user read what the source names, and nothing more.",
)
BUSY = MappedFailure(
    Transient,
    "source.too_many_connections",
    "The server accepts no more sessions or queries.",
    "Try again later, or raise the limits of the server.",
)
LOST = MappedFailure(
    Transient,
    "source.lost",
    "The connection to the database was lost.",
    "The server restarted or the network failed. Nothing was loaded. Try again.",
)
CANCELLED = MappedFailure(
    Transient,
    "source.cancelled",
    "The statement was cancelled, or took longer than the run may take.",
    "Run it again, read fewer rows, or raise errorHandling.maxMinutes.",
)
TABLE = MappedFailure(
    Terminal,
    "source.table_unknown",
    "The database has no such table or view, or the user may not see it.",
    "Correct its name and schema. Names are case-sensitive in most systems.",
    shows_text=True,
)
DATABASE = MappedFailure(
    Terminal,
    "source.database_unknown",
    "The server has no such database, or the user may not open it.",
    "Correct the database of the connection.",
)
LOCKED = MappedFailure(
    Transient, "source.lock_timeout", "Another session holds the table.", "Try again when the writer has finished."
)
REFUSED = MappedFailure(
    Terminal,
    "source.statement_refused",
    "The database rejected the query.",
    "Correct the query, or give its columns unique names.",
    shows_text=True,
)
READ_ONLY = MappedFailure(
    Terminal,
    "source.read_only",
    "The query changes data, and Flow reads in a read-only transaction.",
    "Call no function that writes.",
)
MOMENT = MappedFailure(
    Transient,
    "source.lost",
    "The database no longer has the rows of the moment that the run reads.",
    "Run it when fewer rows change, or let the database retain its undo data for longer.",
)
