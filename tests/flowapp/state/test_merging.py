"""State that meets other state, or a target that does not answer."""

from __future__ import annotations

import pytest
from django.utils import timezone

from flowapp.accounts.services import add_member
from flowapp.clock import from_now
from flowapp.connections.models import Connection
from flowapp.runs.dispatch import run_inline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.load_units.services import load_again
from flowapp.runs.models import CommitRecord, Run, State
from flowapp.runs.selectors import run_document
from flowapp.runs.services import retry_missing
from flowapp.state.importing import import_state
from ir.errors import FlowError
from tests.flowapp.runs.conftest import target
from tests.flowapp.runs.table_engine import TableEngine
from tests.flowapp.state.moving import move, totals
from tests.flowapp.watermarks.conftest import sql
from tests.flowapp.web.conftest import SIGN_IN

__all__ = ["sql", "target"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_target_that_does_not_answer_leaves_the_whole_pipeline_out(pipeline, target, file, warehouse):
    run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    port = warehouse.port
    Connection.objects.update(port=1)
    [done] = import_state(new.workspace, file)
    assert done.error is not None
    assert not Run.objects.exists()
    Connection.objects.update(port=port)
    assert totals(import_state(new.workspace, file)) == [(1, 0, 1, 0)]


def test_a_dry_run_creates_no_tables_in_the_target(pipeline, target, file, warehouse, sql):
    run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    sql("drop schema flow_meta cascade")
    assert totals(import_state(new.workspace, file, dry_run=True)) == [(1, 0, 1, 0)]
    assert sql("select to_regnamespace('flow_meta')") == [(None,)]
    assert totals(import_state(new.workspace, file)) == [(1, 0, 1, 0)]


def test_a_damaged_file_changes_nothing_in_any_pipeline(pipeline, target, file, warehouse):
    run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    whole = file.read_bytes()
    without_end = whole[: whole.rindex(b"{")]
    for damaged in (
        b"",
        b"\xff\xfe",
        without_end,
        without_end[:-40],
        whole + b"{}\n",
        whole + whole,
        whole.replace(b"1", b"2"),
    ):
        file.write_bytes(damaged)
        with pytest.raises(FlowError, match=r"state\.(damaged|malformed)"):
            import_state(new.workspace, file)
        assert not Run.objects.exists()


def test_times_keep_their_microseconds(pipeline, target, file, warehouse):
    run = run_inline(pipeline, engine=TableEngine())
    run.refresh_from_db()
    committed_at = run.commits.get().committed_at
    new = move(pipeline, file, warehouse)
    import_state(new.workspace, file)
    assert Run.objects.get().ended_at == run.ended_at
    assert CommitRecord.objects.get().committed_at == committed_at


def test_a_retried_run_stays_retried(pipeline, target, file, warehouse):
    partial, retry = (run_inline(pipeline, engine=TableEngine()) for _ in range(2))
    Run.objects.filter(pk=partial.pk).update(state=State.PARTIALLY_LOADED)
    Run.objects.filter(pk=retry.pk).update(retry_of=partial)
    new = move(pipeline, file, warehouse)
    assert totals(import_state(new.workspace, file)) == [(2, 0, 2, 0)]
    moved = Run.objects.get(pk=partial.pk)
    assert moved.retries.get().pk == retry.pk
    with pytest.raises(FlowError, match=r"run\.retried"):
        retry_missing(moved, "manual")


def test_a_partial_run_is_not_retried_once_a_run_here_has_loaded_the_rest(pipeline, target, file, warehouse, sql):
    partial = run_inline(pipeline, engine=TableEngine())
    partial.commits.all().delete()
    sql("truncate flow_meta.load_commits")
    Run.objects.filter(pk=partial.pk).update(state=State.PARTIALLY_LOADED)
    new = move(pipeline, file, warehouse)
    run_inline(new, engine=TableEngine())
    import_state(new.workspace, file)
    moved = Run.objects.get(pk=partial.pk)
    with pytest.raises(FlowError, match=r"run\.retried"):
        retry_missing(moved, "manual")


def test_runs_scheduled_for_the_same_time_are_both_imported(pipeline, target, file, warehouse):
    at = timezone.now()
    Run.objects.filter(pk=run_inline(pipeline, engine=TableEngine()).pk).update(scheduled_at=at)
    new = move(pipeline, file, warehouse)
    Run.objects.filter(pk=run_inline(new, engine=TableEngine()).pk).update(scheduled_at=at)
    [done] = import_state(new.workspace, file)
    assert done.notes == [
        "Run 1 of the file is run 2 here.",
        "Run 2 was scheduled for the same time as a run here.",
    ]


def test_a_file_to_be_loaded_again_stays_so(pipeline, target, file, warehouse):
    run = run_inline(pipeline, engine=TableEngine())
    unit = LoadUnit.objects.create(
        workspace=pipeline.workspace,
        pipeline=pipeline,
        node="files",
        sha256="a" * 64,
        name="a.csv",
        size=1,
        state="committed",
        run=run,
        changed_at=from_now(0),
    )
    new = move(pipeline, file, warehouse)
    import_state(new.workspace, file)
    load_again(new, "corrected", units=[unit])
    LoadUnit.objects.update(state="pending")
    assert totals(import_state(new.workspace, file)) == [(0, 0, 0, 0)]
    assert LoadUnit.objects.get().state == "pending"


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.PARTIALLY_LOADED])
def test_runs_of_versions_that_did_not_move_are_shown(pipeline, target, file, warehouse, client, state):
    run_inline(pipeline, engine=TableEngine())
    Run.objects.update(state=state)
    new = move(pipeline, file, warehouse, change=("*.csv", "*.txt"))
    import_state(new.workspace, file)
    run = Run.objects.select_related("pipeline", "version").get()
    assert (run.version, run_document(run)["version"]) == (None, None)
    client.force_login(add_member(new.workspace, "viewer@example.com", "viewer").user, backend=SIGN_IN)
    for page in (f"runs/{run.pk}/", "runs/", "health/", f"pipelines/{new.slug}/?tab=runs"):
        assert client.get(f"/w/alices-team/{page}").status_code == 200, page
