"""The Plan pages in a browser: files are uploaded, reviewed, approved and applied."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import find_barriers, in_all_looks, show_as, sideways
from tests.browser.people import sign_in
from tests.flowapp.manifests.conftest import numbers
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "/w/alices-team/plan/"
FLOW_TOML = '[project]\nname = "shop"\nversion = "1.2.0"\n'


@pytest.fixture
def files(warehouse, schema: str, tmp_path: Path) -> list[str]:
    """The files of a project in a workspace that has a pipeline that was edited in the browser since it was applied."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.manifests.applying import Actor, Options
    from flowapp.manifests.planning import make_plan, parse_project
    from flowapp.manifests.proposals import apply_project
    from flowapp.pipelines.services import save_version

    workspace = connect_to(ensure_workspace("alices-team"), warehouse)
    texts = {"flow.toml": FLOW_TOML} | {f"pipelines/{n}.json": numbers(n, schema) for n in ("days", "gone", "orders")}
    apply_project(make_plan(workspace, parse_project(workspace, texts), {}), {}, Actor(), Options())
    save_version(workspace, numbers("days", schema, onTypeMismatch="skip"))
    del texts["pipelines/gone.json"]
    columns = [{"name": "id", "type": "integer", "nullable": False}, {"name": "name", "type": "string"}]
    key = {"loadMode": "upsert", "upsertKey": ["id"], "columns": columns}
    texts["pipelines/orders.json"] = numbers("orders", schema, loadMode="truncate")
    texts["pipelines/items.json"] = numbers("items", schema, **key)
    paths = []
    for name, text in texts.items():
        paths.append(tmp_path / name.rpartition("/")[2])
        paths[-1].write_text(text)
    return [str(path) for path in paths]


@in_all_looks
def test_uploaded_files_are_planned_approved_and_applied(
    page: Page, files: list[str], colours: str, width: int
) -> None:
    show_as(page, colours, width)
    sign_in(page)
    page.goto(HERE)
    assert (find_barriers(page), sideways(page)) == ([], 0)
    page.get_by_label("Files of the project").set_input_files(files)
    page.get_by_role("button", name="Show the plan").click()
    expect(page.get_by_role("heading", name="Plan of shop")).to_be_visible()
    assert (find_barriers(page), sideways(page)) == ([], 0)
    page.get_by_role("link", name="Diff of orders").click()
    expect(page.get_by_role("columnheader", name="Project")).to_be_visible()
    assert (find_barriers(page), sideways(page)) == ([], 0)
    page.go_back()
    page.get_by_role("button", name="Approve").click()
    page.get_by_label("Archive pipelines").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("3 changes applied")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("days was not applied")
    assert (find_barriers(page), sideways(page)) == ([], 0)
