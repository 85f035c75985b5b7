"""The data of the pictures in `docs/img/`: the demo with some more runs, and loads that wait for a decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.conf import settings

from executors.model import Connection
from tests.flowapp.quarantine.keeping import connect_to

DAYS = (100, 95, 10)
"""How many rows the file of each day holds: the last loses too many."""


def load_world(warehouse: Connection) -> dict[str, str]:
    """Load the demo, a pipeline whose file lacks a column, and one that has never run; return the ids of runs."""
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
    often = {"kind": "every", "interval": "15m", "jitter": "5m", "catchUp": "all"}
    save_version(team, json.dumps({**daily("visits", loadMode="append"), "schedule": often}))
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
    """Create a failed hook, a restored table, a previewed and a held load, and a watermark; return the ids of runs."""
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


def load_join(warehouse: Connection) -> dict[str, str]:
    """Load orders that look up the names of their customers, some of whom are missing, and orders of which the large
    ones go to a table of their own; return the ids of the runs."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import run_inline

    team = connect_to(ensure_workspace("alices-team"), warehouse)
    orders = "".join(f"{n},{n % 12 + 1},{n}.50\n" for n in range(1, 241))
    customers = "".join(f"{n},{name}\n" for n, name in enumerate(CUSTOMERS, start=1))
    for name, text in (("orders", f"id,customer_id,amount\n{orders}"), ("customers", f"id,name\n{customers}")):
        folder = settings.FILES_ROOT / team.slug / name
        folder.mkdir(parents=True)
        (folder / f"{name}.csv").write_text(text)
    runs = {"joined": JOIN, "routed": branch()}
    return {name: str(run_inline(save_version(team, json.dumps(one)).pipeline).pk) for name, one in runs.items()}


CUSTOMERS = ("Ann", "Bob", "Carol", "Dan", "Eve", "Frank", "Grace", "Heidi", "Ivan", "Judy")


def csv_files(name: str, /, **columns: str) -> dict[str, Any]:
    """A source that reads the files of a folder."""
    config = {"path": name, "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}
    return {
        "id": name,
        "kind": "source",
        "connector": "local_fs",
        "config": {**config, "waitPolicy": {"settleSeconds": 0}},
        "columns": [{"name": column, "type": type} for column, type in columns.items()],
    }


JOIN: dict[str, Any] = {
    "kind": "pipeline",
    "version": "1.0",
    "id": "orders",
    "metadata": {"name": "Orders with customers"},
    "nodes": [
        csv_files("orders", id="integer", customer_id="integer", amount="decimal(10,2)"),
        csv_files("customers", id="integer", name="string"),
        {
            "id": "names",
            "kind": "transform",
            "inputs": ["orders", "customers"],
            "ops": [
                {
                    "op": "join",
                    "with": "customers",
                    "type": "left",
                    "on": {"customer_id": "id"},
                    "columns": {"name": "customer_name"},
                }
            ],
        },
        {
            "id": "load",
            "kind": "target",
            "inputs": ["names"],
            "connector": "postgres",
            "connection": "warehouse",
            "schema": "public",
            "table": "orders",
            "loadMode": "append",
        },
    ],
}


def branch() -> dict[str, Any]:
    """A pipeline that sends large orders to one table and the others to another one."""
    large = {**JOIN["nodes"][-1], "id": "large", "inputs": ["route"], "table": "large_orders"}
    branches = [{"to": "large", "where": "amount >= 200"}]
    route = {"id": "route", "kind": "branch", "inputs": ["orders"], "branches": branches, "default": "small"}
    small = {**large, "id": "small", "table": "small_orders"}
    return {
        **JOIN,
        "id": "routed",
        "metadata": {"name": "Orders by size"},
        "nodes": [JOIN["nodes"][0], route, large, small],
    }


def load_project(warehouse: Connection, folder: Path) -> list[Path]:
    """Apply a project to a workspace and return its files with later changes: one pipeline is new, one removed, one has
    a new column, and one was edited in the browser."""
    from flowapp.accounts.services import ensure_workspace
    from flowapp.manifests.applying import Actor, Options
    from flowapp.manifests.planning import make_plan, parse_project
    from flowapp.manifests.proposals import apply_project
    from flowapp.pipelines.services import save_version
    from flowapp.runs.dispatch import run_inline

    team = connect_to(ensure_workspace("alices-team"), warehouse)
    prices, returns = (daily(slug, loadMode="truncate") for slug in ("prices", "returns"))
    texts = {"flow.toml": '[project]\nname = "shop"\nversion = "1.2.0"\n'}
    texts |= {f"pipelines/{one['id']}.json": json.dumps(one, indent=2) for one in (SALES, prices, returns)}
    apply_project(make_plan(team, parse_project(team, texts), {}), {}, Actor(), Options())
    write_day("sales", 0)
    run_inline(team.pipelines.get(slug="sales"))
    save_version(team, json.dumps({**prices, "metadata": {"name": "Prices of today"}}))

    texts.pop("pipelines/returns.json")
    wider = daily("sales", loadMode="incremental_watermark", watermarkColumn="updated_at", watermarkLag="1h")
    for node in wider["nodes"]:
        node["columns"] = [*node["columns"], {"name": "discount", "type": "decimal(5,2)"}]
    texts["pipelines/sales.json"] = json.dumps(wider, indent=2)
    texts["pipelines/prices.json"] = json.dumps(daily("prices", loadMode="blue_green"), indent=2)
    texts["pipelines/stores.json"] = json.dumps(
        daily("stores", loadMode="upsert", upsertKey=["id"], watermarkLag="1h"), indent=2
    )
    paths = [folder / name.rpartition("/")[2] for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths
