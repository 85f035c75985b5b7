"""Sends one POST to an address that users chose: to public addresses only, with limits on time and size."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from socket import SHUT_RDWR
from typing import Any
from urllib.parse import urlsplit

import httpx
from ssrfguard import Policy, Resolver, SSRFGuardError
from ssrfguard.httpx import Client

from executors.connection_failures import describe_connection_failure
from executors.errors import Failure, Terminal, Transient
from executors.http_logs import hide_requests
from ir.webhook_addresses import public_policy

hide_requests()

TOTAL_SECONDS = 10.0
SILENT_SECONDS = 5.0
MOST_BODY = 64 * 1024
PASSING = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Network:
    """Which addresses may be reached, and how. Documents, connections and settings cannot select another network than
    `PUBLIC`."""

    policy: Policy
    resolver: Resolver | None = None
    tls: ssl.SSLContext | None = None


PUBLIC = Network(public_policy())


class Posting:
    """One request in a thread of its own: neither a name lookup nor a slow response can be limited from inside the
    thread."""

    def __init__(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        self._url, self._body, self._headers = url, body, dict(headers)
        self._socket: Any = None
        self._status = 0
        self._trouble: BaseException | None = None
        self._over = threading.Event()
        self._stopped = False

    def send(self) -> int:
        """Send the request and return the status of the response. Raises Failure."""
        threading.Thread(target=self._run, name="webhook", daemon=True).start()
        in_time = self._over.wait(TOTAL_SECONDS)
        if not in_time or self._stopped:
            self.stop()
            why = "was interrupted" if in_time else f"did not end within {TOTAL_SECONDS:g} seconds"
            raise Transient(
                "webhook.timeout", f"The request {why}.", hint="Let the receiver respond before it starts its work."
            )
        if self._trouble is not None:
            raise _failure_of(self._trouble, host_and_port(self._url)) from self._trouble
        return self._status

    def stop(self) -> None:
        """Stop waiting for the response and close the connection."""
        self._stopped = True
        self._over.set()
        if self._socket is not None:
            try:
                self._socket.shutdown(SHUT_RDWR)
            except OSError:
                return  # the request has ended already

    def _run(self) -> None:
        try:
            self._post()
        except BaseException as trouble:  # noqa: BLE001 - `send` raises it
            self._trouble = trouble
        finally:
            self._over.set()

    def _post(self) -> None:
        network = PUBLIC
        options: dict[str, Any] = {"verify": network.tls} if network.tls else {}
        with (
            Client(
                policy=network.policy,
                resolver=network.resolver,
                trust_env=False,
                follow_redirects=False,
                timeout=SILENT_SECONDS,
                **options,
            ) as client,
            client.stream(
                "POST", self._url, content=self._body, headers=self._headers, extensions={"trace": self._trace}
            ) as answer,
        ):
            self._status = answer.status_code
            read = 0
            for chunk in answer.iter_raw():
                read += len(chunk)
                if read > MOST_BODY or self._stopped:
                    break

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")
            if self._stopped:
                self.stop()


def require_accepted(status: int) -> None:
    """Raise Failure unless the receiver accepted the request."""
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise Terminal(
            "webhook.redirected",
            f"The receiver returned {status}, a redirect. Flow does not follow redirects.",
            hint="Use the address that it redirects to.",
        )
    if status >= 500 or status in PASSING:
        raise Transient("webhook.unavailable", f"The receiver returned {status}.", hint="See the receiver's log.")
    raise Terminal("webhook.refused", f"The receiver returned {status}.", hint="See the receiver's log.")


def host_and_port(url: str) -> str:
    """Return `host:port` of an https address, or "the receiver" if the address has no host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        host = None
    if host is None:
        return "the receiver"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _failure_of(trouble: BaseException, address: str) -> Failure:
    """Return the failure of a request. Error texts of the client may contain the address, which may contain a secret
    path, so only the type of the error is reported, and a logged traceback shows no more of the chain."""
    if not isinstance(trouble, SSRFGuardError | httpx.TransportError | httpx.InvalidURL):
        raise trouble
    trouble.args = (type(trouble).__name__,)
    if isinstance(trouble, SSRFGuardError):
        return Terminal(
            "webhook.not_public",
            "The address is not public, so nothing was sent.",
            hint="Use a public https address. Webhooks cannot reach this machine or private networks.",
        )
    if isinstance(trouble, httpx.InvalidURL):
        return Terminal(
            "webhook.address",
            "The address cannot be called, so nothing was sent.",
            hint="Use an https address with a host name, such as https://hooks.example.com/flow.",
        )
    if isinstance(trouble, httpx.TimeoutException) and not isinstance(trouble, httpx.ConnectTimeout):
        return Transient(
            "webhook.timeout",
            f"{address} accepted the connection but sent nothing for {SILENT_SECONDS:g} seconds.",
            hint="Let the receiver respond before it starts its work.",
        )
    why = describe_connection_failure(
        trouble, address, ended=(httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
    )
    return Transient(f"webhook.{why.code}", why.message, hint=why.hint)
