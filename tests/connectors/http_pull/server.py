"""A web server on the loopback interface that returns parts of files, lists folders, and misbehaves when asked to."""

from __future__ import annotations

import atexit
import html
import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class WebServer:
    """A running server. `answers` replace what it does for a path; the other fields say how it returns files."""

    folder: Path
    port: int = 0
    has_ranges: bool = True
    has_etag: bool = True
    has_time: bool = True
    has_length: bool = True
    encoding: str = ""
    credentials: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/"

    def connection(self, path: str = "", user: str = "", **secrets: str) -> StoreConnection:
        return StoreConnection("files", "http", {"url": self.url + path, "user": user}, secrets)

    def start(self) -> None:
        server = self

        class Handler(_Handler):
            web = server

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None: ...

        self._server = Server((LOOPBACK, self.port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Handler(BaseHTTPRequestHandler):
    web: WebServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.web.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        path = urlsplit(self.path).path
        if self.web.credentials and self.headers.get("Authorization") != self.web.credentials:
            return self.plain(401, b"")
        if path in self.web.answers:
            return self.web.answers[path](self)
        found = self.web.folder / unquote(path).strip("/")
        if path.endswith("/") and found.is_dir():
            return self.plain(200, _page_of(found), "text/html")
        return self.file(found) if found.is_file() else self.plain(404, b"")

    def plain(self, status: int, body: bytes, kind: str = "text/plain", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def file(self, path: Path) -> None:
        data, status = path.read_bytes(), path.stat()
        etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"'
        headers = {"ETag": etag} if self.web.has_etag else {}
        headers |= {"Last-Modified": formatdate(int(status.st_mtime), usegmt=True)} if self.web.has_time else {}
        headers |= {"Content-Encoding": self.web.encoding} if self.web.encoding else {}
        if self.web.has_etag and self.headers.get("If-Match", etag) != etag:
            return self.plain(412, b"")
        asked = self.headers.get("Range", "")
        if not (self.web.has_ranges and asked):
            return self.whole(data, headers)
        start, _, end = asked.removeprefix("bytes=").partition("-")
        first, last = int(start), min(int(end), len(data) - 1)
        if first >= len(data):
            return self.plain(416, b"", **{"Content-Range": f"bytes */{len(data)}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.plain(206, data[first : last + 1], "application/octet-stream", **headers)

    def whole(self, data: bytes, headers: dict[str, str]) -> None:
        if self.web.has_length:
            return self.plain(200, data, "application/octet-stream", **headers)
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


def reply(status: int, body: bytes = b"", **headers: str) -> Answer:
    """Return an answer; underscores in the names of headers stand for hyphens."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


def _page_of(folder: Path) -> bytes:
    """A page as servers make it, with links that lead to no file."""
    names = sorted(f"{path.name}/" if path.is_dir() else path.name for path in folder.iterdir())
    links = "".join(f'<li><a href="{html.escape(quote(name))}">{html.escape(name)}</a></li>' for name in names)
    return f'<html><a href="?C=N;O=D">Name</a><a href="../">Up</a><ul>{links}</ul></html>'.encode()


@cache
def shared_server() -> WebServer:
    """Return the server of this process, started on first use and stopped when the process ends."""
    server = new_server()
    atexit.register(server.end)
    return server


def new_server() -> WebServer:
    server = WebServer(Path(tempfile.mkdtemp(prefix="flow-web-")))
    server.start()
    return server
