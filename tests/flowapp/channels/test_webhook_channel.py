"""Alerts by signed webhook: the content, retries, and refused addresses."""

from __future__ import annotations

import pytest

from executors.hooks.webhook import sign
from flowapp.alerts.models import Alert
from flowapp.alerts.services import raise_alert, resolve, resolve_by
from flowapp.channels.courier import MOST_ATTEMPTS, deliver_to
from flowapp.channels.kinds.base import InvalidChannel
from flowapp.channels.kinds.webhook import WebhookAddress
from flowapp.channels.models import Delivery, DeliveryState
from flowapp.channels.services import add_channel, send_test
from flowapp.clock import from_now
from flowapp.connections.fields import InvalidConnection
from tests.flowapp.channels.conftest import SECRET
from tests.receivers import status

pytestmark = pytest.mark.django_db
PATH = "/T0KEN"


def trouble(pipeline, severity="error", kind="run.failed", node=""):
    raise_alert(kind, severity, "It broke.", "Fix it.", pipeline=pipeline, node=node)


def make_due(channel):
    """As if the waiting times were over."""
    channel.deliveries.filter(state=DeliveryState.PENDING).update(due_at=from_now(-1))
    type(channel).objects.filter(pk=channel.pk).update(busy_until=None)


def test_an_alert_is_reported_once_with_its_facts_and_a_link(pipeline, pager, receiver):
    channel = pager()
    trouble(pipeline)
    trouble(pipeline)
    deliver_to(channel.pk)
    deliver_to(channel.pk)
    [request] = receiver.requests
    reported = request.json["alert"]
    assert (request.json["event"], request.json["workspace"]) == ("alert.opened", "alices-team")
    assert (reported["kind"], reported["severity"], reported["pipeline"], reported["count"]) == (
        "run.failed",
        "error",
        "numbers",
        2,
    )
    assert reported["url"].endswith("/w/alices-team/health/")


def test_the_request_is_signed_with_the_channels_secret(pipeline, pager, receiver):
    channel = pager()
    trouble(pipeline)
    deliver_to(channel.pk)
    [request] = receiver.requests
    key = str(Delivery.objects.get().key)
    assert request.headers["idempotency-key"] == key
    expected = sign(SECRET, key, int(request.headers["webhook-timestamp"]), request.body)
    assert request.headers["webhook-signature"] == expected


def test_the_resolution_is_sent_to_channels_that_received_the_alert(pipeline, pager, receiver):
    reported, later = pager(), None
    trouble(pipeline)
    later = pager("later")
    resolve_by("run.succeeded", pipeline_id=pipeline.pk)
    deliver_to(reported.pk)
    deliver_to(later.pk)
    assert [request.json["event"] for request in receiver.requests] == ["alert.opened", "alert.resolved"]


def test_a_filter_excludes_alerts_of_other_kinds(pipeline, pager, receiver):
    errors, missed = pager("errors", severity="error"), pager("missed", kinds=["schedule.missed"])
    trouble(pipeline, "warning", node="a")
    trouble(pipeline, "error", node="b")
    trouble(pipeline, "warning", kind="schedule.missed")
    assert [d.alert.node for d in errors.deliveries.all()] == ["b"]
    assert [d.alert.kind for d in missed.deliveries.all()] == ["schedule.missed"]


def test_a_warning_that_becomes_an_error_is_sent_to_channels_for_errors(pipeline, pager):
    channel = pager(severity="error")
    trouble(pipeline, "warning")
    assert not channel.deliveries.exists()
    trouble(pipeline, "error")
    trouble(pipeline, "error")
    assert channel.deliveries.count() == 1


def test_alerts_of_other_workspaces_are_not_reported(workspace, pager):
    from flowapp.accounts.models import Workspace

    channel = pager()
    raise_alert("run.failed", "error", "m", "n", workspace=Workspace.objects.create(slug="bobs-team"))
    raise_alert("workers.none", "error", "m", "n", workspace=workspace)
    assert [d.alert.kind for d in channel.deliveries.all()] == ["workers.none"]


def test_an_unreachable_receiver_is_retried_later_with_the_same_key(pipeline, pager, receiver):
    channel = pager()
    receiver.answers[PATH] = status(503)
    trouble(pipeline)
    deliver_to(channel.pk)
    delivery = channel.deliveries.get()
    assert (delivery.state, delivery.attempts, delivery.error_code) == ("pending", 1, "webhook.unavailable")
    deliver_to(channel.pk)
    assert len(receiver.requests) == 1
    make_due(channel)
    del receiver.answers[PATH]
    deliver_to(channel.pk)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.error_message) == ("delivered", 2, "")
    assert len({request.headers["idempotency-key"] for request in receiver.requests}) == 1


def test_the_end_is_not_reported_before_the_beginning(pipeline, pager, receiver):
    channel = pager()
    receiver.answers[PATH] = status(503)
    trouble(pipeline)
    deliver_to(channel.pk)
    resolve(Alert.objects.get())
    del receiver.answers[PATH]
    type(channel).objects.update(busy_until=None)
    deliver_to(channel.pk)
    assert [request.json["event"] for request in receiver.requests] == ["alert.opened"]
    make_due(channel)
    deliver_to(channel.pk)
    assert [r.json["event"] for r in receiver.requests] == ["alert.opened", "alert.opened", "alert.resolved"]


def test_what_is_refused_for_good_is_given_up_with_one_alert_that_no_channel_reports(pipeline, pager, receiver):
    channel = pager()
    receiver.answers[PATH] = status(410)
    trouble(pipeline, node="a")
    deliver_to(channel.pk)
    trouble(pipeline, node="b")
    make_due(channel)
    deliver_to(channel.pk)
    failing = Alert.objects.get(kind="channel.failing")
    assert (failing.count, failing.severity, failing.workspace_id) == (2, "warning", channel.workspace_id)
    assert not Delivery.objects.filter(alert=failing).exists()
    assert "T0KEN" not in failing.message + failing.next_step
    del receiver.answers[PATH]
    trouble(pipeline, node="c")
    make_due(channel)
    deliver_to(channel.pk)
    failing.refresh_from_db()
    assert (failing.state, failing.resolved_how) == ("resolved", "channel.delivered")


def test_after_so_many_tries_a_message_is_given_up(pipeline, pager, receiver):
    channel = pager()
    receiver.answers[PATH] = status(500)
    trouble(pipeline)
    for _ in range(MOST_ATTEMPTS + 2):
        make_due(channel)
        deliver_to(channel.pk)
    assert (channel.deliveries.get().state, len(receiver.requests)) == ("failed", MOST_ATTEMPTS)


def test_a_message_whose_senders_died_is_given_up(pipeline, pager, receiver):
    channel = pager()
    trouble(pipeline)
    channel.deliveries.update(attempts=MOST_ATTEMPTS)
    deliver_to(channel.pk)
    assert (channel.deliveries.get().error_code, receiver.requests) == ("delivery.gave_up", [])


def test_a_channel_that_another_process_sends_by_is_left_alone(pipeline, pager, receiver):
    channel = pager()
    trouble(pipeline)
    type(channel).objects.update(busy_until=from_now(30))
    assert deliver_to(channel.pk) == 0
    assert receiver.requests == []


def test_a_test_is_sent_at_once_and_logged_whatever_comes_of_it(pager, receiver):
    channel = pager()
    assert send_test(channel).state == "delivered"
    receiver.answers[PATH] = status(500)
    failed = send_test(channel)
    assert (failed.state, failed.attempts, failed.error_code) == ("failed", 1, "webhook.unavailable")
    assert not Alert.objects.exists()
    assert [request.json["event"] for request in receiver.requests] == ["test", "test"]


@pytest.mark.parametrize("answer", [204, 403, 503])
def test_no_log_names_the_path_of_an_address(pager, receiver, caplog, answer):
    caplog.set_level("DEBUG")
    receiver.answers[PATH] = status(answer)
    send_test(pager())
    assert receiver.paths() == [PATH]
    assert "T0KEN" not in caplog.text


@pytest.mark.parametrize("url", ["http://example.com/", "https://127.0.0.1/", "https://10.0.0.1/x", "nonsense"])
def test_an_address_that_is_not_public_is_refused(workspace, url):
    with pytest.raises(InvalidConnection):
        add_channel(workspace, "pager", WebhookAddress(url, SECRET))


def test_a_short_signing_secret_is_refused(workspace):
    with pytest.raises(InvalidChannel, match="at least 16"):
        add_channel(workspace, "pager", WebhookAddress("https://example.com/x", "short"))


def test_nothing_that_is_stored_or_shown_holds_a_secret(workspace):
    from flowapp.channels.models import Channel
    from flowapp.channels.serializers import ChannelSerializer

    address = WebhookAddress("https://example.com/T0KEN", SECRET, {"Authorization": "H3ADER"})
    channel = add_channel(workspace, "pager", address)
    shown = f"{Channel.objects.values().get()} {ChannelSerializer(channel).data} {address!r} {channel!r}"
    assert not [secret for secret in ("T0KEN", SECRET, "H3ADER") if secret in shown]
