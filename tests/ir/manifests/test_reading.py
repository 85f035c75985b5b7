"""A project is read completely, and all errors of all files are reported at once, each with its location."""

from __future__ import annotations

import json

import pytest

from ir.manifests.codes import MANIFEST_CODES
from ir.manifests.diagnostics import InvalidProject
from ir.manifests.project import MAX_FILES
from ir.manifests.reading import is_manifest, read_project
from tests.ir.cases import document
from tests.ir.manifests.projects import FLOW_TOML

MINIMAL = '[project]\nname = "p"\n'
SHORT = 'id = "a"\nsource = { connector = "postgres", connection = "shop", config = { query = "select 1 as a" } }\n'
TO_T = 'destination = { connection = "warehouse", table = "t" }\n'


def faults_of(files: dict[str, str]) -> list[tuple[str, int | None, int | None, str]]:
    with pytest.raises(InvalidProject) as caught:
        read_project(files)
    return [(d.file, d.diagnostic.line, d.diagnostic.column, d.diagnostic.code) for d in caught.value.diagnostics]


def test_each_table_becomes_a_pipeline() -> None:
    project = read_project({"flow.toml": FLOW_TOML})

    assert list(project.pipelines) == ["shop-orders", "shop-customers"]
    orders = project.pipelines["shop-orders"]
    assert orders.document["schedule"] == {"kind": "every", "interval": "15m"}
    source, load = orders.document["nodes"]
    assert source["config"] == {"table": {"schema": "sales", "name": "orders"}}
    assert (load["connection"], load["schema"], load["table"]) == ("warehouse", "public", "orders")
    assert (load["loadMode"], load["watermarkColumn"]) == ("incremental_watermark", "updated_at")
    assert orders.manifest.location == "flow.toml:23"


def test_full_documents_and_short_manifests_stand_side_by_side_in_both_syntaxes() -> None:
    short = {"id": "short", "source": {"connector": "local_fs", "config": {"path": "in"}}, "tables": ["days"]}
    files = {
        "flow.toml": FLOW_TOML,
        "pipelines/orders.json": json.dumps(document("orders")),
        "pipelines/short.json": json.dumps(short),
        "pipelines/README.md": "not a manifest",
    }
    project = read_project(files)
    assert list(project.pipelines) == ["shop-orders", "shop-customers", "orders", "short-days"]
    assert project.pipelines["short-days"].document["nodes"][0]["config"]["path"] == "in/days"


def test_plans_of_compiled_transforms_are_no_manifests() -> None:
    assert not is_manifest("pipelines/a.transforms.json")


def test_all_faults_of_all_files_are_reported_with_their_places() -> None:
    files = {
        "flow.toml": FLOW_TOML.replace("every 15m", "every 15x").replace("version", "versoin"),
        "pipelines/a.json": '{"id": "b", "nodes": [],\n "bogus": 1}',
        "pipelines/b.toml": SHORT + 'destination = { table = "t", loadMode = "upsert" }\n',
        "pipelines/c.toml": "a = [\n",
    }
    assert faults_of(files) == [
        ("flow.toml", 4, 1, "field.unknown"),
        ("flow.toml", 28, 1, "duration.malformed"),
        ("pipelines/a.json", 1, 1, "field.missing"),
        ("pipelines/a.json", 1, 1, "field.missing"),
        ("pipelines/a.json", 1, 13, "value.length"),
        ("pipelines/a.json", 2, 2, "field.unknown"),
        ("pipelines/b.toml", 3, 1, "upsert.key_required"),
        ("pipelines/c.toml", 2, 1, "document.syntax"),
    ]


def test_a_duplicate_id_names_both_places_and_the_command_that_converts() -> None:
    with pytest.raises(InvalidProject) as caught:
        read_project(
            {
                "flow.toml": MINIMAL,
                "pipelines/a.json": json.dumps(document("orders")),
                "pipelines/b.toml": "\n" + SHORT + TO_T,
            }
            | {"pipelines/c.toml": "\n" + SHORT + TO_T}
        )
    (found,) = caught.value.diagnostics
    assert found.file == "pipelines/c.toml"
    assert "pipelines/b.toml:1 and pipelines/c.toml:1" in found.diagnostic.message
    assert "flow pipeline convert pipelines/c.toml --to json" in found.diagnostic.hint


def test_the_command_for_a_duplicate_of_an_inline_entry_names_the_other_file() -> None:
    inline = MINIMAL + "[[pipeline]]\n" + SHORT + TO_T
    with pytest.raises(InvalidProject) as caught:
        read_project({"flow.toml": inline, "pipelines/a.toml": SHORT + TO_T})
    (found,) = caught.value.diagnostics
    assert "flow.toml:3 and pipelines/a.toml:1" in found.diagnostic.message
    assert "flow pipeline convert pipelines/a.toml --to json" in found.diagnostic.hint


def test_a_secret_in_text_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidProject) as caught:
        read_project({"flow.toml": FLOW_TOML.replace('{ env = "SHOP_PASSWORD" }', '"hunter2"')})
    assert "hunter2" not in json.dumps(caught.value.to_json())
    assert [d.diagnostic.code for d in caught.value.diagnostics] == ["manifest.secret_in_text"]


WEBHOOK = 'kind = "webhook"\nurl = { env = "URL" }\nheaders = { Authorization = "Bearer x" }\n'
AZURE = """kind = "azure_blob"
account = "acmelanding"
container = "orders"
accountKey = { env = "KEY" }
sasToken = { env = "TOKEN" }
"""
CASES: dict[str, dict[str, str]] = {
    "manifest.project_missing": {"pipelines/a.toml": SHORT + TO_T},
    "manifest.too_many": {"flow.toml": MINIMAL} | {f"pipelines/{i}.json": "{}" for i in range(MAX_FILES)},
    "manifest.duplicate_id": {"flow.toml": MINIMAL, "pipelines/a.toml": SHORT + TO_T, "pipelines/b.toml": SHORT + TO_T},
    "manifest.id_unusable": {"flow.toml": FLOW_TOML.replace("customers", "c" * 60)},
    "manifest.table_unusable": {"flow.toml": FLOW_TOML.replace("customers", "sales.orders")},
    "manifest.tables_unsupported": {
        "flow.toml": FLOW_TOML.replace('{ connector = "postgres", c', '{ connector = "s3", c')
    },
    "manifest.table_required": {"flow.toml": MINIMAL, "pipelines/a.toml": SHORT},
    "manifest.table_unused": {"flow.toml": FLOW_TOML + 'destination = { table = "t" }\n'},
    "manifest.timezone_unused": {"flow.toml": FLOW_TOML + 'timezone = "Europe/Berlin"\n'},
    "manifest.schedule_option_unused": {
        "flow.toml": FLOW_TOML.replace('"every 15m"', '{ kind = "every", interval = "15m" }') + 'jitter = "1m"\n'
    },
    "manifest.secret_in_text": {"flow.toml": MINIMAL + "[connections.w]\n" + WEBHOOK},
    "manifest.secret_choice": {"flow.toml": MINIMAL + "[connections.w]\n" + AZURE},
    "manifest.env_refused": {"flow.toml": FLOW_TOML.replace("SHOP_PASSWORD", "FLOW_SECRET_KEY")},
}


@pytest.mark.parametrize("code", MANIFEST_CODES)
def test_every_code_has_a_project_that_shows_it(code: str) -> None:
    found = faults_of(CASES[code])
    assert code in {fault[3] for fault in found}
    assert all(line and column for _, line, column, _ in found)


def test_the_time_zone_of_a_cron_expression_may_come_from_the_defaults() -> None:
    text = FLOW_TOML.replace("every 15m", "0 6 * * *").replace(
        "[defaults.destination]", '[defaults]\ntimezone = "Europe/Berlin"\n[defaults.destination]'
    )
    schedule = read_project({"flow.toml": text}).pipelines["shop-orders"].document["schedule"]
    assert schedule == {"kind": "cron", "expression": "0 6 * * *", "timezone": "Europe/Berlin"}


def test_jitter_and_missed_times_of_a_schedule_in_text_come_from_the_entry_or_the_defaults() -> None:
    text = FLOW_TOML.replace(
        "[defaults.destination]", '[defaults]\njitter = "1m"\ncatchUp = "all"\n[defaults.destination]'
    )
    schedule = read_project({"flow.toml": text + 'catchUp = "skip"\n'}).pipelines["shop-orders"].document["schedule"]
    assert schedule == {"kind": "every", "interval": "15m", "jitter": "1m", "catchUp": "skip"}


def test_a_faulty_jitter_is_reported_where_it_is_written() -> None:
    found = faults_of({"flow.toml": FLOW_TOML + 'jitter = "1h"\n'})
    assert {(fault[1], fault[3]) for fault in found} == {((FLOW_TOML + "x").count("\n") + 1, "value.out_of_range")}


def test_two_tables_whose_pipelines_would_have_one_id_are_refused_at_the_second() -> None:
    text = FLOW_TOML.replace('"orders", "customers"', '"Orders", "orders"')
    line = next(i for i, line in enumerate(text.splitlines(), 1) if line.startswith("tables"))
    assert faults_of({"flow.toml": text}) == [("flow.toml", line, 21, "manifest.id_unusable")]


@pytest.mark.parametrize(
    ("text", "place"),
    [(MINIMAL.encode() + b"# \xe4", (3, 3)), (b"#" * 1_100_000, (1, 1)), (b"a=" + b"[" * 5000, (1, 1))],
)
def test_a_text_that_cannot_be_read_at_all_has_a_place_too(text: bytes, place: tuple[int, int]) -> None:
    with pytest.raises(InvalidProject) as caught:
        read_project({"flow.toml": text})
    (found,) = {(d.diagnostic.line, d.diagnostic.column) for d in caught.value.diagnostics}
    assert found == place
