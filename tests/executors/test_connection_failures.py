"""The texts of connection errors, with real sockets where possible."""

from __future__ import annotations

import errno
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from executors.connection_failures import describe_connection_failure
from executors.hooks.posting import host_and_port
from tests.receivers import make_certificates, receiving


def trouble_of(action: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - every error needs a text
        action()
    return caught.value


def connect_tls(port: int, name: str, ca: Path | None = None) -> None:
    context = ssl.create_default_context(cafile=str(ca) if ca else None)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        context.wrap_socket(plain, server_hostname=name).close()


@contextmanager
def hanging_up() -> Iterator[int]:
    """Start a server that accepts one connection and closes it without an answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        yield server.getsockname()[1]
        thread.join(5)


def reported(trouble: BaseException) -> tuple[str, str]:
    why = describe_connection_failure(trouble, "mx.example:25", ended=(smtplib.SMTPException,))
    assert why.hint
    assert type(trouble).__name__ not in why.message + why.hint
    return why.code, why.message


def test_nobody_listens_is_reported_through_the_errors_of_a_client():
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        refused = trouble_of(lambda: socket.create_connection(nobody.getsockname(), timeout=5))
    outer = RuntimeError("https://mx.example/T0KEN")
    outer.__cause__ = refused
    assert reported(outer) == ("nothing_listens", "Connection refused by mx.example:25.")


def test_certificates_are_reported_by_what_is_wrong_with_them(tmp_path: Path):
    certificates = make_certificates(tmp_path, "hooks.example")
    with receiving(certificates) as server:
        unknown = trouble_of(lambda: connect_tls(server.port, "hooks.example"))
        other = trouble_of(lambda: connect_tls(server.port, "mx.example", certificates.ca))
    assert reported(unknown) == (
        "certificate",
        "The certificate of mx.example:25 is not trusted: it is not signed by a known authority.",
    )
    assert reported(other)[1].endswith("not trusted: it is for another name.")


@pytest.mark.parametrize(("number", "words"), [(10, "it has expired."), (9, "it is not valid yet.")])
def test_an_expired_certificate_is_reported_as_expired(number: int, words: str):
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code = number
    assert reported(error)[1].endswith(words)


def test_a_server_without_encryption_is_reported():
    with receiving(None) as server:
        error = trouble_of(lambda: connect_tls(server.port, "hooks.example"))
    assert reported(error) == ("no_tls", "mx.example:25 answers without encryption.")


def test_a_connection_that_ends_early_is_reported():
    with hanging_up() as port:
        assert reported(trouble_of(lambda: smtplib.SMTP("127.0.0.1", port, timeout=5)))[0] == "broke_off"


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no"), "name_unknown"),
        (socket.gaierror(socket.EAI_AGAIN, "no"), "names_silent"),
        (TimeoutError("timed out"), "timeout"),
        (OSError(errno.ENETUNREACH, "no"), "no_route"),
        (ConnectionResetError(), "broke_off"),
        (ssl.SSLError("handshake failure"), "tls"),
        (OSError("anything"), "unreachable"),
    ],
)
def test_each_trouble_has_a_code_of_its_own(trouble: BaseException, code: str):
    assert reported(trouble)[0] == code


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://hooks.example/T0KEN?k=S3CRET", "hooks.example:443"),
        ("https://u:p@hooks.example:8443/", "hooks.example:8443"),
        ("https://[2001:db8::1]/x", "[2001:db8::1]:443"),
        ("https://[::1/x", "the receiver"),
    ],
)
def test_nothing_of_an_address_is_reported_but_host_and_port(url: str, place: str):
    assert host_and_port(url) == place
