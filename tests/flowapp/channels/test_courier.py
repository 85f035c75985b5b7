"""The sending thread of the scheduler: all channels at once, without blocking each other."""

from __future__ import annotations

import time

import pytest

from flowapp.alerts.models import Alert
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.channels import courier
from flowapp.channels.courier import deliver_due, wait_after
from flowapp.channels.models import Delivery
from flowapp.clock import from_now
from flowapp.processes.periodic import Task, TasksThread
from flowapp.processes.retention import delete_old_rows
from tests.receivers import drip


@pytest.mark.django_db(transaction=True)
def test_all_channels_are_served_and_a_silent_receiver_holds_up_itself_alone(workspace, pager, receiver, monkeypatch):
    monkeypatch.setattr("executors.hooks.posting.TOTAL_SECONDS", 1.0)
    from flowapp.channels.kinds.webhook import WebhookAddress
    from flowapp.channels.services import add_channel
    from tests.flowapp.channels.conftest import SECRET

    add_channel(workspace, "silent", WebhookAddress(f"{receiver.url}/silent", SECRET))
    pager()
    receiver.answers["/silent"] = drip(receiver, b"x", 0.2)
    raise_alert("run.failed", "error", "m", "n", workspace=workspace)
    assert deliver_due() == 1
    assert dict(Delivery.objects.values_list("channel__name", "state")) == {"pager": "delivered", "silent": "pending"}
    assert deliver_due() == 0


@pytest.mark.django_db(transaction=True)
def test_the_courier_sends_until_it_is_stopped_and_survives_trouble(workspace, pager, receiver):
    pager()
    good, calls = deliver_due, []

    def deliver() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("boom")
        return good()

    thread = TasksThread("courier", [Task("send messages", lambda _: deliver())], 0.05)
    thread.start()
    raise_alert("run.failed", "error", "m", "n", workspace=workspace)
    deadline = time.monotonic() + 10
    while not receiver.requests and time.monotonic() < deadline:
        time.sleep(0.05)
    thread.stop()
    assert not thread.is_alive()
    assert len(receiver.requests) == 1


@pytest.mark.django_db
def test_a_channel_that_is_removed_during_a_round_ends_the_round(workspace, pager, receiver, monkeypatch):
    from flowapp.channels.services import remove_channel

    channel, send = pager(), courier.attempt

    def send_and_remove(*args: object) -> bool:
        taken = send(*args)
        remove_channel(channel)
        return taken

    monkeypatch.setattr(courier, "attempt", send_and_remove)
    raise_alert("run.failed", "error", "m", "n", workspace=workspace)
    assert courier.deliver_to(channel.pk) == 1
    assert len(receiver.requests) == 1


@pytest.mark.django_db
def test_the_log_is_stored_for_its_retention_and_waiting_messages_longer(workspace, pager):
    pager()
    for node in ("old", "waits", "new"):
        raise_alert("run.failed", "error", "m", "n", workspace=workspace, node=node)
    Delivery.objects.exclude(alert__node="new").update(made_at=from_now(-40 * 24 * 3600))
    Delivery.objects.filter(alert__node="old").update(state="delivered")
    delete_old_rows()
    assert sorted(Delivery.objects.values_list("alert__node", flat=True)) == ["new", "waits"]


@pytest.mark.django_db
def test_an_alert_costs_two_queries_more_where_channels_wait_for_it(workspace, pager, django_assert_max_num_queries):
    for number in range(5):
        pager(f"c{number}")
    with django_assert_max_num_queries(9):
        raise_alert("run.failed", "error", "m", "n", workspace=workspace)
    with django_assert_max_num_queries(8):
        resolve_by("run.succeeded", workspace_id=workspace.pk)
    assert Alert.objects.get().state == "resolved"
    assert Delivery.objects.count() == 10


def test_waiting_times_grow_up_to_an_hour():
    assert [wait_after(tries) for tries in range(1, 5)] == [30, 60, 120, 240]
    assert wait_after(20) == 3600
