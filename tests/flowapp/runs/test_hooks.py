"""A hook that failed after its load: the state of the run, and rerunning the hook."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.utils import timezone

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres import meta
from executors.postgres.client import connect
from executors.target_hooks import TargetHooks
from flowapp.alerts.models import Alert, AlertState
from flowapp.celery import HOOK_TASK, app
from flowapp.connections.models import Connection as Stored
from flowapp.pipelines.services import save_version
from flowapp.runs import hooks, tasks
from flowapp.runs.cli.run_report import STATUS_BY_STATE
from flowapp.runs.dispatch import run_inline
from flowapp.runs.hooks import ask_for_hook, run_hook_again
from flowapp.runs.models import CommitRecord, Run, RunLog, State
from flowapp.runs.selectors import run_document
from ir.errors import FlowError
from tests.databases import connect_to
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import words
from tests.flowapp.runs.table_engine import TableEngine

GOOD = {"type": "sql", "statement": "ANALYZE"}
VIEW = {"type": "sql", "statement": "REFRESH MATERIALIZED VIEW seen"}


pytestmark = pytest.mark.django_db


class HookedEngine(TableEngine):
    """Loads, then runs the real post-hooks."""

    def __call__(self, job, ports):
        report = super().__call__(job, ports)
        (target,) = job.pipeline.targets()
        with connect(job.connections[target.connection], autocommit=True) as conn:
            (commit,) = meta.find_commits(conn, job.run_id)
            TargetHooks(job, ports, report, target).after_load(
                commit, lambda hook: meta.add_hook_done(conn, commit.run_id, commit.node, hook)
            )
        return report


@pytest.fixture
def db_(warehouse: Connection, schema: str):
    with connect_to(warehouse, schema) as session:
        yield session


@pytest.fixture
def hooked(connected, schema):
    """A pipeline with three post-hooks, of which the second refreshes a view that is not there yet."""
    document = make_document(schema=schema)
    document["nodes"][1]["postHook"] = [GOOD, VIEW, GOOD]
    return save_version(connected, json.dumps(document), role="admin").pipeline


@pytest.fixture
def failed(hooked, target) -> Run:
    return run_inline(hooked, engine=HookedEngine())


def make_view(db_: psycopg.Connection) -> None:
    db_.execute("CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n FROM numbers WITH NO DATA")


def states(run: Run) -> list[str]:
    run.refresh_from_db()
    return [hook.state for hook in run.stored_report.hooks]


def again(run: Run, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Request a hook and let a worker run it at once."""
    sent: list[tuple[str, ...]] = []
    with monkeypatch.context() as patched:
        patched.setattr(hooks, "send_hook", lambda *args: sent.append(args))
        patched.setattr(hooks.transaction, "on_commit", lambda send: send())
        ask_for_hook(run, slug)
    (message,) = sent
    run_hook_again(*message)


def test_a_post_hook_that_failed_leaves_a_loaded_run(failed, target):
    assert failed.state == State.LOADED_HOOK_FAILED
    assert STATUS_BY_STATE[failed.state] == 4
    assert target() == 3
    assert [(h["id"], h["state"]) for h in run_document(failed)["hooks"]] == [
        ("load.postHook.0", "succeeded"),
        ("load.postHook.1", "failed"),
        ("load.postHook.2", "not_run"),
    ]
    alert = Alert.objects.get(kind="hook.failed")
    assert (alert.state, alert.node) == (AlertState.OPEN, "load")
    assert CommitRecord.objects.get(run=failed).hooks_done == ["load.postHook.0"]


def test_it_is_not_tried_again_by_itself_and_the_next_run_may_start(failed, hooked, target):
    assert (failed.attempt, failed.lease_until, failed.error_code) == (1, None, "")
    assert run_inline(hooked, engine=HookedEngine()).number == 2


def test_hooks_are_run_again_until_the_run_is_whole(failed, db_, target, monkeypatch):
    make_view(db_)
    again(failed, "load.postHook.1", monkeypatch)
    assert states(failed) == ["succeeded", "succeeded", "not_run"]
    assert failed.state == State.LOADED_HOOK_FAILED
    again(failed, "load.postHook.2", monkeypatch)
    assert states(failed) == ["succeeded"] * 3
    assert failed.state == State.SUCCEEDED
    assert db_.execute("SELECT n FROM seen").fetchone() == (3,)
    assert target() == 3
    assert Alert.objects.get(kind="hook.failed").state == AlertState.RESOLVED
    assert "run again" in RunLog.objects.filter(run=failed).last().message


def test_a_repeated_hook_is_recorded_in_the_marker(failed, db_, monkeypatch):
    make_view(db_)
    again(failed, "load.postHook.1", monkeypatch)
    query = "SELECT hooks_done FROM flow_meta.load_commits WHERE run_id = %s"
    done = ["load.postHook.0", "load.postHook.1"]
    assert db_.execute(query, [str(failed.pk)]).fetchone() == (done,)
    assert CommitRecord.objects.get(run=failed).hooks_done == done


def test_a_hook_that_fails_again_can_be_repeated(failed, monkeypatch):
    again(failed, "load.postHook.1", monkeypatch)
    again(failed, "load.postHook.1", monkeypatch)
    assert states(failed) == ["succeeded", "failed", "not_run"]
    assert failed.lease_until is None


def test_what_keeps_a_hook_from_running_at_all_is_its_result(failed, connected, monkeypatch):
    Stored.objects.filter(workspace=connected).delete()
    again(failed, "load.postHook.1", monkeypatch)
    assert states(failed) == ["succeeded", "failed", "not_run"]
    assert "There is no connection 'warehouse'" in failed.stored_report.hooks[1].message


@pytest.mark.parametrize(
    ("slug", "code"),
    [("load.postHook.0", "hook.not_to_run"), ("load.postHook.9", "hook.unknown"), ("", "hook.unknown")],
)
def test_what_is_done_or_is_not_there_is_not_run(failed, slug, code):
    with pytest.raises(FlowError) as refused:
        ask_for_hook(failed, slug)
    assert refused.value.code == code


def test_two_concurrent_requests_run_one_hook(failed):
    ask_for_hook(failed, "load.postHook.1")
    with pytest.raises(FlowError) as refused:
        ask_for_hook(failed, "load.postHook.1")
    assert refused.value.code == "hook.busy"


def test_a_hook_that_no_worker_took_can_be_requested_again_later(failed):
    ask_for_hook(failed, "load.postHook.1")
    Run.objects.filter(pk=failed.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    failed.refresh_from_db()
    assert ask_for_hook(failed, "load.postHook.1").state == "queued"


def test_a_message_that_comes_twice_or_late_does_nothing(failed, db_, monkeypatch):
    make_view(db_)
    ask_for_hook(failed, "load.postHook.1")
    run_hook_again(failed.pk, "load.postHook.1", "hook-of-another")
    assert states(failed) == ["succeeded", "queued", "not_run"]


def test_the_page_offers_a_hook_again_that_no_worker_took(failed, as_):
    ask_for_hook(failed, "load.postHook.1")
    address = f"/w/alices-team/runs/{failed.pk}/"
    assert "rerun requested" in words(as_("editor").get(address))
    Run.objects.filter(pk=failed.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    text = words(as_("editor").get(address))
    assert "rerun requested" not in text
    assert "Rerun hook" in text


def test_the_api_runs_a_hook_again(failed, as_):
    url = f"/api/runs/{failed.pk}/hooks/load.postHook.1/"
    headers = {"X-Flow-Workspace": "alices-team"}
    assert as_("viewer").post(url, headers=headers).status_code == 403
    answer = as_("editor").post(url, headers=headers)
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert as_("editor").post(url, headers=headers).status_code == 409
    other = as_("editor").post(f"/api/runs/{failed.pk}/hooks/nothing/", headers=headers)
    assert other.status_code == 404


def test_the_page_shows_hooks_and_offers_those_that_failed(failed, as_):
    url = f"/w/alices-team/runs/{failed.pk}/"
    page = as_("editor").get(url).content.decode()
    assert page.count("Rerun hook<") == 2
    assert "REFRESH MATERIALIZED VIEW seen" in page
    assert "relation &quot;seen&quot; does not exist" in page
    assert "Rerun hook<" not in as_("viewer").get(url).content.decode()
    answer = as_("editor").post(f"{url}hooks/load.postHook.1/", follow=True)
    assert "rerun requested" in answer.content.decode()


def test_what_a_hook_says_is_shown_as_text(failed, as_):
    first, second, *rest = failed.stored_report.hooks
    hostile = replace(second, message="<img src=x onerror=alert(1)>", statement="<script>1</script>")
    failed.report = replace(failed.stored_report, hooks=(first, hostile, *rest)).to_json()
    failed.save(update_fields=["report"])
    page = as_("viewer").get(f"/w/alices-team/runs/{failed.pk}/").content.decode()
    assert "<img src=x" not in page
    assert "<script>1" not in page


def test_a_load_that_no_attempt_finished_is_reported_as_loaded_with_pending_hooks(hooked, target, db_, monkeypatch):
    def fail(job, ports):
        raise Terminal("x.y", "It broke after the load.")

    run = run_inline(hooked, engine=TableEngine(at={"after commit": fail, "pass": refuse_second(fail)}))
    assert (run.state, run.attempt, target()) == (State.LOADED_HOOK_FAILED, 2, 3)
    assert states(run) == ["not_run"] * 3
    assert "Not run: It broke after the load." in run.stored_report.hooks[0].message
    make_view(db_)
    for i in range(3):
        again(run, f"load.postHook.{i}", monkeypatch)
    assert states(run) == ["succeeded"] * 3
    assert run.state == State.SUCCEEDED_WITH_WARNINGS


def refuse_second(fail):
    """Fail from the second attempt on."""
    return lambda job, ports: fail(job, ports) if job.attempt > 1 else None


def test_the_worker_has_a_task_for_it(failed, db_, monkeypatch):
    make_view(db_)
    sent = []
    monkeypatch.setattr(hooks, "send_hook", lambda *args: sent.append(args))
    monkeypatch.setattr(hooks.transaction, "on_commit", lambda send: send())
    ask_for_hook(failed, "load.postHook.1")
    ((run_id, slug, key),) = sent
    assert HOOK_TASK in app.tasks
    tasks.hook(str(run_id), slug, key)
    assert states(failed)[1] == "succeeded"


def test_a_worker_that_is_to_end_interrupts_hooks_that_run_again(failed, monkeypatch):
    real, stopped = hooks.rerun_hook, []

    def run_and_end(job, target, target_hook, counts, interruption):
        with interruption.by(lambda: stopped.append(target_hook.id)):
            hooks.interrupt_hooks()
        return real(job, target, target_hook, counts, interruption)

    monkeypatch.setattr(hooks, "rerun_hook", run_and_end)
    again(failed, "load.postHook.1", monkeypatch)
    assert stopped == ["load.postHook.1"]
    hooks.interrupt_hooks()
    assert stopped == ["load.postHook.1"]
