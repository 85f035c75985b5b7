"""`flow validate`, `flow schema export` and `flow pipeline convert`: documents, without a database."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

VALID = files("flowapp.demo").joinpath("nyc-flights.json").read_text()


@pytest.fixture
def save(tmp_path):
    """Return a function that writes a document and returns its path."""

    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_a_valid_document_ends_in_0(flow, save):
    finished = flow("validate", save("p.json", VALID))

    assert (finished.status, "nyc-flights is valid" in finished.stdout) == (0, True)


def test_warnings_alone_leave_a_document_valid(flow, save):
    finished = flow(
        "validate",
        save(
            "p.json",
            VALID.replace('"upsert"', '"truncate"').replace(
                '"upsertKey": ["year", "month", "day", "carrier", "flight", "origin"],', ""
            ),
        ),
        "--json",
    )

    assert (finished.status, finished.json["valid"]) == (0, True)
    assert [(d["code"], d["severity"]) for d in finished.json["diagnostics"]] == [
        ("truncate.prefer_blue_green", "warning")
    ]


def test_faults_end_in_2_with_file_line_and_hint(flow, save):
    path = save("p.json", VALID.replace('"upsert"', '"upsrt"'))
    finished = flow("validate", path)

    line = VALID[: VALID.index('"upsert"')].count("\n") + 1
    assert (finished.status, finished.stdout) == (2, "")
    assert f"{path}:{line}:" in finished.stderr


@pytest.mark.parametrize(
    ("streaming", "code", "reported"),
    [
        ("false", "cdc.streaming_disabled", "streaming disabled"),
        ("true", "cdc.connector_missing", "Debezium connector not configured"),
    ],
)
def test_the_gate_of_cdc_mirror_is_reported_without_a_database(flow, save, monkeypatch, streaming, code, reported):
    monkeypatch.setenv("FLOW_STREAMING_ENABLED", streaming)
    mode = '"loadMode": "cdc_mirror", "cdcSource": "stream"'
    finished = flow("validate", save("p.json", VALID.replace('"loadMode": "upsert"', mode)))

    assert finished.status == 2
    assert all(text in finished.stderr for text in (code, reported, "docs/reference/cdc-mirror.md"))


def test_a_misspelt_flag_is_an_error_and_not_off(flow, save, monkeypatch):
    monkeypatch.setenv("FLOW_STREAMING_ENABLED", "tru")
    finished = flow("validate", save("p.json", VALID))

    assert (finished.status, "FLOW_STREAMING_ENABLED is 'tru'" in finished.stderr) == (1, True)


def test_faults_as_json_are_one_object_with_every_key(flow, save):
    finished = flow("validate", save("p.json", VALID.replace('"upsert"', '"upsrt"')), "--json")

    assert (finished.status, finished.json["valid"], finished.stderr) == (2, False, "")
    assert set(finished.json["diagnostics"][0]) == {
        "path",
        "code",
        "severity",
        "message",
        "hint",
        "line",
        "column",
        "fixes",
    }


def test_json_is_read_from_standard_input(flow, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(VALID.encode())))

    assert flow("validate", "-").status == 0


@pytest.mark.parametrize("name", ["no-such.json", "p.yaml"])
def test_what_cannot_be_read_is_reported_by_name(flow, tmp_path, name):
    (tmp_path / "p.yaml").touch()
    finished = flow("validate", str(tmp_path / name))

    assert (finished.status, name in finished.stderr) == (1, True)


def test_a_document_keeps_its_meaning_through_toml_and_back(flow, save):
    toml = flow("pipeline", "convert", save("p.json", VALID), "--to", "toml").stdout
    back = flow("pipeline", "convert", save("p.toml", toml), "--to", "json").stdout

    assert json.loads(back) == json.loads(VALID)


SHORT = """\
id = "shop"
source = { connector = "postgres", connection = "shop" }
tables = ["orders"]
schedule = "every 15m"
"""


def test_a_short_manifest_is_converted_as_it_is_written(flow, save):
    json_text = flow("pipeline", "convert", save("p.toml", SHORT), "--to", "json").stdout
    back = flow("pipeline", "convert", save("p.json", json_text), "--to", "toml").stdout

    assert json.loads(json_text)["tables"] == ["orders"]
    assert tomllib.loads(back) == tomllib.loads(SHORT)


def test_a_short_manifest_with_unknown_fields_is_not_converted(flow, save):
    assert flow("pipeline", "convert", save("p.toml", SHORT + "tabels = 1\n"), "--to", "json").status == 2


def test_the_schemas_of_manifests_and_plans_are_exported(flow, tmp_path):
    paths = flow("schema", "export", str(tmp_path), "--json").json["paths"]

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(Path(path).name for path in paths)
    jsonschema.validate(tomllib.loads(SHORT), json.loads((tmp_path / "manifest-1.0.json").read_text()))


def test_an_invalid_document_is_not_converted(flow, save):
    assert flow("pipeline", "convert", save("p.json", "{}"), "--to", "toml").status == 2


def test_the_exported_schema_accepts_the_demo(flow, tmp_path):
    path = Path(flow("schema", "export", str(tmp_path / "new"), "--json").json["path"])

    jsonschema.validate(json.loads(VALID), json.loads(path.read_text()))


def test_a_folder_that_cannot_be_written_is_reported(flow, tmp_path):
    (tmp_path / "file").touch()
    finished = flow("schema", "export", str(tmp_path / "file"), "--json")

    assert (finished.status, finished.json["error"]["code"]) == (1, "file.unwritable")


def test_validation_loads_neither_django_nor_a_driver_nor_spark(save):
    script = (
        "import sys; from flowapp.cli import main; assert main(['validate', sys.argv[1]]) == 0; "
        "print(sorted({'django', 'psycopg', 'pyspark', 'pyarrow', 'redis', 'celery'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, save("p.json", VALID)], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"
