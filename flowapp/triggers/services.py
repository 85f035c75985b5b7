"""Add, rotate and remove triggers. Only the response that creates a secret contains it in clear text."""

from __future__ import annotations

import re
import secrets

from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from flowapp.accounts.models import User
from flowapp.clock import Now
from flowapp.connections.secrets import encrypt
from flowapp.pipelines.models import Pipeline
from flowapp.triggers.models import EventTrigger, IfBusy, TriggerAction, TriggerChange
from ir.errors import FlowError

MOST_TRIGGERS = 20
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


@sensitive_variables("secret")
def add_trigger(
    pipeline: Pipeline, name: str, if_busy: str, by: str, user: User | None = None
) -> tuple[EventTrigger, str]:
    """Return a new trigger and its secret. Raises FlowError."""
    if not NAME.fullmatch(name):
        raise FlowError(
            "trigger.name_malformed",
            f"{name!r} is not a valid name for a trigger.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    if if_busy not in IfBusy.values:
        raise FlowError(
            "trigger.if_busy_unknown", f"{if_busy!r} is not a choice for a busy pipeline.", hint="Use wait or refuse."
        )
    secret = _make_secret()
    trigger = EventTrigger(
        workspace_id=pipeline.workspace_id,
        pipeline=pipeline,
        name=name,
        secret=encrypt(secret),
        if_busy=if_busy,
        created_by=user,
    )
    try:
        with transaction.atomic():
            Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
            _require_room(pipeline)
            trigger.save()
            _note(trigger, TriggerAction.ADDED, by)
    except IntegrityError:
        raise FlowError(
            "trigger.name_taken", f"{pipeline.slug} has a trigger {name!r} already.", hint="Choose another name."
        ) from None
    return trigger, secret


@sensitive_variables("secret")
def rotate_trigger(trigger: EventTrigger, by: str) -> str:
    """Return a new secret. Calls that are signed with the old one are refused from now on."""
    secret = _make_secret()
    with transaction.atomic():
        EventTrigger.objects.filter(pk=trigger.pk).update(secret=encrypt(secret), rotated_at=Now())
        _note(trigger, TriggerAction.ROTATED, by)
    trigger.refresh_from_db()
    return secret


def remove_trigger(trigger: EventTrigger, by: str) -> None:
    with transaction.atomic():
        _note(trigger, TriggerAction.REMOVED, by)
        trigger.delete()


def _require_room(pipeline: Pipeline) -> None:
    if EventTrigger.objects.filter(pipeline=pipeline).count() >= MOST_TRIGGERS:
        raise FlowError(
            "trigger.too_many",
            f"{pipeline.slug} has {MOST_TRIGGERS} triggers, the most that a pipeline may have.",
            hint="Remove a trigger that is no longer used.",
        )


def _make_secret() -> str:
    return f"flow_trigger_{secrets.token_urlsafe(32)}"


def _note(trigger: EventTrigger, action: TriggerAction, by: str) -> None:
    TriggerChange.objects.create(
        workspace_id=trigger.workspace_id,
        pipeline_id=trigger.pipeline_id,
        name=trigger.name,
        action=action,
        by=by[:300],
    )
