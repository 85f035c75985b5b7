"""Whose address a request has, over a real server."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
import uvicorn
from django.core.exceptions import ImproperlyConfigured

from flowapp.embedded.ports import LOOPBACK, free_port
from flowapp.environment import read_networks
from flowapp.web.client_address import ClientAddress

FORGED, REAL = "198.51.100.7", "192.0.2.1"


async def echo(scope, receive, send) -> None:
    """Answers with the address that an application sees."""
    body = (scope["client"][0] if scope["client"] else "unknown").encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(trusted: list[str], *, server_reads_headers: bool = False) -> Iterator[Callable[..., str]]:
    port = free_port()
    app = ClientAddress(echo, trusted)
    config = uvicorn.Config(app, port=port, lifespan="off", log_level="critical", proxy_headers=server_reads_headers)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        yield lambda *forwarded: ask(port, *forwarded)
    finally:
        server.should_exit = True
        thread.join()


def ask(port: int, *forwarded: str) -> str:
    with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=10)) as connection:
        connection.putrequest("GET", "/")
        for value in forwarded:
            connection.putheader("X-Forwarded-For", value)
        connection.endheaders()
        return connection.getresponse().read().decode()


def test_nobody_is_believed_by_default() -> None:
    with serving([]) as seen:
        assert seen() == LOOPBACK
        assert seen(FORGED) == LOOPBACK
        assert seen(FORGED, REAL) == LOOPBACK


def test_a_header_that_the_server_has_followed_already_makes_the_address_unknown() -> None:
    """uvicorn trusts every sender on the loopback address by default."""
    with serving([], server_reads_headers=True) as seen:
        assert seen() == LOOPBACK
        assert {seen(FORGED), seen(f"{FORGED}:8080"), seen(f"[{FORGED}]:8080"), seen("anything")} == {"unknown"}


def test_an_untrusted_proxy_is_logged_once(caplog) -> None:
    with serving([]) as seen:
        assert seen(REAL) == seen(REAL) == LOOPBACK

    reported = [record.message for record in caplog.records if "FLOW_TRUSTED_PROXIES" in record.message]
    assert len(reported) == 1
    assert LOOPBACK in reported[0]


def test_the_client_address_comes_from_a_trusted_proxy() -> None:
    with serving([LOOPBACK]) as seen:
        assert seen(REAL) == REAL
        assert seen() == LOOPBACK


def test_what_the_sender_wrote_before_the_proxy_is_not_believed() -> None:
    with serving([LOOPBACK]) as seen:
        assert seen(f"{FORGED}, {REAL}") == seen(FORGED, REAL) == REAL


def test_a_chain_of_trusted_proxies_is_followed_to_the_first_that_is_not() -> None:
    with serving(["127.0.0.0/8", "10.0.0.0/8"]) as seen:
        assert seen(f"{FORGED}, {REAL}, 10.1.2.3") == REAL


@pytest.mark.parametrize("value", ["*", "proxy.example.com", "10.0.0.1/8", "10.0.0.0/33"])
def test_a_proxy_that_is_no_address_is_refused(monkeypatch, value) -> None:
    monkeypatch.setenv("FLOW_TRUSTED_PROXIES", f"127.0.0.1, {value}")
    with pytest.raises(ImproperlyConfigured, match="FLOW_TRUSTED_PROXIES"):
        read_networks("FLOW_TRUSTED_PROXIES")
