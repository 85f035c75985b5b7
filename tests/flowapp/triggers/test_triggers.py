"""Webhook triggers: signed calls queue one run each, all others are refused alike."""

from __future__ import annotations

import base64
import hashlib
import hmac
import subprocess
import time
import uuid
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from flowapp.accounts.models import FailedAttempts
from flowapp.clock import from_now
from flowapp.connections.rotation import rotate_secrets
from flowapp.runs.models import Run, State, Trigger
from flowapp.triggers import calls
from flowapp.triggers.calls import forget_old_calls
from flowapp.triggers.models import EventTrigger, TriggerCall, TriggerChange
from flowapp.triggers.services import add_trigger, remove_trigger, rotate_trigger
from ir.errors import FlowError

pytestmark = pytest.mark.django_db
BODY = b'{"file": "orders.csv"}'


@pytest.fixture
def made(pipeline, sent) -> tuple[EventTrigger, str]:
    return add_trigger(pipeline, "export", "wait", "alice@example.org")


def send(trigger: EventTrigger | uuid.UUID, secret: str, body: bytes = BODY, **changes: Any) -> Any:
    """Call a trigger with a valid signature, unless `changes` override it."""
    key, now = changes.get("key", uuid.uuid4().hex), str(changes.get("now", int(time.time())))
    digest = hmac.digest(
        secret.encode(), b".".join([key.encode(), now.encode(), changes.get("signed", body)]), "sha256"
    )
    signature = changes.get("signature", f"v1,{base64.b64encode(digest).decode()}")
    headers = {"webhook-id": key, "webhook-timestamp": now, "webhook-signature": signature}
    path, address = f"/api/triggers/{getattr(trigger, 'pk', trigger)}/", changes.get("address", "192.0.2.1")
    return Client(REMOTE_ADDR=address).post(path, body, content_type="application/json", headers=headers)


def code_of(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["code"]


def test_a_signed_call_queues_a_run_that_names_the_trigger(made):
    response = send(*made)
    run = Run.objects.get()
    assert (response.status_code, response.json()["run"], response.json()["isNew"]) == (202, str(run.pk), True)
    assert (run.trigger, run.trigger_name, run.max_attempts) == (Trigger.WEBHOOK, "export", 3)
    assert EventTrigger.objects.get().last_used_at is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"signature": ""},
        {"signature": "v1,AAAA"},
        {"signature": "v1,\N{SNOWMAN}".encode().decode("latin-1")},
        {"signed": b"{}"},
        {"now": "soon"},
        {"key": ""},
        {"key": "k" * 257},
    ],
)
def test_a_wrong_call_has_the_answer_of_an_unknown_trigger(made, changes):
    trigger, secret = made
    wrong, unknown = send(trigger, secret, **changes), send(uuid.uuid4(), secret)
    assert code_of(wrong) == code_of(unknown) == (401, "trigger.refused")
    assert wrong.json()["detail"] == unknown.json()["detail"]
    assert not Run.objects.exists()


def guess(trigger: EventTrigger | uuid.UUID, times: int = calls.MOST_WRONG) -> None:
    for _ in range(times):
        assert code_of(send(trigger, "wrong")) == (401, "trigger.refused")


def test_after_many_wrong_signatures_a_network_has_to_wait(made):
    trigger, secret = made
    guess(trigger)
    assert code_of(send(trigger, secret)) == (429, "trigger.throttled")
    assert send(trigger, secret, address="198.51.100.7").status_code == 202
    FailedAttempts.objects.update(until=from_now(-1))
    assert send(trigger, secret).status_code == 202


def test_wrong_signatures_for_an_unknown_trigger_have_the_same_answers(made):
    unknown = uuid.uuid4()
    guess(unknown)
    assert code_of(send(unknown, "wrong")) == (429, "trigger.throttled")
    assert send(*made).status_code == 202, "another trigger is counted by itself"


def test_calls_of_many_unknown_triggers_leave_a_limited_number_of_rows(made, monkeypatch):
    monkeypatch.setattr(calls, "MOST_TRIGGERS", 5)
    trigger, secret = made
    assert send(trigger, secret).status_code == 202
    for _ in range(5):
        guess(uuid.uuid4(), 1)
    rows = FailedAttempts.objects.count()
    assert [code_of(send(uuid.uuid4(), "wrong")) for _ in range(20)] == [(429, "trigger.throttled")] * 20
    assert FailedAttempts.objects.count() == rows == 7
    assert send(trigger, secret).status_code == 202, "a trigger that the network has called before"
    assert code_of(send(uuid.uuid4(), "wrong", address="198.51.100.7")) == (401, "trigger.refused")
    FailedAttempts.objects.update(until=from_now(-1))
    guess(uuid.uuid4(), 1)


def test_a_right_signature_forgives_the_wrong_ones_before(made):
    trigger, secret = made
    guess(trigger, calls.MOST_WRONG - 1)
    assert send(trigger, secret).status_code == 202
    guess(trigger)


@pytest.mark.parametrize("seconds", [-301, 330])
def test_a_timestamp_outside_the_window_is_refused(made, seconds):
    assert code_of(send(*made, now=int(time.time()) + seconds)) == (401, "trigger.outdated")


def test_the_same_call_again_gets_the_same_run(made):
    first = send(*made, key="call-1")
    Run.objects.update(state=State.SUCCEEDED)
    again = send(*made, key="call-1")
    assert (again.json()["run"], again.json()["isNew"]) == (first.json()["run"], False)
    assert Run.objects.count() == 1


def test_a_call_gets_the_run_that_is_queued_already(made):
    send(*made)
    assert send(*made).json()["isNew"] is False
    Run.objects.update(state=State.RUNNING)
    assert send(*made).json()["isNew"] is True


@pytest.mark.parametrize("partly", [{"attempt": 1}, {"only_targets": ["load"]}])
def test_a_queued_run_that_may_not_load_what_is_new_covers_no_call(made, partly):
    send(*made)
    Run.objects.update(**partly)
    assert send(*made).json()["isNew"] is True


def test_a_trigger_may_refuse_calls_while_a_run_is_not_finished(pipeline, sent):
    made = add_trigger(pipeline, "export", "refuse", "alice")
    send(*made, key="call-1")
    assert code_of(send(*made, key="call-2")) == (409, "run.busy")
    Run.objects.update(state=State.SUCCEEDED)
    assert send(*made, key="call-2").status_code == 202


def test_calls_are_limited_in_number_and_size(made, monkeypatch):
    monkeypatch.setattr(calls, "MOST_IN_A_MINUTE", 1)
    send(*made)
    assert code_of(send(*made)) == (429, "trigger.rate_limited")
    assert code_of(send(*made, body=b"x" * (64 * 1024 + 1))) == (413, "trigger.too_large")


def test_old_calls_are_forgotten_once_their_timestamps_are_refused(made):
    send(*made)
    assert forget_old_calls() == 0
    TriggerCall.objects.update(at=from_now(-901))
    assert forget_old_calls() == 1


def test_a_rotated_secret_replaces_the_one_before(made):
    trigger, old = made
    new = rotate_trigger(trigger, "bob")
    assert (send(trigger, old).status_code, send(trigger, new).status_code) == (401, 202)


def test_secrets_are_stored_encrypted_and_rotate_with_the_keys(made):
    trigger, secret = made
    assert secret not in EventTrigger.objects.get().secret
    rotate_secrets()
    assert send(trigger, secret).status_code == 202


def test_every_change_is_in_the_history_that_outlives_the_trigger(made):
    trigger, _ = made
    rotate_trigger(trigger, "bob")
    remove_trigger(trigger, "charlie")
    changes = TriggerChange.objects.order_by("pk").values_list("action", "by")
    assert list(changes) == [("added", "alice@example.org"), ("rotated", "bob"), ("removed", "charlie")]


@pytest.mark.parametrize(
    ("name", "if_busy", "code"),
    [
        ("export", "wait", "trigger.name_taken"),
        ("Export", "wait", "trigger.name_malformed"),
        ("x", "no", "trigger.if_busy_unknown"),
    ],
)
def test_what_is_no_trigger_is_refused(made, pipeline, name, if_busy, code):
    with pytest.raises(FlowError) as caught:
        add_trigger(pipeline, name, if_busy, "alice")
    assert caught.value.code == code


def test_a_pipeline_has_a_limited_number_of_triggers(made, pipeline, monkeypatch):
    monkeypatch.setattr("flowapp.triggers.services.MOST_TRIGGERS", 1)
    with pytest.raises(FlowError) as caught:
        add_trigger(pipeline, "other", "wait", "alice")
    assert caught.value.code == "trigger.too_many"


def test_the_example_of_the_page_signs_as_it_is_checked():
    script = render_to_string("triggers/example.sh", {"url": "http://localhost/"}).replace(
        "\ncurl ", "\nprintf '%s\\n' "
    )
    done = subprocess.run(
        ["bash", "-c", f"SECRET=s3cret\n{script}"], capture_output=True, text=True, check=True, timeout=20
    )
    values = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith("webhook-"))
    body = done.stdout.splitlines()[-1]
    signed = f"{values['webhook-id']}.{values['webhook-timestamp']}.{body}".encode()
    digest = hmac.new(b"s3cret", signed, hashlib.sha256).digest()
    assert values["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
