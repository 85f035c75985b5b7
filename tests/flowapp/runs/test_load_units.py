"""Files by their bytes: found, skipped and requested again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.model import NewestFile, SourceFile
from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import LoadUnit, UnitRun
from flowapp.runs.load_units.selectors import failed_names, newest_loaded
from flowapp.runs.load_units.services import (
    claim_units,
    fail_units,
    finish_units,
    forgotten,
    leave_out,
    load_again,
    mark_deleted,
    release_units,
    skip_unit,
    undo_units,
)
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


def test_the_records_of_each_file_are_stored(run):
    claim_units(run, "files", {ONE: replace(file("a.csv"), records=3), TWO: file("b.csv")}, 1)
    claim_units(run, "files", {TWO: replace(file("b.csv"), records=0)}, 2)

    assert sorted(LoadUnit.objects.values_list("name", "rows")) == [("a.csv", 3), ("b.csv", 0)]


def test_a_file_changes_from_processing_to_committed(run):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    assert states() == [("a.csv", "processing"), ("b.csv", "processing")]
    finish_units(run, [ONE])
    fail_units(run, "files", {TWO: file("b.csv")}, "No table.")
    assert states() == [("a.csv", "committed"), ("b.csv", "failed")]
    assert LoadUnit.objects.get(sha256=TWO).reason == "No table."


def test_the_same_bytes_stay_one_unit_under_their_newest_name(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    claim_units(run, "files", {ONE: file("again.csv")}, 2)
    unit = LoadUnit.objects.get()
    assert (unit.name, unit.attempt) == ("again.csv", 2)


def test_bytes_excluded_under_another_name_are_noted_once(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE])
    for _ in range(2):
        skip_unit(run, "files", file("copy.csv"), ONE, "The same content was already loaded.")
    assert states() == [("a.csv", "committed"), ("copy.csv", "skipped")]


def test_a_loaded_file_that_still_lies_there_is_not_noted(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE])
    skip_unit(run, "files", file("a.csv"), ONE, "The same content was already loaded.")
    assert states() == [("a.csv", "committed")]


def test_a_file_that_failed_before_any_target_wanted_it_is_noted_and_a_loaded_one_stays_loaded(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE])
    fail_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, "It cannot be read.")
    assert states() == [("a.csv", "committed"), ("b.csv", "failed")]


def test_a_failed_file_blocks_later_ones_until_its_name_is_loaded(run):
    fail_units(run, "files", {ONE: file("a.csv")}, "Bad rows.")
    fail_units(run, "other", {TWO: file("b.csv")}, "Bad rows.")
    assert failed_names(run.pipeline_id, "files") == {"a.csv"}
    fixed = "3" * 64
    claim_units(run, "files", {fixed: file("a.csv")}, 1)
    finish_units(run, [fixed])
    assert failed_names(run.pipeline_id, "files") == set()


def test_an_excluded_file_blocks_no_other_and_can_be_loaded_later(run):
    for _ in range(2):
        fail_units(run, "files", {ONE: file("a.csv")}, "Bad rows.")
        left = leave_out(LoadUnit.objects.get(state="failed"), "Never needed.")
        assert (states(), left.reason) == ([("a.csv", "skipped")], "Skipped: Never needed.")
    assert failed_names(run.pipeline_id, "files") == set()


@pytest.mark.parametrize(("reason", "code"), [(" ", "reason.required"), ("x", "leave_out.not_failed")])
def test_only_a_failed_file_is_excluded_and_with_a_reason(run, reason, code):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    with pytest.raises(FlowError) as refused:
        leave_out(LoadUnit.objects.get(), reason)
    assert refused.value.code == code
    assert states() == [("a.csv", "processing")]


def test_the_newest_loaded_file_depends_on_the_ordering(run):
    """Names compare as the engine compares them, whatever the database's language."""
    loaded = {ONE: SourceFile(0, "/a", "a.csv", 1, 5), TWO: SourceFile(0, "/B", "B.csv", 1, 9)}
    claim_units(run, "files", loaded, 1)
    assert newest_loaded(run.pipeline_id, "files", "name", set()) is None
    finish_units(run, [ONE, TWO])
    assert newest_loaded(run.pipeline_id, "files", "name", set()) == NewestFile("a.csv", 5)
    assert newest_loaded(run.pipeline_id, "files", "mtime_ns", set()) == NewestFile("B.csv", 9)
    assert newest_loaded(run.pipeline_id, "files", "name", {ONE}) == NewestFile("B.csv", 9)


def test_releasing_touches_only_what_is_being_processed(run):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    finish_units(run, [ONE])
    release_units(run, "pending", "")
    assert states() == [("a.csv", "committed"), ("b.csv", "pending")]


def test_a_file_whose_load_a_restore_has_undone_waits_for_the_next_run(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE])
    undo_units(run, [ONE], "The table was restored.")
    assert states() == [("a.csv", "pending")]
    assert UnitRun.objects.get().reason == "The table was restored."


def test_a_file_whose_rows_were_deleted_stays_undone_when_it_is_seen_or_fails_again(run):
    claim_units(run, "files", {ONE: file("a.csv")}, 1)
    finish_units(run, [ONE])
    mark_deleted(run, [ONE], "Wrong.")
    skip_unit(run, "files", file("a.csv"), ONE, "Undone.")
    fail_units(run, "files", {ONE: file("a.csv")}, "Bad rows.")
    release_units(run, "pending", "")
    assert states() == [("a.csv", "undone")]
    claim_units(run, "files", {ONE: file("a.csv")}, 2)
    assert states() == [("a.csv", "processing")]


def test_loading_one_file_again_forgets_it_up_to_now(run, pipeline):
    claim_units(run, "files", {ONE: file("a.csv"), TWO: file("b.csv")}, 1)
    load_again(pipeline, "The file was fixed.", units=list(LoadUnit.objects.filter(sha256=ONE)))
    assert forgotten(pipeline, [ONE, TWO]) == {ONE: 7}


def test_loading_all_again_also_forgets_files_unknown_to_this_installation(run, pipeline):
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
    assert refused.value.code == "reason.required"


@pytest.fixture
def committed(run) -> CommitRecord:
    return CommitRecord.objects.create(
        workspace=run.workspace, pipeline=run.pipeline, run=run, node="load", attempt=1, committed_at=run.queued_at
    )


def test_the_last_commit_must_be_found_in_the_target_before_the_next_run(run, committed):
    assert last_commit(run, "load") == str(run.pk)
    assert last_commit(run, "other") is None


def test_after_a_target_went_back_only_what_it_lost_is_loaded_again(run, committed, pipeline):
    """The commit markers of the target contain what it still has, and must not be forgotten."""
    Run.objects.update(state=State.FAILED, error_code="target.went_back", ended_at=run.queued_at)
    queue_run(pipeline, Trigger.MANUAL, load_again="The warehouse was restored.", send=False)
    assert last_commit(run, "load") is None
    assert forgotten(pipeline, [ONE]) == {}
