"""Webhook connections: stored encrypted, shown without secrets, tested, and used only by hooks."""

from __future__ import annotations

import json

import pytest

from executors.hooks import posting
from flowapp.connections.cli.connection import add_connection as add_by_command
from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.serializers import ConnectionSerializer
from flowapp.connections.services import (
    NOTHING_ALLOWED,
    add_connection,
    probe_connection,
    replace_password,
    resolve_connections,
    resolve_webhooks,
)
from flowapp.connections.usage import pipelines_using
from flowapp.connections.webhook_fields import WebhookFields
from flowapp.connections.webhooks import resolve_webhook
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.services import save_version
from flowapp.runs.janitor import sweep_staging
from tests.flowapp.conftest import make_document
from tests.receivers import HOST, make_certificates, open_network, receiving, status

pytestmark = pytest.mark.django_db
FIELDS = WebhookFields("https://hooks.example.com/T0KEN", {"Authorization": "Bearer H3ADER"}, "S1GNING")
SECRETS = ("T0KEN", "H3ADER", "S1GNING")


def with_hook(schema: str, **hook: str) -> str:
    document = make_document(schema=schema)
    document["nodes"][1]["postHook"] = {"type": "webhook", **hook}
    return json.dumps(document)


@pytest.fixture
def pager(connected) -> Connection:
    return add_connection(connected, "pager", FIELDS)


def test_all_of_it_comes_back_for_a_run_alone(pager):
    resolved = resolve_webhook(pager)
    assert (resolved.url, resolved.headers, resolved.secret) == (FIELDS.url, FIELDS.headers, FIELDS.secret)


def test_nothing_that_is_stored_or_shown_holds_a_secret(pager):
    [row] = Connection.objects.filter(name="pager").values()
    shown = f"{row} {pager!r} {ConnectionSerializer(pager).data} {FIELDS!r} {resolve_webhook(pager)!r}"
    assert not [secret for secret in SECRETS if secret in shown]
    document = ConnectionSerializer(pager).data
    assert (document["kind"], document["host"], document["port"]) == ("webhook", "hooks.example.com", 443)
    assert (document["headers"], document["signed"]) == (["Authorization"], True)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://u:p@example.com/",
        "https://example.com/?key=1",
        "https://[::1]/",
        "nonsense",
        "",
    ],
)
def test_an_address_that_no_hook_could_post_to_is_refused(connected, url):
    with pytest.raises(InvalidConnection) as refused:
        add_connection(connected, "pager", WebhookFields(url))
    assert refused.value.code == "connection.url_invalid"
    assert url not in refused.value.message or not url


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "a"},
        {"content-length": "1"},
        {"Webhook-Signature": "v1"},
        {"a b": "c"},
        {"X": ""},
        {"X": "a\r\nY: b"},
        {"X\r\nY": "a"},
        {"X": "ä"},
    ],
)
def test_headers_that_would_change_the_request_are_refused(connected, headers):
    with pytest.raises(InvalidConnection) as refused:
        add_connection(connected, "pager", WebhookFields("https://example.com/", headers))
    assert refused.value.code == "connection.headers_invalid"


def test_the_signing_secret_is_replaced_and_the_rest_stays(pager, connected):
    replace_password(connected, "pager", "an0ther")
    resolved = resolve_webhook(Connection.objects.get(name="pager"))
    assert (resolved.url, resolved.secret) == (FIELDS.url, "an0ther")


def test_a_hook_names_a_webhook_and_a_node_a_database(pager, connected, schema):
    version = save_version(connected, with_hook(schema, connection="pager"))
    assert pipelines_using(connected, "pager") == ["numbers"]
    assert version.number == 1
    with pytest.raises(InvalidConnection, match="kind postgres"):
        save_version(connected, with_hook(schema, connection="warehouse"))
    document = make_document(schema=schema)
    document["nodes"][1]["connection"] = "pager"
    with pytest.raises(InvalidConnection, match="kind webhook"):
        save_version(connected, json.dumps(document))


def test_the_resolved_maps_hold_each_kind_apart(pager, connected, schema):
    version = save_version(connected, with_hook(schema, connection="pager"))
    from flowapp.pipelines.documents import read_document

    document = read_document(version.document)
    assert list(resolve_connections(connected, document)) == ["warehouse"]
    assert list(resolve_webhooks(connected, document)) == ["pager"]


def test_an_unknown_webhook_is_found_while_a_draft_is_edited(pager, connected, schema):
    [diagnostic] = check_text(connected, with_hook(schema, connection="pagr")).errors
    assert (str(diagnostic.path), diagnostic.code) == ("/nodes/1/postHook/connection", "connection.unknown")
    assert diagnostic.fixes[0][0]["value"] == "pager"


def test_a_test_sends_one_signed_request(connected, tmp_path, monkeypatch):
    made = make_certificates(tmp_path, HOST)
    open_network(monkeypatch, made.ca, {HOST: [["127.0.0.1"]]}, "127.0.0.1/32")
    with receiving(made) as receiver:
        add_connection(connected, "pager", WebhookFields(f"{receiver.url}/x", {}, "s"))
        assert probe_connection(connected, "pager").last_test["ok"]
        receiver.answers["/x"] = status(403)
        reported = probe_connection(connected, "pager").last_test
    assert [request.json["event"] for request in receiver.requests] == ["test", "test"]
    assert receiver.requests[0].headers["webhook-signature"].startswith("v1,")
    assert (reported["ok"], reported["error"]["code"]) == (False, "webhook.refused")


def test_a_test_reaches_no_private_address(connected):
    add_connection(connected, "pager", WebhookFields("https://localhost/x"))
    assert probe_connection(connected, "pager").last_test["error"]["code"] == "webhook.not_public"
    assert posting.PUBLIC.resolver is None


def test_the_janitor_asks_databases_only(pager, monkeypatch):
    asked = []
    monkeypatch.setattr("flowapp.runs.janitor.drop_dead_staging", lambda address, is_dead: asked.append(address) or [])
    sweep_staging()
    databases = Connection.objects.filter(kind="postgres").count()
    assert len(asked) == databases == Connection.objects.count() - 1 > 0
    assert all(address.host for address in asked)


def test_the_api_takes_a_webhook_and_shows_no_secret(connected, as_):
    client, here = as_("admin"), {"X-Flow-Workspace": connected.slug}
    wish = {"name": "pager", "kind": "webhook", "url": FIELDS.url, "headers": dict(FIELDS.headers), "secret": "S1GNING"}
    answer = client.post("/api/connections/", json.dumps(wish), "application/json", headers=here)
    assert answer.status_code == 201
    text = answer.content.decode() + client.get("/api/connections/", headers=here).content.decode()
    assert not [secret for secret in SECRETS if secret in text]
    assert resolve_webhook(Connection.objects.get(name="pager")).headers == FIELDS.headers


def test_the_pages_add_and_show_a_webhook(connected, as_):
    client = as_("admin")
    base = f"/w/{connected.slug}/connections/"
    form = {"name": "pager", "url": FIELDS.url, "headers": "Authorization: Bearer H3ADER\r\n", "password": "S1GNING"}
    answer = client.post(f"{base}add/webhook/", form, follow=True)
    assert "Authorization" in answer.content.decode()
    pages = answer.content.decode() + client.get(base).content.decode()
    assert not [secret for secret in SECRETS if secret in pages]
    refused = client.post(f"{base}add/webhook/", {**form, "name": "other", "headers": "nonsense"})
    assert refused.status_code == 422
    assert "T0KEN" not in refused.content.decode()


def test_the_command_takes_an_https_url(connected, settings, monkeypatch):
    from argparse import Namespace

    settings.FLOW_WORKSPACE = connected.slug
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", "S1GNING")
    outcome = add_by_command(
        Namespace(name="pager", kind=None, url="https://hooks.example.com/x", password_stdin=False)
    )
    assert (outcome.document["kind"], outcome.document["signed"]) == ("webhook", True)


def test_a_database_is_stored_as_ever(connected, warehouse):
    w = warehouse
    add_connection(connected, "second", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    assert Connection.objects.get(name="second").settings == NOTHING_ALLOWED
