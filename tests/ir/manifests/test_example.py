"""The project in docs/examples is valid, and is the one in the documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ir.documents import read_document
from ir.json_schema import validator_for
from ir.manifests.reading import read_project
from ir.manifests.schema import manifest_schema

DOCS = Path(__file__).parents[3] / "docs"
SHOP = DOCS / "examples" / "shop"
FILES = {str(path.relative_to(SHOP)): path.read_text() for path in SHOP.rglob("*") if path.is_file()}
MANIFESTS = {
    name: text for name, text in FILES.items() if name.endswith((".toml", ".json")) and ".transforms." not in name
}


def test_the_example_is_a_project_without_warnings() -> None:
    project = read_project(FILES)
    assert set(project.pipelines) == {"shop-orders", "shop-customers", "refunds"}
    assert set(project.connections) == {"shop", "warehouse"}
    assert project.warnings == ()


@pytest.mark.parametrize("name", MANIFESTS)
def test_its_files_have_the_published_schema(name: str) -> None:
    value = read_document(FILES[name], "json" if name.endswith(".json") else "toml").value
    assert list(validator_for(manifest_schema()).iter_errors(value)) == []


def test_the_documentation_shows_its_files() -> None:
    page = (DOCS / "tasks" / "keep-pipelines-in-git.md").read_text()
    shown = dict(re.findall(r"```(?:toml|json) (\S+)\n(.*?)```", page, re.DOTALL))
    assert {name: shown.get(name) for name in MANIFESTS} == MANIFESTS


def test_the_schemas_that_its_files_name_are_where_the_page_says() -> None:
    assert json.loads(FILES["pipelines/refunds.json"])["$schema"] == "../schema/manifest-1.0.json"
    assert FILES["flow.toml"].startswith("#:schema ./schema/manifest-1.0.json\n")
