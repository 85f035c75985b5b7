"""Ports that are reserved, taken and free."""

from __future__ import annotations

import socket

import pytest

from flowapp.embedded.address import format_bind, parse_bind
from flowapp.embedded.ports import LOOPBACK, free_port, is_free, reserve_port
from ir.errors import FlowError


def test_a_reserved_port_is_not_given_to_another_process() -> None:
    wanted = free_port()
    with reserve_port(wanted) as first, reserve_port(wanted) as second:
        assert first.getsockname()[1] == wanted
        assert second.getsockname()[1] != wanted
        assert not is_free(wanted)


def test_a_port_can_be_listened_on_again_at_once_after_connections_to_it() -> None:
    wanted = free_port()
    with reserve_port(wanted) as server, socket.create_connection((LOOPBACK, wanted)):
        server.accept()[0].close()
    with reserve_port(wanted) as again:
        assert again.getsockname()[1] == wanted
        again.listen()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(OSError, match="assign"):
        reserve_port(8000, "192.0.2.1")


@pytest.mark.parametrize("bind", ["127.0.0.1:8000", "[::1]:9", "example.org:65535"])
def test_an_address_is_read_and_written_alike(bind: str) -> None:
    assert format_bind(*parse_bind(bind)) == bind


@pytest.mark.parametrize("bind", ["8000", ":8000", "host:", "host:0", "host:65536", "host:http"])
def test_what_is_no_address_is_refused(bind: str) -> None:
    with pytest.raises(FlowError, match="FLOW_BIND") as caught:
        parse_bind(bind)
    assert repr(bind) in caught.value.message
