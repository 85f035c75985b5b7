"""Which run the demo shows when it is called again."""

from __future__ import annotations

import pytest

from flowapp.demo.load import find_result
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.services import queue_run


@pytest.mark.django_db
def test_a_replay_is_not_taken_for_the_load(pipeline):
    load = queue_run(pipeline, Trigger.CLI, send=False)
    Run.objects.update(state=State.SUCCEEDED)
    queue_run(pipeline, Trigger.MANUAL, send=False)
    Run.objects.exclude(pk=load.pk).update(kind=RunKind.REPLAY, state=State.SUCCEEDED)

    assert find_result(pipeline) == load
