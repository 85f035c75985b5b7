"""Outcomes of attempts: loaded, retried, requeued, failed, cancelled; and the stored results."""

from __future__ import annotations

import json
import threading
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError, connections
from django.db import connection as control

from executors.errors import Cancelled, TargetBusy, Terminal, Transient, WaitForFiles
from executors.model import SourceFile
from executors.postgres import meta
from executors.postgres.client import connect
from executors.postgres.fences import raise_fence
from executors.report import CheckReport, RunReport, RunWarning
from flowapp.alerts.models import Alert, AlertState
from flowapp.clock import from_now
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.runs.dispatch import execute_claimed, run_inline
from flowapp.runs.durations import idle_seconds_of, seconds_of
from flowapp.runs.leases import Claim, LeaseRenewer, claim_run, interrupt_all, take_over
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import ENDED, CommitRecord, Run, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import cancel_run, queue_run
from ir.errors import FlowError
from tests.flowapp.runs.table_engine import ROWS, TableEngine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]


def raising(error: BaseException):
    def at(job, ports):
        raise error

    return at


def attempt(run: Run, engine: TableEngine) -> Run:
    """Claim the run, make one attempt, and return its state afterwards."""
    Run.objects.filter(pk=run.pk).update(due_at=from_now(0))
    claim = claim_run(run.pk, "worker")
    assert claim
    execute_claimed(claim, engine)
    return Run.objects.select_related("pipeline", "version", "workspace").get(pk=run.pk)


def open_alerts() -> list[str]:
    return list(Alert.objects.exclude(state=AlertState.RESOLVED).values_list("kind", flat=True))


def test_a_load_is_reported_as_the_engine_counted_it(pipeline, target):
    run = run_inline(pipeline, engine=TableEngine())
    assert target() == ROWS
    document = run_document(run)
    assert document["state"] == "succeeded"
    assert document["nodes"] == [
        {
            "id": "load",
            "kind": "target",
            "rowsIn": 3,
            "rowsOut": 3,
            "rowsRead": 3,
            "rowsStaged": 3,
            "rowsReplaced": 0,
            "rowsBehindMark": 0,
            "rowsSuppressed": 0,
            "rowsLoaded": 3,
            "rowsInserted": 3,
            "rowsUpdated": 0,
            "rowsUnchanged": 0,
            "rowsDeleted": 0,
            "durationMs": 0,
        }
    ]
    assert document["rules"][0] == {
        "node": "check",
        "rule": "r1",
        "type": "notNull",
        "field": "id",
        "onFail": "skip",
        "violations": 0,
        "evaluated": 3,
    }
    assert document["error"] is None
    assert document["startedAt"].endswith("Z")
    assert CommitRecord.objects.get().run_id == run.pk


def test_keys_of_the_run_document_are_those_of_the_command_line(pipeline, target):
    document = run_document(run_inline(pipeline, engine=TableEngine()))
    assert " ".join(document) == (
        "run pipeline version attempt state startedAt endedAt nodes rules checks quarantine warnings hooks error"
    )


def test_warnings_of_the_run_show_in_its_state(pipeline, target):
    report = RunReport(
        warnings=[RunWarning("rows.rejected", "load", "1 row was rejected.")],
        checks=[CheckReport("check", "rowCount", True, None, 3)],
    )
    run = run_inline(pipeline, engine=TableEngine(report=report))
    assert run.state == State.SUCCEEDED_WITH_WARNINGS
    assert run_document(run)["checks"][0]["observed"] == 3


def test_a_terminal_failure_is_not_tried_again(pipeline, target):
    engine = TableEngine(at={"pass": raising(Terminal("rows.bad", "2 rows are bad.", hint="Fix them.", node="load"))})
    run = attempt(queue_run(pipeline, Trigger.SCHEDULE), engine)
    assert run.state == State.FAILED
    assert run_document(run)["error"] == {
        "code": "rows.bad",
        "node": "load",
        "message": "2 rows are bad.",
        "hint": "Fix them.",
    }
    assert open_alerts() == ["run.failed"]


def test_the_next_success_resolves_the_alert_of_a_failure(pipeline, target):
    attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine(at={"pass": raising(Terminal("rows.bad", "Bad."))}))
    attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine())
    assert open_alerts() == []


@pytest.mark.parametrize(("trigger", "attempts"), [(Trigger.MANUAL, 1), (Trigger.SCHEDULE, 3)])
def test_transient_failures_are_tried_again_as_often_as_the_trigger_says(pipeline, target, trigger, attempts):
    engine = TableEngine(at={"pass": raising(Transient("target.unreachable", "Gone."))})
    run = queue_run(pipeline, trigger)
    for _ in range(attempts - 1):
        assert attempt(run, engine).state == State.QUEUED
    run = attempt(run, engine)
    assert (run.state, run.attempt, run.failures) == (State.FAILED, attempts, attempts - 1)


def test_a_busy_target_puts_the_run_back_without_counting(pipeline, target):
    run = queue_run(pipeline, Trigger.MANUAL)
    run = attempt(run, TableEngine(at={"start": raising(TargetBusy("target.busy", "Busy."))}))
    assert (run.state, run.failures) == (State.QUEUED, 0)
    assert attempt(run, TableEngine()).state == State.SUCCEEDED


def test_a_run_without_files_waits_for_them(pipeline, target):
    missing = WaitForFiles("source.no_files", "None yet.", minutes=5, node="files")
    run = attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine(at={"start": raising(missing)}))
    assert (run.state, run.waits) == (State.WAITING, 1)
    assert claim_run(run.pk, "worker") is None, "it is not due for five minutes"


def test_a_wait_between_two_attempts_is_no_part_of_the_duration(pipeline, target):
    run = queue_run(pipeline, Trigger.MANUAL)
    run = attempt(run, TableEngine(at={"start": raising(TargetBusy("target.busy", "Busy."))}))
    Run.objects.update(started_at=from_now(-605), idle_since=from_now(-600))
    run = attempt(run, TableEngine())
    assert (run.state, seconds_of(run) < 60, round(idle_seconds_of(run), -2)) == (State.SUCCEEDED, True, 600)


def test_an_unforeseen_error_fails_the_run_and_names_no_values(pipeline, target, caplog):
    run = attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine(at={"pass": raising(ValueError("secret value"))}))
    assert (run.state, run.error_code) == (State.FAILED, "run.crashed")
    assert "secret value" not in run.error_message + caplog.text
    assert f"Run {run.pk} crashed" in caplog.text


def test_cancelling_a_queued_run_ends_it_at_once(pipeline):
    run = cancel_run(queue_run(pipeline, Trigger.MANUAL))
    assert (run.state, run.error_code) == (State.CANCELLED, "run.cancelled")
    with pytest.raises(FlowError) as refused:
        cancel_run(run)
    assert refused.value.code == "run.ended"


def closing(function):
    """Return the function for a separate thread; it closes its database connections at the end."""

    def call(*args):
        try:
            function(*args)
        finally:
            connections.close_all()

    return call


def test_a_lease_that_is_lost_while_the_end_is_written_down_is_left_to_its_new_holder(pipeline, caplog):
    def fail(job, ports):
        Run.objects.update(lease_owner="another")
        raise Terminal("rule.abort", "Rows are wrong.")

    run = attempt(queue_run(pipeline, Trigger.MANUAL), fail)
    assert (run.state, run.lease_owner, run.error_code) == (State.RUNNING, "another", "")
    assert "no longer this worker's" in caplog.text


def test_an_engine_that_cannot_be_interrupted_does_not_end_the_renewer_of_a_lease(caplog):
    renewer = LeaseRenewer(Claim(uuid4(), uuid4(), 1, 1, "worker"), 60)
    renewer.on_cancel(lambda: 1 / 0)
    renewer.release()
    renewer._interrupt_engine()
    assert "could not be interrupted" in caplog.text


def wait_for_interrupt(job, ports):
    """An engine that is busy until it is interrupted."""
    interrupted = threading.Event()
    ports.cancellation.on_cancel(interrupted.set)
    assert interrupted.wait(timeout=60)
    raise Cancelled("spark.interrupted", "Interrupted.")


def test_cancelling_a_running_run_interrupts_the_engine(pipeline, target):
    run = queue_run(pipeline, Trigger.MANUAL)
    began = threading.Event()

    def work(job, ports):
        began.set()
        wait_for_interrupt(job, ports)

    claim = claim_run(run.pk, "worker")
    worker = threading.Thread(target=closing(execute_claimed), args=(claim, TableEngine(at={"pass": work})))
    worker.start()
    assert began.wait(timeout=10)
    cancel_run(run)
    worker.join(timeout=60)
    assert not worker.is_alive()
    run.refresh_from_db()
    assert (run.state, run.error_code) == (State.CANCELLED, "run.cancelled")
    assert target() == 0


def test_the_time_limit_fails_the_run(pipeline, target, save):
    limited = save(errorHandling={"maxMinutes": 0.02}).pipeline
    run = attempt(queue_run(limited, Trigger.MANUAL), TableEngine(at={"pass": wait_for_interrupt}))
    assert (run.state, run.error_code) == (State.FAILED, "run.time_limit")


def test_a_worker_that_is_to_end_puts_its_run_back_uncounted(pipeline, target, sent):
    run = queue_run(pipeline, Trigger.MANUAL)
    sent.clear()

    def told_to_end(job, ports):
        interrupt_all()
        ports.cancellation.check()

    run = attempt(run, TableEngine(at={"pass": told_to_end}))
    assert (run.state, run.failures, run.losses) == (State.QUEUED, 0, 0)
    assert sent == [str(run.pk)]
    assert attempt(run, TableEngine()).state == State.SUCCEEDED


def break_connection() -> None:
    """Make the next write to the control database fail: a server ends the session, a file can no longer be written."""
    if control.vendor == "sqlite":
        control.cursor().execute("PRAGMA query_only = ON")
    else:
        control.connection.close()


def test_a_lost_control_database_does_not_fail_the_run(pipeline, target):
    def drop_connection(job, ports):
        break_connection()
        ports.events.step("scan")

    run = attempt(queue_run(pipeline, Trigger.SCHEDULE), TableEngine(at={"pass": drop_connection}))
    assert (run.state, run.error_code) == (State.QUEUED, "control.unreachable")


def test_a_run_whose_lease_expired_while_the_control_database_was_away_is_tried_again(pipeline, target, settings):
    """Nobody has taken it over meanwhile: schedulers could not reach the database either."""
    settings.LEASE_SECONDS = 0.5

    def away(job, ports):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LeaseRenewer, "_reason_in_database", raise_unreachable)
            wait_for_interrupt(job, ports)

    def raise_unreachable(renewer, now):
        raise OperationalError

    run = attempt(queue_run(pipeline, Trigger.SCHEDULE), TableEngine(at={"pass": away}))
    assert (run.state, run.error_code) == (State.QUEUED, "control.unreachable")


def test_a_connections_password_is_reported_nowhere(connected, pipeline, target, caplog):
    from flowapp.connections.models import Connection
    from flowapp.connections.secrets import encrypt

    Connection.objects.update(user="postgres_nobody", secret=encrypt("P@ss:w/rd%?"))
    run = attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine())
    assert run.state == State.FAILED
    reported = [run_document(run), list(Alert.objects.values()), list(run.log.values()), caplog.text]
    assert "target.auth_failed" in str(reported)
    for part in ("P@ss", "w/rd", "P%40ss", "w%2Frd"):
        assert part not in str(reported)


def test_a_stored_document_that_this_release_cannot_read_fails_the_run(pipeline, target):
    run = queue_run(pipeline, Trigger.MANUAL)
    pipeline.versions.update(document="{}")
    run = attempt(run, TableEngine())
    assert (run.state, run.error_code) == (State.FAILED, "pipeline.invalid")


@pytest.mark.parametrize(
    ("streaming", "reported"), [(False, "streaming disabled"), (True, "Debezium connector not configured")]
)
def test_a_stored_cdc_mirror_ends_at_its_gate_before_anything_is_read(
    pipeline, target, document, settings, streaming, reported
):
    settings.FLOW_STREAMING_ENABLED = streaming
    run = queue_run(pipeline, Trigger.MANUAL)
    stored = document(metadata={"name": str(run.pk)})
    stored["nodes"][1] |= {"loadMode": "cdc_mirror", "cdcSource": "stream"}
    pipeline.versions.update(document=json.dumps(stored))
    run = attempt(run, TableEngine())
    assert (run.state, run.error_code) == (State.FAILED, "pipeline.invalid")
    assert reported in run.error_message


def test_a_worker_that_is_overtaken_leaves_everything_to_the_other(pipeline, target, expire):
    def overtaken(job, ports):
        run = Run.objects.get(pk=job.run_id)
        expire(run)
        run.refresh_from_db()
        assert take_over(run, "other")

    run = queue_run(pipeline, Trigger.MANUAL)
    run = attempt(run, TableEngine(at={"pass": overtaken}))
    assert (run.state, run.lease_owner, run.error_code) == (State.RUNNING, "other", "")
    assert target() == 0


def test_a_target_that_has_seen_newer_tokens_is_not_loaded(pipeline, target):
    """As after the control database was restored to an older state."""

    def raise_fence_far_ahead(job, ports):
        with connect(job.connections["warehouse"], autocommit=True) as connection:
            meta.ensure_meta(connection)
            raise_fence(connection, job.tenant, job.pipeline.id, "load", job.token + 1000)

    run = attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine(at={"start": raise_fence_far_ahead}))
    assert (run.state, run.error_code) == (State.FAILED, "fence.ahead")
    assert target() == 0


def test_a_failure_after_the_commit_is_no_failure(pipeline, target):
    engine = TableEngine(at={"after commit": raising(Terminal("files.stuck", "The file cannot be moved."))})
    run = attempt(queue_run(pipeline, Trigger.MANUAL), engine)
    assert (run.state, run.finishing) == (State.QUEUED, True)
    run = attempt(run, TableEngine())
    assert (run.state, run.attempt) == (State.SUCCEEDED, 2)
    assert target() == ROWS


def test_if_finishing_fails_too_the_markers_numbers_stand(pipeline, target):
    stuck = Terminal("files.stuck", "The file cannot be moved.")
    run = attempt(queue_run(pipeline, Trigger.MANUAL), TableEngine(at={"after commit": raising(stuck)}))
    run = attempt(run, TableEngine(at={"pass": raising(stuck)}))
    document = run_document(run)
    assert document["state"] == "succeeded_with_warnings"
    assert document["nodes"][0]["rowsLoaded"] == ROWS
    assert document["warnings"][0]["code"] == "files.stuck"
    assert target() == ROWS


@pytest.mark.parametrize(
    "engine", [TableEngine(), TableEngine(at={"finish": raising(Terminal("files.stuck", "Stuck."))})]
)
def test_files_that_no_commit_holds_do_not_count_as_loaded(pipeline, target, engine):
    """For example, a file that an earlier attempt had claimed no longer exists in the next attempt."""

    def claim(job, ports):
        ports.units.claim("files", {sha * 64: SourceFile(0, f"/in/{sha}", f"in/{sha}", 1, 1) for sha in "ab"})

    engine.at["pass"] = claim
    run = queue_run(pipeline, Trigger.MANUAL)
    while run.state not in ENDED:
        run = attempt(run, engine)
    assert run.state in (State.SUCCEEDED, State.SUCCEEDED_WITH_WARNINGS)
    assert LoadUnit.objects.get(name="in/b").state == UnitState.PENDING


def test_what_has_committed_cannot_be_cancelled(pipeline, target):
    """The cancelled run turns out to have loaded: it says so instead."""
    engine = TableEngine(at={"after commit": raising(Cancelled("run.cancelled", "Cancelled."))})
    run = attempt(queue_run(pipeline, Trigger.MANUAL), engine)
    assert attempt(run, TableEngine()).state == State.SUCCEEDED
    assert target() == ROWS


def test_a_run_does_not_fail_while_its_target_is_unreachable(pipeline, target, monkeypatch):
    from flowapp.runs import finalizing
    from flowapp.runs.recovery import recover_lost_runs

    real = finalizing.fence_and_find
    monkeypatch.setattr(finalizing, "fence_and_find", raising_any(Transient("target.unreachable", "No answer.")))
    engine = TableEngine(at={"transaction": raising(Terminal("load.broken", "Broken."))})
    run = attempt(queue_run(pipeline, Trigger.MANUAL), engine)
    assert (run.state, run.outcome) == (State.RUNNING, State.FAILED)
    assert open_alerts() == ["target.unreachable_for_fence"]

    monkeypatch.setattr(finalizing, "fence_and_find", real)
    Run.objects.filter(pk=run.pk).update(lease_until=from_now(-1))
    assert recover_lost_runs() == 1
    run.refresh_from_db()
    assert (run.state, run.error_code) == (State.FAILED, "load.broken")
    assert open_alerts() == ["run.failed"]
    assert target() == 0


def raising_any(error):
    def call(*args, **kwargs):
        raise error

    return call


def test_what_a_good_run_raises_stays_open_until_the_next_good_one(pipeline, target):
    def miss(job, ports):
        ports.events.alert("source.missed", "warning", "No file was found.", "Look.", "src")

    run_inline(pipeline, engine=TableEngine(at={"pass": miss}))
    assert open_alerts() == ["source.missed"]
    run_inline(pipeline, engine=TableEngine())
    assert open_alerts() == []


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_control_database_that_does_not_answer_does_not_end_the_renewer_of_a_lease(monkeypatch, error):
    renewer = LeaseRenewer(Claim(uuid4(), uuid4(), 1, 1, "worker"), 60)

    def unreachable(now):
        raise error

    monkeypatch.setattr(renewer, "_reason_in_database", unreachable)
    renewer._look()
    assert renewer.reason is None


def test_a_pipeline_that_was_deleted_and_made_again_is_ahead_of_the_fence_it_left(pipeline, save, target):
    for _ in range(2):
        run_inline(pipeline, engine=TableEngine())
    delete_pipeline(pipeline)
    again = run_inline(save().pipeline, engine=TableEngine())
    assert (again.state, target()) == (State.SUCCEEDED, 3 * ROWS)
