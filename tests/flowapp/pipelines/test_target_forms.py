"""What the form of a target offers depends on its connector."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from flowapp.connections.services import add_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.pipelines.drafts import open_draft, replace_text
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
S3 = StoreFields("s3", {"bucket": "tables", "accessKey": "AKIA1"}, {"secretKey": "x"})


@pytest.fixture
def stored(workspace):
    """Connections that Delta tables can use, and one that they cannot."""
    add_connection(workspace, "lake", StoreFields("folder", {"path": "sales"}))
    add_connection(workspace, "bucket", S3)
    add_connection(workspace, "web", StoreFields("http", {"url": "https://shop.example.com/"}))


@pytest.fixture
def page(web, pipeline, editor, document, stored):
    """Shows the form of a node of a draft whose target has these fields."""

    def show(node: str = "load", nodes=(), **fields):
        made = document()
        made["nodes"][-1] |= {"connector": "delta", "connection": "lake", **fields}
        made["nodes"][1:1] = nodes
        replace_text(open_draft(pipeline, editor), json.dumps(made))
        panel = reverse("pipelines:panel", args=[pipeline.workspace.slug, pipeline.slug])
        return web.get(panel, {"tab": "visual", "node": node})

    return show


def radios(answer):
    """Return the load modes of a form, each with whether it can be chosen."""
    found = re.findall(r'<input[^>]*type="radio"[^>]*id="mode-(\w+)"([^>]*)>', answer.content.decode())
    return {name: "disabled" not in rest for name, rest in found}


def test_only_load_modes_of_the_connector_can_be_chosen(page):
    answer = page()
    able = {"append", "truncate", "upsert", "blue_green"}
    assert {name for name, is_able in radios(answer).items() if is_able} == able
    assert "Not available: Delta tables do not support it yet." in words(answer)
    assert radios(page(connector="postgres", connection="warehouse"))["incremental_watermark"]


def test_only_connections_of_fitting_kinds_can_be_chosen(page):
    options = re.findall(r'<option value="(\w+)"', page().content.decode())
    assert {"lake", "bucket"} <= set(options)
    assert not {"warehouse", "web"} & set(options)


def test_fields_that_the_destination_does_not_support_are_absent_and_named(page):
    shown = words(page())
    assert (
        "Not available for Delta tables: Approval, Back up before each load, Before the load, After the load." in shown
    )
    assert "Require approval" not in shown
    assert "Alert on unusual row counts" in shown


def test_a_set_field_is_shown_with_its_error_so_that_it_can_be_removed(page):
    assert "Delta tables do not support" in words(page(backupBeforeLoad=True))
    assert "Stores a copy of the table for 7 days" in words(page(backupBeforeLoad=True))


CHECK = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": []}
POSTGRES = {"connector": "postgres", "connection": "warehouse"}
QUARANTINE_CONNECTION = re.compile(r'<select[^>]*id="f\w*quarantine\w*connection_?".*?</select>', re.DOTALL)


def test_a_validate_node_before_a_delta_table_offers_the_checks_that_need_no_database(page):
    shown = words(page("check", [CHECK], inputs=["check"]))
    assert "Add to Row count" in shown
    assert "Add to Custom SQL" not in shown
    assert "Add to Custom SQL" in words(page("check", [CHECK], inputs=["check"], **POSTGRES))


def test_a_check_that_a_delta_table_does_not_support_is_shown_so_that_it_can_be_removed(page):
    level = {"customSql": {"query": "SELECT * FROM input", "onFail": "warn"}}
    shown = words(page("check", [CHECK | {"datasetLevel": level}], inputs=["check"]))
    assert 'Delta tables do not support the check "Custom SQL".' in shown


def test_the_quarantine_of_a_delta_table_is_in_one_of_the_postgresql_databases(page):
    answer = page("check", [CHECK], inputs=["check"])
    (select,) = QUARANTINE_CONNECTION.findall(answer.content.decode())
    assert re.findall(r'<option value="(\w+)"', select) == ["warehouse"]


def test_the_quarantine_of_a_postgresql_table_has_no_connection_to_choose(page):
    answer = page("check", [CHECK], inputs=["check"], **POSTGRES)
    assert "Quarantine" in words(answer)
    assert not QUARANTINE_CONNECTION.search(answer.content.decode())


def test_a_connection_that_a_postgresql_table_does_not_need_is_shown_so_that_it_can_be_removed(page):
    quarantine = {"enabled": True, "table": "dlq.numbers", "connection": "other"}
    answer = page("check", [CHECK | {"quarantine": quarantine}], inputs=["check"], **POSTGRES)
    (select,) = QUARANTINE_CONNECTION.findall(answer.content.decode())
    assert "Default: that of the target" in select
    assert "so that one transaction commits both" in words(answer)


def test_a_load_mode_does_not_describe_statements_that_are_not_run(page):
    assert "TRUNCATE and INSERT" not in words(page(loadMode="truncate"))


def test_the_columns_of_a_delta_table_are_unknown_without_an_error(web, page, pipeline):
    from flowapp.pipelines.destinations import find_destinations

    document = {"nodes": [{"kind": "target", "connector": "delta", "connection": "lake", "schema": "a", "table": "b"}]}
    found = find_destinations(pipeline.workspace, document)
    assert (found.tables, found.silent) == ({}, {})
    assert "did not answer" not in words(page())


def test_a_connection_of_another_kind_is_refused(page):
    assert "which cannot be used here" in words(page(connection="warehouse"))
