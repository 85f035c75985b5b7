"""Manifests refer to compiled transforms; the documents of their pipelines are complete."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ir.json_schema import validator_for
from ir.manifests.compiled_files import refer_again
from ir.manifests.diagnostics import InvalidProject
from ir.manifests.reading import read_project
from ir.manifests.schema import manifest_schema
from ir.transform_code.compiled import hash_source
from tests.ir.cases import document
from tests.ir.manifests.projects import FLOW_TOML

SOURCE = "import flow_transforms as flow\n"
OPS = [{"op": "filter", "where": "id > 1"}]
NAME = "pipelines/orders.transforms.json"


def compiled(**changes: Any) -> str:
    value = {
        "pipeline_id": "orders",
        "engine": "flow-ops",
        "engine_version": "1.0",
        "source_lang": "python",
        "source_file": "transforms/orders.py",
        "source_hash": hash_source(SOURCE.encode()),
        "plan": [{"node": "shape", "ops": OPS}],
    }
    return json.dumps(value | changes, indent=1)


def manifest(**changes: Any) -> dict[str, Any]:
    """Return a document whose node `shape` is compiled."""
    source, *rest = document("orders")["nodes"]
    shape = {"id": "shape", "kind": "transform", "inputs": [source["id"]], "compiled": "orders.transforms.json"}
    load = {**rest[-1], "inputs": ["shape"]}
    return {**document("orders"), "nodes": [source, shape | changes, load]}


def files(**changes: str) -> dict[str, str]:
    short = FLOW_TOML.partition("[[pipeline]]")[0]
    given = {"flow.toml": short, "pipelines/orders.json": json.dumps(manifest()), NAME: compiled()}
    return given | {"transforms/orders.py": SOURCE} | changes


def faults_of(given: dict[str, str]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidProject) as caught:
        read_project(given)
    return [(found.file, found.diagnostic.code) for found in caught.value.diagnostics if found.is_error]


def test_a_document_has_the_operations_of_the_compiled_node() -> None:
    project = read_project(files())
    assert project.pipelines["orders"].document["nodes"][1] == {
        "id": "shape",
        "kind": "transform",
        "inputs": [manifest()["nodes"][0]["id"]],
        "ops": OPS,
    }
    assert project.warnings == ()


def test_an_entry_in_the_short_form_has_them_in_each_of_its_pipelines() -> None:
    given = {
        "flow.toml": FLOW_TOML + 'compiled = "shop.transforms.json"\n',
        "pipelines/shop.transforms.json": compiled(pipeline_id="shop"),
        "transforms/orders.py": SOURCE,
    }
    pipelines = read_project(given).pipelines
    assert [pipelines[name].document["nodes"][1]["ops"] for name in ("shop-orders", "shop-customers")] == [OPS, OPS]


def test_a_source_that_changed_is_an_error_and_other_ends_of_lines_are_no_change() -> None:
    assert faults_of(files(**{"transforms/orders.py": SOURCE + "\n"})) == [(NAME, "transforms.outdated")]
    read_project(files(**{"transforms/orders.py": SOURCE.replace("\n", "\r\n")}))


def test_a_source_that_is_not_there_is_a_warning() -> None:
    given = files()
    del given["transforms/orders.py"]
    (warning,) = read_project(given).warnings
    assert (warning.file, warning.diagnostic.code) == (NAME, "transforms.source_missing")


def test_a_file_that_nothing_refers_to_is_a_warning() -> None:
    (warning,) = read_project(files(**{"pipelines/other.transforms.json": compiled()})).warnings
    assert (warning.file, warning.diagnostic.code) == ("pipelines/other.transforms.json", "transforms.unused")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"compiled": "other.transforms.json"}, "transforms.unknown"),
        ({"compiled": 1}, "transforms.unknown"),
        ({"id": "clean"}, "transforms.unknown"),
        ({"ops": OPS}, "transforms.misplaced"),
        ({"kind": "validate"}, "transforms.misplaced"),
    ],
)
def test_a_wrong_reference_is_an_error_of_the_manifest(changes: dict[str, Any], fault: str) -> None:
    assert faults_of(files(**{"pipelines/orders.json": json.dumps(manifest(**changes))})) == [
        ("pipelines/orders.json", fault)
    ]


def test_transforms_of_another_pipeline_are_refused() -> None:
    assert faults_of(files(**{NAME: compiled(pipeline_id="refunds")})) == [
        ("pipelines/orders.json", "transforms.unknown")
    ]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"plan": [{"node": "shape", "ops": [{"op": "filter", "where": "rand() > 1"}]}]}, "expression.not_allowed"),
        ({"plan": [{"node": "shape", "ops": [{"op": "filtre"}]}]}, "value.not_allowed"),
        ({"engine_version": "2.0"}, "value.not_allowed"),
        ({"source_hash": "sha256:1"}, "value.malformed"),
    ],
)
def test_a_compiled_file_is_checked_like_a_document(changes: dict[str, Any], fault: str) -> None:
    assert faults_of(files(**{NAME: compiled(**changes)})) == [(NAME, fault)]


def test_a_fault_of_the_pipeline_is_placed_at_the_reference() -> None:
    wrong = compiled(
        plan=[{"node": "shape", "ops": [{"op": "select", "columns": ["id"]}, {"op": "filter", "where": "no_such"}]}]
    )
    given = files(**{NAME: wrong, "pipelines/orders.json": json.dumps(manifest(), indent=1)})
    with pytest.raises(InvalidProject) as caught:
        read_project(given)
    found = [one for one in caught.value.diagnostics if one.diagnostic.code == "column.unknown"]
    line = given["pipelines/orders.json"].splitlines()[(found[0].diagnostic.line or 0) - 1]
    assert '"compiled"' in line
    assert found[0].diagnostic.fixes == ()


def test_a_source_that_is_no_text_is_an_error() -> None:
    given: dict[str, Any] = files()
    given["transforms/orders.py"] = b"\xff"
    assert ("transforms/orders.py", "document.encoding") in faults_of(given)


def test_the_schema_accepts_a_reference_or_operations() -> None:
    accepts = validator_for(manifest_schema()).is_valid
    assert accepts(manifest())
    assert not accepts(manifest(ops=OPS))
    assert not accepts({**manifest(), "nodes": [{"id": "a", "kind": "transform", "inputs": ["b"]}]})


def test_a_changed_document_keeps_its_references_to_operations_that_did_not_change() -> None:
    declared = read_project(files()).pipelines["orders"].document
    same = {**declared, "schedule": {"kind": "every", "interval": "5m"}}
    assert refer_again(manifest(), declared, same)["nodes"] == manifest()["nodes"]
    source, shape, load = declared["nodes"]
    changed = {**declared, "nodes": [source, {**shape, "ops": [*OPS, *OPS]}, load]}
    assert refer_again(manifest(), declared, changed) == changed
