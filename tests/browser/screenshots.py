"""Pictures of every page for `docs/img/`: `pytest tests/browser/screenshots.py`. Everything on them was really run.

The world is the demo as `flow demo` loads it, with a run that failed and one that waits; `new-team` has nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from executors.model import Connection
from tests.browser.looks import find_barriers, find_misplaced
from tests.browser.people import sign_in
from tests.browser.shown_worlds import load_decisions, load_join, load_project, load_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
PICTURES = Path(__file__).parents[2] / "docs/img"
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}
TALLEST = 1300
"""The maximum height of a picture in pixels."""
COLOURS = ("light", "dark")
FLAT_COLOURS, OTHER_COLOURS = 96, 96

EMPTY = {
    "empty-pipelines": "pipelines/",
    "empty-runs": "runs/",
    "empty-errors": "errors/",
    "empty-files": "files/",
    "empty-backups": "backups/",
    "empty-health": "health/",
    "empty-connections": "connections/",
    "empty-plan": "plan/",
    "empty-editor": "pipelines/first/",
}
EDITOR = "pipelines/nyc-flights/"
FULL = {
    "pipelines": "pipelines/",
    "new-pipeline": "new-pipeline/",
    "new-pipeline-blank": "new-pipeline/blank/",
    "new-pipeline-import": "new-pipeline/import/",
    "new-pipeline-files": "new-pipeline/files/",
    "new-pipeline-tables": "new-pipeline/tables/?connection=warehouse",
    "new-pipeline-table": "new-pipeline/table/?connection=warehouse&schema=public&table=airlines",
    "new-pipeline-file": "new-pipeline/file/?path=orders/orders-2013-01.csv",
    "editor": f"{EDITOR}?node=load",
    "editor-json": f"{EDITOR}?tab=json",
    "editor-sql": f"{EDITOR}?tab=sql",
    "editor-lineage": f"{EDITOR}?tab=lineage",
    "editor-version": f"{EDITOR}?tab=history&version=1",
    "editor-wrong": "pipelines/orders/?node=load",
    "editor-runs": f"{EDITOR}?tab=runs",
    "editor-errors": f"{EDITOR}?tab=errors",
    "editor-schedule": "pipelines/visits/?tab=schedule",
    "editor-history": f"{EDITOR}?tab=history",
    "runs": "runs/",
    "run": "runs/{done}/",
    "run-failed": "runs/{failed}/",
    "run-queued": "runs/{queued}/",
    "run-table": "runs/{done}/tables/load/",
    "errors": "errors/",
    "errors-pipeline": "errors/?pipeline=nyc-flights",
    "purge": "errors/purge/",
    "rejected-rows": "errors/rows/?run={done}",
    "files": "files/",
    "upload": "files/upload/",
    "health": "health/",
    "connections": "connections/",
    "connection": "connections/named/warehouse/",
    "connection-kinds": "connections/add/",
    "connection-add": "connections/add/postgresql/",
    "webhook-add": "connections/add/webhook/",
    "channels": "channels/",
    "channel-add": "channels/add/webhook/",
    "suggestions": "suggestions/nyc-flights/check/",
    "trace": "trace/nyc-flights/",
    "settings": "settings/",
    "search": "search/?q=fl",
    "delete-pipeline": "pipelines/orders/delete/",
    "delete-pipelines": "pipelines/-/delete/?pipeline=airlines&pipeline=nyc-flights",
    "connection-remove": "connections/named/warehouse/remove/",
    "password": "/password/",
}

DECISIONS = {
    "backups": "backups/",
    "run-hook-failed": "runs/{hook_failed}/",
    "run-restore": "runs/{restore}/",
    "run-preview": "runs/{preview}/",
    "run-held": "runs/{held}/",
    "watermark": "watermarks/sales/load/",
}
JOINS = {
    "editor-join": "pipelines/orders/?node=names",
    "run-join": "runs/{joined}/",
    "editor-branch": "pipelines/routed/?node=route",
    "run-branch": "runs/{routed}/",
}
Prepare = Callable[[Page], object]


def ask_for_purge(page: Page) -> None:
    page.get_by_label("Older than (days)").fill("0")
    page.get_by_label("Reason (stored)").fill("The year is closed.")
    page.get_by_role("button", name="Preview purge").click()
    expect(page.get_by_role("alert")).to_be_visible()


def select_all_files(page: Page) -> None:
    page.get_by_label("Select all files of this page").check()


def ask_for_files(action: str) -> Prepare:
    """The page before an action on all files of the list."""

    def ask(page: Page) -> None:
        select_all_files(page)
        page.get_by_role("button", name=f"{action}…").click()
        page.wait_for_url("**/files/selected/**")

    return ask


def open_preview(page: Page) -> None:
    """The panel below the canvas, whose preview no worker has made yet."""
    toggle = page.locator("#node-preview-toggle")
    if toggle.get_attribute("aria-expanded") == "false":  # this browser remembers it
        toggle.click()
    expect(page.locator("#node-preview-state")).to_have_attribute("aria-busy", "true")


def make_previews() -> None:
    """Make all requested previews, like a worker."""
    from flowapp.node_previews.executing import execute
    from flowapp.node_previews.store import take as next_preview

    while preview := next_preview(seconds=2):
        execute(preview)


def show_preview(page: Page) -> None:
    open_preview(page)
    make_previews()
    expect(page.locator("#node-preview-result tbody")).to_be_visible()


def cancel_preview(page: Page) -> None:
    open_preview(page)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("#node-preview-state")).to_contain_text("was cancelled")


def count_rules(page: Page) -> None:
    show_preview(page)
    page.locator("#node-preview-toggle").click()
    line = page.locator("[data-rule-count]").first
    expect(line).to_contain_text("sampled rows")
    line.scroll_into_view_if_needed()


CHECK = f"{EDITOR}?node=check"
STATES: dict[str, tuple[str, Prepare]] = {
    "purge-asked": ("errors/purge/", ask_for_purge),
    "editor-preview-waits": (CHECK, open_preview),
    "editor-preview-cancelled": (CHECK, cancel_preview),
    "editor-preview": (CHECK, show_preview),
    "editor-rule-counts": (CHECK, count_rules),
}
"""Pages of the demo after something was done on them."""
FILES: dict[str, tuple[str, Prepare]] = {
    "files-selected": ("files/", select_all_files),
    "files-again": ("files/", ask_for_files("Load again")),
    "files-skip": ("files/", ask_for_files("Skip")),
    "files-delete": ("files/", ask_for_files("Delete")),
}


def take(page: Page, name: str, address: str, prepare: Prepare | None = None) -> list[str]:
    """Take pictures of the page in both themes and both sizes; return its layout problems and accessibility
    findings."""
    barriers: list[str] = []
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(address)
        if prepare is None:
            page.wait_for_load_state("networkidle")
        else:
            prepare(page)  # an open preview polls, so the network is never idle
        # The window has the height of the page, so that fixed elements are where a user who scrolls sees them.
        # The editor fills any window.
        if "editor" not in name:
            tall = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
            page.set_viewport_size({"width": width, "height": max(height, tall)})
        if name == "editor-wrong":
            page.locator(".flow-mode-fields").scroll_into_view_if_needed()
        page.wait_for_timeout(300)
        for colours in COLOURS:
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")  # type: ignore[arg-type]
            page.wait_for_timeout(200)
            keep(page.screenshot(), PICTURES / f"{name}-{colours}-{size}.png")
            barriers += [f"{name} {colours} {size}: {barrier}" for barrier in find_barriers(page)]
        barriers += [f"{name} {size}: {misplaced}" for misplaced in find_misplaced(page)]
    return barriers


def keep(picture: bytes, path: Path) -> None:
    """With few colours, at a third of the size. The most frequent ones stay exact, such as backgrounds; the others are
    chosen by how far they are apart, so that a small icon keeps its colour."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    others = image.quantize(OTHER_COLOURS, Image.Quantize.MAXCOVERAGE).getpalette() or []
    pixels = np.asarray(image).astype(np.int32) @ (1 << 16, 1 << 8, 1)
    found, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = found[:, None] >> (16, 8, 0) & 255
    palette = np.vstack([colours[np.argsort(-counts)[:FLAT_COLOURS]], np.reshape(others, (-1, 3))])
    nearest = ((colours[:, None] - palette) ** 2).sum(axis=2).argmin(axis=1).astype(np.uint8)
    reduced = Image.fromarray(nearest[places].reshape(pixels.shape)).convert("P")
    reduced.putpalette(palette.astype(np.uint8).tobytes())
    reduced.save(path, optimize=True)


@pytest.fixture
def alive(transactional_db: None) -> Iterator[None]:
    """The runs are run in this process, which answers for worker, Spark and scheduler."""
    from flowapp.processes.heartbeats import HeartbeatThread, spark_name

    beating = [HeartbeatThread("worker", "worker"), HeartbeatThread(spark_name("worker"), "spark")]
    beating.append(HeartbeatThread("scheduler", "scheduler"))
    for thread in beating:
        thread.start()
    yield
    for thread in beating:
        thread.stop()


@pytest.fixture
def page(page: Page) -> Page:
    PICTURES.mkdir(exist_ok=True)
    page.set_default_timeout(120_000)
    expect.set_options(timeout=120_000)
    return page


def test_pictures_without_anything(page: Page, redis_url: str, alive: None) -> None:
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import create_pipeline

    barriers = take(page, "login", "/login/")
    sign_in(page, workspace="new-team")
    for name, address in EMPTY.items():
        if name == "empty-editor":
            create_pipeline(ensure_workspace("new-team"), "first", "My first")
        barriers += take(page, name, f"/w/new-team/{address}")
    barriers += take(page, "not-found", "/w/new-team/runs/nowhere/")
    barriers += take(page, "docs", "/docs/hooks/")
    sign_in(page, role="viewer", workspace="new-team")
    barriers += take(page, "forbidden", "/w/new-team/connections/add/")
    assert not barriers, "\n".join(barriers)


def test_pictures_of_the_demo(page: Page, warehouse: Connection, redis_url: str, alive: None) -> None:
    sign_in(page)
    runs = load_world(warehouse)
    barriers: list[str] = []
    for name, address in FULL.items():
        barriers += take(page, name, address_in(address).format(**runs))
    page.goto(f"/w/alices-team/errors/rows/?run={runs['done']}")
    first = str(page.get_by_role("link", name="Show").first.get_attribute("href"))
    barriers += take(page, "rejected-row", first)
    page.goto(f"/w/alices-team/errors/rows/?run={runs['done']}")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Fix selected rows").click()
    page.wait_for_url("**/errors/selection/**")
    barriers += take(page, "selection", page.url)
    for name, (address, prepare) in STATES.items():
        barriers += take(page, name, address_in(address), prepare)
    assert not barriers, "\n".join(barriers)


def test_pictures_of_decisions(page: Page, warehouse: Connection, redis_url: str, alive: None) -> None:
    sign_in(page)
    runs = load_decisions(warehouse)
    barriers: list[str] = []
    for name, address in DECISIONS.items():
        barriers += take(page, name, address_in(address).format(**runs))
    for name, (address, prepare) in FILES.items():
        barriers += take(page, name, address_in(address), prepare)
    assert not barriers, "\n".join(barriers)


def test_pictures_of_joins(page: Page, warehouse: Connection, redis_url: str, alive: None) -> None:
    sign_in(page)
    runs = load_join(warehouse)
    barriers: list[str] = []
    for name, address in JOINS.items():
        barriers += take(page, name, address_in(address).format(**runs))
    barriers += take(page, "editor-join-preview", address_in(JOINS["editor-join"]), show_preview)
    assert not barriers, "\n".join(barriers)


def test_pictures_of_plans(page: Page, warehouse: Connection, redis_url: str, alive: None, tmp_path: Path) -> None:
    sign_in(page)
    files = load_project(warehouse, tmp_path)
    page.goto(address_in("plan/"))
    page.get_by_label("Files of the project").set_input_files(files)
    page.get_by_role("button", name="Show the plan").click()
    page.wait_for_url("**/plan/*/")
    plan = page.url
    barriers = take(page, "plan", plan)
    page.get_by_role("link", name="Diff of sales").click()
    page.wait_for_url("**/sales/**")
    barriers += take(page, "plan-diff", page.url)
    page.goto(plan)
    page.get_by_role("button", name="Approve").click()
    barriers += take(page, "plan-approved", plan)
    page.get_by_label("Overwrite changes").check()
    page.get_by_label("Archive pipelines").check()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("button", name="Revert")).to_be_visible()
    barriers += take(page, "plan-applied", plan)
    barriers += take(page, "plans", address_in("plan/"))
    assert not barriers, "\n".join(barriers)


def address_in(address: str) -> str:
    """An address below the workspace, unless it is one of the whole site."""
    return address if address.startswith("/") else f"/w/alices-team/{address}"
