"""A proxy on the loopback interface between the product and a server of a store, which can misbehave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from flowapp.embedded.ports import LOOPBACK

_HOP = {"connection", "keep-alive", "transfer-encoding"}


@dataclass
class Request:
    """A request of the product. A rule may change it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A response of the proxy itself."""

    status: int
    body: bytes = b""
    type: str = "application/json"


Rule = Callable[[Request], Answer | None]
"""Answers a request, or returns None to forward it."""


class Proxy(ThreadingHTTPServer):
    """Forwards to the port `upstream` what no rule answers. Runs in threads of this process until `close`."""

    daemon_threads = True

    def __init__(self, upstream: int, *rules: Rule, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.upstream, self.rules = upstream, list(rules)
        self.requests: list[Request] = []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients may leave at any time."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, dict(self.headers.items()), body)
        self.server.requests.append(request)
        with suppress(OSError, HTTPException):
            for rule in list(self.server.rules):
                if answer := rule(request):
                    self._send(answer.status, {"Content-Type": answer.type}, answer.body)
                    return
            self._forward(request)
            return
        self.close_connection = True  # As if nothing listened.

    def _forward(self, request: Request) -> None:
        upstream = HTTPConnection(LOOPBACK, self.server.upstream, timeout=60)
        try:
            # The host stays, because it is part of signatures.
            upstream.request(request.method, request.path, request.body or None, request.headers)
            response = upstream.getresponse()
            self._send(response.status, dict(response.getheaders()), response.read())
        finally:
            upstream.close()

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        passed_on = {name: value for name, value in headers.items() if name.lower() not in _HOP}
        if self.command != "HEAD":
            passed_on = {name: value for name, value in passed_on.items() if name.lower() != "content-length"}
            passed_on["Content-Length"] = str(len(body))
        for name, value in passed_on.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815


def without_ranges(content: bytes) -> Rule:
    """Return a rule: a request for a part of an object is answered with all of it, which is `content`."""

    def answer(request: Request) -> Answer | None:
        ranges = {name.lower() for name in request.headers} & {"range", "x-ms-range"}
        return Answer(200, content, "text/csv") if ranges else None

    return answer


def down(request: Request) -> None:
    """A rule: the connection breaks."""
    raise ConnectionError


def refuse(request: Request) -> Answer:
    """A rule: the keys were revoked."""
    return Answer(403, b"<Error><Code>AccessDenied</Code></Error>", "application/xml")
