"""Receivers of webhooks: real TLS servers, their certificates by a CA made here, and a network that has them."""

from __future__ import annotations

import datetime
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6, SOCK_STREAM
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from ssrfguard import Policy

from executors.hooks import posting
from executors.hooks.posting import Network

HOST = "hooks.example"
GIGABYTE = 2**30


# --- certificates -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Certificates:
    """A CA, and files of a certificate that it has made for the names of the tests."""

    ca: Path
    chain: Path
    key: Path


def make_certificates(folder: Path, *names: str) -> Certificates:
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("a test's CA", ca_key.public_key(), "a test's CA", ca_key, x509.BasicConstraints(True, 0))
    alternatives = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    mine = _certificate(names[0], key.public_key(), "a test's CA", ca_key, alternatives)
    paths = Certificates(folder / "ca.pem", folder / "chain.pem", folder / "key.pem")
    paths.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    paths.chain.write_bytes(mine.public_bytes(serialization.Encoding.PEM))
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    paths.key.write_bytes(key.private_bytes(*encoding))
    return paths


def _certificate(
    name: str, key: Any, issuer: str, issuer_key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )
    known = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return builder.add_extension(known, critical=False).sign(issuer_key, hashes.SHA256())


# --- the server ---------------------------------------------------------------------------------------------------


@dataclass
class Request:
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Receiver:
    """A server at `url`. `answers` says by path what it does; by default it answers 204."""

    url: str
    port: int
    requests: list[Request] = field(default_factory=list)
    answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)
    sent: int = 0
    left: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


def status(code: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def drip(receiver: Receiver, what: bytes, every: float) -> Callable[[BaseHTTPRequestHandler], None]:
    """Send byte by byte, until the other side has had enough."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        try:
            while True:
                for i in range(len(what)):
                    handler.wfile.write(what[i : i + 1])
                    time.sleep(every)
        except OSError:
            receiver.left.set()

    return answer


def flood(receiver: Receiver) -> Callable[[BaseHTTPRequestHandler], None]:
    """A body of one gigabyte."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(GIGABYTE))
        handler.end_headers()
        try:
            while receiver.sent < GIGABYTE:
                handler.wfile.write(b"x" * 65536)
                receiver.sent += 65536
        except OSError:
            receiver.left.set()

    return answer


@contextmanager
def receiving(certificates: Certificates | None, address: str = "127.0.0.1", host: str = HOST) -> Iterator[Receiver]:
    """A server on this machine; without certificates it speaks plain HTTP."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.requests.append(Request(self.path, dict(self.headers), body))
            receiver.answers.get(self.path, status(204))(self)
            self.close_connection = True

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None: ...

    server = Server((address, 0), Handler)
    port = server.server_address[1]
    receiver = Receiver(f"http{'s' if certificates else ''}://{host}:{port}", port)
    if certificates:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.chain, certificates.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# --- the network --------------------------------------------------------------------------------------------------


@dataclass
class Names:
    """What names resolve to; a list of lists answers one after the other, the last one for ever."""

    answers: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    def __call__(self, host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        turn = min(self.asked.count(host), len(self.answers[host]) - 1)
        self.asked.append(host)
        return [_row(address, port) for address in self.answers[host][turn]]


def _row(address: str, port: int) -> tuple[int, int, int, str, tuple[Any, ...]]:
    if ipaddress.ip_address(address).version == 4:
        return AF_INET, SOCK_STREAM, 6, "", (address, port)
    return AF_INET6, SOCK_STREAM, 6, "", (address, port, 0, 0)


def open_network(
    monkeypatch: pytest.MonkeyPatch, ca: Path, names: Mapping[str, list[list[str]]], *public: str
) -> Names:
    """Let webhooks take the addresses `public` for public, look names up here and trust the CA of the tests."""
    policy = Policy(
        allowed_schemes=frozenset({"https"}),
        allowed_ports=frozenset(range(1, 65536)),
        allowed_networks=tuple(ipaddress.ip_network(address) for address in public),
    )
    resolver = Names(dict(names))
    monkeypatch.setattr(posting, "PUBLIC", Network(policy, resolver, ssl.create_default_context(cafile=str(ca))))
    return resolver
