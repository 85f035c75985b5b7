"""The control database and its role are refused, by address and by the server that responds."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connection as control

from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.services import (
    add_connection,
    probe_connection,
    refuse_control_databases,
    resolve_connections,
)
from ir import parsePipelineIR


@pytest.fixture
def own(alices) -> ConnectionFields:
    """The control database as its own role."""
    if control.vendor != "postgresql":
        pytest.skip("The control database is SQLite, which no connection can name.")
    own = control.settings_dict
    return ConnectionFields("postgres", own["HOST"], int(own["PORT"]), own["NAME"], own["USER"], own["PASSWORD"])


@pytest.mark.parametrize(
    "change", [{}, {"host": "LOCALHOST"}, {"host": "::1"}, {"host": "127.1"}, {"user": "x"}, {"database": "x"}]
)
def test_the_control_database_or_role_is_refused_by_address(alices, own, change):
    with pytest.raises(InvalidConnection) as caught:
        add_connection(alices, "sly", replace(own, **change))

    assert caught.value.code == "connection.is_control"


def test_another_database_of_that_server_as_another_role_is_fine(alices, awkward):
    assert add_connection(alices, "fine", awkward).name == "fine"


@pytest.fixture
def tunnel(own) -> Iterator[int]:
    """A port of this machine that leads to the control database's server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_carry, args=(listener, (own.host, own.port)), daemon=True).start()
        yield listener.getsockname()[1]


def _carry(listener: socket.socket, server: tuple[str, int]) -> None:
    """Pass on one connection until either side ends it."""
    client, _ = listener.accept()
    with client, socket.create_connection(server) as upstream:
        ways = {client: upstream, upstream: client}
        while True:
            for ready in select.select(list(ways), [], [])[0]:
                if not (data := ready.recv(65536)):
                    return
                ways[ready].sendall(data)


@pytest.mark.parametrize("change", [{}, {"database": "postgres"}])
def test_the_control_database_or_role_behind_another_port_is_found_by_connecting(alices, own, tunnel, change):
    add_connection(alices, "sly", replace(own, port=tunnel, **change))

    assert probe_connection(alices, "sly").last_test["error"]["code"] == "connection.is_control"


def test_the_control_database_as_another_role_is_found_by_connecting(alices, own, awkward, tunnel):
    add_connection(alices, "sly", replace(awkward, port=tunnel, database=own.database))

    assert probe_connection(alices, "sly").last_test["error"]["code"] == "connection.is_control"


@pytest.mark.parametrize("sly", ["source", "target"])
def test_what_turns_out_to_be_the_control_database_is_neither_read_nor_loaded(alices, own, awkward, tunnel, sly):
    add_connection(alices, "sly", replace(own, port=tunnel))
    add_connection(alices, "fine", awkward)
    names = {"source": "fine", "target": "fine", sly: "sly"}
    connections = resolve_connections(alices, parsePipelineIR(_copies(**names)).pipeline)
    with pytest.raises(InvalidConnection) as caught:
        refuse_control_databases(connections.values())

    assert caught.value.code == "connection.is_control"


def _copies(source: str, target: str) -> dict[str, object]:
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": "sly",
        "nodes": [
            {
                "id": "audit",
                "kind": "source",
                "connector": "postgres",
                "connection": source,
                "config": {"table": {"schema": "public", "name": "accounts_user"}},
            },
            {
                "id": "load",
                "kind": "target",
                "inputs": ["audit"],
                "connector": "postgres",
                "connection": target,
                "schema": "public",
                "table": "t",
                "loadMode": "append",
            },
        ],
    }
