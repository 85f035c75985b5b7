"""A run beside the load before it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from flowapp.runs.comparing import Difference, compare_with_previous
from flowapp.runs.models import NodeRun, Run, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def ended(pipeline):
    """Makes runs that have ended, each a second after the one before."""

    def end(state: State = State.SUCCEEDED, **counts: int) -> Run:
        run = queue_run(pipeline, Trigger.MANUAL, send=False)
        NodeRun.objects.create(
            workspace=run.workspace, run=run, position=0, node="load", kind="target", rows_loaded=0, **counts
        )
        at = timezone.now() + timedelta(seconds=run.number)
        Run.objects.filter(pk=run.pk).update(
            state=state, queued_at=at, started_at=at, ended_at=at + timedelta(seconds=2)
        )
        run.refresh_from_db()
        return run

    return end


def compared(run: Run):
    return compare_with_previous(run, run_document(run)["nodes"])


def test_a_run_is_compared_with_the_last_one_that_loaded(ended):
    first = ended(rows_read=100, rows_rejected=0)
    ended(State.FAILED, rows_read=7)
    comparison = compared(ended(rows_read=90, rows_rejected=3))

    assert comparison.previous == first
    shown = {difference.title: (difference.words, difference.is_marked) for difference in comparison.differences}
    assert shown == {
        "Rows read": ("-10 (-10 %)", False),
        "Rows loaded": ("same", False),
        "Rows rejected": ("+3", True),
        "Duration": ("same", False),
    }


def test_the_first_load_is_compared_with_nothing(ended):
    assert compared(ended(rows_read=1)) is None


def test_a_run_that_found_nothing_new_is_compared_with_nothing(ended):
    ended(rows_read=100)
    run = ended(rows_read=0)
    run.nothing_new = True

    assert compared(run) is None


def test_a_small_difference_is_not_shown_as_none():
    assert Difference("Rows", 1000, 999).words == "-1 (under 1 %)"


@pytest.mark.parametrize(
    ("before", "now", "marked"), [(100, 119, False), (100, 120, True), (100, 80, True), (0, 0, False)]
)
def test_a_difference_of_a_fifth_is_marked(before, now, marked):
    assert Difference("Rows", before, now).is_marked is marked


def test_a_number_that_is_not_known_has_no_difference():
    assert Difference("Rows", None, 5).words == "–"


def test_the_page_shows_the_differences(ended, as_):
    ended(rows_read=100)
    run = ended(rows_read=200)
    assert "Rows read 100 200 +100 (+100 %)" in words(as_("viewer").get(f"/w/alices-team/runs/{run.pk}/"))
