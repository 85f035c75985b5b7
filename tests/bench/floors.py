"""Floors that `peers` lacks: the SQL statements of a load mode without Flow."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
from psycopg import sql

from tests.bench import peers


def add_dependents(dsn: str) -> None:
    """An index and a view on `public.orders`."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("create index orders_customer_idx on public.orders (customer_id)")
        c.execute("create view public.orders_view as select order_id, amount from public.orders")


def swap(dsn: str, csv: Path) -> float:
    """Return the seconds of COPY into an UNLOGGED table and of replacing a table by a swap, in one transaction."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists swap_stage, swap_new, swap_target cascade")
        c.execute(f"create table swap_target ({peers.DDL}, primary key (order_id))")
        c.execute("create index on swap_target (customer_id)")
        c.execute("create view swap_view as select order_id, amount from swap_target")
    start = time.perf_counter()
    with psycopg.connect(dsn) as c:
        c.execute(f"create unlogged table swap_stage ({peers.DDL})")
        peers.copy(c, "swap_stage", str(csv))
        c.execute("create table swap_new (like swap_target)")
        c.execute("insert into swap_new select * from swap_stage")
        c.execute("alter table swap_new add primary key (order_id)")
        c.execute("create index on swap_new (customer_id)")
        c.execute("analyze swap_new")
        c.execute("create or replace view swap_view as select order_id, amount from swap_new")
        c.execute("drop table swap_target, swap_stage")
        c.execute("alter table swap_new rename to swap_target")
    return time.perf_counter() - start


def replace_all(dsn: str, csv: Path) -> float:
    """Return the seconds of COPY into an UNLOGGED table, and of TRUNCATE and INSERT into a filled table with a key."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists truncate_stage, truncate_target")
        c.execute(f"create table truncate_target ({peers.DDL}, primary key (order_id))")
        c.execute("insert into truncate_target select * from bench_full")
    start = time.perf_counter()
    with psycopg.connect(dsn) as c:
        c.execute(f"create unlogged table truncate_stage ({peers.DDL})")
        peers.copy(c, "truncate_stage", str(csv))
        c.execute("truncate truncate_target")
        c.execute("insert into truncate_target select * from truncate_stage")
        c.execute("drop table truncate_stage")
    return time.perf_counter() - start


def past_mark(dsn: str, csv: Path, held: str) -> float:
    """Return the seconds of COPY into an UNLOGGED table and of INSERT of the rows after the highest time in the target.
    Before, the target gets the rows of the table `held`."""
    with psycopg.connect(dsn, autocommit=True) as c:
        c.execute("drop table if exists mark_stage, mark_target")
        c.execute(f"create table mark_target ({peers.DDL}, primary key (order_id))")
        c.execute(sql.SQL("insert into mark_target select * from {}").format(sql.Identifier(held)))
        c.execute("vacuum analyze mark_target")
    start = time.perf_counter()
    with psycopg.connect(dsn) as c:
        c.execute(f"create unlogged table mark_stage ({peers.DDL})")
        peers.copy(c, "mark_stage", str(csv))
        c.execute(
            "insert into mark_target select * from mark_stage"
            " where updated_at > (select max(updated_at) from mark_target)"
        )
        c.execute("drop table mark_stage")
    return time.perf_counter() - start
