"""A backfill from the request to the phase streaming, and what stops it on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.errors import Terminal
from executors.model import Chunk as PlannedChunk
from flowapp.alerts.models import Alert
from flowapp.backfills.advancing import count_statuses
from flowapp.backfills.hosting import run_chunk
from flowapp.backfills.models import Action, Backfill, BackfillAction, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.backfills.progress import get_progress, status_document
from flowapp.backfills.selectors import newest_backfill
from flowapp.backfills.services import Actor, pause, resume, retry_failed, rewind
from flowapp.pipelines.services import set_archived
from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.models import CommitRecord, NodeRun, Run, RunKind, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import cancel_run, queue_run
from ir.errors import FlowError
from tests.databases import connect_to
from tests.flowapp.backfills.engine import ROWS, execute, execute_all, plan_of
from tests.flowapp.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)
ANN = Actor("ann@example.org", Trigger.MANUAL)


def statuses(pipeline) -> list[str]:
    backfill = newest_backfill(pipeline)
    return list(backfill.chunks.order_by("ordinal").values_list("status", flat=True))


def start(pipeline, engine) -> Run:
    """Plan the backfill: its run is then parked."""
    return execute(queue_run(pipeline, Trigger.MANUAL), engine)


def test_the_first_request_of_a_run_plans_a_backfill(history, engine):
    run = start(history, engine)
    backfill = newest_backfill(history)
    assert (run.kind, run.state, run.lease_until, run.ended_at) == (RunKind.BACKFILL, State.RUNNING, None, None)
    assert (backfill.phase, backfill.run, backfill.number) == (Phase.BACKFILLING, run, 1)
    assert statuses(history) == ["running", "running", "pending"]


def test_when_all_chunks_are_loaded_the_pipeline_follows_its_source(history, engine):
    run = start(history, engine)
    assert execute_all(history, engine) == 5
    run.refresh_from_db()
    assert (run.state, newest_backfill(history).phase) == (State.SUCCEEDED, Phase.STREAMING)
    assert statuses(history) == ["done"] * 3
    assert engine.mark.mark == "90"
    assert [one.rows_read for one in engine.mark.chunks] == [ROWS] * 3


def test_the_end_of_a_backfill_starts_the_first_load_of_what_is_new(history, engine):
    start(history, engine)
    execute_all(history, engine)
    first = Run.counted.order_by("number").last()
    assert (first.kind, first.trigger, first.state) == (RunKind.LOAD, Trigger.MANUAL, State.SUCCEEDED)
    assert queue_run(history, Trigger.MANUAL).kind == RunKind.LOAD


def test_the_counts_of_a_backfill_are_the_sums_of_its_chunks(history, engine):
    run = start(history, engine)
    execute_all(history, engine)
    run.refresh_from_db()
    node = NodeRun.objects.get(run=run)
    assert (node.rows_read, node.rows_loaded, node.rows_rejected) == (3 * ROWS, 3 * (ROWS - 1), 3)
    assert (run.rows_loaded, run.rows_rejected) == (3 * (ROWS - 1), 3)


def test_no_other_run_of_the_pipeline_starts_beside_chunks(history, engine):
    start(history, engine)
    with pytest.raises(FlowError, match="is backfilling") as busy:
        queue_run(history, Trigger.MANUAL)
    assert busy.value.code == "run.busy"


def test_a_load_that_was_queued_before_the_history_was_loaded_is_refused(history, engine):
    load = queue_run(history, Trigger.MANUAL)
    Run.objects.filter(pk=load.pk).update(kind=RunKind.LOAD)
    Backfill.objects.update(run=None)
    load.refresh_from_db()
    assert execute(load, engine).error_code == "backfill.in_progress"
    assert engine.jobs == []


def test_a_pipeline_that_was_loaded_before_it_had_a_backfill_just_follows_its_source(make, engine):
    pipeline = make(backfill=None)
    run = queue_run(pipeline, Trigger.MANUAL)
    CommitRecord.objects.create(
        workspace=pipeline.workspace, pipeline=pipeline, run=run, node="load", attempt=1, committed_at=run.queued_at
    )
    cancel_run(run)
    assert queue_run(make(), Trigger.MANUAL).kind == RunKind.LOAD


def test_a_plan_without_chunks_ends_the_backfill(history, engine):
    engine.chunks = 0
    run = start(history, engine)
    assert execute_all(history, engine) == 2
    run.refresh_from_db()
    assert (run.state, newest_backfill(history).phase) == (State.SUCCEEDED, Phase.STREAMING)


def test_a_plan_that_fails_leaves_the_phase_and_is_made_again_by_the_next_run(history, engine):
    engine.failure = Terminal("source.unreadable", "The source cannot be read.")
    run = start(history, engine)
    assert (run.state, newest_backfill(history).phase) == (State.FAILED, Phase.PLANNING)
    engine.failure = None
    assert start(history, engine).state == State.RUNNING
    assert newest_backfill(history).number == 1


def test_a_failed_chunk_does_not_stop_the_others_but_the_end(history, engine):
    engine.failing = {2}
    run = start(history, engine)
    execute_all(history, engine)
    run.refresh_from_db()
    assert statuses(history) == ["done", "failed", "done"]
    assert (run.state, run.error_code) == (State.PARTIALLY_LOADED, "backfill.chunks_failed")
    assert newest_backfill(history).phase == Phase.BACKFILLING
    assert "source.unreadable" in Chunk.objects.get(ordinal=2).error
    assert set(Alert.objects.values_list("kind", flat=True)) == {"backfill.chunk_failed", "run.failed"}


def test_retrying_loads_only_the_failed_chunks(history, engine):
    engine.failing = {2}
    start(history, engine)
    execute_all(history, engine)
    engine.failing, engine.jobs = set(), []
    retry_failed(history, ANN, "the source is back")
    execute_all(history, engine)
    assert [job.chunk.chunk.ordinal for job in engine.jobs if job.chunk] == [2]
    assert (newest_backfill(history).phase, Chunk.objects.get(ordinal=2).attempts) == (Phase.STREAMING, 2)
    assert not Alert.objects.exclude(state="resolved").exists()
    with pytest.raises(FlowError, match="No chunk") as nothing:
        retry_failed(history, ANN)
    assert nothing.value.code == "backfill.nothing_failed"


def test_a_failed_chunk_runs_by_its_number_after_the_run_of_the_backfill_has_ended(history, engine):
    engine.failing = {2}
    run = start(history, engine)
    execute_all(history, engine)
    run.refresh_from_db()
    assert (run.state, "missingTargets" in run_document(run)) == (State.PARTIALLY_LOADED, False)
    assert status_document(get_progress(history))["error"]["code"] == "backfill.chunks_failed"
    engine.failing = set()

    again = run_chunk(history, 2, engine)

    assert (again.state, again.parent == run, statuses(history)) == (State.SUCCEEDED, False, ["done"] * 3)
    assert status_document(get_progress(history))["error"] is None
    execute_all(history, engine)
    assert newest_backfill(history).phase == Phase.STREAMING


def test_a_pause_lets_running_chunks_finish_and_starts_no_more(history, engine):
    run = start(history, engine)
    claim = claim_run(Chunk.objects.get(ordinal=1).run_id, "worker")
    pause(history, ANN, "the source is busy")
    assert statuses(history) == ["running", "pending", "pending"]
    execute_claimed(claim, engine)
    run.refresh_from_db()
    assert statuses(history) == ["done", "pending", "pending"]
    assert (run.state, run.error_code) == (State.CANCELLED, "backfill.paused")
    with pytest.raises(FlowError, match="is paused"):
        queue_run(history, Trigger.MANUAL)
    resume(history, ANN)
    execute_all(history, engine)
    assert newest_backfill(history).phase == Phase.STREAMING
    assert [len([job for job in engine.jobs if job.chunk and job.chunk.chunk.ordinal == n]) for n in (1, 2, 3)] == [
        1
    ] * 3


def test_a_pause_that_is_resumed_before_its_chunks_end_needs_no_other_run(history, engine):
    run = start(history, engine)
    claim = claim_run(Chunk.objects.get(ordinal=1).run_id, "worker")
    pause(history, ANN)
    resume(history, ANN)
    execute_claimed(claim, engine)
    execute_all(history, engine)
    run.refresh_from_db()
    assert run.state == State.SUCCEEDED


def test_cancelling_the_run_pauses_the_backfill_and_cancels_its_chunks(history, engine):
    run = start(history, engine)
    cancel_run(run)
    run.refresh_from_db()
    assert (run.state, statuses(history)) == (State.CANCELLED, ["pending"] * 3)
    assert newest_backfill(history).paused


def test_cancelling_the_run_of_one_chunk_makes_it_fail(history, engine):
    start(history, engine)
    cancel_run(Chunk.objects.get(ordinal=1).run)
    assert statuses(history) == ["failed", "running", "running"]


def test_a_range_is_loaded_again_by_new_chunks_and_the_old_ones_stay_for_audit(history, engine):
    start(history, engine)
    execute_all(history, engine)
    engine.jobs, engine.chunks = [], 1
    rewind(history, "10", "40", ANN, "the vendor corrected its data")
    execute_all(history, engine)
    assert (engine.jobs[0].chunk_range.lower, engine.jobs[0].chunk_range.upper) == ("10", "40")
    assert engine.jobs[1].chunk.replaces
    assert engine.mark.mark is None
    old, new = Backfill.objects.order_by("number")
    assert list(old.chunks.order_by("ordinal").values_list("status", flat=True)) == ["superseded", "superseded", "done"]
    assert (new.phase, new.reason) == (Phase.STREAMING, "the vendor corrected its data")
    assert list(new.chunks.values_list("status", flat=True)) == ["done"]
    done = BackfillAction.objects.order_by("id").values_list("action", "done_as", "details")
    assert list(done)[-1] == (Action.REWIND, "ann@example.org", "from 10 to 40")


def test_a_range_supersedes_no_neighbour_and_no_rows_without_a_cursor_value(history, engine):
    days = [f"2024-01-0{day} 00:00:00" for day in (1, 2, 3, 4)]
    ranges = (*(PlannedChunk(n, "at", days[n - 1], days[n]) for n in (1, 2, 3)), PlannedChunk(4, "at", is_null=True))
    plan = replace(plan_of(0), type="timestamp without time zone", chunks=ranges)
    engine.plan = plan
    start(history, engine)
    execute_all(history, engine)
    rewind(history, "2024-01-02", "2024-01-03", ANN, "a reason")
    engine.plan = replace(plan, chunks=(PlannedChunk(1, "at", days[1], days[2]),))
    execute_all(history, engine)
    old = Backfill.objects.get(number=1).chunks.order_by("ordinal")
    assert list(old.values_list("status", flat=True)) == ["done", "superseded", "done", "done"]


def test_a_range_that_is_not_a_number_is_left_to_the_plan(history, engine):
    start(history, engine)
    execute_all(history, engine)
    assert rewind(history, "nan", "zzz", ANN, "a reason").phase == Phase.PLANNING


def test_the_next_run_of_a_backfill_has_the_limits_of_the_newest_document(history, make, engine):
    start(history, engine)
    pause(history, ANN)
    execute_all(history, engine)
    make(backfill={"window": "30d", "parallelism": 5})
    resume(history, ANN)
    assert Backfill.objects.get().parallelism == 5


@pytest.mark.parametrize("act", [resume, retry_failed])
def test_an_act_between_the_look_at_the_chunks_and_the_end_of_the_run_is_not_lost(history, engine, act, monkeypatch):
    engine.failing = {1, 2, 3} if act is retry_failed else set()
    start(history, engine)

    def look(backfill, looked=[]):  # noqa: B006 - one list for all calls
        found = count_statuses(backfill)
        is_last = not found["running"] and (found["failed"] == 3 or backfill.paused)
        if is_last and not looked:
            looked.append(True)
            act(history, ANN)
        return found

    monkeypatch.setattr("flowapp.backfills.advancing.count_statuses", look)
    if act is resume:
        pause(history, ANN)
    else:
        execute_all(history, engine, 3)
    engine.failing = set()
    execute_all(history, engine)
    assert Run.objects.filter(kind=RunKind.BACKFILL).count() == 1
    assert Backfill.objects.get().phase == Phase.STREAMING


def test_a_range_cannot_be_loaded_again_before_the_history_is_loaded(history, engine):
    engine.failing = {1}
    start(history, engine)
    with pytest.raises(FlowError) as busy:
        rewind(history, "10", "40", ANN, "a reason")
    execute_all(history, engine)
    with pytest.raises(FlowError) as unfinished:
        rewind(history, "10", "40", ANN, "a reason")
    assert (busy.value.code, unfinished.value.code) == ("run.busy", "backfill.range_of_unfinished")


def test_a_range_that_could_not_be_planned_changes_nothing_and_can_be_corrected(history, engine):
    start(history, engine)
    execute_all(history, engine)
    engine.failure = Terminal("backfill.value_malformed", "'1O' is not a number.")
    rewind(history, "1O", None, ANN, "a reason")
    execute_all(history, engine)
    assert newest_backfill(history).phase == Phase.STREAMING
    engine.failure, engine.chunks = None, 1
    assert execute(queue_run(history, Trigger.SCHEDULE), engine).kind == RunKind.LOAD
    rewind(history, "10", None, ANN, "a reason")
    execute_all(history, engine)
    assert (newest_backfill(history).phase, engine.mark.mark) == (Phase.STREAMING, None)
    assert list(Backfill.objects.order_by("number").values_list("lower", flat=True)) == [None, "1O", "10"]


def test_a_range_whose_plan_is_cancelled_changes_nothing(history, engine):
    start(history, engine)
    execute_all(history, engine)
    rewind(history, "10", "40", ANN, "a reason")
    cancel_run(newest_backfill(history).run)
    given_up = newest_backfill(history)
    assert (given_up.phase, given_up.paused) == (Phase.STREAMING, False)
    assert queue_run(history, Trigger.MANUAL).kind == RunKind.LOAD


def test_a_range_that_two_people_load_again_at_once_is_loaded_once(history, engine):
    start(history, engine)
    execute_all(history, engine)
    answers = at_once(*[lambda: rewind(history, "10", "40", ANN, "a reason")] * 2)
    assert [answer.code for answer in answers if isinstance(answer, FlowError)] == ["run.busy"]
    assert Backfill.objects.count() == 2


@pytest.mark.parametrize("fails", [False, True])
def test_everything_is_not_loaded_again_into_a_table_that_has_rows(history, engine, warehouse, fails):
    engine.failing = {1} if fails else set()
    start(history, engine)
    execute_all(history, engine)
    before = newest_backfill(history).phase
    with connect_to(warehouse) as connection:
        connection.execute(f"CREATE TABLE {history.target} AS SELECT 1 AS id")
        connection.commit()
    with pytest.raises(FlowError) as filled:
        rewind(history, None, None, ANN, "a reason")
    assert filled.value.code == "backfill.target_filled"
    assert (Backfill.objects.get().phase, Run.counted.filter(state=State.QUEUED).count()) == (before, 0)


def test_a_pipeline_is_not_archived_halfway_but_when_its_backfill_is_paused(history, engine):
    start(history, engine)
    with pytest.raises(FlowError):
        set_archived(history, True)
    pause(history, ANN)
    execute_all(history, engine)
    set_archived(history, True)
    with pytest.raises(FlowError) as archived:
        resume(history, ANN)
    assert (archived.value.code, newest_backfill(history).paused) == ("pipeline.archived", True)
    set_archived(history, False)
    resume(history, ANN)
    execute_all(history, engine)
    assert newest_backfill(history).phase == Phase.STREAMING


def test_an_empty_range_is_refused(history, engine):
    start(history, engine)
    execute_all(history, engine)
    with pytest.raises(FlowError) as empty:
        rewind(history, "100", "20", ANN, "a reason")
    assert empty.value.code == "backfill.range_invalid"


def test_everything_can_be_planned_again(history, engine):
    engine.failing = {1}
    start(history, engine)
    execute_all(history, engine)
    engine.failing = set()
    rewind(history, None, None, ANN, "the column was wrong")
    execute_all(history, engine)
    assert statuses(history) == ["done"] * 3
    assert Chunk.objects.filter(status=ChunkStatus.SUPERSEDED).count() == 3


@pytest.mark.parametrize("start_from", [None, "2024-01-01"])
def test_a_changed_source_or_start_refuses_the_chunks_of_the_former_one(history, make, engine, start_from):
    engine.failing = {1}
    start(history, engine)
    execute_all(history, engine)
    from tests.flowapp.backfills.conftest import history_document

    changed = history_document(schema=history.target.split(".")[0])
    if start_from is None:
        changed["nodes"][0]["config"]["table"]["name"] = "others"
    else:
        changed["backfill"]["startFrom"] = start_from
    make(nodes=changed["nodes"], backfill=changed["backfill"])
    with pytest.raises(FlowError) as outdated:
        retry_failed(history, ANN)
    assert outdated.value.code == "backfill.outdated"


def test_another_window_or_rule_does_not_outdate_the_chunks(history, make, engine):
    engine.failing = {1}
    start(history, engine)
    execute_all(history, engine)
    engine.failing = set()
    make(backfill={"window": "1d"})
    retry_failed(history, ANN)
    execute_all(history, engine)
    assert newest_backfill(history).phase == Phase.STREAMING
    assert Run.objects.filter(kind=RunKind.CHUNK).order_by("number").last().version.number == 2
