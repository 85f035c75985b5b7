"""Why nobody was reached at a host and port, in words and with what to do. Nothing of a URL but these two is told."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unreached:
    """`code` is the last part of a failure's code; `message` begins with what happened, `hint` with what to do."""

    code: str
    message: str
    hint: str


_EXPIRED, _EARLY, _OTHER_NAME = {10}, {9}, {62, 64}
_NO_ROUTE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}


def why_unreached(trouble: BaseException, place: str, *, ended: tuple[type[BaseException], ...] = ()) -> Unreached:
    """`place` is `host:port`; `ended` are errors by which a client says that the other side broke off. The text of an
    error is never repeated: it may quote what is secret."""
    chain = list(_chain_of(trouble))
    for kind, tell in _TELLERS:
        if (found := next((error for error in chain if isinstance(error, kind)), None)) is not None:
            return tell(found, place)
    if any(isinstance(error, OSError) and error.errno in _NO_ROUTE for error in chain):
        return Unreached(
            "no_route",
            f"No way leads from here to {place}.",
            "Look at the network of the machine that Flow runs on, and whether the host has an address of its kind.",
        )
    if any(isinstance(error, (ConnectionError, EOFError, *ended)) for error in chain):
        return Unreached(
            "broke_off",
            f"{place} took the connection and then gave no proper answer.",
            "Look at its log, and whether host, port and encryption are the right ones.",
        )
    return Unreached("unreachable", f"{place} could not be reached.", "Check host, port and encryption.")


def _chain_of(trouble: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while trouble is not None and id(trouble) not in seen:
        seen.add(id(trouble))
        yield trouble
        trouble = trouble.__cause__ or trouble.__context__


def _certificate(error: BaseException, place: str) -> Unreached:
    number = getattr(error, "verify_code", 0)
    if number in _EXPIRED:
        why, hint = (
            "it has expired",
            "Renew it there. If it is new, look at the clock of the machine that Flow runs on.",
        )
    elif number in _EARLY:
        why, hint = "it is not valid yet", "Look at the clocks of that machine and of the one that Flow runs on."
    elif number in _OTHER_NAME:
        why, hint = "it is for another name", "Name the host as its certificate does."
    else:
        why = "nobody known here vouches for it"
        hint = "Give the server a certificate of a known authority, and let it send the whole chain."
    return Unreached("certificate", f"The certificate of {place} is not trusted: {why}.", hint)


def _tls(error: BaseException, place: str) -> Unreached:
    if getattr(error, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
        return Unreached("no_tls", f"{place} answers without encryption.", "Name the port that speaks TLS.")
    return Unreached(
        "tls",
        f"{place} and Flow found no encryption that both take.",
        "Let the server speak TLS 1.2 or 1.3, and check the port.",
    )


def _name(error: BaseException, place: str) -> Unreached:
    host = place.rpartition(":")[0]
    if isinstance(error, OSError) and error.errno == socket.EAI_AGAIN:
        return Unreached(
            "names_silent",
            f"The name {host} could not be looked up: the name service gave no answer.",
            "Look at the name service (DNS) of the machine that Flow runs on.",
        )
    return Unreached(
        "name_unknown",
        f"There is no host {host}: the name service does not know it.",
        "Correct the host, or add it to the name service (DNS) of the machine that Flow runs on.",
    )


def _refused(_: BaseException, place: str) -> Unreached:
    return Unreached(
        "nothing_listens", f"Nothing listens at {place}.", "Start the server there, or correct host and port."
    )


def _timeout(_: BaseException, place: str) -> Unreached:
    return Unreached(
        "timeout",
        f"{place} gave no answer in time.",
        "See that it runs and that no firewall stands between, and correct host and port if they are others.",
    )


_TELLERS = (
    (ssl.SSLCertVerificationError, _certificate),
    (ssl.SSLError, _tls),
    (socket.gaierror, _name),
    (ConnectionRefusedError, _refused),
    (TimeoutError, _timeout),
)
"""In this order: an error of TLS is an error of sockets too."""
