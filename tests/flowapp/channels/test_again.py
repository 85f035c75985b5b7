"""Resending a failed message: once, in order, and with a record of the user."""

from __future__ import annotations

import pytest

from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.channels.courier import deliver_to
from flowapp.channels.models import Delivery, SentAgain
from flowapp.channels.services import send_again, send_test
from ir.errors import FlowError
from tests.flowapp.channels.conftest import SECRET
from tests.flowapp.channels.test_webhook_channel import make_due
from tests.flowapp.cli.conftest import flow
from tests.flowapp.reading import words
from tests.flowapp.together import at_once
from tests.receivers import status

__all__ = ["flow"]
pytestmark = pytest.mark.django_db
PATH, HERE = "/T0KEN", {"X-Flow-Workspace": "alices-team"}
LOG = "/w/alices-team/channels/of/pager/"


@pytest.fixture
def failed(workspace, pager, receiver):
    """A message that the receiver has refused for good; it takes the next one."""
    channel = pager()
    receiver.answers[PATH] = status(403)
    raise_alert("run.failed", "error", "It broke.", "Fix it.", workspace=workspace)
    deliver_to(channel.pk)
    del receiver.answers[PATH]
    return Delivery.objects.get(state="failed")


def deliver(delivery: Delivery) -> None:
    make_due(delivery.channel)
    deliver_to(delivery.channel_id)
    delivery.refresh_from_db()


def test_it_is_resent_under_the_same_key_with_all_its_attempts(failed, receiver):
    assert send_again(failed, "the command line")
    assert (failed.state, failed.attempts, failed.ended_at) == ("pending", 0, None)
    deliver(failed)
    assert (failed.state, failed.attempts, failed.error_message) == ("delivered", 1, "")
    assert len({request.headers["idempotency-key"] for request in receiver.requests}) == 1
    assert [request.json["event"] for request in receiver.requests] == ["alert.opened"] * 2


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_requests_send_it_once(failed, receiver):
    keys = [Delivery.objects.get(pk=failed.pk) for _ in range(2)]
    assert sorted(at_once(*[lambda d=d: send_again(d, "x") for d in keys])) == [False, True]
    assert SentAgain.objects.count() == 1
    deliver(failed)
    assert len(receiver.requests) == 2


def test_a_second_request_is_refused_and_nothing_is_sent(failed, receiver):
    send_again(failed, "x")
    deliver(failed)
    assert not send_again(failed, "y")
    assert failed.state == "delivered"
    assert list(SentAgain.objects.values_list("by_words", flat=True)) == ["x"]


def test_what_fails_again_can_go_again(failed, receiver):
    receiver.answers[PATH] = status(403)
    send_again(failed, "x")
    deliver(failed)
    assert failed.state == "failed"
    assert send_again(failed, "y")


def test_only_failed_messages_are_resent_and_no_tests(failed, receiver):
    receiver.answers[PATH] = status(403)
    with pytest.raises(FlowError) as refused:
        send_again(send_test(failed.channel), "x")
    assert refused.value.code == "delivery.is_test"
    Delivery.objects.filter(pk=failed.pk).update(state="delivered")
    with pytest.raises(FlowError) as refused:
        send_again(failed, "x")
    assert refused.value.code == "delivery.not_failed"


def test_the_beginning_is_not_reported_after_the_end(workspace, failed):
    resolve_by("run.succeeded", workspace_id=workspace.pk)
    deliver(failed)
    assert Delivery.objects.get(event="resolved").state == "delivered"
    with pytest.raises(FlowError) as refused:
        send_again(failed, "x")
    assert refused.value.code == "delivery.over"


def test_a_failed_resolution_is_resent_after_the_opening(workspace, failed, receiver):
    receiver.answers[PATH] = status(403)
    resolve_by("run.succeeded", workspace_id=workspace.pk)
    deliver(failed)
    del receiver.answers[PATH]
    send_again(failed, "x")
    deliver(failed)
    assert [request.json["event"] for request in receiver.requests[-2:]] == ["alert.opened", "alert.resolved"]


def test_the_page_has_a_button_for_failed_messages_and_records_its_user(failed, as_):
    client = as_("admin")
    page = client.get(LOG)
    assert f"{LOG}again/{failed.key}/" in page.content.decode()
    assert "webhook.refused" in words(page)
    assert "pager resends the message" in words(client.post(f"{LOG}again/{failed.key}/", follow=True))
    page = client.post(f"{LOG}again/{failed.key}/", follow=True)
    assert "Another person already had this message resent." in words(page)
    assert "by admin@example.com" in words(page)
    assert f"{LOG}again/" not in page.content.decode()


def test_the_api_sends_it_again_and_reports_so(failed, as_):
    path = f"/api/channels/pager/deliveries/{failed.key}/again/"
    assert as_("editor").post(path, headers=HERE).status_code == 403
    for _ in range(2):
        answer = as_("admin").post(path, headers=HERE)
        reported = answer.json()
        assert (answer.status_code, reported["state"]) == (200, "pending")
        assert [again["by"] for again in reported["sentAgain"]] == ["admin@example.com"]
    assert as_("admin").post(path.replace(str(failed.key), str(failed.alert_id)), headers=HERE).status_code == 404
    Delivery.objects.update(state="delivered")
    SentAgain.objects.all().delete()
    refused = as_("admin").post(path, headers=HERE)
    assert (refused.status_code, refused.json()["code"]) == (409, "delivery.not_failed")


def test_the_command_line_sends_it_again(flow, monkeypatch):
    monkeypatch.setenv("FLOW_CHANNEL_SECRET", SECRET)
    assert flow("channel", "add", "pager", "--webhook", "https://hooks.example.com/x").status == 0
    from flowapp.channels.models import Channel

    channel = Channel.objects.get()
    raise_alert("run.failed", "error", "m", "n", workspace=channel.workspace)
    Delivery.objects.update(state="failed", error_message="The receiver returned 403.")
    key = str(Delivery.objects.get().key)
    assert key in flow("channel", "log", "pager", "--json").stdout
    again = flow("channel", "again", "pager", key, "--json")
    assert (again.status, again.json["state"], again.json["sentAgain"][0]["by"]) == (0, "pending", "the command line")
    assert "already" in flow("channel", "again", "pager", key).stdout
    assert flow("channel", "again", "pager", "nonsense").status == 1
