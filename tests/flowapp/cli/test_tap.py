"""`flow tap`: installed taps, their settings and their streams."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from executors.processes.launch import sandbox_version
from executors.singer.environments import TapFolder
from flowapp.pipelines.services import save_version
from tests.taps import ORDERS, add_script

pytestmark = pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock")


@pytest.fixture
def folder(tmp_path: Path, settings) -> TapFolder:
    settings.TAPS = tmp_path / "taps"
    return TapFolder(settings.TAPS)


def tap(flow, *args: str):
    done = flow("tap", *args, "--json")
    return done.status, done.json


def test_taps_are_listed_with_what_pipelines_may_set(folder, flow) -> None:
    add_script(folder.root, "shop", ORDERS, settings=("path",))
    status, found = tap(flow, "list")
    assert status == 0
    assert [(tap["name"], tap["package"], tap["settings"]) for tap in found["taps"]] == [
        ("shop", "tap-shop==1.0", ["path"])
    ]


def test_the_settings_that_pipelines_may_give_are_changed(folder, flow) -> None:
    add_script(folder.root, "shop", ORDERS, settings=())
    assert tap(flow, "allow", "shop", "--setting", "path")[1]["settings"] == ["path"]
    assert folder.find("shop").settings == ("path",)
    assert tap(flow, "allow", "shop", "--any-setting")[1]["settings"] is None


def test_streams_are_listed_with_their_columns(folder, flow, tmp_path) -> None:
    add_script(folder.root, "shop", ORDERS, settings=())
    (tmp_path / "config.json").write_text('{"path": "x"}')
    _, found = tap(flow, "streams", "shop", "--config", str(tmp_path / "config.json"))
    assert found["streams"] == [
        {
            "stream": "shop-orders",
            "key": ["id"],
            "replicationKeys": ["changed"],
            "columns": [
                {"name": "id", "type": "bigint"},
                {"name": "amount", "type": "pg:numeric"},
                {"name": "changed", "type": "timestamptz"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["add", "shop", "--package", "tap-x"], "singer.package_not_pinned"),
        (["add", "shop", "--package", "tap-x==1.*"], "singer.package_not_pinned"),
        (["add", "shop", "--package", "--index-url==1"], "usage"),
        (["add", "shop", "--package", "tap-x @ https://example.com/x.whl"], "singer.package_not_pinned"),
        (["add", "../shop", "--package", "tap-x==1"], "singer.name_invalid"),
        (["add", "shop", "--requirements", "/nowhere"], "singer.file_unreadable"),
        (["allow", "shop"], "singer.tap_unknown"),
        (["streams", "../shop"], "singer.tap_unknown"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, flow, args: list[str], code: str) -> None:
    status, found = tap(flow, *args)
    assert status != 0
    assert code in found["error"]["code"]
    assert folder.list() == []


@pytest.mark.django_db
def test_a_tap_is_removed_unless_a_run_uses_it(folder, flow) -> None:
    add_script(folder.root, "shop", ORDERS)
    with folder.used("shop"):
        assert tap(flow, "remove", "shop")[1]["error"]["code"] == "singer.tap_used"
    assert tap(flow, "remove", "shop") == (0, {"removed": "shop"})
    assert folder.list() == []


@pytest.mark.django_db
def test_a_tap_that_a_pipeline_names_is_not_removed(folder, flow, connected) -> None:
    add_script(folder.root, "shop", ORDERS)
    source = {"id": "orders", "kind": "source", "connector": "singer", "config": {"tap": "shop", "stream": "orders"}}
    target = {"id": "load", "kind": "target", "inputs": ["orders"], "connector": "postgres", "connection": "warehouse"}
    target |= {"schema": "public", "table": "t", "loadMode": "upsert", "upsertKey": ["id"]}
    document = {"kind": "pipeline", "version": "1.0", "id": "orders", "nodes": [source, target]}
    save_version(connected, json.dumps(document))
    _, found = tap(flow, "remove", "shop")
    assert found["error"]["code"] == "singer.tap_used"
    assert found["error"]["message"] == "alices-team/orders names the tap shop."
    assert folder.find("shop")


@pytest.mark.django_db
def test_a_connection_gives_its_settings_to_its_tap_alone(folder, flow, monkeypatch) -> None:
    add_script(folder.root, "shop", f"assert config == {{'token': 'hidden-7'}}\n{ORDERS}", settings=())
    for text, status in (("hidden-7", 1), ("[]", 1), ('{"token": "hidden-7"}', 0)):
        monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", text)
        added = flow("connection", "add", "shop", "--kind", "singer", "--set", "tap=shop")
        assert added.status == status
        assert "hidden-7" not in added.stdout + added.stderr
    tested = flow("connection", "test", "shop")
    assert (tested.status, "The tap has the streams: shop-orders." in tested.stdout) == (0, True)


def test_the_commands_start_in_a_process_of_their_own(session_environment, tmp_path):
    environment = session_environment | {"FLOW_HOME": str(tmp_path)}
    command = [sys.executable, "-c", "import sys; from flowapp.cli import main; sys.exit(main())", "tap", "list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No taps yet." in done.stdout
