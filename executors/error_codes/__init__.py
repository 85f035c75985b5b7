"""The codes of all Failures and of the warnings of runs. `docs/reference/errors.md` is generated from it."""

from __future__ import annotations

from dataclasses import replace

from executors.error_codes import (
    backfills,
    changes,
    delta,
    nodes,
    rejected_rows,
    running,
    services,
    singer,
    sources,
    stores,
    targets,
)
from executors.error_codes.warnings import WARNING_CODES as WARNING_CODES
from ir.error_codes import ErrorCode, table_of

_CODES = (
    *changes.CODES,
    *sources.CODES,
    *stores.CODES,
    *services.CODES,
    *singer.CODES,
    *targets.CODES,
    *delta.CODES,
    *nodes.CODES,
    *backfills.CODES,
    *rejected_rows.CODES,
    *running.CODES,
)

_UNREACHED = (
    ("unreachable", "cannot be reached", "Check host, port and encryption."),
    ("no_route", "cannot be reached over the network", "Check the network of the machine that Flow runs on."),
    ("nothing_listens", "refused the connection", "Start the server, or correct host and port."),
    ("timeout", "did not answer in time", "Check that the server runs and that no firewall blocks the connection."),
    ("broke_off", "closed the connection", "Read the server's log, and check host, port and encryption."),
    ("name_unknown", "has a host name that does not exist", "Correct the host, or add it to the name service (DNS)."),
    ("names_silent", "has a host name that could not be looked up", "Check the name service (DNS)."),
    ("certificate", "has a certificate that is not trusted", "Renew or replace the certificate, or correct the host."),
    ("no_tls", "does not encrypt", "Use the port with TLS."),
    ("tls", "supports no encryption that Flow supports", "Enable TLS 1.2 or 1.3 on the server."),
)


def unreached_codes(family: str, who: str) -> tuple[ErrorCode, ...]:
    """Return the codes of `executors.connection_failures.ConnectionFailure`. `who` is the remote side in the titles."""
    return tuple(ErrorCode(f"{family}.{name}", f"{who} {what}.", hint, 503) for name, what, hint in _UNREACHED)


_OF_CONNECTIONS = (
    "auth_failed",
    "cancelled",
    "character_unusable",
    "database_unknown",
    "deadlock",
    "driver_failed",
    "failed",
    "forbidden",
    "function_failed",
    "limit_exceeded",
    "lock_timeout",
    "lost",
    "out_of_resources",
    "read_only",
    "schema_unknown",
    "serialization",
    "setting_unusable",
    "statement_refused",
    "too_many_connections",
    "unreachable",
    "value_refused",
)
"""Failures of any session: `target.…` when a table is loaded, `source.…` when rows are read."""


def _source_codes() -> tuple[ErrorCode, ...]:
    family, codes = "target.", table_of(*_CODES)
    return tuple(replace(codes[family + name], name=f"source.{name}") for name in _OF_CONNECTIONS)


ERROR_CODES = table_of(*_CODES, *_source_codes(), *unreached_codes("webhook", "The receiver"))
