"""The pages of channels: for admins, and without secrets."""

from __future__ import annotations

from uuid import uuid4

import pytest

from flowapp.alerts.services import raise_alert
from flowapp.channels.courier import deliver_to
from flowapp.channels.models import Channel
from tests.flowapp.channels.conftest import SECRET
from tests.flowapp.channels.mail_server import PASSWORD, USER
from tests.flowapp.reading import HOSTILE, assert_harmless, words
from tests.receivers import status

pytestmark = pytest.mark.django_db
CHANNELS = "/w/alices-team/channels/"


def test_a_webhook_is_added_and_never_sent_back(workspace, as_):
    client = as_("admin")
    given = {
        "name": "pager",
        "url": "https://hooks.example.com/T0KEN",
        "secret": SECRET,
        "severity": "error",
        "kinds": ["run.failed", "workers.none"],
        "headers": "Authorization: H3ADER",
    }
    page = client.post(f"{CHANNELS}add/webhook/", given, follow=True)
    channel = Channel.objects.get()
    assert (channel.severity, channel.kinds) == ("error", ["run.failed", "workers.none"])
    assert "Channel pager saved" in words(page)
    assert not [secret for secret in ("T0KEN", SECRET, "H3ADER") if secret in page.content.decode()]


def test_a_refusal_appears_at_its_field_without_the_secret(workspace, as_):
    client = as_("admin")
    given = {"name": "pager", "url": "https://10.0.0.1/T0KEN", "secret": SECRET, "severity": "error"}
    page = client.post(f"{CHANNELS}add/webhook/", given)
    assert page.status_code == 422
    assert "not public" in words(page)
    assert "T0KEN" not in page.content.decode()
    short = client.post(f"{CHANNELS}add/webhook/", {**given, "url": "https://example.com/", "secret": "short"})
    assert 'id="id_secret_error">A signing secret needs at least 16' in short.content.decode()


def test_a_mail_channel_is_added_tested_and_removed(workspace, as_, mail_server):
    client = as_("admin")
    given = {
        "name": "ops",
        "to": "ops@example.com\nlead@example.com",
        "sender": "flow@example.com",
        "host": "localhost",
        "security": "starttls",
        "port": mail_server.port,
        "user": USER,
        "password": PASSWORD,
        "severity": "warning",
    }
    client.post(f"{CHANNELS}add/email/", given)
    page = client.post(f"{CHANNELS}of/ops/test/", follow=True)
    assert "Test delivered." in words(page)
    assert "ops@example.com, lead@example.com" in words(page)
    assert PASSWORD not in page.content.decode()
    assert len(mail_server.mails) == 1
    assert "No notification channels" in words(client.post(f"{CHANNELS}of/ops/remove/", follow=True))


def test_where_a_mail_channel_leads_is_changed_on_its_page(workspace, as_, mail_server):
    client, before = (
        as_("admin"),
        {
            "to": "ops@example.com",
            "sender": "flow@example.com",
            "host": "localhost",
            "security": "starttls",
            "port": 1,
            "user": USER,
        },
    )
    client.post(f"{CHANNELS}add/email/", {**before, "name": "ops", "password": PASSWORD, "severity": "warning"})
    page = client.get(f"{CHANNELS}of/ops/").content.decode()
    assert 'value="localhost"' in page
    assert PASSWORD not in page
    moved = {**before, "port": mail_server.port, "to": "lead@example.com"}
    refused = client.post(f"{CHANNELS}of/ops/address/", moved)
    assert refused.status_code == 422
    assert 'id="id_password_error">The stored password belongs to another server' in refused.content.decode()
    page = client.post(f"{CHANNELS}of/ops/address/", {**moved, "password": PASSWORD}, follow=True)
    assert "Details of ops saved" in words(page)
    client.post(f"{CHANNELS}of/ops/address/", {**moved, "sender": "alerts@example.com"})
    assert "Test delivered." in words(client.post(f"{CHANNELS}of/ops/test/", follow=True))
    assert [mail["From"].addresses[0].addr_spec for mail in mail_server.mails] == ["alerts@example.com"]
    assert mail_server.recipients == [["lead@example.com"]]


def test_a_test_that_is_not_taken_says_why(pager, receiver, as_):
    pager()
    receiver.answers["/T0KEN"] = status(403)
    page = as_("admin").post(f"{CHANNELS}of/pager/test/", follow=True)
    assert "Test not delivered: The receiver returned 403." in words(page)


def test_the_log_reports_each_message_and_no_text_does_harm(pipeline, pager, receiver, as_):
    channel = pager()
    raise_alert("run.failed", "error", HOSTILE, "n", pipeline=pipeline)
    deliver_to(channel.pk)
    page = as_("admin").get(f"{CHANNELS}of/pager/")
    assert "opened A run failed · numbers delivered" in words(page)
    assert HOSTILE not in words(page)
    assert_harmless(as_("admin").get("/w/alices-team/health/"))


def test_what_a_channel_reports_is_changed(pager, as_):
    channel = pager()
    as_("admin").post(f"{CHANNELS}of/pager/filter/", {"severity": "error", "kinds": ["run.held"]})
    channel.refresh_from_db()
    assert (channel.severity, channel.kinds) == ("error", ["run.held"])


def test_the_secret_is_replaced_and_a_bad_one_refused(pager, as_):
    channel = pager()
    before = channel.secret
    client = as_("admin")
    assert client.post(f"{CHANNELS}of/pager/secret/", {"secret": "short"}).status_code == 422
    assert client.post(f"{CHANNELS}of/pager/secret/", {"secret": "an0ther-an0ther-an0ther"}).status_code == 302
    channel.refresh_from_db()
    assert channel.secret != before


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_channels_are_for_admins(pager, as_, role):
    pager()
    client = as_(role)
    for page in ("", "of/pager/", "add/email/", "add/webhook/"):
        assert client.get(CHANNELS + page).status_code == 403
    for action in ("test", "filter", "secret", "remove", f"again/{uuid4()}"):
        assert client.post(f"{CHANNELS}of/pager/{action}/").status_code == 403


def test_without_channels_the_page_says_what_they_are_for(workspace, as_):
    assert "No notification channels" in words(as_("admin").get(CHANNELS))


def test_the_list_costs_a_constant_number_of_queries(pager, as_, django_assert_max_num_queries):
    for number in range(10):
        pager(f"c{number}")
    client = as_("admin")
    with django_assert_max_num_queries(8):
        assert "c9" in words(client.get(CHANNELS))
