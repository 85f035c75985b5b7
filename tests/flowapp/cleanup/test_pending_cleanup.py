"""Data of a deleted pipeline in the databases of its targets: shown before, deleted at once or later."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from executors.load_record import RunRef
from executors.model import BackupRef
from executors.postgres.backups import backup_table
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.samples import keep_source_sample
from executors.postgres.watermark_types import WatermarkType
from executors.postgres.watermarks import WatermarkKey, note_change, write_watermark
from executors.table_name import TableName
from flowapp.alerts.models import Alert
from flowapp.backups.models import Backup
from flowapp.cleanup.models import PendingCleanup
from flowapp.cleanup.services import clean_up_pending
from flowapp.connections.models import Connection
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.quarantine.purging import purge_old_rows, set_retention
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run
from tests.flowapp.quarantine.keeping import keep
from tests.flowapp.reading import words
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person"]
pytestmark = pytest.mark.django_db(transaction=True)
STATE_TABLES = ("samples", "pipeline_watermarks", "watermark_boundary_rows", "watermark_changes", "backups")


def keeps_rejects(document, schema):
    source, load = document["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [],
        "quarantine": {"enabled": True, "table": f"{schema}.rejects"},
    }
    return [source, check, {**load, "inputs": ["check"]}]


@pytest.fixture
def loaded(save, document, warehouse, schema):
    """A pipeline that ran once and has a sample, a watermark with a hash, and a backup beside its target."""
    pipeline = save(nodes=keeps_rejects(document(), schema)).pipeline
    run = queue_run(pipeline, Trigger.MANUAL, send=False)
    Run.objects.update(ended_at=timezone.now(), state="succeeded")
    keep_beside(warehouse, schema, pipeline, str(run.pk))
    Backup.objects.create(
        workspace=pipeline.workspace,
        pipeline=pipeline,
        run=run,
        node="load",
        connection="warehouse",
        schema=schema,
        table="numbers",
        rows=3,
        taken_at=timezone.now(),
    )
    return pipeline


def keep_beside(warehouse, schema, pipeline, run: str) -> None:
    tenant, slug = str(pipeline.workspace_id), pipeline.slug
    with connect(warehouse, autocommit=True) as database:
        ensure_meta(database)
        keep_source_sample(database, RunRef(run, tenant, slug, "load", 1, 1), [("a.csv", 1, {"id": 7})])
        key = WatermarkKey(tenant, slug, TableName(schema, "numbers"))
        mark = write_watermark(database, key, "id", WatermarkType("number", "integer", "integer"), "7")
        note_change(database, key, "run", "id", None, "7", reason="")
        tie = [mark, f"{tenant} {slug}".encode()]
        database.execute("INSERT INTO flow_meta.watermark_boundary_rows VALUES (%s, %s, '7', 1)", tie)
        place = backup_table(BackupRef(run, "load")).as_string(database)
        database.execute(f"CREATE TABLE {place} AS SELECT 7 AS id")
        database.execute(
            "INSERT INTO flow_meta.backups (run_id, node, tenant, pipeline, target_schema, target_table, columns,"
            " n_rows, token) VALUES (%s, 'load', %s, %s, %s, 'numbers', '{}', 3, 1)",
            [run, tenant, slug, schema],
        )


def remaining_rows(warehouse, tenant: str, slug: str = "numbers") -> dict[str, int]:
    """Return the number of rows of a pipeline in each of Flow's own tables, and the tables of backups."""
    counts = {}
    with connect(warehouse, autocommit=True) as database:
        for name in STATE_TABLES:
            owned, whose = "tenant = %s AND pipeline = %s", [tenant, slug]
            if name == "watermark_boundary_rows":
                owned, whose = "hash = %s", [f"{tenant} {slug}".encode()]
            [counts[name]] = database.execute(f"SELECT count(*) FROM flow_meta.{name} WHERE {owned}", whose).fetchone()
    return {name: count for name, count in counts.items() if count}


def put_out_of_reach(reachable: bool) -> None:
    """Move the stored connection to a port where nobody listens, or back."""
    connection = Connection.objects.get(name="warehouse")
    if not reachable:
        Connection.objects.update(port=1, database=f"{connection.port}|{connection.database}")
    else:
        port, _, name = connection.database.partition("|")
        Connection.objects.update(port=int(port), database=name)


def test_data_with_row_values_is_deleted_with_the_pipeline(loaded, warehouse):
    tenant = str(loaded.workspace_id)
    assert set(remaining_rows(warehouse, tenant)) == set(STATE_TABLES)
    delete_pipeline(loaded)
    assert remaining_rows(warehouse, tenant) == {}
    assert not PendingCleanup.objects.filter(is_due=True).exists()


def test_what_is_behind_a_connection_that_was_removed_is_let_go_of_in_the_end(loaded):
    put_out_of_reach(False)
    delete_pipeline(loaded)
    Connection.objects.all().delete()
    clean_up_pending()
    assert PendingCleanup.objects.filter(is_due=True).count() == 1
    PendingCleanup.objects.update(left_at=timezone.now() - timezone.timedelta(days=31))
    clean_up_pending()
    assert not PendingCleanup.objects.exists()
    assert "'numbers' was deleted" in Alert.objects.get(kind="cleanup.failed").message


def test_rejected_rows_that_nothing_can_reach_any_more_are_reported_once(loaded, workspace, schema, caplog):
    set_retention(workspace, 30, Decider("ann"))
    delete_pipeline(loaded)
    Connection.objects.all().delete()
    for _ in range(2):
        assert (clean_up_pending(), purge_old_rows()) == (0, 0)
    assert not caplog.records
    PendingCleanup.objects.update(left_at=timezone.now() - timezone.timedelta(days=31))
    for _ in range(2):
        clean_up_pending()
    assert not PendingCleanup.objects.exists()
    alert = Alert.objects.get()
    assert (alert.kind, alert.count) == ("cleanup.failed", 1)
    assert f"rejected rows in {schema}.rejects" in alert.message


def test_nothing_of_another_pipeline_goes(loaded, save, warehouse, schema):
    other = save("others").pipeline
    run = queue_run(other, Trigger.MANUAL, send=False)
    keep_beside(warehouse, schema, other, str(run.pk))
    delete_pipeline(loaded)
    assert set(remaining_rows(warehouse, str(other.workspace_id), "others")) == set(STATE_TABLES)


def test_while_the_warehouse_is_down_the_deletion_waits_for_it(loaded, warehouse):
    tenant, run = str(loaded.workspace_id), str(Run.objects.get().pk)
    put_out_of_reach(False)
    delete_pipeline(loaded)
    assert clean_up_pending() == 0
    assert set(remaining_rows(warehouse, tenant)) == set(STATE_TABLES)
    put_out_of_reach(True)
    assert clean_up_pending() == 1
    assert remaining_rows(warehouse, tenant) == {}
    with connect(warehouse) as database:
        place = backup_table(BackupRef(run, "load")).as_string(database)
        assert database.execute("SELECT to_regclass(%s)", [place]).fetchone() == (None,)
    assert clean_up_pending() == 0


def test_a_pipeline_of_the_same_id_keeps_what_is_its_own(loaded, save, warehouse, schema):
    put_out_of_reach(False)
    delete_pipeline(loaded)
    put_out_of_reach(True)
    again = save().pipeline
    run = queue_run(again, Trigger.MANUAL, send=False)
    ref = RunRef(str(run.pk), str(again.workspace_id), "numbers", "load2", 1, 1)
    with connect(warehouse, autocommit=True) as database:
        keep_source_sample(database, ref, [("b.csv", 1, {"id": 8})])
    clean_up_pending()
    assert remaining_rows(warehouse, str(again.workspace_id)) == {
        "samples": 1,
        "pipeline_watermarks": 1,
        "watermark_boundary_rows": 1,
        "watermark_changes": 1,
    }


def test_staging_of_its_runs_is_dropped_too(loaded, warehouse):
    from executors.model import StageColumn
    from executors.postgres.staging import create_staging, staging_tables
    from ir.types import ColumnType

    runs = [str(Run.objects.get().pk), str(uuid.uuid4())]
    with connect(warehouse, autocommit=True) as database:
        tables = [staging_tables(run, "load", 1) for run in runs]
        for table in tables:
            create_staging(database, table, [StageColumn("id", ColumnType("integer"))])
        delete_pipeline(loaded)
        found = [
            database.execute("SELECT to_regclass(%s) IS NOT NULL", [t.good_identifier.as_string(database)]).fetchone()[
                0
            ]
            for t in tables
        ]
    assert found == [False, True]


def test_rejected_rows_stay_and_go_in_their_time(loaded, workspace, warehouse, schema):
    for day in ("2020-01-01", "2120-01-01"):
        keep(warehouse, loaded, f"{schema}.rejects", "old", f"run {day}", tenant=str(workspace.pk), createdAt=day)
    set_retention(workspace, 30, Decider("ann"))
    delete_pipeline(loaded)
    assert purge_old_rows() == 1
    assert purge_old_rows() == 0
    with connect(warehouse) as database:
        assert database.execute(f'SELECT count(*) FROM "{schema}".rejects').fetchone() == (1,)


def test_the_page_lists_what_is_deleted_and_what_stays_before_the_deletion(loaded, as_, schema):
    page = as_("editor").get("/w/alices-team/pipelines/numbers/delete/")
    reported = words(page)
    for part in (
        "1 version",
        "1 run",
        f"1 backup, which can no longer be restored: {schema}.numbers, 3 rows",
        f"Rejected rows, in {schema}.rejects",
        "They stay until a person deletes them",
    ):
        assert part in reported, part
    assert "purge them" not in reported
    assert "purge them" in words(as_("admin").get("/w/alices-team/pipelines/numbers/delete/"))
    assert as_("viewer").get("/w/alices-team/pipelines/numbers/delete/").status_code == 403
    assert "numbers deleted" in words(as_("editor").post("/w/alices-team/pipelines/numbers/delete/", follow=True))


def test_the_retention_of_rejected_rows_is_shown(loaded, as_, workspace):
    from flowapp.quarantine.models import Retention

    Retention.objects.create(workspace=workspace, days=30)
    reported = words(as_("editor").get("/w/alices-team/pipelines/numbers/delete/"))
    assert "They are purged after 30 days, like all rejected rows of this workspace." in reported
