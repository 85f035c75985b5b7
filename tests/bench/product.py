"""The product in the benchmark: whole runs of the engine in this process, on a warm Spark session."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from executors.model import Connection
from executors.report import NodeReport
from tests.executors.conformance.world import World, reconciles, target_of

COLUMNS = [
    {"name": "order_id", "type": "bigint"},
    {"name": "customer_id", "type": "bigint"},
    {"name": "age", "type": "integer"},
    {"name": "amount", "type": "decimal(12,2)"},
    {"name": "updated_at", "type": "timestamp"},
]
RULES: list[dict[str, Any]] = [
    {"type": "notNull", "field": "order_id", "onFail": "abort"},
    {"type": "regex", "field": "email", "pattern": "^.+@.+$", "onFail": "skip"},
    {"type": "range", "field": "age", "min": 0, "max": 150, "onFail": "warn"},
    {"type": "maxLength", "field": "note", "max": 200, "onFail": "skip"},
    {"type": "fieldType", "field": "customer_id", "expected": "integer", "onFail": "skip"},
]
EXPRESSIONS = [
    {"op": "cast", "columns": {"customer_id": "bigint"}},
    {"op": "derive", "columns": {"note": "concat(note, ' ', country)"}},
    {"op": "filter", "where": "age >= 20"},
]
SPARK_EXPRESSIONS = [*EXPRESSIONS, {"op": "derive", "columns": {"country": "upper(country)"}}]


JOIN = {
    "op": "join",
    "with": "customers",
    "type": "left",
    "on": {"customer_id": "id"},
    "columns": {"name": "customer_name"},
}


def add_customers(document: dict[str, Any], csv: Path) -> None:
    """Join the transform node of a document with a file."""
    config = {
        "path": csv.parent.name,
        "pattern": {"type": "glob", "value": csv.name},
        "format": {"type": "csv"},
        "waitPolicy": {"settleSeconds": 0},
    }
    columns = [{"name": "id", "type": "bigint"}]
    source = {"id": "customers", "kind": "source", "connector": "local_fs", "config": config, "columns": columns}
    document["nodes"].append(source)
    next(node for node in document["nodes"] if node["kind"] == "transform")["inputs"].append("customers")


def run_once(
    warehouse: Connection,
    csv: Path,
    *,
    mode: str = "append",
    rules: Sequence[Mapping[str, Any]] = RULES,
    ops: Sequence[Mapping[str, Any]] = (),
    customers: Path | None = None,
    world: World | None = None,
    **target: Any,
) -> tuple[float, NodeReport]:
    """Return the seconds of one run that loads the file into `public.orders`, of PostgreSQL unless another `world` is
    given, and its report of the target. With `customers` the run joins with that file."""
    world = world or World(csv.parent.parent, warehouse, "public")
    upsert: dict[str, Any] = {"upsertKey": ["order_id"]} if mode == "upsert" else {}
    document = world.document(
        mode=mode,
        rules=rules,
        ops=[JOIN, *ops] if customers else ops,
        columns=COLUMNS if not ops else COLUMNS[:1] + COLUMNS[2:],
        source={"path": f"{csv.parent.name}/", "pattern": {"type": "glob", "value": csv.name}},
        table="orders",
        **upsert,
        **target,
    )
    if customers:
        add_customers(document, customers)
    start = time.perf_counter()
    report = world.run(document)
    seconds = time.perf_counter() - start
    if not reconciles(report):
        raise AssertionError(f"the numbers do not add up: {target_of(report)}")
    return seconds, target_of(report)


def make_target(dsn: str, ddl: str, fill_from: str | None = None) -> None:
    """Make an empty `public.orders`, or fill it with the rows of another table."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists public.orders, public.rejected cascade")
        c.execute(f"create table public.orders ({ddl}, primary key (order_id))")
        if fill_from:
            c.execute(f"insert into public.orders select * from {fill_from}")
            c.execute("vacuum analyze public.orders")
