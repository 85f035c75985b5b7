"""The example project of the documentation: it is compiled, planned and applied, and the pages show its files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.manifests.applying import Actor, Options
from flowapp.manifests.compiling import compile_sources
from flowapp.manifests.folders import read_folder
from flowapp.manifests.planning import Planned, make_plan, parse_project
from flowapp.manifests.proposals import apply_project
from ir.transform_code.methods import METHODS
from tests.flowapp.docs.examples import TASKS, read_blocks
from tests.flowapp.manifests.test_languages import needs_node

SHOP = TASKS.parent / "examples" / "shop"
IN_TYPESCRIPT = "transforms/refunds.ts"
ENVIRONMENT = {"WAREHOUSE_PASSWORD": "one", "SHOP_PASSWORD": "two"}


def plan() -> Planned:
    workspace = ensure_workspace("default")
    return make_plan(workspace, parse_project(workspace, read_folder(SHOP)), ENVIRONMENT)


@pytest.mark.django_db
def test_the_example_project_is_applied_once() -> None:
    planned = plan()
    assert set(planned.project.pipelines) == {"shop-orders", "shop-customers", "refunds"}
    applied = apply_project(planned, ENVIRONMENT, Actor(), Options())
    assert applied.refused == applied.failed == []
    assert plan().plan.is_empty


def blocks(page: str) -> dict[str, str]:
    return {block.file: block.text for block in read_blocks(page) if block.file}


def test_the_pages_show_the_files_of_the_project() -> None:
    shown = blocks("keep-pipelines-in-git") | blocks("write-transforms-as-code")
    del shown[IN_TYPESCRIPT]
    files = [path for path in SHOP.rglob("*") if path.is_file()]
    assert shown == {path.relative_to(SHOP).as_posix(): path.read_text() for path in files}


def test_the_transforms_of_the_project_are_compiled() -> None:
    compiled = compile_sources(SHOP, [SHOP / "transforms" / "refunds.py"])
    assert list(compiled.texts) == ["pipelines/refunds.transforms.json"]
    assert compiled.outdated == {}


@needs_node
def test_the_same_transforms_in_typescript_make_the_same_plan(tmp_path: Path) -> None:
    source = tmp_path / IN_TYPESCRIPT
    source.parent.mkdir()
    source.write_text(blocks("write-transforms-as-code")[IN_TYPESCRIPT])
    made, shown = (
        json.loads(text)["plan"]
        for text in (
            *compile_sources(tmp_path, [source]).texts.values(),
            (SHOP / "pipelines/refunds.transforms.json").read_text(),
        )
    )
    assert made == shown


def test_methods_that_the_page_lists_exist() -> None:
    table = "\n".join(
        line for line in (TASKS / "write-transforms-as-code.md").read_text().splitlines() if line.startswith("| `")
    )
    methods = set(re.findall(r"`(\w+)\(", table))
    assert methods == {*METHODS} - {"fillNull", "drop_duplicates"}
