"""Runs by the names that people see: `pipeline/number`, on pages and on the command line."""

from __future__ import annotations

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.runs import selectors
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.selectors import find_run
from flowapp.runs.services import queue_for, queue_preview, queue_run
from ir.errors import FlowError
from tests.flowapp.cli.conftest import flow
from tests.flowapp.quarantine.keeping import connect_to, keep
from tests.flowapp.quarantine.keeping import save as save_flights
from tests.flowapp.reading import words
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "flow", "person"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_alices(settings):
    settings.FLOW_WORKSPACE = "alices-team"


@pytest.fixture
def numbers(pipeline) -> Run:
    """The second run of `numbers`; `letters` has one."""
    queue_run(pipeline, Trigger.CLI, send=False)
    return queue_run(pipeline, Trigger.CLI, send=False)


@pytest.fixture
def letters(save) -> Run:
    return queue_run(save("letters").pipeline, Trigger.CLI, send=False)


def test_a_run_is_found_by_its_name_by_its_id_and_by_a_number_that_no_other_has(workspace, numbers, letters):
    assert numbers.name == "numbers/2"
    for named in ("numbers/2", " numbers/2 ", "2", str(numbers.pk), numbers.pk.hex):
        assert find_run(workspace, named) == numbers
    assert find_run(workspace, "letters/1") == letters


def test_a_number_that_several_pipelines_have_given_names_the_candidates(workspace, numbers, letters, monkeypatch):
    with pytest.raises(FlowError) as caught:
        find_run(workspace, "1")
    assert caught.value.code == "run.ambiguous"
    assert "letters/1, numbers/1." in caught.value.message
    assert "such as letters/1" in caught.value.hint
    monkeypatch.setattr(selectors, "MOST_NAMES", 1)
    with pytest.raises(FlowError, match="letters/1 and others"):
        find_run(workspace, "1")


@pytest.mark.parametrize("named", ["3", "numbers/3", "letters/2", "nobody/1", "numbers/", "/1", "run 2", "9" * 40, ""])
def test_what_names_no_run_is_refused(workspace, numbers, letters, named):
    with pytest.raises(FlowError, match=r"run\.unknown"):
        find_run(workspace, named)


def test_previews_and_samples_take_no_number_of_the_runs(workspace, pipeline):
    queue_run(pipeline, Trigger.CLI, send=False)
    preview = queue_preview(pipeline, Trigger.CLI, send=False)
    sample = queue_for(RunKind.SAMPLE, pipeline, Trigger.CLI, send=False)

    assert queue_run(pipeline, Trigger.CLI, send=False).name == "numbers/2"
    assert [run.name for run in (preview, sample)] == ["numbers/preview-1", "numbers/sample-2"]
    assert [run.title for run in (preview, sample)] == ["Preview 1", "Sample 2"]
    for named in ("numbers/preview-1", "preview-1"):
        assert find_run(workspace, named) == preview


def test_a_page_of_a_sample_does_not_call_it_a_run(as_, pipeline):
    sample = queue_for(RunKind.SAMPLE, pipeline, Trigger.CLI, send=False)
    page = words(as_("viewer").get(f"/w/alices-team/runs/{sample.pk}/"))
    assert "Sample 1 of numbers" in page
    assert "Run 1" not in page


def test_runs_of_other_workspaces_are_neither_found_nor_candidates(numbers, letters):
    with pytest.raises(FlowError, match=r"run\.unknown"):
        find_run(ensure_workspace("bobs-team"), "numbers/2")


def test_commands_show_and_take_the_name(flow, numbers, letters):
    listed = flow("runs", "list").stdout
    assert all(part in listed for part in ("numbers/2", "letters/1", str(numbers.pk)))
    shown = flow("runs", "show", "numbers/2")
    assert (shown.status, "Run numbers/2 (version 1, id" in shown.stdout) == (0, True)
    assert flow("runs", "show", "numbers/2", "--json").json["run"] == str(numbers.pk)
    several = flow("runs", "cancel", "1")
    assert (several.status, "letters/1, numbers/1" in several.stderr) == (1, True)
    assert "Run numbers/2 is cancelled." in flow("runs", "cancel", "2").stdout
    numbers.refresh_from_db()
    assert numbers.state == State.CANCELLED
    assert "Run numbers/2 has ended" in flow("runs", "cancel", "numbers/2").stderr


def test_commands_over_rejected_rows_take_the_name(flow, workspace, warehouse, schema):
    orders = save_flights(connect_to(workspace, warehouse), "orders", f"{schema}.rejected")
    key = keep(warehouse, orders, f"{schema}.rejected", "r1")
    listed = flow("errors", "list", "--run", "orders/1")
    assert (listed.status, "orders/1" in listed.stdout) == (0, True)
    assert flow("errors", "list", "--run", "1", "--json").json["errors"][0]["runId"] == key
    shown = flow("errors", "show", "orders/1:r1-0").stdout
    assert f"Row {key}:r1-0" in shown
    assert "Run orders/1; a.csv, record 7" in shown
    assert "1 row changed" in flow("errors", "ignore", "orders/1:r1-0", "--reason", "known").stdout
    assert "run.unknown" in flow("errors", "list", "--run", "orders/9").stderr


def test_the_page_of_a_run_reports_its_name(as_, numbers):
    page = words(as_("viewer").get(f"/w/alices-team/runs/{numbers.pk}/"))
    assert "On the command line flow runs show numbers/2" in page
