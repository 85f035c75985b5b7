"""Channels by the API and the command line."""

from __future__ import annotations

import pytest

from flowapp.channels.courier import open_secret
from flowapp.channels.models import Channel
from tests.flowapp.channels.conftest import SECRET
from tests.flowapp.channels.mail_server import PASSWORD, USER
from tests.flowapp.cli.conftest import flow

__all__ = ["flow"]
pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}


def test_a_channel_is_made_tested_changed_and_removed(workspace, as_, mail_server):
    client = as_("admin")
    wish = {
        "name": "ops",
        "kind": "email",
        "host": "localhost",
        "port": mail_server.port,
        "to": ["ops@example.com"],
        "sender": "flow@example.com",
        "user": USER,
        "password": PASSWORD,
        "severity": "error",
    }
    made = client.post("/api/channels/", wish, content_type="application/json", headers=HERE)
    assert (made.status_code, made.json()["to"], "password" in made.json()) == (201, ["ops@example.com"], False)
    tested = client.post("/api/channels/ops/test/", headers=HERE).json()
    assert (tested["event"], tested["state"], tested["lastError"]) == ("test", "delivered", None)
    log = client.get("/api/channels/ops/deliveries/", headers=HERE).json()["results"]
    assert [entry["key"] for entry in log] == [tested["key"]]
    change = {"alertKinds": ["run.failed"], "secret": "wr0ng"}
    changed = client.patch("/api/channels/ops/", change, content_type="application/json", headers=HERE).json()
    assert (changed["severity"], changed["alertKinds"]) == ("error", ["run.failed"])
    failed = client.post("/api/channels/ops/test/", headers=HERE).json()
    assert failed["lastError"]["code"] == "mail.login_refused"
    assert client.delete("/api/channels/ops/", headers=HERE).status_code == 204
    assert client.get("/api/channels/ops/", headers=HERE).status_code == 404


@pytest.fixture
def ops(workspace, mail_server):
    """A mail channel to the server, with its password."""
    from flowapp.channels.kinds.email import Mailbox
    from flowapp.channels.services import add_channel

    box = Mailbox("localhost", "flow@example.com", ("ops@example.com",), "starttls", mail_server.port, USER, PASSWORD)
    return add_channel(workspace, "ops", box)


def change(client, name: str, **wanted):
    return client.patch(f"/api/channels/{name}/", wanted, content_type="application/json", headers=HERE)


def test_where_a_mail_channel_leads_is_changed(ops, as_, mail_server):
    client = as_("admin")
    changed = change(client, "ops", to=["lead@example.com"], sender="alerts@example.com").json()
    assert (changed["to"], changed["sender"], changed["host"]) == (
        ["lead@example.com"],
        "alerts@example.com",
        "localhost",
    )
    assert client.post("/api/channels/ops/test/", headers=HERE).json()["state"] == "delivered"
    assert mail_server.recipients == [["lead@example.com"]]


@pytest.mark.parametrize("elsewhere", [{"host": "evil.example.com"}, {"port": 2525}, {"security": "tls"}])
def test_a_stored_password_is_sent_to_no_other_server(ops, as_, elsewhere):
    refused = change(as_("admin"), "ops", **elsewhere)
    assert (refused.status_code, refused.json()["code"]) == (422, "channel.secret_again")
    assert Channel.objects.get().secret == ops.secret
    taken = change(as_("admin"), "ops", secret="an0ther", **elsewhere)
    assert taken.status_code == 200
    assert elsewhere.items() <= taken.json().items()
    assert open_secret(Channel.objects.get())["password"] == "an0ther"


def test_the_host_is_checked_as_at_creation(ops, as_):
    refused = change(as_("admin"), "ops", host="a.example.com,b.example.com", secret="x")
    assert refused.json()["code"] == "connection.host_invalid"
    assert change(as_("admin"), "ops", security="none").json()["code"] == "channel.password_in_clear"


def test_where_a_webhook_leads_is_not_changed(pager, as_):
    pager()
    assert change(as_("admin"), "pager", host="example.com").json()["code"] == "channel.not_changeable"


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_admins_alone_change_where_a_channel_leads(ops, as_, role):
    assert change(as_(role), "ops", to=["me@example.com"]).status_code == 403
    assert as_(role).post("/w/alices-team/channels/of/ops/address/", {}).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"severity": "x"},
        {"alertKinds": ["run.flied"]},
        {"alertKinds": ["channel.failing"]},
        {"secret": "short"},
        {"name": "Pager"},
    ],
)
def test_a_wrong_wish_is_refused(workspace, as_, wrong):
    wish = {"name": "pager", "kind": "webhook", "url": "https://example.com/x", "secret": SECRET, **wrong}
    answer = as_("admin").post("/api/channels/", wish, content_type="application/json", headers=HERE)
    assert answer.status_code in (400, 422)
    assert not Channel.objects.exists()


def test_a_change_is_made_as_a_whole_or_not_at_all(pager, as_):
    before = pager()
    change = {"secret": "another signing secret", "alertKinds": ["run.flied"]}
    answer = as_("admin").patch("/api/channels/pager/", change, content_type="application/json", headers=HERE)
    assert answer.status_code == 422
    assert Channel.objects.get().secret == before.secret


def test_a_name_is_taken_once(pager, as_):
    pager()
    wish = {"name": "pager", "kind": "webhook", "url": "https://example.com/x", "secret": SECRET}
    answer = as_("admin").post("/api/channels/", wish, content_type="application/json", headers=HERE)
    assert (answer.status_code, answer.json()["code"]) == (409, "channel.name_taken")


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_channels_are_for_admins(pager, as_, role):
    pager()
    for path in ("", "pager/", "pager/deliveries/"):
        assert as_(role).get(f"/api/channels/{path}", headers=HERE).status_code == 403


def test_the_command_line_adds_tests_logs_and_removes(flow, mail_server, monkeypatch):
    monkeypatch.setenv("FLOW_CHANNEL_SECRET", PASSWORD)
    added = flow(
        "channel",
        "add",
        "ops",
        "--to",
        "ops@example.com",
        "--to",
        "lead@example.com",
        "--sender",
        "flow@example.com",
        "--smtp",
        f"localhost:{mail_server.port}",
        "--user",
        USER,
        "--json",
    )
    assert (added.status, added.json["to"]) == (0, ["ops@example.com", "lead@example.com"])
    assert flow("channel", "test", "ops").status == 0
    monkeypatch.setenv("FLOW_CHANNEL_SECRET", SECRET)
    assert flow("channel", "add", "pager", "--webhook", "https://nowhere.invalid/x").status == 0
    failed = flow("channel", "test", "pager", "--json")
    assert (failed.status, failed.json["state"]) == (1, "failed")
    assert "delivered" in flow("channel", "log", "ops").stdout
    assert "ops@example.com" in flow("channel", "list").stdout
    assert flow("channel", "remove", "ops").status == 0
    assert flow("channel", "log", "ops").status == 1
    assert flow("channel", "add", "x", "--to", "a@example.com").status == 64
