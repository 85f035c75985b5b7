"""An export writes the workspace into the files, and touches nothing else of them."""

from __future__ import annotations

import json
from difflib import ndiff

import pytest

from flowapp.connections.models import Connection as Stored
from flowapp.manifests.exporting import export_project, record_export
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version, set_archived
from ir.transform_code.compiled import hash_source
from tests.flowapp.manifests.conftest import ProjectFiles, numbers

pytestmark = pytest.mark.django_db


def export(project: ProjectFiles) -> dict[str, str | None]:
    """Export into the project's files; return those that changed."""
    exported = export_project(project.workspace, project.files)
    for name, text in exported.texts.items():
        if text is None:
            del project.files[name]
        else:
            project.files[name] = text
    record_export(project.workspace, exported)
    return dict(exported.texts)


def changed_lines(before: str, after: str) -> list[str]:
    lines = ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


def test_nothing_is_written_after_an_apply(project: ProjectFiles) -> None:
    project.apply()
    assert export(project) == {}


def test_an_edit_of_the_browser_changes_its_lines_alone(project: ProjectFiles) -> None:
    project.apply()
    before = project.files["pipelines/numbers.json"]
    document = json.loads(before)
    document["nodes"][0]["config"]["pattern"]["value"] = "*.tsv"
    save_version(project.workspace, json.dumps(document))
    assert list(export(project)) == ["pipelines/numbers.json"]
    assert changed_lines(before, project.files["pipelines/numbers.json"]) == [
        '-           "value": "*.csv"',
        '+           "value": "*.tsv"',
    ]
    assert project.plan().is_empty


def test_what_was_exported_is_no_drift_for_the_next_edit_of_the_file(project: ProjectFiles) -> None:
    project.apply()
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    export(project)
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    change = project.change("numbers")
    assert (change.action, change.drift) == ("changed", None)


def test_a_table_that_a_short_form_cannot_describe_moves_to_a_file_of_its_own(project: ProjectFiles) -> None:
    project.apply()
    before = project.files["flow.toml"]
    pipeline = Pipeline.objects.get(slug="shop-orders")
    document = json.loads(pipeline.versions.get().document)
    document["nodes"][1]["onTypeMismatch"] = "skip"
    save_version(project.workspace, json.dumps(document))
    assert list(export(project)) == ["flow.toml", "pipelines/shop-orders.json"]
    assert changed_lines(before, project.files["flow.toml"]) == [
        '- tables = ["orders", "customers"] # two pipelines',
        '+ tables = ["customers"] # two pipelines',
    ]
    assert project.plan().is_empty


def test_pipelines_of_the_browser_get_files_and_archived_ones_lose_theirs(project: ProjectFiles) -> None:
    project.apply()
    text = numbers("mine", project.schema)
    save_version(project.workspace, text)
    set_archived(Pipeline.objects.get(slug="numbers"), True)
    assert export(project) == {"pipelines/mine.json": text, "pipelines/numbers.json": None}
    assert project.plan().is_empty


def test_an_entry_of_which_all_pipelines_are_gone_is_removed(project: ProjectFiles) -> None:
    project.apply()
    for slug in ("shop-orders", "shop-customers"):
        set_archived(Pipeline.objects.get(slug=slug), True)
    export(project)
    assert "[[pipeline]]" not in project.files["flow.toml"]
    assert project.files["flow.toml"].startswith("# A project of a test.\n")


def test_a_changed_connection_keeps_its_secret_in_the_environment(project: ProjectFiles) -> None:
    project.apply()
    before = project.files["flow.toml"]
    Stored.objects.filter(name="warehouse").update(sslmode="require")
    export(project)
    assert changed_lines(before, project.files["flow.toml"]) == ['+ sslmode = "require"']
    assert project.plan().is_empty


def test_a_workspace_without_files_becomes_a_project(project: ProjectFiles) -> None:
    project.apply()
    project.files = {}
    assert set(export(project)) == {
        "flow.toml",
        "pipelines/numbers.json",
        "pipelines/shop-customers.json",
        "pipelines/shop-orders.json",
    }
    assert 'env = "WAREHOUSE_PASSWORD"' in project.files["flow.toml"]
    assert project.plan().is_empty


def test_a_node_keeps_its_reference_to_compiled_transforms(project: ProjectFiles) -> None:
    compiled = {
        "pipeline_id": "numbers",
        "engine": "flow-ops",
        "engine_version": "1.0",
        "source_lang": "python",
        "source_file": "transforms/numbers.py",
        "source_hash": hash_source(b"a source"),
        "plan": [{"node": "shape", "ops": [{"op": "trim", "columns": ["a"]}]}],
    }
    document = json.loads(project.files["pipelines/numbers.json"])
    files, load = document["nodes"]
    shape = {"id": "shape", "kind": "transform", "inputs": ["files"], "compiled": "numbers.transforms.json"}
    document["nodes"] = [files, shape, {**load, "inputs": ["shape"]}]
    project.files |= {
        "pipelines/numbers.json": json.dumps(document, indent=2),
        "pipelines/numbers.transforms.json": json.dumps(compiled),
        "transforms/numbers.py": "a source",
    }
    project.apply()
    before = project.files["pipelines/numbers.json"]
    saved = json.loads(Pipeline.objects.get(slug="numbers").versions.latest("number").document)
    assert saved["nodes"][1]["ops"] == compiled["plan"][0]["ops"]

    saved["nodes"][0]["config"]["pattern"]["value"] = "*.tsv"
    save_version(project.workspace, json.dumps(saved))
    assert list(export(project)) == ["pipelines/numbers.json"]
    assert changed_lines(before, project.files["pipelines/numbers.json"]) == [
        '-           "value": "*.csv"',
        '+           "value": "*.tsv"',
    ]
    assert project.plan().is_empty
