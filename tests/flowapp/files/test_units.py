"""Files by their bytes: what was seen, left out, and asked for again."""

from __future__ import annotations

import pytest

from executors.model import SourceFile
from flowapp.files.models import LoadUnit
from flowapp.files.services import claim_units, finish_units, forgotten, load_again, release_units, skip_unit
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import CommitRecord, Run, State, Trigger
from flowapp.runs.ports import last_commit
from flowapp.runs.services import queue_run
from ir.errors import FlowError

pytestmark = pytest.mark.django_db
ONE, TWO = "1" * 64, "2" * 64


def file(name: str) -> SourceFile:
    return SourceFile(0, f"/files/{name}", name, 10, 1)


@pytest.fixture
def run(pipeline) -> Run:
    Pipeline.objects.update(fence_counter=7)
    return queue_run(pipeline, Trigger.MANUAL, send=False)


def states() -> list[tuple[str, str]]:
    return sorted(LoadUnit.objects.values_list("name", "state"))


def test_a_file_goes_from_processing_to_committed(run):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    assert states() == [("a.csv", "processing"), ("b.csv", "processing")]
    finish_units(run, [ONE], "committed", "")
    finish_units(run, [TWO], "failed", "No table.")
    assert states() == [("a.csv", "committed"), ("b.csv", "failed")]
    assert LoadUnit.objects.get(sha256=TWO).reason == "No table."


def test_the_same_bytes_stay_one_unit_under_their_newest_name(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    claim_units(run, "files", {ONE: file("again.csv")}, 2)
    unit = LoadUnit.objects.get()
    assert (unit.name, unit.attempt) == ("again.csv", 2)


def test_bytes_left_out_under_another_name_are_noted_once(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE], "committed", "")
    for _ in range(2):
        skip_unit(run, "files", file("copy.csv"), ONE, "The same bytes were loaded before.")
    assert states() == [("a.csv", "committed"), ("copy.csv", "skipped")]


def test_a_loaded_file_that_still_lies_there_is_not_noted(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE], "committed", "")
    skip_unit(run, "files", file("a.csv"), ONE, "The same bytes were loaded before.")
    assert states() == [("a.csv", "committed")]


def test_releasing_touches_only_what_is_being_processed(run):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    finish_units(run, [ONE], "committed", "")
    release_units(run, "pending", "")
    assert states() == [("a.csv", "committed"), ("b.csv", "pending")]


def test_loading_one_file_again_forgets_it_up_to_now(run, pipeline):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    load_again(pipeline, "The file was mended.", units=list(LoadUnit.objects.filter(sha256=ONE)))
    assert forgotten(pipeline, [ONE, TWO]) == {ONE: 7}


def test_loading_all_again_forgets_files_that_nobody_has_seen_here(run, pipeline):
    load_again(pipeline, "The table was emptied.")
    assert forgotten(pipeline, [ONE, TWO]) == {ONE: 7, TWO: 7}


def test_the_later_wish_counts(run, pipeline):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    load_again(pipeline, "All.")
    Pipeline.objects.update(fence_counter=9)
    load_again(pipeline, "This one.", units=list(LoadUnit.objects.all()))
    assert forgotten(pipeline, [ONE, TWO]) == {ONE: 9, TWO: 7}


def test_loading_again_needs_a_reason(pipeline):
    with pytest.raises(FlowError) as refused:
        load_again(pipeline, " ")
    assert refused.value.code == "load_again.reason_required"


@pytest.fixture
def committed(run) -> CommitRecord:
    return CommitRecord.objects.create(
        workspace=run.workspace, pipeline=run.pipeline, run=run, node="load", attempt=1, committed_at=run.queued_at
    )


def test_the_last_commit_must_be_found_in_the_target_before_the_next_run(run, committed):
    assert last_commit(run, "load") == str(run.pk)
    assert last_commit(run, "other") is None


def test_after_a_target_went_back_only_what_it_lost_is_loaded_again(run, committed, pipeline):
    """What it still holds stands in its own commit markers, and must not be forgotten."""
    Run.objects.update(state=State.FAILED, error_code="target.went_back", ended_at=run.queued_at)
    queue_run(pipeline, Trigger.MANUAL, load_again="The warehouse was restored.", send=False)
    assert last_commit(run, "load") is None
    assert forgotten(pipeline, [ONE]) == {}
