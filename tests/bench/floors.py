"""Floors that `peers` lacks: the plain statements of a load mode, by hand."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from tests.bench import peers


def add_dependents(dsn: str) -> None:
    """An index and a view on `public.orders`."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("create index orders_customer_idx on public.orders (customer_id)")
        c.execute("create view public.orders_view as select order_id, amount from public.orders")


def swap(dsn: str, csv: Path) -> float:
    """Seconds of COPY into an UNLOGGED table and of what replaces a table by a swap, in one transaction."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists floor_stage, floor_new, floor_target cascade")
        c.execute(f"create table floor_target ({peers.DDL}, primary key (order_id))")
        c.execute("create index on floor_target (customer_id)")
        c.execute("create view floor_view as select order_id, amount from floor_target")
    start = time.perf_counter()
    with psycopg.connect(dsn) as c:
        c.execute(f"create unlogged table floor_stage ({peers.DDL})")
        peers.copy(c, "floor_stage", str(csv))
        c.execute("create table floor_new (like floor_target)")
        c.execute("insert into floor_new select * from floor_stage")
        c.execute("alter table floor_new add primary key (order_id)")
        c.execute("create index on floor_new (customer_id)")
        c.execute("analyze floor_new")
        c.execute("create or replace view floor_view as select order_id, amount from floor_new")
        c.execute("drop table floor_target, floor_stage")
        c.execute("alter table floor_new rename to floor_target")
    return time.perf_counter() - start
