"""Storing connections: secrets encrypted, names unique, the control database refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.fernet import Fernet

from flowapp.accounts.services import ensure_workspace
from flowapp.cli import main
from flowapp.connections.embedded import follow_server
from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.rotation import rotate_secrets
from flowapp.connections.secrets import SecretUnreadable
from flowapp.connections.selectors import UnknownConnection, get_connection, list_connections
from flowapp.connections.serializers import ConnectionSerializer
from flowapp.connections.services import add_connection, remove_connection, resolve, resolve_connections
from flowapp.runs.models import Trigger
from flowapp.runs.services import cancel_run, queue_run
from ir.errors import FlowError
from ir.pipeline import Pipeline

PASSWORD = "P@ss:w/rd%?"
FIELDS = ConnectionFields("postgres", "db.example", 5432, "sales", "etl", PASSWORD)


def loading_into(name: str) -> Pipeline:
    source = {"id": "in", "kind": "source", "connector": "local_fs", "config": {}}
    target = {
        "id": "out",
        "kind": "target",
        "inputs": ["in"],
        "connector": "postgres",
        "connection": name,
        "schema": "public",
        "table": "t",
        "loadMode": "append",
    }
    return Pipeline.model_validate({"kind": "pipeline", "version": "1.0", "id": "p", "nodes": [source, target]})


def test_a_stored_password_comes_back_for_a_run_alone(alices):
    add_connection(alices, "warehouse", FIELDS)

    resolved = resolve_connections(alices, loading_into("warehouse"))["warehouse"]
    assert (resolved.host, resolved.port, resolved.database, resolved.user, resolved.password, resolved.sslmode) == (
        "db.example",
        5432,
        "sales",
        "etl",
        PASSWORD,
        "prefer",
    )


def test_the_database_holds_no_password_in_the_clear(alices):
    add_connection(alices, "warehouse", FIELDS)

    [row] = Connection.objects.values()
    assert "P@ss" not in str(row)


def test_nothing_that_is_shown_holds_the_password_or_its_cipher(alices):
    stored = add_connection(alices, "warehouse", FIELDS)

    shown = f"{stored!r} {stored} {ConnectionSerializer(stored).data} {resolve(stored)!r}"
    assert "P@ss" not in shown
    assert stored.secret not in shown


def test_a_name_that_no_connection_has_lists_those_there_are(alices):
    add_connection(alices, "warehouse", FIELDS)

    with pytest.raises(UnknownConnection) as caught:
        resolve_connections(alices, loading_into("warhouse"))
    assert (caught.value.code, "Connections: warehouse." in caught.value.hint) == ("connection.unknown", True)


def test_another_workspaces_connection_is_unknown_here(alices):
    add_connection(ensure_workspace("bobs"), "warehouse", FIELDS)

    with pytest.raises(UnknownConnection):
        resolve_connections(alices, loading_into("warehouse"))
    with pytest.raises(UnknownConnection):
        remove_connection(alices, "warehouse")


def test_a_connection_stays_while_a_run_needs_it(connected, pipeline):
    run = queue_run(pipeline, Trigger.MANUAL, send=False)

    with pytest.raises(FlowError, match="run 1 of numbers") as refused:
        remove_connection(connected, "warehouse")
    assert refused.value.code == "connection.busy"
    cancel_run(run)
    remove_connection(connected, "warehouse")
    assert list_connections(connected) == []


def test_a_taken_name_is_refused_and_the_first_connection_stays(alices):
    add_connection(alices, "warehouse", FIELDS)

    with pytest.raises(InvalidConnection) as caught:
        add_connection(alices, "warehouse", replace(FIELDS, host="other.example"))
    assert caught.value.code == "connection.name_taken"
    assert list_connections(alices)[0].host == "db.example"


@pytest.mark.parametrize("name", ["", "Warehouse", "1st", "a b", "x" * 64, "ok\n"])
def test_a_name_that_no_document_could_use_is_refused(alices, name):
    with pytest.raises(InvalidConnection) as caught:
        add_connection(alices, name, FIELDS)

    assert caught.value.code == "connection.name_invalid"


def test_after_a_key_is_put_in_front_old_secrets_open_and_new_ones_use_it(alices, settings):
    old, new = settings.ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    add_connection(alices, "old", FIELDS)
    settings.ENCRYPTION_KEYS = [new, old]
    add_connection(alices, "new", FIELDS)

    assert [resolve(c).password for c in list_connections(alices)] == [PASSWORD, PASSWORD]
    settings.ENCRYPTION_KEYS = [new]
    assert resolve(get_connection(alices, "new")).password == PASSWORD
    with pytest.raises(SecretUnreadable) as caught:
        resolve(get_connection(alices, "old"))
    assert caught.value.code == "secrets.unreadable"


def test_after_rotation_the_old_key_can_go(alices, settings):
    old, new = settings.ENCRYPTION_KEYS[0], Fernet.generate_key().decode()
    add_connection(alices, "warehouse", FIELDS)
    settings.ENCRYPTION_KEYS = [new, old]

    assert main(["secrets", "rotate", "--json"]) == 0
    settings.ENCRYPTION_KEYS = [new]
    assert resolve(get_connection(alices, "warehouse")).password == PASSWORD


def test_a_secret_that_no_key_opens_is_named_when_keys_are_rotated(alices, settings):
    add_connection(alices, "warehouse", FIELDS)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]

    with pytest.raises(SecretUnreadable, match="connection warehouse"):
        rotate_secrets()


def test_an_invalid_key_is_reported_without_being_shown(alices, settings):
    settings.ENCRYPTION_KEYS = ["not-a-key-at-all"]

    with pytest.raises(SecretUnreadable) as caught:
        add_connection(alices, "warehouse", FIELDS)
    assert "not-a-key" not in f"{caught.value} {caught.value.hint}"


def test_connections_to_the_server_that_came_along_follow_its_port(alices):
    own = replace(FIELDS, host="127.0.0.1", database="warehouse_alices", user="warehouse_alices")
    add_connection(alices, "warehouse", own)
    add_connection(alices, "other", replace(own, user="reader"))
    add_connection(alices, "elsewhere", replace(own, host="db.example"))
    add_connection(ensure_workspace("others"), "warehouse", own)
    follow_server(7777)

    assert {c.name: c.port for c in list_connections(alices)} == {"elsewhere": 5432, "other": 5432, "warehouse": 7777}
    assert list_connections(ensure_workspace("others"))[0].port == 5432
