"""Held runs: other runs wait for them, and exactly one decision is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.effects import Effect
from executors.errors import Terminal, Transient
from executors.holding import Evaluation, Held, Reason, StagedLoad
from executors.load_record import NONE_SKIPPED
from executors.model import PassResult
from executors.report import NodeReport, RunReport
from flowapp.alerts.models import Alert
from flowapp.clock import from_now
from flowapp.runs.cli.run_report import STATUS_BY_STATE
from flowapp.runs.dispatch import execute_claimed, run_inline, run_to_end
from flowapp.runs.durations import idle_seconds_of, seconds_of
from flowapp.runs.holds import Decider, approve_run, discard_run, expire_holds
from flowapp.runs.janitor import is_dead
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import CommitRecord, HeldLoad, Run, RunLog, State, Trigger
from flowapp.runs.schedules import fire_due
from flowapp.runs.selectors import run_document
from flowapp.runs.services import cancel_run, queue_run
from ir.errors import FlowError
from tests.flowapp.reading import words
from tests.flowapp.together import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]

ALICE = Decider("alice@example.com")
HERE = {"X-Flow-Workspace": "alices-team"}
REASON = Reason("maxDecreasePct", 50, 70.0, "The table would change from 10 to 3 rows, 70.0 % fewer; 50 % is allowed.")
EFFECT = Effect("load", "public.numbers", "truncate", False, 10, 3, deleted=10)


class Engine:
    """Holds its first attempt, and loads what is approved."""

    def __init__(self, *troubles: Exception) -> None:
        self.troubles, self.loaded = list(troubles), 0

    def __call__(self, job, ports) -> RunReport:
        shown = Evaluation.of([REASON], EFFECT)
        staged = StagedLoad(job.attempt, (), (), (), ("a" * 64,), 3, PassResult(()), (), NONE_SKIPPED, shown)
        if not job.approved:
            raise Held("load", [REASON], EFFECT, staged)
        if self.troubles:
            raise self.troubles.pop()
        self.loaded += 1
        return RunReport(nodes=[NodeReport("load", "target", rows_read=3, rows_loaded=3)])


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def held(pipeline, engine) -> Run:
    return run_inline(pipeline, engine=engine)


def test_it_says_why_and_calls_somebody(held):
    document = run_document(held)
    assert (held.state, STATUS_BY_STATE[held.state], document["error"]["code"]) == ("held", 6, "run.held")
    assert document["holds"][0]["reasons"][0]["limit"] == "maxDecreasePct"
    assert document["holds"][0]["effect"]["rowsAfter"] == 3
    (alert,) = Alert.objects.all()
    assert (alert.kind, alert.state) == ("run.held", "open")


def test_approved_it_is_loaded(held, engine):
    run = approve_run(held, ALICE, "Stock was cleared.", send=False)
    assert run.state == State.APPROVED
    assert run_to_end(run, engine).state == State.SUCCEEDED
    hold = HeldLoad.objects.get()
    assert (hold.decision, hold.decided_as, hold.reason) == ("approved", "alice@example.com", "Stock was cleared.")
    assert Alert.objects.get().state == "resolved"
    assert RunLog.objects.filter(message__contains="alice@example.com: Stock was cleared.").exists()


def test_a_held_load_is_read_as_it_was_stored(held):
    stored = HeldLoad.objects.get().held
    assert (stored.reasons, stored.effect) == ((REASON,), EFFECT)
    assert (stored.staged.attempt, stored.staged.units) == (1, ("a" * 64,))


def test_the_wait_for_a_decision_is_no_part_of_its_duration(held, engine):
    Run.objects.update(started_at=from_now(-7205), idle_since=from_now(-7200))
    held.refresh_from_db()
    assert (round(seconds_of(held)), round(idle_seconds_of(held), -2)) == (5, 7200)
    run = run_to_end(approve_run(held, ALICE, send=False), engine)
    assert run.state == State.SUCCEEDED
    assert (5 <= seconds_of(run) < 60, round(idle_seconds_of(run), -2)) == (True, 7200)


def test_a_rejected_load_lasted_until_it_was_held(held):
    Run.objects.update(started_at=from_now(-7205), idle_since=from_now(-7200))
    assert round(seconds_of(discard_run(held, ALICE, "Wrong file."))) == 5


def test_two_concurrent_approvals_load_once(held, engine):
    first, second = at_once(
        lambda: approve_run(held, ALICE, send=False), lambda: approve_run(held, Decider("bob"), send=False)
    )
    refused = second if isinstance(second, FlowError) else first
    assert refused.code == "run.not_held"
    run_to_end(Run.objects.get(), engine)
    assert engine.loaded == 1


def test_the_second_decision_is_refused_with_the_name_of_the_first(held):
    discard_run(held, ALICE, "Wrong file.")
    with pytest.raises(FlowError, match=r"discarded by alice@example\.com"):
        approve_run(held, Decider("bob"))


def test_discarded_it_ends_with_its_reason(held, engine):
    run = discard_run(held, ALICE, "Wrong file.")
    assert (run.state, run.error_code) == (State.DISCARDED, "run.discarded")
    assert "alice@example.com: Wrong file." in run.error_message
    assert Alert.objects.get().state == "resolved"
    assert run_inline(run.pipeline, engine=engine).state == State.HELD


def test_a_discarded_run_failed_nowhere(as_, held):
    discard_run(held, ALICE, "Wrong file.")
    assert "failed" not in words(as_("viewer").get(f"/w/alices-team/runs/{held.pk}/"))


def test_discarding_needs_a_reason(held):
    with pytest.raises(FlowError, match="needs a reason"):
        discard_run(held, ALICE, " ")


def test_nobody_decided_in_time(held):
    assert expire_holds() == 0
    HeldLoad.objects.update(expires_at=from_now(-1))
    assert expire_holds() == 1
    held.refresh_from_db()
    assert (held.state, held.error_code) == (State.DISCARDED, "run.expired")


def test_later_runs_wait_until_it_is_decided_and_loaded(held, engine):
    later = queue_run(held.pipeline, Trigger.MANUAL)
    assert claim_run(later.pk, "worker") is None
    approve_run(held, ALICE)
    assert claim_run(later.pk, "worker") is None
    run_to_end(Run.objects.get(pk=held.pk), engine)
    assert claim_run(later.pk, "worker")


def test_a_caller_who_does_not_wait_gets_a_hint(held):
    with pytest.raises(FlowError) as refused:
        queue_run(held.pipeline, Trigger.MANUAL, if_busy="refuse")
    assert refused.value.code == "run.busy"
    assert "Approve or discard" in refused.value.hint


def test_a_schedule_queues_one_run_behind_it(held):
    from django.utils import timezone

    schedule = {"kind": "every", "interval": "15m"}
    for _ in range(2):
        type(held.pipeline).objects.update(schedule=schedule, next_fire_at=timezone.now())
        fire_due(timezone.now())
    assert Run.objects.filter(trigger="schedule", state="queued").count() == 1
    assert set(Alert.objects.values_list("kind", flat=True)) == {"run.held", "schedule.missed"}


def test_an_approved_load_that_is_tried_again_stays_ahead(held):
    engine, trouble = Engine(Transient("target.lost", "gone")), Run.objects.filter(pk=held.pk)
    trouble.update(max_attempts=3)
    later = queue_run(held.pipeline, Trigger.MANUAL)
    approve_run(held, ALICE)
    claim = claim_run(held.pk, "worker")
    execute_claimed(claim, engine)
    assert Run.objects.get(pk=held.pk).state == State.APPROVED
    assert claim_run(later.pk, "worker") is None
    trouble.update(due_at=from_now(-1))
    execute_claimed(claim_run(held.pk, "worker"), engine)
    assert Run.objects.get(pk=held.pk).state == State.SUCCEEDED


def test_an_approved_load_that_fails_for_good_lets_the_others_go_on(held):
    later = queue_run(held.pipeline, Trigger.MANUAL)
    approve_run(held, ALICE)
    execute_claimed(claim_run(held.pk, "worker"), Engine(Terminal("target.constraint", "no")))
    assert Run.objects.get(pk=held.pk).state == State.FAILED
    assert claim_run(later.pk, "worker")


def test_staging_lives_until_it_is_decided_and_loaded(held, engine):
    assert not is_dead(str(held.pk), 1)
    run = approve_run(held, ALICE, send=False)
    assert not is_dead(str(held.pk), 1)
    run_to_end(run, engine)
    assert is_dead(str(held.pk), 1)


def test_staging_of_a_discarded_run_is_dead(held):
    discard_run(held, ALICE, "no")
    assert is_dead(str(held.pk), 1)


def test_a_held_run_is_not_cancelled(held):
    with pytest.raises(FlowError, match=r"^run\.held: Run numbers/1 is waiting for approval"):
        cancel_run(held)


def test_an_approved_run_may_still_be_cancelled(held):
    assert cancel_run(approve_run(held, ALICE)).state == State.CANCELLED


def test_what_a_cancelled_approval_had_in_hand_is_free_at_once(held, sent):
    unit = LoadUnit.objects.create(
        workspace=held.workspace,
        pipeline=held.pipeline,
        run=held,
        node="numbers",
        sha256="a" * 64,
        name="a.csv",
        size=1,
        mtime_ns=1,
        state=UnitState.PROCESSING,
        changed_at=from_now(0),
    )
    later = queue_run(held.pipeline, Trigger.MANUAL)
    approve_run(held, ALICE)
    sent.clear()
    cancel_run(held)
    unit.refresh_from_db()
    assert (unit.state, sent) == (UnitState.PENDING, [str(later.pk)])


def test_a_discarded_run_says_which_targets_it_had_loaded_before(held):
    assert discard_run(held, ALICE, "no").error_hint.startswith("Nothing was loaded.")
    again = run_inline(held.pipeline, engine=Engine())
    CommitRecord.objects.create(
        workspace=again.workspace, pipeline=again.pipeline, run=again, node="first", attempt=1, committed_at=from_now(0)
    )
    assert discard_run(again, ALICE, "no").error_hint.startswith("Only first had been loaded before.")


def test_it_may_be_held_again_where_what_was_staged_is_gone(held):
    def lost(job, ports) -> RunReport:
        return Engine()(replace(job, approved={}), ports)

    run = run_to_end(approve_run(held, ALICE, send=False), lost)
    assert run.state == State.HELD
    assert [hold.decision for hold in run.holds.order_by("attempt")] == ["approved", ""]


def test_the_page_has_the_numbers_and_both_buttons(as_, held):
    answer = as_("editor").get(f"/w/alices-team/runs/{held.pk}/")
    text = words(answer)
    assert "The table would change from 10 to 3 rows" in text
    assert "Approve and load" in text
    assert "Discard load" in text


def test_a_viewer_sees_it_and_decides_nothing(as_, held):
    client, address = as_("viewer"), f"/w/alices-team/runs/{held.pk}/"
    assert "Approve and load" not in words(client.get(address))
    assert client.post(f"{address}approve/").status_code == 403
    assert client.post(f"{address}discard/", {"reason": "no"}).status_code == 403
    held.refresh_from_db()
    assert held.state == State.HELD


def test_an_editor_decides_by_the_page(as_, held):
    as_("editor").post(f"/w/alices-team/runs/{held.pk}/approve/", {"reason": "Checked."})
    hold = HeldLoad.objects.get()
    assert (hold.decision, hold.decided_by.email, hold.reason) == ("approved", "editor@example.com", "Checked.")
    assert "Approved by editor@example.com" in words(as_("viewer").get(f"/w/alices-team/runs/{held.pk}/"))


def test_decided_holds_of_one_run_have_headings_of_their_own(as_, held):
    HeldLoad.objects.update(decision="approved", decided_at=from_now(0))
    again = HeldLoad.objects.get()
    again.pk, again.attempt, again._state.adding = None, 2, True
    again.save()
    page = words(as_("viewer").get(f"/w/alices-team/runs/{held.pk}/"))
    assert "Approval was required, attempt 1" in page
    assert "Approval was required, attempt 2" in page


def test_programs_decide_by_the_api(as_, held):
    ask = {"content_type": "application/json", "headers": HERE}
    client, path = as_("editor"), f"/api/runs/{held.pk}"
    assert client.post(f"{path}/discard/", {}, **ask).status_code == 400
    assert client.post(f"{path}/approve/", {}, **ask).json()["state"] == "approved"
    assert client.post(f"{path}/discard/", {"reason": "no"}, **ask).status_code == 409
