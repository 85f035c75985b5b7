"""Describes why a host and port could not be reached, and what to do. Messages contain no other part of a URL."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectionFailure:
    """`code` is the last part of a failure's code; `message` begins with what happened, `hint` with what to do."""

    code: str
    message: str
    hint: str


_EXPIRED, _EARLY, _OTHER_NAME = {10}, {9}, {62, 64}
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}


def describe_connection_failure(
    trouble: BaseException, address: str, *, ended: tuple[type[BaseException], ...] = ()
) -> ConnectionFailure:
    """Return the failure for an error. `address` is `host:port`; `ended` lists the error types that a client raises
    when the other side closes the connection. The text of the error is never repeated, because it may contain a
    secret."""
    chain = list(_chain_of(trouble))
    for kind, describe in _DESCRIBERS:
        if (found := next((error for error in chain if isinstance(error, kind)), None)) is not None:
            return describe(found, address)
    if any(isinstance(error, OSError) and error.errno in _NO_ROUTE for error in chain):
        return ConnectionFailure(
            "no_route",
            f"No network route to {address}.",
            "Check the network of Flow's machine, and whether the host has an address of that kind.",
        )
    if any(isinstance(error, (ConnectionError, EOFError, *ended)) for error in chain):
        return ConnectionFailure(
            "broke_off",
            f"{address} accepted the connection but sent no valid response.",
            "See its log, and check host, port and encryption.",
        )
    return ConnectionFailure("unreachable", f"{address} could not be reached.", "Check host, port and encryption.")


def _chain_of(trouble: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while trouble is not None and id(trouble) not in seen:
        seen.add(id(trouble))
        yield trouble
        trouble = trouble.__cause__ or trouble.__context__


def _certificate(error: BaseException, address: str) -> ConnectionFailure:
    number = getattr(error, "verify_code", 0)
    if number in _EXPIRED:
        why, hint = (
            "it has expired",
            "Renew the certificate. If it is new, check the clock of Flow's machine.",
        )
    elif number in _EARLY:
        why, hint = "it is not valid yet", "Check the clocks of that machine and of Flow's machine."
    elif number in _OTHER_NAME:
        why, hint = "it is for another name", "Use the host name of the certificate."
    else:
        why = "it is not signed by a known authority"
        hint = "Use a certificate of a known authority, and configure the server to send the full chain."
    return ConnectionFailure("certificate", f"The certificate of {address} is not trusted: {why}.", hint)


def _tls(error: BaseException, address: str) -> ConnectionFailure:
    if getattr(error, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
        return ConnectionFailure("no_tls", f"{address} answers without encryption.", "Use the port with TLS.")
    return ConnectionFailure(
        "tls",
        f"{address} and Flow have no encryption method in common.",
        "Enable TLS 1.2 or 1.3 on the server, and check the port.",
    )


def _name(error: BaseException, address: str) -> ConnectionFailure:
    host = address.rpartition(":")[0]
    if isinstance(error, OSError) and error.errno == socket.EAI_AGAIN:
        return ConnectionFailure(
            "names_silent",
            f"The name {host} could not be resolved because DNS did not respond.",
            "Check DNS on Flow's machine.",
        )
    return ConnectionFailure(
        "name_unknown",
        f"Unknown host {host}.",
        "Correct the host, or add it to DNS.",
    )


def _refused(_: BaseException, address: str) -> ConnectionFailure:
    return ConnectionFailure(
        "nothing_listens", f"Connection refused by {address}.", "Start the server, or correct host and port."
    )


def _timeout(_: BaseException, address: str) -> ConnectionFailure:
    return ConnectionFailure(
        "timeout",
        f"{address} did not respond in time.",
        "Check that it runs, that no firewall blocks it, and that host and port are correct.",
    )


_DESCRIBERS = (
    (ssl.SSLCertVerificationError, _certificate),
    (ssl.SSLError, _tls),
    (socket.gaierror, _name),
    (ConnectionRefusedError, _refused),
    (TimeoutError, _timeout),
)
"""Checked in this order, because TLS errors are also socket errors."""
