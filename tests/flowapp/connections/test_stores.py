"""Connections to stores of files: pages, API and command, without a server."""

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
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, replace_password, resolve
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import resolve_store
from tests.connectors.storages import OBJECT_STORES, object_storage

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t/+with spaces"
SETTINGS = {"bucket": "landing", "endpoint": "https://minio.example.com:9000", "accessKey": "AKIA1", "pathStyle": True}
FIELDS = StoreFields("s3", SETTINGS, {"secretKey": SECRET})


def refused(fields: StoreFields, workspace: Workspace) -> tuple[str, str]:
    with pytest.raises(InvalidConnection) as refusal:
        add_connection(workspace, "landing", fields)
    return refusal.value.code, refusal.value.message


def test_the_secret_is_encrypted_and_the_rest_is_not(alices: Workspace) -> None:
    stored = add_connection(alices, "landing", FIELDS)
    assert SECRET not in json.dumps([stored.secret, stored.settings])
    assert (stored.host, stored.port, stored.database, stored.user) == ("minio.example.com", 9000, "landing", "AKIA1")
    found = resolve_store(stored)
    assert found.secrets == {"secretKey": SECRET}
    assert found.settings == {**SETTINGS, "region": "us-east-1"}
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("settings", "secrets", "message"),
    [
        ({}, {"secretKey": "x"}, "The field bucket is missing."),
        (SETTINGS, {}, "The field secretKey is missing."),
        ({**SETTINGS, "secretKey": "x"}, {"secretKey": "x"}, "The field secretKey is a secret"),
        ({**SETTINGS, "size": 3}, {"secretKey": "x"}, "The field size is not a field"),
        ({**SETTINGS, "endpoint": "https://user:pw@host"}, {"secretKey": "x"}, "The field endpoint has a form"),
        ({**SETTINGS, "bucket": "a/b"}, {"secretKey": "x"}, "The field bucket has a form"),
        (SETTINGS, {"secretKey": "x", "password": "y"}, "The field password is not a secret"),
    ],
)
def test_invalid_fields_are_refused(
    alices: Workspace, settings: dict[str, Any], secrets: dict[str, str], message: str
) -> None:
    code, text = refused(StoreFields("s3", settings, secrets), alices)
    assert code == "connection.field_invalid"
    assert message in text
    assert not Connection.objects.exists()


AZURE = {"account": "acmelanding", "container": "orders"}
KEY, TOKEN = {"accountKey": "c2VjcmV0"}, {"sasToken": "?sv=2022-11-02&sig=abc"}


@pytest.mark.parametrize(
    ("kind", "settings", "secrets", "message"),
    [
        ("azure_blob", AZURE, {}, "The field accountKey is missing (or sasToken)."),
        ("azure_blob", AZURE, {**KEY, **TOKEN}, "The field sasToken cannot be combined with accountKey."),
        ("azure_blob", AZURE, {"accountKey": "s3cr3t!"}, "The field accountKey is not a key of a storage account"),
        ("azure_blob", AZURE, {"sasToken": "s3cr3t"}, "The field sasToken is not a SAS token"),
        ("azure_blob", {**AZURE, "endpoint": "http://h/a/b"}, KEY, "The field endpoint has a form"),
        ("gcs", {"bucket": "landing"}, {"serviceAccount": "s3cr3t"}, "is not the JSON file of a key"),
        ("gcs", {"bucket": "landing"}, {"serviceAccount": '{"type": "external_account"}'}, "not a key of a service"),
        ("gcs", {"bucket": "landing"}, {"serviceAccount": '{"type": "service_account"}'}, "lacks client_email"),
    ],
)
def test_invalid_fields_of_other_stores_are_refused(
    alices: Workspace, kind: str, settings: dict[str, Any], secrets: dict[str, str], message: str
) -> None:
    code, text = refused(StoreFields(kind, settings, secrets), alices)
    assert code == "connection.field_invalid"
    assert message in text
    assert "s3cr3t" not in text


@pytest.mark.parametrize("secrets", [KEY, TOKEN], ids=["key", "token"])
def test_a_container_has_a_key_or_a_token(alices: Workspace, secrets: dict[str, str]) -> None:
    stored = add_connection(alices, "landing", StoreFields("azure_blob", AZURE, secrets))
    assert (stored.host, stored.port, stored.database) == ("acmelanding.blob.core.windows.net", 443, "orders")
    assert resolve_store(stored).secrets == secrets


def test_a_store_is_never_used_as_a_database(alices: Workspace) -> None:
    with pytest.raises(InvalidConnection, match="needs the kind postgres"):
        resolve(add_connection(alices, "landing", FIELDS))


def test_a_new_secret_replaces_the_old_one(alices: Workspace) -> None:
    add_connection(alices, "landing", FIELDS)
    assert resolve_store(replace_password(alices, "landing", "new")).secrets == {"secretKey": "new"}


def test_the_pages_add_and_show_a_store_without_its_secret(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    alice, at = as_("admin"), f"/w/{workspace.slug}/connections/"
    assert "S3 bucket" in alice.get(f"{at}add/").content.decode()
    given = {"name": "landing", **SETTINGS, "secretKey": SECRET}
    refusal = alice.post(f"{at}add/store/s3/", {**given, "endpoint": "nowhere"})
    assert refusal.status_code == 422
    assert SECRET not in refusal.content.decode()
    added = alice.post(f"{at}add/store/s3/", given, follow=True).content.decode()
    assert "minio.example.com:9000" in added
    assert SECRET not in added
    assert alice.get(f"{at}add/store/floppy/").status_code == 404


def test_the_api_adds_a_store(workspace: Workspace, as_: Callable[[str], Client]) -> None:
    body = {"name": "landing", "kind": "s3", "settings": SETTINGS, "secrets": {"secretKey": SECRET}}
    here = {"X-Flow-Workspace": workspace.slug}
    response = as_("admin").post("/api/connections/", body, content_type="application/json", headers=here)
    assert response.status_code == 201, response.content
    assert response.json()["settings"]["bucket"] == "landing"
    assert SECRET not in response.content.decode()


def test_the_command_adds_a_store(alices: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_WORKSPACE", alices.slug)
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", SECRET)
    given = ["bucket=landing", "accessKey=AKIA1", "pathStyle=true"]
    args = Namespace(name="landing", kind="s3", url=None, set=given, secret=None, password_stdin=False)
    assert SECRET not in json.dumps(add_by_command(args).document, default=str)
    assert resolve_store(Connection.objects.get()).secrets == {"secretKey": SECRET}
    args.set = ["bukket=x"]
    with pytest.raises(InvalidConnection, match="Known: bucket"):
        add_by_command(args)


def test_a_database_has_no_page_of_files(connected: Workspace, as_: Callable[[str], Client]) -> None:
    at = f"/w/{connected.slug}/connections/named/warehouse/"
    assert as_("editor").get(f"{at}files/")["Location"] == at


@pytest.mark.slow
@pytest.mark.parametrize("kind", OBJECT_STORES)
def test_editors_browse_the_files_of_a_store(workspace: Workspace, as_: Callable[[str], Client], kind: str) -> None:
    storage = object_storage(kind)
    for name in ("a.csv", "sub/b.csv"):
        storage.write(name, b"id,name\n1,<img src=x onerror=alert(1)>\n")
    settings = storage.connection.settings
    add_connection(workspace, "landing", StoreFields(kind, settings, storage.connection.secrets))
    at = f"/w/{workspace.slug}/connections/named/landing/files/"
    assert as_("viewer").get(at).status_code == 403
    shown = as_("editor").get(at, {"folder": storage.path}).content.decode()
    assert "a.csv" in shown
    assert "sub/" in shown
    head = as_("editor").get(at, {"folder": storage.path, "file": f"{storage.path}a.csv"}).content.decode()
    assert "id,name" in head
    assert "<img src=x" not in head
    gone = as_("editor").get(at, {"folder": storage.path, "file": f"{storage.path}z.csv"}).content.decode()
    assert "does not exist" in gone
    assert "There are no files" in as_("editor").get(at, {"folder": "nowhere"}).content.decode()
    (wrong,) = storage.server.connection("nobody").secrets.values()
    replace_password(workspace, "landing", wrong)
    refused = as_("editor").get(at).content.decode()
    assert "source.credentials_refused" in refused or "source.permission_denied" in refused
