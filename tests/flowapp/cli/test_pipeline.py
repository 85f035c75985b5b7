"""`flow pipeline` and `flow runs`: saved documents, their versions, and requested runs."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import parse_connection_url
from flowapp.connections.services import add_connection

pytestmark = pytest.mark.django_db
TEXT = files("flowapp.demo").joinpath("airlines.json").read_text()


@pytest.fixture
def saved(flow, tmp_path) -> str:
    """The path of a document that is saved as version 1 of `airlines`."""
    add_connection(ensure_workspace("default"), "warehouse", parse_connection_url("postgresql://etl@db/sales"))
    path = tmp_path / "airlines.json"
    path.write_text(TEXT)
    assert flow("pipeline", "save", str(path)).status == 0
    return str(path)


def test_a_saved_document_is_shown_as_it_was_written(flow, saved):
    shown = flow("pipeline", "show", "airlines")

    assert shown.stdout == TEXT
    assert flow("pipeline", "show", "airlines", "--json").json["document"] == json.loads(TEXT)


def test_pipelines_are_listed_with_version_and_last_run(flow, saved):
    [row] = flow("pipeline", "list", "--json").json["pipelines"]

    assert (row["id"], row["version"], row["lastRun"]) == ("airlines", 1, None)
    assert "Airlines" in flow("pipeline", "list").stdout


def test_a_restored_version_becomes_the_newest(flow, saved, tmp_path):
    changed = tmp_path / "changed.json"
    changed.write_text(TEXT.replace('"Airlines"', '"Carriers"'))
    flow("pipeline", "save", str(changed))

    assert flow("pipeline", "restore", "airlines", "1", "--json").json["version"] == 3
    assert flow("pipeline", "show", "airlines").stdout == TEXT
    history = flow("pipeline", "history", "airlines", "--json").json["versions"]
    assert [version["version"] for version in history] == [3, 2, 1]


def test_an_invalid_document_is_not_saved(flow, saved, tmp_path):
    (tmp_path / "bad.json").write_text(TEXT.replace('"upsert"', '"upsrt"'))
    finished = flow("pipeline", "save", str(tmp_path / "bad.json"), "--json")

    assert (finished.status, finished.json["valid"]) == (2, False)
    assert flow("pipeline", "list", "--json").json["pipelines"][0]["version"] == 1


def test_a_document_that_is_not_utf8_is_not_saved(flow, saved, tmp_path):
    (tmp_path / "bad.json").write_bytes(TEXT.encode().replace(b"Airlines", b"\xff"))

    assert flow("pipeline", "save", str(tmp_path / "bad.json")).status == 2


@pytest.mark.parametrize("arguments", [("pipeline", "show", "x"), ("run", "x"), ("runs", "list", "--pipeline", "x")])
def test_an_unknown_pipeline_ends_in_1(flow, arguments):
    finished = flow(*arguments, "--json")

    assert (finished.status, finished.json["error"]["code"]) == (1, "pipeline.unknown")


def test_a_detached_run_is_queued_listed_and_cancelled(flow, saved, redis_url):
    run = flow("run", saved, "--detach", "--json").json
    assert run["state"] == "queued"

    assert [row["run"] for row in flow("runs", "list", "--json").json["runs"]] == [run["run"]]
    assert flow("runs", "show", run["run"], "--json").json == run
    assert flow("runs", "cancel", run["run"], "--json").json["state"] == "cancelled"
    assert flow("runs", "list", "--state", "queued").stdout == "No such runs.\n"


@pytest.mark.parametrize("options", [("--limit", "0"), ("--limit", "x"), ("--state", "sleeping")])
def test_a_list_of_runs_that_cannot_be_is_a_usage_error(flow, options):
    assert flow("runs", "list", *options).status == 64


def test_a_busy_pipeline_refuses_a_run_here_with_3(flow, saved, redis_url):
    flow("run", "airlines", "--detach")

    finished = flow("run", "airlines", "--json")
    assert (finished.status, finished.json["error"]["code"]) == (3, "run.busy")


def test_an_invalid_file_ends_a_run_in_2_and_saves_nothing(flow, saved, tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    finished = flow("run", str(tmp_path / "bad.json"), "--json")

    assert (finished.status, finished.json["valid"]) == (2, False)


def test_an_invalid_file_is_reported_by_its_name(flow, saved, tmp_path):
    (tmp_path / "bad.json").write_text("{}")

    assert f"{tmp_path / 'bad.json'}:1" in flow("run", str(tmp_path / "bad.json")).stderr.replace("\n", "")


@pytest.mark.parametrize("options", [("--load-again",), ("--reason", "because"), ("--load-again", "--reason", "")])
def test_loading_again_needs_a_reason_and_the_other_way_round(flow, saved, options):
    assert flow("run", "airlines", *options).status == 64


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_an_unknown_run_ends_in_1(flow, command):
    assert flow("runs", command, "nonsense").status == 1
