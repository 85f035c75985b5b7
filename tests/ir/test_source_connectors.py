"""The declarations of connectors. External connectors are validated like built-in ones."""

from __future__ import annotations

from typing import Any

import pytest

from ir import InvalidPipeline, parsePipelineIR
from ir.connectors import CONNECTORS, config_of
from ir.connectors.base import SourceConfig
from ir.connectors.files import FilesConfig
from ir.connectors.http_api import HttpApiConfig
from ir.connectors.singer import SingerConfig
from ir.nodes import Source
from ir.pointers import Pointer
from ir.schema import schema_document
from tests.connectors.tar_archive.config import CONNECTOR

FILES = {"pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}}


@pytest.fixture
def tar_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONNECTORS._kinds, CONNECTOR.name, CONNECTOR)


def document(**config: Any) -> dict[str, Any]:
    source = {"id": "src", "kind": "source", "connector": "tar_archive", "config": {**FILES, **config}}
    target = {"id": "load", "kind": "target", "inputs": ["src"], "connector": "postgres", "connection": "w"}
    target |= {"schema": "public", "table": "t", "loadMode": "append"}
    return {"kind": "pipeline", "version": "1.0", "id": "case", "nodes": [source, target]}


def codes(**config: Any) -> set[tuple[str, str]]:
    with pytest.raises(InvalidPipeline) as refused:
        parsePipelineIR(document(**config))
    return {(d.code, str(d.path)) for d in refused.value.diagnostics}


@pytest.mark.usefixtures("tar_archive")
def test_a_connector_from_elsewhere_is_validated() -> None:
    parsed = parsePipelineIR(document(path="in.tar"))
    assert [w.code for w in parsed.warnings if w.path[:2] == ("nodes", 0)] == []
    assert codes() == {("field.missing", "/nodes/0/config/path")}
    assert codes(path="../x.tar") == {("path.not_inside", "/nodes/0/config/path")}
    assert codes(path="in.tar", atomicity={}) == {("field.unknown", "/nodes/0/config/atomicity")}


@pytest.mark.usefixtures("tar_archive")
def test_its_settings_stand_in_the_schema() -> None:
    schema = schema_document()
    names = [rule["if"]["properties"]["connector"]["const"] for rule in schema["$defs"]["Source"]["allOf"]]
    assert "tar_archive" in names
    assert "TarArchiveConfig" in schema["$defs"]


@pytest.mark.parametrize(
    ("connector", "config", "location"),
    [
        ("local_fs", {"path": "in/", **FILES}, "in/"),
        ("s3", {"path": "in/", **FILES}, "in/"),
        ("sftp", {"path": "in/", **FILES}, "in/"),
        ("gcs", {"path": "in/", **FILES}, "in/"),
        ("azure_blob", {"path": "in/", **FILES}, "in/"),
        ("http_pull", {"url": "https://a.example/b.csv?token=1", **FILES}, "https://a.example/b.csv"),
        ("postgres", {"table": {"schema": "public", "name": "orders"}}, "public.orders"),
        ("postgres", {"query": "SELECT 1"}, "SELECT 1"),
        ("singer", {"tap": "shop", "stream": "orders"}, "shop: orders"),
    ],
)
def test_a_source_says_where_its_rows_come_from(connector: str, config: dict[str, Any], location: str) -> None:
    source = Source(id="src", kind="source", connector=connector, config=config)
    assert config_of(source, SourceConfig).location == location


def test_the_tables_of_a_manifest_are_streams_of_one_tap() -> None:
    settings = CONNECTORS["singer"].table_settings
    assert settings is not None
    assert settings({"tap": "shop"}, "orders") == {"tap": "shop", "stream": "orders"}


def test_settings_are_not_given_as_those_of_another_connector() -> None:
    source = Source(id="src", kind="source", connector="postgres", config={"query": "SELECT 1"})
    with pytest.raises(TypeError, match="postgres are not FilesConfig"):
        config_of(source, FilesConfig)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        *((name, True) for name in ("key", "api_key", "X-Api-Key", "accessToken", "apitoken", "auth", "Authorization")),
        *((name, True) for name in ("subscription-key", "sig", "client_secret", "clientSecret", "appkey", "pwd")),
        *((name, False) for name in ("limit", "sort_key", "author", "primary_key", "signal", "keyword", "session")),
    ],
)
def test_secrets_of_web_services_stay_out_of_documents(name: str, is_secret: bool) -> None:
    config = HttpApiConfig(url="https://api.example.com/v1", parameters={name: "x"})
    found = [problem.code for problem in config.check(Pointer())]
    assert found == (["http_api.secret_parameter"] if is_secret else [])


def test_secrets_of_taps_stay_out_of_documents_at_every_depth() -> None:
    settings = {"site": "a", "auth": {"kind": "basic", "password": "x"}, "servers": [{"api_key": "y"}, "z"]}
    config = SingerConfig(tap="shop", stream="orders", settings=settings)
    found = [str(problem.path) for problem in config.check(Pointer())]
    assert found == ["/settings/auth/password", "/settings/servers/0/api_key"]
