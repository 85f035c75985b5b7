"""The process that owns an embedded service."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowapp.embedded.home import Home
from flowapp.embedded.ports import free_port, reserve_port
from flowapp.embedded.service_supervisor import ServiceSupervisor


@pytest.fixture
def home() -> Iterator[Home]:
    """A short path outside pytest's folders: root runs the servers as another user, who must be able to access it."""
    with tempfile.TemporaryDirectory(prefix="flow-home-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o711)
        home = Home(Path(folder))
        home.logs.mkdir()
        yield home


def test_another_port_is_chosen_if_the_chosen_one_is_taken_meanwhile(home: Home, monkeypatch) -> None:
    files = home.service("redis")
    files.port.write_text(str(free_port()))
    supervisor = ServiceSupervisor(home, "redis")
    start, rivals = supervisor._server.start, list[socket.socket]()

    def start_after_a_rival(port: int) -> None:
        if not rivals:
            rivals.append(reserve_port(port))
        start(port)

    monkeypatch.setattr(supervisor._server, "start", start_after_a_rival)
    try:
        supervisor.start()
        [taken] = [rival.getsockname()[1] for rival in rivals]
        state = json.loads(files.state.read_text())
        assert (state["port"] != taken, files.port.read_text()) == (True, str(state["port"]))
    finally:
        supervisor.stop()
        for rival in rivals:
            rival.close()
