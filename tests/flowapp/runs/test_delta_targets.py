"""A pipeline with a Delta table as its target: it is loaded, and what needs a database says so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from executors.delta.folders import folder_of
from executors.errors import Terminal
from flowapp.cleanup.services import describe_deletion, note_pending
from flowapp.connections.destinations import find_destinations
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import add_connection, resolve_stores
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import resolve_store
from flowapp.pipelines.documents import read_document
from flowapp.runs.dispatch import run_inline
from flowapp.runs.loaded_tables import first_rows_of, list_loaded_tables
from flowapp.runs.models import State
from flowapp.runs.selectors import run_document
from flowapp.runs.targets import fence_and_find
from flowapp.state.exporting import export_state
from flowapp.suggestions.selectors import list_samples
from flowapp.tracing.selectors import trace_row
from ir.errors import FlowError
from tests.flowapp.conftest import make_document
from tests.flowapp.delta_documents import rejecting_nodes

pytestmark = pytest.mark.django_db(transaction=True)
TARGET = {"connector": "delta", "connection": "lake", "schema": "shop"}


@pytest.fixture
def save_delta(save: Any, connected: Any, settings: Any, tmp_path: Any) -> Any:
    """Saves the small pipeline with a Delta table in a folder as its target."""
    settings.LAKE_ROOT, settings.FILES_ROOT = tmp_path / "lake", tmp_path / "files"
    (settings.FILES_ROOT / connected.slug / "in").mkdir(parents=True)
    add_connection(connected, "lake", StoreFields("folder", {"path": "sales"}))

    def call(**changes: Any) -> Any:
        source, load = make_document()["nodes"]
        return save(nodes=[source, {**load, **TARGET, **changes}])

    return call


def refused(call: Any, *args: Any, **more: Any) -> str:
    with pytest.raises(FlowError) as refusal:
        call(*args, **more)
    assert "not available for Delta tables yet" in refusal.value.message
    return refusal.value.code


def test_a_run_gets_the_store_of_its_target(save_delta, settings, connected):
    document = read_document(save_delta().document)
    (store,) = resolve_stores(connected, document).values()
    assert (store.name, store.kind) == ("lake", "folder")
    assert store.settings == {"path": str((settings.LAKE_ROOT / connected.slug / "sales").resolve())}


def test_a_version_needs_a_connection_of_a_kind_that_has_tables(save_delta):
    with pytest.raises(InvalidConnection, match="needs the kind folder or s3"):
        save_delta(connection="warehouse")


@pytest.mark.spark
@pytest.mark.usefixtures("sent")
def test_a_file_is_loaded_into_a_delta_table(save_delta, settings, connected):
    pipeline = save_delta().pipeline
    (settings.FILES_ROOT / connected.slug / "in" / "a.csv").write_text("id\n1\n2\n3\n")
    run = run_inline(pipeline)
    document = run_document(run)
    assert (document["state"], document["error"]) == ("succeeded", None)
    table = folder_of(resolve_store(get_connection(connected, "lake")), "shop", "numbers").open()
    assert table is not None
    assert sorted(table.to_pyarrow_table(columns=["id"])["id"].to_pylist()) == [1, 2, 3]
    assert [commit.node for commit in fence_and_find(run)] == ["load"]
    (loaded,) = list_loaded_tables(run)
    assert not loaded.can_be_read
    assert refused(first_rows_of, run, loaded) == "target.not_available"


@pytest.mark.spark
@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("has_table", [False, True])
def test_a_run_that_fails_in_its_load_ends(save_delta, settings, connected, has_table):
    pipeline = save_delta().pipeline
    folder = settings.FILES_ROOT / connected.slug / "in"
    if has_table:
        (folder / "a.csv").write_text("id\n1\n")
        assert run_inline(pipeline).state == State.SUCCEEDED
    (folder / "b.csv").write_text("id\n2\n")

    def fail(job: Any, ports: Any) -> Any:
        ports.events.step("load")
        raise Terminal("load.broken", "Broken.")

    run = run_inline(pipeline, engine=fail)
    assert (run.state, run.error_code) == (State.FAILED, "load.broken")


def test_what_needs_a_database_is_refused_clearly(save_delta, connected, tmp_path):
    version = save_delta()
    pipeline, (target,) = version.pipeline, read_document(version.document).targets()
    assert refused(list_samples, pipeline, target) == "target.not_available"
    assert refused(export_state, connected, [pipeline], tmp_path / "state.jsonl") == "target.not_available"


def test_its_table_is_not_looked_up_in_a_database(save_delta, connected):
    assert find_destinations(connected, read_document(save_delta().document)) == {}


def test_a_deletion_leaves_the_table_and_waits_for_no_database(save_delta):
    pipeline = save_delta().pipeline
    assert describe_deletion(pipeline).tables == ["shop.numbers"]
    assert note_pending(pipeline) == []


def test_a_deletion_leaves_rejected_rows_in_their_database_until_their_retention_ends(save_delta, save):
    save_delta()
    pipeline = save("rejecting", nodes=rejecting_nodes({"table": "dlq.numbers", "connection": "warehouse"})).pipeline
    assert describe_deletion(pipeline).quarantines == ["dlq.numbers"]
    (pending,) = note_pending(pipeline)
    assert (pending.connection, pending.quarantines) == ("warehouse", ["dlq.numbers"])


def test_a_trace_searches_the_delta_table_and_its_rejected_rows(save_delta, save, connected, settings, schema):
    save_delta()
    pipeline = save("both", nodes=rejecting_nodes({"table": f"{schema}.rejects", "connection": "warehouse"})).pipeline
    lake = folder_of(resolve_store(get_connection(connected, "lake")), "shop", "numbers")
    write_deltalake(lake.uri, pa.table({"id": [7], "_flow_run": ["r"], "_source_record": [3]}))
    (trace,) = trace_row(pipeline, {"id": "7"})
    table, rejects = trace.locations
    assert (table.what, rejects.what) == ("table shop.numbers", f"rejected rows in {schema}.rejects")
    (row,) = table.found
    assert (row.values, row.record, trace.is_sure) == ({"id": 7}, 3, True)
