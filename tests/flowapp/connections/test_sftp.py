"""Connections to SFTP servers: a person confirms the host key on the page, through the API or with a command."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from flowapp.accounts.models import Workspace
from flowapp.connections.cli.connection import add_connection as add_by_command
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.host_keys import confirm_host_key
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, probe_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import resolve_store
from tests.connectors.sftp.server import PASSWORD, shared_server
from tests.connectors.sftp.storage import SftpStorage

pytestmark = pytest.mark.django_db


def fields(**settings: Any) -> StoreFields:
    known = shared_server().connection(hostKey="", **settings)
    return StoreFields("sftp", known.settings, known.secrets)


@pytest.mark.parametrize(
    ("settings", "secrets", "message"),
    [
        ({}, {"password": "x"}, "The field host is missing."),
        ({"host": "h", "user": "u"}, {}, "The field password is missing."),
        ({"host": "h", "user": "u"}, {"passphrase": "x"}, "The field password is missing."),
        ({"host": "h/x", "user": "u"}, {"password": "x"}, "The field host has a form"),
        ({"host": "h", "user": "u", "hostKey": "ssh-dss AAAA"}, {"password": "x"}, "The field hostKey has a form"),
    ],
)
def test_invalid_fields_are_refused(alices: Workspace, settings: Any, secrets: Any, message: str) -> None:
    with pytest.raises(InvalidConnection) as refusal:
        add_connection(alices, "partner", StoreFields("sftp", settings, secrets))
    assert message in refusal.value.message


def test_a_person_confirms_the_key_that_the_test_shows(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    server = shared_server()
    alice, at = as_("admin"), f"/w/{workspace.slug}/connections/"
    settings = {**fields().settings, "name": "partner", "password": PASSWORD}
    added = alice.post(f"{at}add/store/sftp/", settings, follow=True)
    assert added.status_code == 200
    page = f"{at}named/partner/"
    before = server.tried
    tested = alice.post(f"{page}test/", follow=True).content.decode()
    assert "source.host_key_unconfirmed" in tested
    assert server.fingerprint.replace("+", "&#x2B;") in tested or server.fingerprint in tested
    assert server.tried == before
    assert as_("editor").post(f"{page}host-key/", {"fingerprint": server.fingerprint}).status_code == 403
    wrong = alice.post(f"{page}host-key/", {"fingerprint": "SHA256:other"}, follow=True).content.decode()
    assert "has not shown a host key" in wrong
    alice.post(f"{page}host-key/", {"fingerprint": server.fingerprint})
    assert Connection.objects.get().settings["fields"]["hostKey"] == server.public_key
    works = alice.post(f"{page}test/", follow=True).content.decode()
    assert "May archive files" in works
    assert PASSWORD not in works


def test_the_api_confirms_a_key_that_a_test_has_shown(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    add_connection(workspace, "partner", fields())
    alice, here = as_("admin"), {"X-Flow-Workspace": workspace.slug}
    body = {"fingerprint": shared_server().fingerprint}

    def post(route: str, body: object = None) -> Any:
        at = f"/api/connections/partner/{route}/"
        return alice.post(at, json.dumps(body or {}), content_type="application/json", headers=here)

    assert post("host-key", body).json()["code"] == "connection.host_key_differs"
    last = post("test").json()["lastTest"]
    assert (last["hostKeyFingerprint"], last["hostKeyConfirmed"]) == (body["fingerprint"], False)
    assert post("host-key", body).json()["settings"]["hostKey"] == shared_server().public_key
    assert post("test").json()["lastTest"]["ok"] is True


def test_a_key_that_has_changed_is_shown_and_not_trusted(alices: Workspace) -> None:
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"
    given = fields()
    add_connection(alices, "partner", StoreFields("sftp", {**given.settings, "hostKey": other}, given.secrets))
    last = probe_connection(alices, "partner").last_test
    assert last
    assert last["error"]["code"] == "source.host_key_changed"
    assert last["hostKeyFingerprint"] == shared_server().fingerprint
    confirm_host_key(alices, "partner", last["hostKeyFingerprint"])
    assert (probe_connection(alices, "partner").last_test or {})["ok"] is True


def test_another_kind_of_connection_has_no_host_key(connected: Workspace) -> None:
    with pytest.raises(InvalidConnection, match=r"^connection\.wrong_kind"):
        confirm_host_key(connected, "warehouse", "SHA256:x")


def test_the_command_takes_a_private_key_and_its_passphrase(alices: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_WORKSPACE", alices.slug)
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", "-----BEGIN\nkey\n-----END")
    monkeypatch.setenv("FLOW_CONNECTION_PASSPHRASE", "words")
    given = ["host=sftp.example.com", "port=2222", "user=flow"]
    args = Namespace(name="partner", kind="sftp", url=None, set=given, secret="privateKey", password_stdin=False)
    shown = json.dumps(add_by_command(args).document, default=str)
    assert "words" not in shown
    found = resolve_store(Connection.objects.get())
    assert found.secrets == {"privateKey": "-----BEGIN\nkey\n-----END", "passphrase": "words"}
    assert (found.settings["port"], found.settings["hostKey"]) == (2222, "")


@pytest.mark.slow
def test_editors_browse_files_with_any_name(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    storage = SftpStorage(shared_server())
    storage.make()
    storage.write("a b & ü.csv", b"id,name\n1,<img src=x onerror=alert(1)>\n")
    (storage.folder / "bad\udcff.csv").write_bytes(b"x")
    given = storage.connection
    add_connection(workspace, "partner", StoreFields("sftp", given.settings, given.secrets))
    at = f"/w/{workspace.slug}/connections/named/partner/files/"
    listed = as_("editor").get(at, {"folder": storage.path}).content.decode()
    assert "bad?.csv" in listed
    head = as_("editor").get(at, {"folder": storage.path, "file": f"{storage.path}a b & ü.csv"}).content.decode()
    assert "id,name" in head
    assert "<img src=x" not in head
    limited = {**given.settings, "folder": storage.path}
    add_connection(workspace, "limited", StoreFields("sftp", limited, given.secrets))
    outside = as_("editor").get(at.replace("partner", "limited"), {"folder": ".."}).content.decode()
    assert "source.path_outside" in outside
