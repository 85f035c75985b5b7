"""Pictures of every page for `docs/img/`: `pytest tests/browser/screenshots.py`. Everything on them was really run.

The world is the demo as `flow demo` loads it, with a run that failed and one that waits; `new-team` has nothing yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from PIL import Image
from playwright.sync_api import Page

from executors.model import Connection
from tests.browser.looks import find_barriers, sideways
from tests.browser.people import sign_in
from tests.flowapp.quarantine.keeping import connect_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
PICTURES = Path(__file__).parents[2] / "docs/img"
SIZES = {"wide": (1280, 800), "narrow": (390, 844)}
TALLEST = 1300
"""Pixels; what is below is more of the same."""
COLOURS = ("light", "dark")
COLOURS_KEPT = 160

EMPTY = {
    "empty-pipelines": "pipelines/",
    "empty-runs": "runs/",
    "empty-errors": "errors/",
    "empty-files": "files/",
    "empty-backups": "backups/",
    "empty-health": "health/",
    "empty-connections": "connections/",
    "empty-editor": "pipelines/first/",
}
EDITOR = "pipelines/nyc-flights/"
FULL = {
    "pipelines": "pipelines/",
    "new-pipeline": "pipelines/?new=1",
    "editor": f"{EDITOR}?node=load",
    "editor-json": f"{EDITOR}?tab=json",
    "editor-sql": f"{EDITOR}?tab=sql",
    "editor-lineage": f"{EDITOR}?tab=lineage",
    "editor-version": f"{EDITOR}?tab=history&version=1",
    "editor-wrong": "pipelines/orders/?node=load",
    "editor-runs": f"{EDITOR}?tab=runs",
    "editor-errors": f"{EDITOR}?tab=errors",
    "editor-schedule": f"{EDITOR}?tab=schedule",
    "editor-history": f"{EDITOR}?tab=history",
    "runs": "runs/",
    "run": "runs/{done}/",
    "run-failed": "runs/{failed}/",
    "run-queued": "runs/{queued}/",
    "errors": "errors/",
    "rejected-rows": "errors/rows/?run={done}",
    "files": "files/",
    "upload": "files/upload/",
    "health": "health/",
    "connections": "connections/",
    "connection": "connections/named/warehouse/",
    "connection-add": "connections/add/",
    "webhook-add": "connections/add/webhook/",
    "channels": "channels/",
    "channel-add": "channels/add/webhook/",
    "suggestions": "suggestions/nyc-flights/check/",
    "trace": "trace/nyc-flights/",
    "settings": "settings/",
    "search": "search/?q=fl",
}


DECISIONS = {
    "backups": "backups/",
    "run-hook-failed": "runs/{hook_failed}/",
    "run-restore": "runs/{restore}/",
    "run-preview": "runs/{preview}/",
    "run-held": "runs/{held}/",
    "watermark": "watermarks/sales/load/",
}
DAYS = (100, 95, 10)
"""How many rows the file of each day holds: the last loses too many."""


def load_world(warehouse: Connection) -> dict[str, str]:
    """The demo, and a pipeline whose file lacks a column; gives the ids of runs."""
    from flowapp.accounts.models import User
    from flowapp.accounts.services import add_member, ensure_workspace
    from flowapp.connections.services import probe_connection
    from flowapp.demo.load import load_demo
    from flowapp.pipelines.drafts import open_draft, replace_text
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import run_inline
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run

    team = ensure_workspace("alices-team")
    for person, role in (("admin", "admin"), ("bob", "editor"), ("carol", "viewer")):
        add_member(team, f"{person}@example.com", role)
    connect_to(team, warehouse)
    airlines, flights = load_demo(team, None)
    probe_connection(team, "warehouse")
    run_inline(airlines)
    done = run_inline(flights)

    folder = settings.FILES_ROOT / team.slug / "orders"
    folder.mkdir()
    (folder / "orders-2013-01.csv").write_text("number,amount\n1,12.50\n")
    orders = save_version(team, json.dumps(ORDERS, indent=2), message="First").pipeline
    failed = run_inline(orders)
    queued = queue_run(airlines, Trigger.MANUAL, send=False)
    wrong = json.dumps(
        {**ORDERS, "nodes": [ORDERS["nodes"][0], {**ORDERS["nodes"][1], "loadMode": "upsert"}]}, indent=2
    )
    replace_text(open_draft(orders, User.objects.get(email="admin@example.com")), wrong)
    return {"done": str(done.pk), "failed": str(failed.pk), "queued": str(queued.pk)}


ORDERS: dict[str, Any] = {
    "kind": "pipeline",
    "version": "1.0",
    "id": "orders",
    "metadata": {"name": "Orders", "tags": ["sales"]},
    "schedule": {"kind": "cron", "expression": "0 6 * * *", "timezone": "Europe/Berlin"},
    "nodes": [
        {
            "id": "files",
            "kind": "source",
            "connector": "local_fs",
            "config": {"path": "orders", "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}},
            "columns": [{"name": "id", "type": "integer"}, {"name": "amount", "type": "decimal(10,2)"}],
        },
        {
            "id": "load",
            "kind": "target",
            "inputs": ["files"],
            "connector": "postgres",
            "connection": "warehouse",
            "schema": "public",
            "table": "orders",
            "loadMode": "append",
            "columns": [{"name": "id", "type": "integer"}, {"name": "amount", "type": "decimal(10,2)"}],
        },
    ],
}


def load_decisions(warehouse: Connection) -> dict[str, str]:
    """A hook that failed, a table put back, a load that is previewed and held, and a watermark; gives the ids of
    runs."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.backups.models import Backup
    from flowapp.backups.services import restore_backup
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import preview_inline, run_inline, run_to_end
    from flowapp.runs.models import Trigger

    team = connect_to(ensure_workspace("alices-team"), warehouse)
    stock = save_version(team, json.dumps(STOCK), role="admin").pipeline
    write_day("stock", 0)
    hook_failed = run_inline(stock)
    write_day("stock", 1)
    run_inline(stock)
    newest = Backup.objects.order_by("-taken_at")[0]
    restore = run_to_end(restore_backup(newest, "Prices of the wrong country.", Trigger.MANUAL, send=False))
    write_day("stock", 2)
    preview, held = preview_inline(stock), run_inline(stock)

    sales = save_version(team, json.dumps(SALES)).pipeline
    for day in (0, 1):
        write_day("sales", day)
        run_inline(sales)
    runs = {"hook_failed": hook_failed, "restore": restore, "preview": preview, "held": held}
    return {name: str(run.pk) for name, run in runs.items()}


def write_day(folder: str, day: int) -> None:
    path = settings.FILES_ROOT / "alices-team" / folder
    path.mkdir(parents=True, exist_ok=True)
    rows = [f"{day * 1000 + n},{n}.50,2026-01-0{day + 1}T10:{n % 60:02}:00" for n in range(DAYS[day])]
    (path / f"day-{day + 1}.csv").write_text("\n".join(["id,amount,updated_at", *rows]))


def daily(slug: str, **target: Any) -> dict[str, Any]:
    """A pipeline that loads the newest file of a folder into a table."""
    columns = [
        {"name": "id", "type": "integer"},
        {"name": "amount", "type": "decimal(10,2)"},
        {"name": "updated_at", "type": "timestamp"},
    ]
    config = {
        "path": slug,
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv"},
        "ordering": "latest_by_mtime",
        "waitPolicy": {"settleSeconds": 0},
    }
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": slug,
        "metadata": {"name": slug.capitalize()},
        "nodes": [
            {"id": "files", "kind": "source", "connector": "local_fs", "config": config, "columns": columns},
            {
                "id": "load",
                "kind": "target",
                "inputs": ["files"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": "public",
                "table": slug,
                "columns": columns,
                **target,
            },
        ],
    }


STOCK = daily(
    "stock",
    loadMode="blue_green",
    backupBeforeLoad=True,
    hold={"maxDecreasePct": 50},
    postHook=[
        {"type": "sql", "statement": "ANALYZE public.stock"},
        {"type": "refresh_mat_view", "view": "public.stock_by_day"},
    ],
)
SALES = daily("sales", loadMode="incremental_watermark", watermarkColumn="updated_at", watermarkLag="15m")


def take(page: Page, name: str, address: str) -> list[str]:
    """The page in both colours and both sizes; tells what stands in anybody's way on it."""
    barriers: list[str] = []
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.goto(address)
        page.wait_for_load_state("networkidle")
        # A window as high as the page: what is fixed to the window stands as it does for somebody who scrolls.
        # The editor fills whatever window it gets.
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
        if (wider := sideways(page)) > 0:
            barriers.append(f"{name} {size}: {wider} px wider than the window")
    return barriers


def keep(picture: bytes, path: Path) -> None:
    """With few colours: flat pages lose nothing by it, and are a third of the size."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS_KEPT, dither=Image.Dither.NONE).save(path, optimize=True)


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
    return page


def test_pictures_of_all_pages(page: Page, warehouse: Connection, redis_url: str, alive: None) -> None:
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import create_pipeline

    barriers = take(page, "login", "/login/")
    sign_in(page, workspace="new-team")
    for name, address in EMPTY.items():
        if name == "empty-editor":
            create_pipeline(ensure_workspace("new-team"), "first", "My first")
        barriers += take(page, name, f"/w/new-team/{address}")
    runs = load_world(warehouse)
    for name, address in FULL.items():
        barriers += take(page, name, f"/w/alices-team/{address.format(**runs)}")
    page.goto(f"/w/alices-team/errors/rows/?run={runs['done']}")
    first = str(page.get_by_role("link", name="Show").first.get_attribute("href"))
    barriers += take(page, "rejected-row", first)
    barriers += take(page, "not-found", "/w/alices-team/runs/nowhere/")
    barriers += take(page, "docs", "/docs/hooks/")
    page.goto(f"/w/alices-team/errors/rows/?run={runs['done']}")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Fix selected rows").click()
    page.wait_for_url("**/errors/selection/**")
    barriers += take(page, "selection", page.url)
    sign_in(page, role="viewer")
    barriers += take(page, "forbidden", "/w/alices-team/connections/add/")
    assert not barriers, "\n".join(barriers)


def test_pictures_of_decisions(page: Page, warehouse: Connection, redis_url: str, alive: None) -> None:
    sign_in(page)
    runs = load_decisions(warehouse)
    barriers: list[str] = []
    for name, address in DECISIONS.items():
        barriers += take(page, name, f"/w/alices-team/{address.format(**runs)}")
    assert not barriers, "\n".join(barriers)
