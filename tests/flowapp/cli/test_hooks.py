"""`flow hooks`, and hooks in `flow runs list`."""

from __future__ import annotations

import json

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.runs.dispatch import run_inline
from flowapp.runs.models import Run, State
from tests.flowapp.conftest import make_document
from tests.flowapp.runs.conftest import target
from tests.flowapp.runs.test_hooks import GOOD, VIEW, HookedEngine, db_, make_view

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["db_", "target"]
FAILED, NOT_RUN = "load.postHook.0", "load.postHook.1"


@pytest.fixture
def failed(warehouse, schema, target) -> Run:
    """A run of the default workspace whose first hook failed, so that its second one did not run."""
    workspace, w = ensure_workspace("default"), warehouse
    add_connection(workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    document = make_document(schema=schema)
    document["nodes"][1]["postHook"] = [VIEW, GOOD]
    return run_inline(save_version(workspace, json.dumps(document), role="admin").pipeline, engine=HookedEngine())


def test_a_hook_runs_again_right_here_and_the_exit_status_says_how_it_went(flow, failed, db_):
    again = flow("hooks", "run", str(failed.pk), FAILED)
    assert again.status == 4
    assert "failed after" in again.stdout
    assert "does not exist" in again.stdout

    make_view(db_)
    assert flow("hooks", "run", str(failed.pk), FAILED, "--json").json["state"] == "succeeded"
    assert flow("hooks", "run", str(failed.pk), NOT_RUN).status == 0
    failed.refresh_from_db()
    assert failed.state == State.SUCCEEDED


def test_a_hook_that_there_is_not_is_refused_with_those_there_are(flow, failed):
    refused = flow("hooks", "run", str(failed.pk), "nope")
    assert refused.status == 1
    assert FAILED in refused.stderr


def test_a_hook_that_was_interrupted_may_be_run_again_at_once(flow, failed, monkeypatch):
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("flowapp.runs.hooks._execute", interrupted)
        assert flow("hooks", "run", str(failed.pk), FAILED).status == 130
    assert flow("hooks", "run", str(failed.pk), FAILED).status == 4


def test_the_list_of_runs_names_the_hook_that_failed_and_what_runs_were_for(flow, failed):
    (run,) = flow("runs", "list", "--json").json["runs"]
    assert (run["kind"], run["failedHooks"]) == ("load", [FAILED])
    shown = flow("runs", "list").stdout
    assert "KIND" in shown
    assert f"hook failed: {FAILED}" in shown
