"""Previews and held runs by the command line."""

from __future__ import annotations

import json

import pytest

from executors.postgres.client import connect
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.runs.models import HeldLoad
from tests.flowapp.conftest import make_document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


@pytest.fixture
def numbers(settings, tmp_path, warehouse, schema):
    """Ten numbers in the table and two in a file that is to take their place; counts those in the table."""
    settings.FILES_ROOT = tmp_path
    workspace = ensure_workspace("default")
    w = warehouse
    add_connection(workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    folder = tmp_path / "default" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n")
    nodes = make_document(schema=schema)["nodes"]
    nodes[1] |= {"loadMode": "truncate", "hold": {"maxDecreasePct": 50}}
    save_version(workspace, json.dumps(make_document(schema=schema, nodes=nodes)))
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"CREATE TABLE {schema}.numbers (id integer PRIMARY KEY)")
        conn.execute(f"INSERT INTO {schema}.numbers SELECT generate_series(1, 10)")
        yield lambda: conn.execute(f"SELECT count(*) FROM {schema}.numbers").fetchone()[0]


def test_a_preview_reports_the_numbers_and_loads_nothing(flow, numbers):
    reported, shown = flow("run", "numbers", "--preview", "--json"), flow("run", "numbers", "--preview")
    (effect,) = reported.json["effects"]
    assert (reported.status, effect["rowsBefore"], effect["rowsAfter"], numbers()) == (0, 10, 2, 10)
    assert "10 rows now + 2 inserted - 10 deleted = 2 rows after" in shown.stdout
    assert "A run would require approval: The table would change from 10 to 2 rows" in shown.stdout
    assert flow("runs", "list", "--json").json["runs"] == []
    assert "10 rows now + 2 inserted" in flow("runs", "show", reported.json["run"]).stdout


def test_a_preview_excludes_options_that_load(flow, numbers):
    assert flow("run", "numbers", "--preview", "--detach").status == 64


def test_a_held_run_exits_with_six_and_says_what_to_do(flow, numbers):
    shown = flow("run", "numbers")
    assert (shown.status, numbers()) == (6, 10)
    assert "flow runs approve" in shown.stdout
    assert flow("run", "numbers").status == 3


def test_approved_it_is_loaded_right_here(flow, numbers):
    run = flow("run", "numbers", "--json").json["run"]
    approved = flow("runs", "approve", run, "--reason", "Stock was cleared.", "--json")
    assert (approved.status, approved.json["state"], numbers()) == (0, "succeeded", 2)
    assert HeldLoad.objects.get().reason == "Stock was cleared."
    assert flow("runs", "approve", run).status == 1


def test_discarding_needs_a_reason_and_keeps_it(flow, numbers):
    run = flow("run", "numbers", "--json").json["run"]
    assert flow("runs", "discard", run).status == 64
    discarded = flow("runs", "discard", run, "--reason", "Half of it is missing.", "--json")
    assert (discarded.status, discarded.json["state"], numbers()) == (0, "discarded", 10)
    assert "Half of it is missing." in flow("runs", "show", run).stdout
