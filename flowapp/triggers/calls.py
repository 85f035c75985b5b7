"""Answer calls of triggers. The checks are the signature, the time, and whether the call was answered before, in this
order.

A call is counted before its signature is checked, like a sign-in, so that concurrent calls are all counted.

Headers and signature are those of Standard Webhooks, as in Flow's own webhook hooks.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from executors.api import sign_webhook
from flowapp.accounts.clients import network_of, secret_hash
from flowapp.accounts.throttle import (
    PAUSE_SECONDS,
    count_attempt,
    forgive_attempts,
    has_attempts,
    return_attempt,
)
from flowapp.clock import Now, from_now
from flowapp.connections.secrets import decrypt
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.services import queue_run
from flowapp.triggers.models import EventTrigger, IfBusy, TriggerCall
from ir.errors import FlowError

MOST_BYTES = 64 * 1024
WINDOW_SECONDS = 300
REMEMBER_SECONDS = 900.0
"""Longer than a timestamp is accepted: the window extends to both sides of the current time."""
MOST_IN_A_MINUTE = 60
MOST_WRONG = 20
"""The maximum number of calls of one trigger from one network with a wrong signature. It is higher than the number of
concurrent requests of a web process, because valid calls count too until their signature was checked."""
MOST_TRIGGERS = 100
"""The maximum number of triggers that one network may begin to call within the pause, existing or not, before a
signature is right. It limits the rows that calls of made-up addresses leave."""
LONGEST_ID = 256
_NOBODY = "no trigger has this secret"
"""Unknown triggers are checked against this secret, so that the check takes as long as for known ones."""


@dataclass(frozen=True, slots=True)
class Call:
    """A received request. `network` is the network of the sender."""

    id: str
    timestamp: str
    signature: str
    body: bytes
    network: str

    @classmethod
    def read(cls, headers: Mapping[str, str], body: bytes, address: str) -> Call:
        key, timestamp, signature = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
        return cls(key, timestamp, signature, body, network_of(address))


@dataclass(frozen=True, slots=True)
class Answer:
    """The run of a call. `is_new` is false if a queued run covers the call, or if the call was answered before."""

    run: Run
    is_new: bool


@sensitive_variables("secret")
def answer_call(trigger_id: UUID, call: Call) -> Answer:
    """Queue a run for a valid call. Raises FlowError `trigger.refused` for unknown triggers and wrong signatures alike,
    `trigger.throttled`, `trigger.outdated`, `trigger.rate_limited`, and the errors of `queue_run`."""
    attempts, first_calls = secret_hash("trigger", str(trigger_id), call.network), secret_hash("triggers", call.network)
    is_first = not has_attempts(attempts)
    if is_first and not count_attempt(first_calls, MOST_TRIGGERS):
        raise _throttled(f"Calls of {MOST_TRIGGERS} triggers with a wrong signature came from this network.")
    if not count_attempt(attempts, MOST_WRONG):
        raise _throttled(f"{MOST_WRONG} calls with a wrong signature came from this network.")
    trigger = EventTrigger.objects.select_related("pipeline").filter(pk=trigger_id).first()
    secret = _NOBODY if trigger is None else decrypt(trigger.secret, f"trigger {trigger.name!r}")
    if not _is_signed(call, secret) or trigger is None:
        raise FlowError(
            "trigger.refused",
            "There is no such trigger, or the signature is wrong.",
            hint="Check the address and the secret, and sign id, timestamp and body exactly as they are sent.",
        )
    forgive_attempts(attempts)
    if is_first:
        return_attempt(first_calls)
    _require_recent(call)
    with transaction.atomic():
        # Serialize the calls of a pipeline, so that each sees the run of the previous one.
        Pipeline.objects.select_for_update(no_key=True).get(pk=trigger.pipeline_id)
        return _answer(trigger, hashlib.sha256(call.id.encode()).hexdigest())


def _throttled(message: str) -> FlowError:
    hint = f"Correct the address or the secret, and wait {PAUSE_SECONDS // 60} minutes."
    return FlowError("trigger.throttled", message, hint=hint)


def forget_old_calls() -> int:
    return TriggerCall.objects.filter(at__lt=from_now(-REMEMBER_SECONDS)).delete()[0]


def _is_signed(call: Call, secret: str) -> bool:
    is_sound = call.timestamp.isdecimal() and call.timestamp.isascii() and len(call.timestamp) <= 12
    moment = int(call.timestamp) if is_sound else 0
    expected = sign_webhook(secret, call.id, moment, call.body).encode()
    # A sender sends several signatures while it replaces its secret.
    found = [hmac.compare_digest(expected, one.encode()) for one in call.signature.split()[:5]]
    return is_sound and any(found) and 0 < len(call.id) <= LONGEST_ID


def _require_recent(call: Call) -> None:
    if abs(time.time() - int(call.timestamp)) > WINDOW_SECONDS:
        raise FlowError(
            "trigger.outdated",
            f"The timestamp of the call is more than {WINDOW_SECONDS // 60} minutes from the time of this server.",
            hint="Sign each call when it is sent, and check the clocks.",
        )


def _answer(trigger: EventTrigger, key: str) -> Answer:
    earlier = TriggerCall.objects.filter(trigger=trigger, key=key).select_related("run__pipeline").first()
    if earlier is not None:
        return Answer(earlier.run, False)
    if TriggerCall.objects.filter(trigger=trigger, at__gt=from_now(-60)).count() >= MOST_IN_A_MINUTE:
        raise FlowError(
            "trigger.rate_limited",
            f"The trigger was called {MOST_IN_A_MINUTE} times within a minute.",
            hint="Call it once for several events: a run loads all that is new.",
        )
    answer = _find_or_queue(trigger)
    TriggerCall.objects.create(trigger=trigger, key=key, run=answer.run, at=Now())
    EventTrigger.objects.filter(pk=trigger.pk).update(last_used_at=Now())
    return answer


def _find_or_queue(trigger: EventTrigger) -> Answer:
    """Return a run that has not started, because it will load what the call is about; else queue one."""
    if trigger.if_busy == IfBusy.WAIT:
        queued = Run.objects.filter(pipeline=trigger.pipeline, kind=RunKind.LOAD, state=State.QUEUED)
        # A run that waits for its next attempt may have loaded already, and a retry loads some targets only.
        unstarted = queued.filter(attempt=0, only_targets=[])
        waiting = unstarted.exclude(sent_at=None).select_related("pipeline").order_by("number").first()
        if waiting is not None:
            return Answer(waiting, False)
    if_busy: Literal["wait", "refuse"] = "refuse" if trigger.if_busy == IfBusy.REFUSE else "wait"
    run = queue_run(trigger.pipeline, Trigger.WEBHOOK, if_busy=if_busy, trigger_name=trigger.name)
    return Answer(run, True)
