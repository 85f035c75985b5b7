"""The containers' health check."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from flowapp.clock import from_now
from flowapp.processes.heartbeats import beat, process_name
from flowapp.processes.models import Heartbeat

pytestmark = pytest.mark.django_db


def test_a_process_that_beats_here_is_alive() -> None:
    beat(process_name(), "worker")
    call_command("flow_alive", "worker")


@pytest.mark.parametrize("name", ["elsewhere:1:aa", None])
def test_silence_or_another_machine_is_not(name: str | None) -> None:
    if name:
        beat(name, "worker")
    with pytest.raises(CommandError, match="No worker"):
        call_command("flow_alive", "worker")


def test_an_old_beat_is_not_enough() -> None:
    Heartbeat.objects.create(name=process_name(), role="worker", seen_at=from_now(-3600))
    with pytest.raises(CommandError):
        call_command("flow_alive", "worker")
