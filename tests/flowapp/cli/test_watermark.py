"""`flow watermark`."""

from __future__ import annotations

import json

import pytest

from tests.flowapp.watermarks.conftest import incremental_nodes, sql

pytestmark = pytest.mark.django_db
__all__ = ["sql"]


@pytest.fixture
def following(flow, sql, schema, warehouse, tmp_path, monkeypatch):
    """A saved pipeline `numbers` whose target `load` follows the column `upd`, in the workspace of the command line."""
    from tests.flowapp.conftest import make_document

    w = warehouse
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", w.password)
    added = flow("connection", "add", "warehouse", "--url", f"postgresql://{w.user}@{w.host}:{w.port}/{w.database}")
    assert added.status == 0, added.stderr
    sql("create table numbers (id int, upd bigint not null)")
    file = tmp_path / "numbers.json"
    file.write_text(json.dumps(make_document(nodes=incremental_nodes(schema))))
    assert flow("pipeline", "save", str(file)).status == 0


def test_a_watermark_is_set_shown_and_reset(flow, following):
    assert flow("watermark", "set", "numbers", "load", "9007199254740993", "--reason", "a repair").status == 0
    [watermark] = flow("watermark", "show", "numbers", "--json").json["watermarks"]
    assert (watermark["node"], watermark["value"], watermark["type"]) == ("load", "9007199254740993", "bigint")
    shown = flow("watermark", "show", "numbers").stdout
    assert "9007199254740993" in shown
    assert "a repair" in shown

    finished = flow("watermark", "reset", "numbers", "load", "--reason", "start over", "--json")
    assert (finished.status, finished.json["value"]) == (0, None)
    assert finished.json["changes"][0]["by"] == "command line"


def test_a_reason_is_needed(flow, following):
    assert flow("watermark", "reset", "numbers", "load").status == 64


def test_a_value_of_another_type_ends_in_1(flow, following):
    finished = flow("watermark", "set", "numbers", "load", "1e3", "--reason", "x", "--json")
    assert (finished.status, finished.json["error"]["code"]) == (1, "watermark.value_malformed")


def test_an_unknown_node_ends_in_1(flow, following):
    finished = flow("watermark", "set", "numbers", "files", "1", "--reason", "x", "--json")
    assert (finished.status, finished.json["error"]["code"]) == (1, "watermark.unknown")


def test_setting_warns_where_rows_may_load_twice(flow, following, sql):
    sql("create function loud() returns trigger language plpgsql as $$begin return new; end$$")
    sql("create trigger loud before insert on numbers for each row execute function loud()")
    assert "Warning: " in flow("watermark", "set", "numbers", "load", "5", "--reason", "again").stdout
    assert "Warning: " in flow("watermark", "show", "numbers").stdout


def test_a_change_is_checked_before_it_is_made(flow, following):
    done = flow("watermark", "check", "numbers", "load", "5")
    assert "or higher" in done.stdout
    stale = flow("watermark", "set", "numbers", "load", "5", "--reason", "late", "--if-revision", "9.9")
    assert (stale.status, "[watermark.stale]" in stale.stderr) == (1, True)
