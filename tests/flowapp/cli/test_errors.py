"""Working on rejected rows by the command line, with a real engine and a real target."""

from __future__ import annotations

import json

import pytest

from executors.postgres.client import connect
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.services import save_version
from flowapp.quarantine.audit_log import list_audit_log
from tests.flowapp.conftest import make_document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


@pytest.fixture
def people(settings, tmp_path, warehouse, schema, flow):
    """Load one of three rows; return a function that reads the table."""
    settings.FILES_ROOT = tmp_path
    workspace = ensure_workspace("default")
    w = warehouse
    add_connection(workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password))
    folder = tmp_path / "default" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id,name\n1,Ann\n2,\n3,\n")
    source, target = make_document(schema=schema)["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [{"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}],
        "quarantine": {"enabled": True, "table": f"{schema}.rejected"},
    }
    nodes = [source, check, {**target, "inputs": ["check"]}]
    save_version(workspace, json.dumps(make_document(schema=schema, nodes=nodes)))
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f"CREATE TABLE {schema}.numbers (id integer, name text)")
        assert flow("run", "numbers").status == 0
        yield lambda: conn.execute(f"SELECT id, name FROM {schema}.numbers ORDER BY id").fetchall()


def keys(flow) -> list[str]:
    return sorted(entry["key"] for entry in flow("errors", "list", "--json").json["errors"])


def test_a_row_is_fixed_checked_again_and_replayed_once(flow, people):
    first, second = keys(flow)
    assert flow("errors", "fix", first, "--set", "name=Bob").status == 0
    reported = flow("errors", "recheck", "--pipeline", "numbers", "--json").json
    assert reported["runs"][0]["rows"]["counts"] == {"loaded": 1, "fails": 1}
    assert "1 row would be loaded" in flow("errors", "recheck", first).stdout
    assert people() == [(1, "Ann")]
    shown = flow("errors", "replay", first, second, "--reason", "fixed")
    assert shown.status == 0
    assert "1 row loaded" in shown.stdout
    assert "1 row still fails a rule" in shown.stdout
    assert [name for _, name in people()] == ["Ann", "Bob"]
    (replay,) = [
        f"numbers/{run['number']}" for run in flow("runs", "list", "--json").json["runs"] if run["kind"] == "replay"
    ]
    assert f"flow errors results {replay}" in shown.stdout
    reported = flow("errors", "results", replay, "--json").json
    assert reported["counts"] == reported["listed"] == {"loaded": 1, "fails": 1}
    assert [(row["key"], row["result"], row["rules"], row["status"]) for row in reported["results"]] == [
        (second, "fails", ["named"], "open"),
        (first, "loaded", [], "replayed"),
    ]
    assert "still fails a rule" in flow("errors", "results", replay, "--result", "fails").stdout
    assert "flow errors list --run" not in flow("runs", "show", replay).stdout, "its rows are those of another run"
    again = flow("errors", "replay", first, "--json").json
    assert again["runs"][0]["rows"]["counts"] == {"already": 1}
    shown = flow("runs", "show", again["runs"][0]["run"]).stdout
    assert "1 row was already replayed" in shown
    assert "Nothing to load" not in shown
    assert [name for _, name in people()] == ["Ann", "Bob"]
    row = flow("errors", "show", first, "--json").json
    assert (row["entries"][0]["status"], row["entries"][0]["fixedRow"]["name"]) == ("replayed", "Bob")
    assert "FIXED" in flow("errors", "show", first).stdout


def test_an_expression_fixes_many_and_rows_can_be_ignored(flow, people):
    first, second = keys(flow)
    fixed = flow("errors", "fix", first, second, "--field", "name", "--expression", "concat('row ', id)", "--json").json
    assert fixed["runs"][0]["rows"]["counts"] == {"fixed": 2}
    flow("errors", "fix", first, "--set", "name=Bob")
    again = ("errors", "fix", first, second, "--field", "name", "--expression", "concat('no ', id)")
    assert "1 row was edited manually and is unchanged (use --replace-typed)" in flow(*again).stdout
    assert flow(*again, "--replace-typed", "--json").json["runs"][0]["rows"]["counts"] == {"fixed": 1, "unchanged": 1}
    assert flow("errors", "ignore", second, "--reason", "known").status == 0
    assert flow("errors", "ignore", second).status != 0
    counts = flow("errors", "replay", "--pipeline", "numbers", "--json").json["runs"][0]["rows"]["counts"]
    assert counts == {"loaded": 1, "ignored": 1}
    assert len(people()) == 2
    reported = [
        (line.decision.action, line.requested, line.done, line.excluded)
        for line in list_audit_log(ensure_workspace("default"), 3)
    ]
    assert reported == [("replay", 2, 1, 1), ("ignore", 1, 1, 0), ("fix", 2, 1, 1)]


def test_a_faulty_expression_is_refused_before_anything_runs(flow, people):
    refused = flow(
        "errors", "fix", *keys(flow), "--field", "name", "--expression", "reflect('java.lang.System', 'exit')"
    )
    assert refused.status != 0
    assert flow("errors", "list", "--status", "fixed", "--json").json["errors"] == []


def test_entries_are_exported_and_thrown_away(flow, people):
    assert flow("errors", "export", "--pipeline", "numbers").stdout.splitlines()[0].startswith("pipelineId,")
    assert len(flow("errors", "export", "--json").json["errors"]) == 2
    args = ("errors", "purge", "--pipeline", "numbers", "--older-than-days", "0", "--reason", "asked for")
    assert flow(*args, "--dry-run", "--json").json == {"entries": 2}
    assert flow(*args, "--json").json == {"entries": 2}
    assert keys(flow) == []


def test_what_is_to_be_worked_on_must_be_said(flow, people):
    assert flow("errors", "replay").status == 64
    assert flow("errors", "fix", "--pipeline", "numbers").status == 64
