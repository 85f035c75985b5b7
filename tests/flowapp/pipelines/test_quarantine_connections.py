"""The connection of a quarantine is checked, resolved and counted like those of nodes."""

from __future__ import annotations

import json

import pytest

from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.selectors import UnknownConnection
from flowapp.connections.services import add_connection, remove_connection, resolve_connections, resolve_stores
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.usage import pipelines_using
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.delta_documents import rejecting_nodes

pytestmark = pytest.mark.django_db
QUARANTINE = {"table": "dlq.numbers", "connection": "audit"}


@pytest.fixture(autouse=True)
def stored(workspace):
    """A folder for the target, and a database for its rejected rows."""
    add_connection(workspace, "lake", StoreFields("folder", {"path": "sales"}))
    add_connection(workspace, "audit", ConnectionFields("postgres", "db.example", 5432, "audit", "etl", "s3cret"))


def test_a_run_gets_the_database_of_the_quarantine(save, workspace):
    document = read_document(save(nodes=rejecting_nodes(QUARANTINE)).document)
    assert resolve_connections(workspace, document)["audit"].password == "s3cret"
    assert set(resolve_connections(workspace, document)) == {"audit"}
    assert set(resolve_stores(workspace, document)) == {"lake"}


def test_a_version_records_the_database_of_its_rejected_rows(save):
    assert save(nodes=rejecting_nodes(QUARANTINE)).quarantines == [["audit", "dlq.numbers"]]


def test_a_quarantine_of_an_unknown_connection_is_not_saved(save):
    with pytest.raises(UnknownConnection):
        save(nodes=rejecting_nodes(QUARANTINE | {"connection": "nowhere"}))


def test_a_quarantine_of_a_connection_to_a_folder_is_not_saved(save):
    with pytest.raises(InvalidConnection, match="needs the kind postgres"):
        save(nodes=rejecting_nodes(QUARANTINE | {"connection": "lake"}))


@pytest.mark.parametrize("name", ["lake", "audti"])
def test_the_editor_reports_a_connection_that_a_quarantine_cannot_use(workspace, document, name):
    made = document(nodes=rejecting_nodes(QUARANTINE | {"connection": name}))
    (found,) = check_text(workspace, json.dumps(made)).errors
    assert (found.code, str(found.path)) == ("connection.unknown", "/nodes/1/quarantine/connection")
    assert "audit" in found.message
    assert "lake" not in found.message.rpartition(":")[2]


def test_a_connection_counts_as_used_by_the_quarantine(save, workspace):
    save(nodes=rejecting_nodes(QUARANTINE))
    assert pipelines_using(workspace, "audit") == ["numbers"]


def test_a_connection_stays_while_a_run_needs_it_for_rejected_rows(save, workspace):
    queue_run(save(nodes=rejecting_nodes(QUARANTINE)).pipeline, Trigger.MANUAL, send=False)
    with pytest.raises(FlowError) as refused:
        remove_connection(workspace, "audit")
    assert refused.value.code == "connection.busy"


def test_a_quarantine_without_a_database_is_offered_those_of_the_workspace(workspace, document):
    made = document(nodes=rejecting_nodes({"table": "dlq.numbers"}))
    (required,) = check_text(workspace, json.dumps(made)).errors
    assert required.code == "quarantine.connection_required"
    offered, removal = map(list, required.fixes)
    assert offered == [{"op": "add", "path": "/nodes/1/quarantine/connection", "value": "audit"}]
    assert removal == [{"op": "remove", "path": "/nodes/1/quarantine"}]
