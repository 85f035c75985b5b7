"""A web service with records, which it returns with each kind of paging."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from executors.model import StoreConnection

Reply = tuple[int, Mapping[str, str], str]


@dataclass
class Service:
    """`records` are served in pages of at most `page_size`. `replies` are returned before anything else, in order.
    `requests` are the path and the parameters of each request; `headers` those of the last one."""

    records: list[dict[str, Any]] = field(default_factory=list)
    page_size: int = 3
    token: str = ""
    replies: deque[Reply] = field(default_factory=deque)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def connection(self, **secrets: str) -> StoreConnection:
        given = {"token": self.token, **secrets} if self.token else secrets
        return StoreConnection("service", "http", {"kind": "http", "url": self.url, "user": ""}, given)

    def answer(self, path: str, query: dict[str, str]) -> Reply:
        if self.replies:
            return self.replies.popleft()
        if self.token and self.headers.get("authorization") != f"Bearer {self.token}":
            return 401, {}, "{}"
        low, high = query.get("updated_since", ""), query.get("updated_before", "~")
        found = [r for r in self.records if low <= r.get("updated_at", "") <= high]
        style = {"orders": "cursor"}.get(name := path.rpartition("/")[2], name)
        size = min(int(query.get("limit", self.page_size)), self.page_size)
        start = self._start(style, query, size)
        page = found[start : start + size] if style != "all" else found
        more = start + size < len(found)
        body: Any = {"data": page, "meta": {"total": len(found)}}
        headers: dict[str, str] = {}
        if style == "all":
            body = page
        if style == "cursor":
            body["meta"]["next"] = f"c{start + size}" if more else None
        if style == "next":
            body["next"] = f"/v1/next?at={start + size}" if more else None
        if style == "link" and more:
            headers["Link"] = f'<{self.url}link?at={start + size}>; rel="next", <{self.url}>; rel="first"'
        return 200, headers, json.dumps(body, indent=1)

    def _start(self, style: str, query: dict[str, str], size: int) -> int:
        if style == "page":
            return (int(query["page"]) - 1) * size
        if style == "offset":
            return int(query["offset"])
        if style == "cursor":
            return int(query.get("cursor", "c0")[1:])
        return int(query.get("at", 0))


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            service.requests.append((parts.path, query))
            service.headers = {name.lower(): value for name, value in self.headers.items()}
            status, headers, body = service.answer(parts.path, query)
            sent = body.encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(sent)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}/v1/"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
