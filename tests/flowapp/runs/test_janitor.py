"""Old data is deleted, records of loads stay, and staging tables of dead attempts are dropped."""

from __future__ import annotations

import os
import uuid
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from executors.model import StageColumn
from executors.postgres import meta
from executors.postgres.client import connect
from executors.postgres.staging import create_staging, staging_tables
from flowapp.accounts.models import LoginLink, Token
from flowapp.accounts.services import add_member
from flowapp.alerts.models import Alert
from flowapp.alerts.services import raise_alert
from flowapp.connections.services import resolve
from flowapp.processes.retention import delete_old_rows, list_retention
from flowapp.quarantine.job_rows import FileHash, JobRows, TableRows
from flowapp.quarantine.models import RowJob
from flowapp.quarantine.retained import forget_row_ids
from flowapp.runs.janitor import sweep_fetched_rows, sweep_staging
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit, UnitRun
from flowapp.runs.models import Run, RunLog, State, Trigger
from flowapp.runs.services import queue_run
from ir.types import ColumnType

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sent")]


@pytest.fixture
def run(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL)


def test_the_retention_report_includes_backups_and_held_loads(settings):
    settings.HOLD_HOURS = 36.0
    reported = dict(list_retention())
    assert (reported["Backups of tables"], reported["Held loads without a decision"]) == ("7 days", "36 hours")


def test_log_lines_go_after_thirty_days(run):
    for days in (29, 31):
        RunLog.objects.create(
            workspace=run.workspace,
            run=run,
            attempt=1,
            level="info",
            message=f"{days} days",
            at=timezone.now() - timedelta(days=days),
        )
    assert delete_old_rows() == 1
    assert RunLog.objects.get().message == "29 days"


def test_only_resolved_alerts_go(run):
    for kind, state in (("run.failed", "resolved"), ("worker.lost", "open")):
        raise_alert(kind, "error", "text", "next", pipeline=run.pipeline)
        Alert.objects.filter(kind=kind).update(state=state, resolved_at=timezone.now() - timedelta(days=91))
    assert delete_old_rows() == 1
    assert Alert.objects.get().kind == "worker.lost"


def test_files_that_were_loaded_are_never_forgotten_by_age(run):
    old = timezone.now() - timedelta(days=1000)
    for name, state in (("a.csv", "committed"), ("copy.csv", "skipped")):
        LoadUnit.objects.create(
            workspace=run.workspace,
            pipeline=run.pipeline,
            node="files",
            sha256="0" * 64,
            name=name,
            size=1,
            state=state,
            changed_at=old,
        )
    assert delete_old_rows() == 1
    assert LoadUnit.objects.get().name == "a.csv"


def test_expired_credentials_are_deleted(run):
    alice = add_member(run.workspace, "alice@example.com", "editor").user
    for days, name in ((2, "old"), (-1, "new")):
        Session.objects.create(session_key=name, session_data="", expire_date=timezone.now() - timedelta(days=days))
    for days, name in ((91, "old"), (89, "new")):
        over = timezone.now() - timedelta(days=days)
        Token.objects.create(workspace=run.workspace, name=name, role="viewer", digest=name, expires_at=over)
        LoginLink.objects.create(user=alice, digest=name, expires_at=over + timedelta(days=83))
    assert delete_old_rows() == 3
    assert [Session.objects.get().pk, Token.objects.get().name, LoginLink.objects.get().digest] == ["new"] * 3


def test_which_rows_a_replay_was_about_is_forgotten_and_what_it_was_to_do_stays(run):
    rows = JobRows((TableRows("dlq", "orders", (1, 2)),), hashes=(FileHash("r", "a.csv", "0"),))
    job = RowJob.objects.create(
        workspace=run.workspace,
        run=run,
        node="load",
        row_from="source",
        reason="fixed",
        rows=rows.to_json(),
    )
    for days, left in ((6, rows), (8, JobRows())):
        Run.objects.update(ended_at=timezone.now() - timedelta(days=days))
        forget_row_ids()
        job.refresh_from_db()
        assert (job.job_rows, job.reason) == (left, "fixed")


@pytest.fixture
def staged(connected):
    """Creates staging for an attempt, and lists the run ids whose staging is there."""
    from flowapp.connections.models import Connection

    with connect(resolve(Connection.objects.get()), autocommit=True) as connection:
        meta.ensure_meta(connection)

        def create(run_id: str, attempt: int):
            tables = staging_tables(run_id, "load", attempt)
            create_staging(connection, tables, [StageColumn("id", ColumnType("integer"))])
            return lambda: connection.execute(
                "SELECT to_regclass(%s) IS NOT NULL", [f"flow_staging.{tables.good}"]
            ).fetchone()[0]

        yield create


def test_staging_of_dead_attempts_is_dropped_and_reported(run, staged):
    claim_run(run.pk, "worker")
    Run.objects.update(attempt=2)
    dead, live, foreign = staged(str(run.pk), 1), staged(str(run.pk), 2), staged(str(uuid.uuid4()), 1)
    assert sweep_staging()
    assert (dead(), live(), foreign()) == (False, True, True)
    assert Alert.objects.get().kind == "staging.leftovers"

    Run.objects.update(state=State.FAILED)
    sweep_staging()
    assert (live(), foreign()) == (False, True)


def test_a_target_that_cannot_be_reached_does_not_stop_the_sweep(run):
    from flowapp.connections.models import Connection

    Connection.objects.update(port=1)
    assert sweep_staging() == []


def test_tries_that_loaded_nothing_go_and_records_of_loads_and_undone_files_stay(run):
    old = timezone.now() - timedelta(days=1000)
    states = ("committed", "failed", "pending", "processing", "undone")
    for number, state in enumerate(states):
        unit = LoadUnit.objects.create(
            workspace=run.workspace,
            pipeline=run.pipeline,
            node="files",
            sha256=str(number) * 64,
            name=f"{state}.csv",
            size=1,
            state=state,
            changed_at=old,
        )
        UnitRun.objects.create(workspace=run.workspace, unit=unit, run=run, state=state, at=old)
    assert delete_old_rows() == 2
    assert LoadUnit.objects.count() == len(states)
    assert set(UnitRun.objects.values_list("state", flat=True)) == {"committed", "processing", "undone"}


def test_fetched_rows_go_once_no_run_reads_them(run, settings, tmp_path):
    settings.FILES_ROOT = tmp_path
    spool = tmp_path / run.workspace.slug / ".spool"
    names = {"active": f"{run.pk}.a", "ended": f"{uuid.uuid4()}.b", "preview": ".c", "new": f"{uuid.uuid4()}.d"}
    for name, folder in names.items():
        (spool / folder).mkdir(parents=True)
        (spool / folder / "0.jsonl").touch()
        if name != "new":
            os.utime(spool / folder, (0, 0))
    assert sweep_fetched_rows() == 2
    assert {path.name for path in spool.iterdir()} == {names["active"], names["new"]}
