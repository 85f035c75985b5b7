"""The clock of the control database, on both of its systems."""

from __future__ import annotations

import pytest

from flowapp.clock import Now, from_now
from flowapp.processes.models import PeriodicTask


@pytest.mark.django_db
def test_a_stored_time_compares_with_its_own_value_as_equal():
    for seconds in range(20):
        PeriodicTask.objects.create(name=str(seconds), due_at=from_now(seconds))
        PeriodicTask.objects.create(name=f"now {seconds}", due_at=Now())
    for task in PeriodicTask.objects.all():
        same = PeriodicTask.objects.filter(name=task.name)
        assert same.filter(due_at=task.due_at).exists()
        assert not same.filter(due_at__lt=task.due_at).exists()
