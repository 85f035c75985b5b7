"""State that moves to another installation: its control database is new, its target may be the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from executors.target_database import write_moved_state
from flowapp.accounts.models import Workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from flowapp.runs.dispatch import run_inline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.runs.services import queue_run
from flowapp.state.exporting import export_state
from flowapp.state.importing import import_state
from flowapp.watermarks.selectors import get_watermark
from flowapp.watermarks.services import set_watermark
from flowapp.watermarks.targets import find_watermark_target
from ir.errors import FlowError
from tests.flowapp.runs.conftest import target
from tests.flowapp.runs.table_engine import TableEngine
from tests.flowapp.state.moving import move, totals
from tests.flowapp.watermarks.conftest import following, sql

__all__ = ["following", "sql", "target"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("in_the_target", "expected"),
    [
        ("", [(1, 1, 1, 0)]),
        ("truncate flow_meta.load_commits, flow_meta.fences", [(1, 1, 1, 0)]),
        ("truncate numbers, flow_meta.load_commits, flow_meta.fences", [(1, 1, 0, 0)]),
    ],
    ids=["the same", "rows without records of loads", "empty"],
)
def test_each_file_is_loaded_once(settings, tmp_path, pipeline, target, file, warehouse, sql, in_the_target, expected):
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n73126354\n")
    before = run_document(run_inline(pipeline))
    new = move(pipeline, file, warehouse)
    assert "73126354" not in file.read_text(), "a state file holds no values of rows"
    sql(in_the_target or "select 1")
    assert totals(import_state(new.workspace, file)) == expected
    assert run_document(Run.objects.select_related("pipeline", "version").get()) == before
    (folder / "b.csv").write_text("id\n3\n")
    new.refresh_from_db()
    assert (run_inline(new).state, target()) == (State.SUCCEEDED, 3)
    assert totals(import_state(new.workspace, file)) == [(0, 0, 0, 0)]
    assert sql("select id from numbers order by id") == [(1,), (3,), (73126354,)]
    assert set(LoadUnit.objects.values_list("name", "state")) == {("in/a.csv", "committed"), ("in/b.csv", "committed")}


def test_an_import_adds_what_is_missing_and_nothing_twice(pipeline, target, file, warehouse):
    for _ in range(2):
        run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    assert totals(import_state(new.workspace, file, dry_run=True)) == [(2, 0, 2, 0)]
    assert not Run.objects.exists()
    assert totals(import_state(new.workspace, file)) == [(2, 0, 2, 0)]
    assert totals(import_state(new.workspace, file)) == [(0, 0, 0, 0)]
    new.refresh_from_db()
    assert run_inline(new, engine=TableEngine()).number == 3


def test_runs_of_both_installations_are_merged_with_unique_numbers(pipeline, target, file, warehouse):
    run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    own = run_inline(new, engine=TableEngine())
    [done] = import_state(new.workspace, file)
    assert done.notes == ["Run 1 of the file is run 2 here."]
    assert dict(Run.objects.values_list("number", "pk"))[1] == own.pk
    assert Run.objects.count() == 2


def test_the_files_of_an_emptied_table_load_again(pipeline, target, file, warehouse, schema, sql):
    run_inline(pipeline, engine=TableEngine())
    new = move(pipeline, file, warehouse)
    sql("truncate numbers; truncate flow_meta.load_commits")
    [done] = import_state(new.workspace, file)
    assert done.notes == [
        "The table of load is missing or empty: the next run loads its files again.",
        "1 load of load no longer count.",
    ]
    assert run_inline(new, engine=TableEngine()).state == State.SUCCEEDED


def test_a_watermark_moves_unless_the_one_here_is_newer(following, sql, file, warehouse):
    sql("insert into numbers values (1, '2026-01-01')")
    set_watermark(find_watermark_target(following, "load"), "2026-01-01T10:00:00", "start", "ann")
    new = move(following, file, warehouse)
    assert totals(import_state(new.workspace, file)) == [(0, 0, 0, 0)], "the database has it already"
    here = find_watermark_target(new, "load")
    assert get_watermark(here).value == "2026-01-01 10:00:00"
    sql("delete from flow_meta.pipeline_watermarks")
    assert totals(import_state(new.workspace, file)) == [(0, 0, 0, 1)]
    set_watermark(here, "2026-01-02T10:00:00", "later", "ann")
    [done] = import_state(new.workspace, file)
    assert done.notes[0].endswith("is newer here and was not changed.")
    assert get_watermark(here).value == "2026-01-02 10:00:00"


@pytest.mark.parametrize("change", [lambda text: text[:-30], lambda text: text.replace("succeeded", "failed", 1)])
def test_a_file_that_was_changed_is_refused_whole(pipeline, target, file, change):
    run_inline(pipeline, engine=TableEngine())
    export_state(pipeline.workspace, [pipeline], file)
    file.write_text(change(file.read_text()))
    with pytest.raises(FlowError, match=r"state\.(damaged|malformed)"):
        import_state(pipeline.workspace, file)


def test_state_is_imported_into_its_own_workspace_only(pipeline, target, file):
    export_state(pipeline.workspace, [pipeline], file)
    with pytest.raises(FlowError, match=r"state\.workspace_other"):
        import_state(Workspace.objects.create(slug="bobs-team"), file)


def test_a_pipeline_that_is_unknown_here_is_reported_and_the_others_are_imported(save, target, file, warehouse, schema):
    run_inline(save().pipeline, engine=TableEngine())
    workspace = save("others").pipeline.workspace
    export_state(workspace, Pipeline.objects.order_by("slug"), file)
    Pipeline.objects.filter(slug="numbers").update(slug="renamed")
    unknown, others = import_state(workspace, file)
    assert (unknown.error.code, others.error) == ("pipeline.unknown", None)


def test_state_is_not_exported_in_the_middle_of_a_run(pipeline, target, file):
    queue_run(pipeline, Trigger.MANUAL, send=False)
    with pytest.raises(FlowError, match=r"pipeline\.busy"):
        export_state(pipeline.workspace, [pipeline], file)
    assert not file.exists()


def test_a_file_holds_no_secret_and_only_its_reader_may_read_it(pipeline, target, file, warehouse):
    run_inline(pipeline, engine=TableEngine())
    export_state(pipeline.workspace, [pipeline], file)
    text = file.read_text()
    assert warehouse.password not in text
    assert file.stat().st_mode & 0o077 == 0
    assert {json.loads(line)["type"] for line in text.splitlines()} == {
        "state",
        "pipeline",
        "run",
        "load_record",
        "end",
    }


def with_second_connection(pipeline, warehouse, file):
    """Add a target of another connection to the pipeline, and export its state."""
    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(pipeline.workspace, "z_second", fields)
    document = json.loads(pipeline.versions.get().document)
    load = next(node for node in document["nodes"] if node["kind"] == "target")
    document["nodes"].append({**load, "id": "second", "connection": "z_second", "table": "seconds"})
    save_version(pipeline.workspace, json.dumps(document))
    pipeline.refresh_from_db()
    export_state(pipeline.workspace, [pipeline], file)


def test_no_database_is_changed_if_another_one_of_the_pipeline_fails(pipeline, target, file, warehouse, sql):
    run_inline(pipeline, engine=TableEngine())
    with_second_connection(pipeline, warehouse, file)
    sql("truncate flow_meta.load_commits")
    Connection.objects.filter(name="z_second").update(port=1)
    [done] = import_state(pipeline.workspace, file)
    assert (done.error.code, done.written) == ("target.unreachable", [])
    assert sql("select count(*) from flow_meta.load_commits") == [(0,)]


def test_an_import_that_ends_between_two_databases_says_so_and_is_completed(
    pipeline, target, file, warehouse, sql, monkeypatch
):
    run_inline(pipeline, engine=TableEngine())
    with_second_connection(pipeline, warehouse, file)
    sql("truncate flow_meta.load_commits")
    ends_at = iter([False, False, False, True])

    def write(connection, **given):
        return write_moved_state(replace(connection, port=1) if next(ends_at) else connection, **given)

    with monkeypatch.context() as patched:
        patched.setattr("flowapp.state.importing.write_moved_state", write)
        [done] = import_state(pipeline.workspace, file)
    assert done.error.code == "state.partly_imported"
    assert "were written through warehouse, but nothing else was imported" in done.error.message
    assert sql("select count(*) from flow_meta.load_commits") == [(1,)]
    [done] = import_state(pipeline.workspace, file)
    assert (done.error, done.load_records) == (None, 0)
