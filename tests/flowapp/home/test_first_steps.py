"""The first steps on the list of pipelines: when each is done, and which users see them."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from flowapp.accounts.models import Membership
from flowapp.home.first_steps import list_steps
from flowapp.pipelines.services import create_pipeline
from flowapp.quarantine.models import RowDecision
from flowapp.runs.models import NodeRun, Run, State, Trigger

pytestmark = pytest.mark.django_db

CONNECT, CREATE, RUN, LOOK = range(4)


@pytest.fixture
def member(workspace, person):
    """Read the member again at each call, like a request."""
    return lambda role="editor": Membership.objects.get(workspace=workspace, user=person(role))


@pytest.fixture
def numbers(workspace):
    return create_pipeline(workspace, "numbers", "Numbers")


def add_run(pipeline, state=State.SUCCEEDED, rejected=0):
    now = timezone.now()
    run = Run.objects.create(
        workspace=pipeline.workspace,
        pipeline=pipeline,
        number=1,
        state=state,
        trigger=Trigger.API,
        queued_at=now,
        due_at=now,
    )
    NodeRun.objects.create(
        workspace=pipeline.workspace, run=run, position=0, node="load", kind="target", rows_rejected=rejected
    )
    return run


def done(steps):
    return [step.is_done for step in steps]


def test_in_a_new_workspace_no_step_is_done(member):
    assert done(list_steps(member())) == [False] * 4


def test_a_stored_database_connection_completes_the_first_step(connected, member):
    assert done(list_steps(member())) == [True, False, False, False]


def test_only_admins_get_a_link_to_connections(member):
    assert list_steps(member("editor"))[CONNECT].links == ()
    assert list_steps(member("admin"))[CONNECT].links[0].url == "/w/alices-team/connections/"


def test_a_pipeline_completes_the_second_step_and_is_the_link_of_the_third(numbers, member):
    steps = list_steps(member())

    assert done(steps) == [False, True, False, False]
    assert steps[RUN].links[0].url == "/w/alices-team/pipelines/numbers/"


@pytest.mark.parametrize(
    ("state", "is_done"), [(State.SUCCEEDED, True), (State.FAILED, False), (State.QUEUED, False), (State.HELD, False)]
)
def test_only_a_run_that_loaded_completes_the_third_step(numbers, member, state, is_done):
    add_run(numbers, state)

    assert list_steps(member())[RUN].is_done is is_done


def test_rejected_rows_of_the_newest_run_are_counted_and_linked(numbers, member):
    run = add_run(numbers, rejected=2512)
    look = list_steps(member())[LOOK]

    assert "numbers/1, rejected 2,512 rows" in look.text
    assert look.links[1].url == f"/w/alices-team/errors/rows/?run={run.pk}"


def test_opening_the_run_completes_the_last_step(numbers, member, web):
    run = add_run(numbers)
    web.get(reverse("runs:detail", args=["alices-team", run.pk]))

    assert list_steps(member())[LOOK].is_done


def test_opening_a_failed_run_does_not_complete_the_last_step(numbers, member, web):
    add_run(numbers)
    failed = add_run(create_pipeline(numbers.workspace, "letters", ""), State.FAILED)
    web.get(reverse("runs:detail", args=["alices-team", failed.pk]))

    assert not list_steps(member())[LOOK].is_done


def test_a_decision_on_rejected_rows_completes_the_last_step(numbers, member):
    add_run(numbers, rejected=1)
    RowDecision.objects.create(workspace=numbers.workspace, action="fix", at=timezone.now(), rows=1)

    assert list_steps(member())[LOOK].is_done


def test_other_workspaces_do_not_count(numbers, connected, person):
    from flowapp.accounts.services import add_member, ensure_workspace

    elsewhere = add_member(ensure_workspace("bobs-team"), person("admin").email, "admin")
    add_run(numbers)

    assert done(list_steps(elsewhere)) == [False] * 4


def test_the_list_of_pipelines_shows_the_steps_until_all_are_done(connected, numbers, member, web):
    page = reverse("pipelines:list", args=["alices-team"])
    assert "2 of 4 done" in web.get(page).content.decode()

    run = add_run(numbers)
    web.get(reverse("runs:detail", args=["alices-team", run.pk]))
    assert "First steps" not in web.get(page).content.decode()


def test_hiding_the_steps_hides_them_from_this_member_alone(workspace, member, web):
    page = web.post(reverse("home:hide_first_steps", args=["alices-team"]), follow=True).content.decode()

    assert 'id="first-steps-title"' not in page
    assert list_steps(member("editor")) == []
    assert list_steps(member("admin"))


def test_viewers_see_no_steps(member):
    assert list_steps(member("viewer")) == []


def test_hidden_steps_cost_no_query(member, django_assert_num_queries):
    hidden = member()
    hidden.first_steps_hidden_at = timezone.now()

    with django_assert_num_queries(0):
        list_steps(hidden)
